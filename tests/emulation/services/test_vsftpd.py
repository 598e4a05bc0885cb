"""The FTP server of the testbed: anybody may log in, so it is not root, and shows nothing that is root's."""

import os
from pathlib import Path

import pytest

from flightpath.errors import MeasurementFailed
from flightpath.processes import family
from probes.transfers.ftp import FtpDownload
from services.vsftpd import Vsftpd
from topologies.hosts import congestion_control
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed


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
            theirs = FtpDownload(f"%2F{secret}", 6)
            theirs.run(client, server.address())  # what everybody may read
            secret.chmod(0o600)
            with pytest.raises(MeasurementFailed, match="No such file"):
                theirs.run(client, server.address())
            FtpDownload("sub/inner", 100).run(client, server.address())
