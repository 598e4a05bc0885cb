"""QUIC and multipath QUIC between two hosts: every byte arrives, over the paths that it should take."""

from pathlib import Path

import pytest

from flightpath.commands import run
from flightpath.errors import MeasurementFailed, UsageError
from probes.transfers.quic import QuicTransfer
from services.quic.implementations import IMPLEMENTATIONS
from services.quic.server import QuicServer
from services.reply import RequestPattern
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox, pytest.mark.nightly]
"""Not in `make test`, because it needs `make quic`. What is not built fails."""

LINK = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.005)
SIZE = 5_000_000
ADDRESSES = ("10.0.1.2", "10.0.2.2")


def carried(testbed: Testbed) -> list[int]:
    """The bytes so far on each path, towards the client."""
    return [link.stats()["directions"]["b_to_a"]["out_bytes"] for link in testbed.links]


@pytest.mark.parametrize("name", [name for name, each in IMPLEMENTATIONS.items() if each.multipath_draft])
def test_each_path_carries_its_share_in_either_order(name):
    with Testbed(MultipathPair(paths=2, links=LINK, mptcp=False)) as testbed:
        client, server = testbed.net.hosts
        implementation, goodputs = IMPLEMENTATIONS[name], []
        _, cubic = implementation.algorithm("cubic")
        with QuicServer(server, TEMPORARY, implementation, paths=2) as service:
            for first, second in (ADDRESSES, ADDRESSES[::-1]):
                before = carried(testbed)
                found = QuicTransfer(service, SIZE, further_paths=(second,)).run(client, first)
                moved = [after - earlier for after, earlier in zip(carried(testbed), before, strict=True)]
                assert min(moved) > 0.35 * sum(moved) and SIZE < sum(moved) < 1.2 * SIZE
                assert found.metadata["congestion_control"] == [cubic]
                assert found.metadata["multipath"] == implementation.multipath_draft
                assert found.metadata["server"]["multipath"]
                goodputs.append(found.metrics["goodput"].value)
        assert min(goodputs) > 1.2 * 20e6 * PAYLOAD_SHARE, "more than one path"
        assert goodputs[0] == pytest.approx(goodputs[1], rel=0.1)


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_one_path_is_filled_in_both_directions_and_what_was_lost_is_counted(name):
    with Testbed(MultipathPair(paths=2, links=LINK, mptcp=False)) as testbed:
        client, server = testbed.net.hosts
        with QuicServer(server, TEMPORARY, IMPLEMENTATIONS[name], congestion_control="reno") as service:
            for upload in (False, True):
                before = carried(testbed)
                found = QuicTransfer(service, SIZE, upload=upload).run(client, server.address())
                assert 0.6 * 20e6 * PAYLOAD_SHARE < found.metrics["goodput"].value < 1.01 * 20e6 * PAYLOAD_SHARE
                assert carried(testbed)[1] - before[1] < 20_000, "the other path"
                assert found.metadata["sent_packets"] > SIZE / 1500 and 0 <= found.metrics["lost"].value < 20
                assert found.metadata["limit"] == "" and found.metadata["socket_drops"] == 0
                assert found.metadata["udp"]["server" if upload else "client"]["InDatagrams"] > 100
            with pytest.raises(UsageError, match="allows 1 paths"):
                QuicTransfer(service, SIZE, further_paths=("10.0.2.2",))
            with pytest.raises(MeasurementFailed, match=r"h1 to 10\.0\.1\.99"):
                QuicTransfer(service, SIZE, limit_s=20).run(client, "10.0.1.99")


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_each_request_has_a_stream_and_takes_what_the_path_takes(name):
    with Testbed(MultipathPair(paths=1, links=LINK, mptcp=False)) as testbed:
        client, server = testbed.net.hosts
        with QuicServer(server, TEMPORARY, IMPLEMENTATIONS[name]) as service:
            for pattern in (RequestPattern(10, 100_000), RequestPattern(10, 100_000, 0.1)):
                found = QuicTransfer(service, 1_000_000, pattern=pattern).run(client, server.address())
                kind = "intended" if pattern.interval_s else "service"
                assert 42 < found.metrics[f"latency_{kind}_p50"].value < 62, "42 ms on the wire, 10 to and fro"
                assert len(found.series["latency"].values) == pattern.count
            with pytest.raises(UsageError, match="pattern"):
                QuicTransfer(service, 1, pattern=pattern)


def test_a_request_that_two_packets_divide_is_answered():
    """After an outage aioquic fills its packets with requests, and divides the last one."""
    feed = """
import asyncio
import aioquic_program as program
from unittest.mock import Mock
from aioquic.quic.events import StreamDataReceived
async def feed():
    server = program._Server(Mock())
    request = program._REQUEST.pack(b"d", 5)
    for data, is_last in ((request[:1], False), (request[1:3], False), (request[3:], True)):
        server.quic_event_received(StreamDataReceived(data=data, end_stream=is_last, stream_id=4))
    server._quic.send_stream_data.assert_called_once_with(4, bytes(5), end_stream=True)
asyncio.run(feed())
"""
    *python, program = IMPLEMENTATIONS["aioquic"].program()
    run([*python[:-1], "-c", f"import sys; sys.path.append({str(Path(program).parent)!r})\n{feed}"])
