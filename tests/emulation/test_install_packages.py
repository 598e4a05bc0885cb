"""Effects of `make setup` on this machine while Debian's packages are installed, however it ends."""

import os

import pytest

from tests.support.finished import finished

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
/usr/sbin/policy-rc.d nginx start; echo $?
kill -"$1" $!
wait $!
[ "$1" = KILL ] || exec ls /usr/sbin
/usr/sbin/policy-rc.d nginx start; echo $?
: > "$0/no-packages"
sh scripts/install-packages.sh "$0/no-packages"
exec ls /usr/sbin
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize("how", ["CONT", "HUP", "TERM", "KILL"])
def test_services_may_start_again_however_set_up_ended(tmp_path, how):
    done = finished(["unshare", "--mount", "sh", "-c", _SCRIPT, str(tmp_path), how])
    if done.returncode == 77:
        pytest.skip("this kernel has no overlay file system")
    started, *after = done.stdout.splitlines()
    assert started == "101" and "policy-rc.d" not in after, done.stderr
    assert after[0] == "0" or how != "KILL"


def test_a_package_is_not_missing_where_another_one_does_as_well(tmp_path):
    (tmp_path / "list").write_text("no-such-package|dpkg  # a comment\n")
    (tmp_path / "apt-get").write_text("#!/bin/sh\nexit 9\n")
    (tmp_path / "apt-get").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = finished(["sh", "scripts/install-packages.sh", f"{tmp_path}/list"], env={**os.environ, "PATH": path})
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


# On a machine with systemd, whose units are those of a PostgreSQL that came with a package of one version.
_WITH_SYSTEMD = """\
mount -t tmpfs tmpfs "$0" && mkdir "$0/upper" "$0/work" "$0/bin"
mount -t overlay overlay -o "lowerdir=/usr/sbin,upperdir=$0/upper,workdir=$0/work" /usr/sbin || exit 77
for folder in /run /etc/systemd/system /usr/lib/systemd/system; do mkdir -p $folder; mount -t tmpfs tmpfs $folder; done
mkdir -p /run/systemd/system
touch /usr/lib/systemd/system/postgresql.service
printf '#!/bin/sh\necho "$@"\n' > "$0/bin/systemctl"
printf '#!/bin/sh\ntouch /usr/lib/systemd/system/nginx.service\n' > "$0/bin/apt-get"
chmod +x "$0/bin/systemctl" "$0/bin/apt-get"
PATH="$0/bin:$PATH" sh scripts/install-packages.sh --install postgresql nginx
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_a_server_that_had_a_unit_before_is_left_alone(tmp_path):
    done = finished(["unshare", "--mount", "sh", "-c", _WITH_SYSTEMD, str(tmp_path)])
    if done.returncode == 77:
        pytest.skip("this kernel has no overlay file system")
    assert done.stdout.splitlines() == ["--quiet disable --now nginx.service"], done.stderr
