"""The FTP server of the testbed: anybody may log in, so it is not root, and shows nothing that is root's."""

import os
import sys
from pathlib import Path

import pytest

from flightpath.hosts import running
from flightpath.processes import family
from services.vsftpd import Vsftpd
from topologies.hosts import congestion_control
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

_TRIES = """
import ftplib, sys
server = ftplib.FTP(timeout=5)
server.connect(sys.argv[1], 2121)
server.login()
for command in sys.argv[2:]:
    try:
        server.retrbinary(command, lambda data: print("read", len(data)))
    except ftplib.error_perm:
        print("refused")
"""


@pytest.mark.in_sandbox
@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's daemons have that user's rights")
def test_the_server_is_no_root_and_shows_nothing_of_root():
    with Testbed(MultipathPair(paths=1)) as testbed:
        client, server = testbed.net.hosts
        environment = congestion_control.preload_environment(server, mptcp=False)
        service = Vsftpd(server, TEMPORARY / "ftp", env=environment)
        (service.files / "sub").mkdir(parents=True)
        (service.files / "sub" / "inner").write_bytes(b"x" * 100)
        with service:
            for process in family(service.pid):
                status = Path(f"/proc/{process.pid}/status").read_text()
                assert "\nUid:\t0\t" not in status, "it runs as root"
            secret = TEMPORARY / "secret"
            secret.write_text("root's")
            secret.chmod(0o600)
            argv = [sys.executable, "-c", _TRIES, server.address(), f"RETR {secret}", "RETR sub/inner"]
            with running(client, argv) as process:
                told, said = process.communicate(timeout=30)
            assert process.returncode == 0, said
            assert told == "refused\nread 100\n"
