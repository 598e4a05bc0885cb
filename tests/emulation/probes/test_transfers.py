"""Transfers between two hosts, by iperf3, FTP, our own stream and requests: rates, bytes, silences, response times."""

import os
import time
from pathlib import Path

import pytest

from flightpath.errors import MeasurementFailed, StartFailed
from probes.counters import mptcp as proof
from probes.transfers.ftp import FtpDownload
from probes.transfers.iperf3 import Iperf3
from probes.transfers.requests import Requests
from probes.transfers.stream import Stream
from services.iperf3 import Iperf3Server
from services.reply import ReplyServer, RequestPattern
from services.stream import StreamServer
from services.vsftpd import Vsftpd
from tests.support.rings import nightly
from topologies.hosts import congestion_control
from topologies.hosts.multihomed import MultihomedHost
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

LINK = LinkSpec(bandwidth_bps=40_000_000, delay_s=0.002)


@pytest.mark.parametrize("mptcp", [False, True], ids=["tcp", "mptcp"])
def test_goodput_is_what_the_paths_allow(mptcp):
    with Testbed(MultipathPair(paths=2, links=LINK, mptcp=mptcp, congestion_control="cubic")) as testbed:
        client, server = testbed.net.hosts
        with Iperf3Server(server, TEMPORARY, mptcp=mptcp):
            for backwards in (False, True):
                found = Iperf3(seconds=3, mptcp=mptcp, reverse=backwards).run(client, server.address())
                expected = 40e6 * PAYLOAD_SHARE * (2 if mptcp else 1)
                assert 0.9 * expected <= found.metrics["goodput"].value <= 1.02 * expected
                series = found.series["goodput"]
                assert series.times_s == pytest.approx([0.5 * i for i in range(len(series.times_s))], abs=0.02)
                assert len(series.values) >= 5 and max(series.values) <= 1.02 * expected, "no more than the paths carry"


def test_iperf3_takes_a_size_instead_of_a_time_or_sends_datagrams_and_a_watcher_can_end_it():
    def give_up() -> None:
        raise MeasurementFailed("a part has ended")

    with Testbed(MultipathPair(paths=1, links=LINK)) as testbed:
        client, server = testbed.net.hosts
        with Iperf3Server(server, TEMPORARY) as service:
            sized = Iperf3(size_bytes=5_000_000, reverse=True).run(client, server.address())
            datagrams = Iperf3(seconds=3, udp_bps=60_000_000).run(client, server.address())
            with pytest.raises(MeasurementFailed, match="a part has ended"):
                Iperf3(seconds=30).run(client, server.address(), watch=give_up)
            service.check()
    assert 1.0 <= 5e6 * 8 / sized.metrics["goodput"].value <= 1.4, "seconds for 5 MB at 40 Mbit/s"
    assert len(sized.series["goodput"].values) <= 3, "it ends with the last byte, not after a time"
    assert 24 <= datagrams.metrics["lost"].value <= 36, "a third does not fit"
    assert 36e6 <= datagrams.metrics["goodput"].value <= 40e6


SIZE = 100_000_000
"""In one of some hundred transfers, reno's slow start loses so much that it takes more than a second to repair."""


def address_of(host: MultihomedHost, family: int) -> str:
    return next(str(each.ip) for each in host.addresses[0] if each.version == family)


def serve(server: MultihomedHost, *, mptcp: bool = False) -> Vsftpd:
    service = Vsftpd(server, TEMPORARY / "ftp", env=congestion_control.preload_environment(server, mptcp=mptcp))
    service.files.mkdir(parents=True)
    (service.files / "file").write_bytes(os.urandom(SIZE))
    return service


OVER_BOTH = pytest.mark.parametrize(("family", "mptcp"), [(6, True), nightly(4, False)], ids=["mptcp over IPv6", "tcp"])


@OVER_BOTH
def test_a_file_arrives_whole_at_the_rate_of_its_paths_under_the_algorithm_asked_for(mptcp, family):
    network = MultipathPair(paths=2, links=LINK, mptcp=mptcp, family=family, congestion_control="reno")
    with Testbed(network) as testbed:
        client, server = testbed.net.hosts
        seen: set[str] = set()
        with serve(server, mptcp=mptcp) as service:
            copy = Path(TEMPORARY / "copy")
            found = FtpDownload("file", SIZE, mptcp=mptcp, to=copy).run(
                client, address_of(server, family), watch=lambda: seen.update(congestion_control.in_use(server))
            )
            assert copy.read_bytes() == (service.files / "file").read_bytes()
        expected = 40e6 * PAYLOAD_SHARE * (2 if mptcp else 1)
        assert 0.8 * expected <= found.metrics["goodput"].value <= 1.03 * expected
        assert found.metrics["download"].value == pytest.approx(8 * SIZE / found.metrics["goodput"].value)
        assert seen == {"reno"}, "the sockets of a listener that lives for one transfer"
        if mptcp:
            told = proof.require_mptcp(client.name, {}, proof.read_counters(client))
            assert told == {"connections": 2, "joins": 2}, "of the commands and of the file"


def test_what_went_wrong_with_a_file_is_said():
    with Testbed(MultipathPair(paths=1, links=LINK)) as testbed:
        client, server = testbed.net.hosts
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
        third = Vsftpd(server, TEMPORARY / "third", env=congestion_control.preload_environment(server))
        with pytest.raises(StartFailed, match="congestion control none_of_this_name"), third:
            pass


LONG_LINK = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.005)
PAYLOAD_BPS = 20e6 * PAYLOAD_SHARE


@OVER_BOTH
def test_goodput_first_byte_and_silence(mptcp, family):
    network = MultipathPair(paths=2, links=LONG_LINK, mptcp=mptcp, family=family, congestion_control="cubic")
    with Testbed(network) as testbed:
        client, server = testbed.net.hosts
        address, events = address_of(server, family), {}

        def cut(start_ns: int) -> None:
            events["from"] = start_ns + 2_000_000_000
            events["to"] = events["from"] + 300_000_000
            for link in testbed.links:
                link.set_black_hole(True, at_ns=events["from"])
                link.set_black_hole(False, at_ns=events["to"])

        with StreamServer(server, TEMPORARY, mptcp=mptcp):
            probe = Stream(seconds=4, connections=2, mptcp=mptcp)
            waits = probe.first_byte_ms(client, address, 5)
            assert len(waits) == 5
            assert 20 <= min(waits) < 60, "two round trips of 10 ms"
            told = probe.run(client, address, on_start=cut)
        assert told.goodput_bps(0.5, 2) == pytest.approx(PAYLOAD_BPS * (2 if mptcp else 1), rel=0.1)
        assert sum(told.bins) == sum(told.bytes)
        assert len(told.bytes) == len(told.first_byte_ms) == 2
        assert 0.25 <= told.longest_silence_s(events["from"], events["to"]) < 1.5
        assert told.longest_silence_s(told.start_ns + 500_000_000, events["from"] - 100_000_000) < 0.25
        assert sum(told.goodput().values) * 0.1 / 8 == pytest.approx(sum(told.bins))


def test_a_server_that_is_not_there_or_goes_away_is_said():
    with Testbed(MultipathPair(paths=1)) as testbed:
        client, server = testbed.net.hosts
        for probe, said in (
            (Iperf3(seconds=1), r"h1 to 10\.0\.1\.2: .*refused"),
            (FtpDownload("file", SIZE), r"10\.0\.1\.2 to h1: .*refused"),
            (Stream(seconds=1), r"could not read the stream: .*refused"),
            (Requests(RequestPattern(1, ANSWER)), r"h1 to 10\.0\.1\.2: .*refused"),
        ):
            with pytest.raises(MeasurementFailed, match=said):
                probe.run(client, server.address())
        with StreamServer(server, TEMPORARY) as source:
            begun = time.monotonic()
            with pytest.raises(MeasurementFailed, match=r"closed the connection|reset"):
                Stream(seconds=60).run(client, server.address(), on_start=lambda start_ns: source.stop())
            assert time.monotonic() - begun < 20


ANSWER = 100_000
WIRE_MS = 1e3 * 8 * ANSWER / PAYLOAD_BPS
"""Time of an answer on a path."""


def test_answers_take_what_the_path_takes_and_wait_behind_each_other_if_they_come_too_fast():
    with Testbed(MultipathPair(paths=2, links=LONG_LINK, congestion_control="cubic")) as testbed:
        client, server = testbed.net.hosts
        with ReplyServer(server, TEMPORARY, mptcp=True):
            in_turn, with_time, too_fast = (
                Requests(RequestPattern(20, ANSWER, interval_s)).run(client, server.address())
                for interval_s in (0, 0.1, 0.02)
            )
            over_both = Requests(RequestPattern(5, 20 * ANSWER), mptcp=True).run(client, server.address())
    alone_ms = WIRE_MS + 10
    assert with_time.metrics["connect"].value == pytest.approx(10, abs=1)
    assert in_turn.metrics["latency_service_p50"].value == pytest.approx(alone_ms, rel=0.05)
    assert in_turn.metrics["goodput"].value == pytest.approx(8e3 * ANSWER / alone_ms, rel=0.15), "slow start counts"
    assert with_time.metrics["latency_intended_p50"].value == pytest.approx(alone_ms, rel=0.05)
    assert with_time.series["latency"].times_s == pytest.approx([0.1 * number for number in range(20)])
    # The last has waited for 19 others, each of which takes longer than the time until the next.
    last_ms = too_fast.series["latency"].values[-1]
    assert last_ms == pytest.approx(alone_ms + 19 * (WIRE_MS - 20), rel=0.1)
    assert last_ms == too_fast.metrics["latency_intended_max"].value
    assert over_both.metrics["goodput"].value > 1.3 * PAYLOAD_BPS
