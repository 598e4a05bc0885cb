"""vsftpd and wget between two hosts: the bytes are the file's, over TCP and over every path of MPTCP."""

import os
from pathlib import Path

import pytest

from flightpath.errors import MeasurementFailed, StartFailed
from probes.counters import mptcp as proof
from probes.transfers.ftp import FtpDownload
from services.vsftpd import Vsftpd
from topologies.hosts import congestion_control
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

LINK = LinkSpec(bandwidth_bps=40_000_000, delay_s=0.002)
SIZE = 100_000_000
"""In one of some hundred transfers, reno's slow start loses so much that it takes more than a second to repair."""

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]


def serve(server: MultihomedHost, *, mptcp: bool = False) -> Vsftpd:
    service = Vsftpd(server, TEMPORARY / "ftp", env=congestion_control.preload_environment(server, mptcp=mptcp))
    service.files.mkdir(parents=True)
    (service.files / "file").write_bytes(os.urandom(SIZE))
    return service


@pytest.mark.parametrize(
    ("family", "mptcp"),
    [(6, True), *(pytest.param(*each, marks=pytest.mark.nightly) for each in ((4, False), (4, True), (6, False)))],
    ids=["mptcp over IPv6", "tcp", "mptcp", "tcp over IPv6"],
)
def test_a_file_arrives_whole_at_the_rate_of_its_paths_under_the_algorithm_asked_for(mptcp, family):
    network = MultipathPair(paths=2, links=LINK, mptcp=mptcp, family=family, congestion_control="reno")
    with Testbed(network) as testbed:
        client, server = testbed.net.hosts
        address = next(str(each.ip) for each in server.addresses[0] if each.version == family)
        seen: set[str] = set()
        with serve(server, mptcp=mptcp) as service:
            copy = Path(TEMPORARY / "copy")
            found = FtpDownload("file", SIZE, mptcp=mptcp, to=copy).run(
                client, address, watch=lambda: seen.update(congestion_control.in_use(server))
            )
            assert copy.read_bytes() == (service.files / "file").read_bytes()
        expected = 40e6 * PAYLOAD_SHARE * (2 if mptcp else 1)
        assert 0.8 * expected <= found.metrics["goodput"].value <= 1.03 * expected
        assert found.metrics["download"].value == pytest.approx(8 * SIZE / found.metrics["goodput"].value)
        assert seen == {"reno"}, "the sockets of a listener that lives for one transfer"
        if mptcp:
            told = proof.require_mptcp(client.name, {}, proof.read_counters(client))
            assert told == {"connections": 2, "joins": 2}, "of the commands and of the file"


def test_what_went_wrong_is_said():
    with Testbed(MultipathPair(paths=1, links=LINK)) as testbed:
        client, server = testbed.net.hosts
        with pytest.raises(MeasurementFailed, match=r"10\.0\.1\.2 to h1: .*refused"):
            FtpDownload("file", SIZE).run(client, server.address())
        with serve(server) as service:
            with pytest.raises(MeasurementFailed, match=r"No such file"):
                FtpDownload("another", SIZE).run(client, server.address())
            with pytest.raises(MeasurementFailed, match=f"{SIZE} bytes came of 5"):
                FtpDownload("file", 5).run(client, server.address())
            with pytest.raises(MeasurementFailed, match=r"no end after 0\.1 s"):
                FtpDownload("file", SIZE, limit_s=0.1).run(client, server.address())
            service.check()
            with pytest.raises(StartFailed, match="vsftpd on h2"), Vsftpd(server, TEMPORARY / "second"):
                pass
        server.congestion_control = "none_of_this_name"
        with pytest.raises(StartFailed, match="congestion control none_of_this_name"), serve_again(server):
            pass


def serve_again(server: MultihomedHost) -> Vsftpd:
    return Vsftpd(server, TEMPORARY / "third", env=congestion_control.preload_environment(server))
