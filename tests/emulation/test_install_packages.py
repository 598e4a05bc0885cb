"""What `make setup` does to this machine while Debian's packages are installed, however it ends."""

import os
import subprocess

import pytest

from flightpath.project import PROJECT

# With a /usr/sbin of its own, which has no policy-rc.d, and an apt-get that takes a while.
_SCRIPT = """\
mount -t tmpfs tmpfs "$0" && mkdir "$0/upper" "$0/work" "$0/bin"
mount -t overlay overlay -o "lowerdir=/usr/sbin,upperdir=$0/upper,workdir=$0/work" /usr/sbin || exit 77
rm -f /usr/sbin/policy-rc.d
printf '#!/bin/sh\\ntouch "%s/began"\\nsleep 2\\n' "$0" > "$0/bin/apt-get"
chmod +x "$0/bin/apt-get"
export PATH="$0/bin:$PATH"
sh scripts/install-packages.sh --install a-package &
until [ -e "$0/began" ]; do sleep 0.05; done
cat /usr/sbin/policy-rc.d
kill -"$1" $!
wait $!
[ "$1" != KILL ] || sh scripts/install-packages.sh --install a-package
ls /usr/sbin/policy-rc.d 2> /dev/null
exit 0
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("how", ["CONT", "HUP", "TERM", "KILL"])
def test_services_may_start_again_however_set_up_ended(tmp_path, how):
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", _SCRIPT, str(tmp_path), how], cwd=PROJECT, capture_output=True, text=True
    )
    if done.returncode == 77:
        pytest.skip("this kernel has no overlay file system")
    assert done.stdout == "#!/bin/sh\n# Flightpath's, while it installs packages\nexit 101\n", done.stderr
