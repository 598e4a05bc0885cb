"""A receiver that notes every silence: against links that were silent for a known time."""

import time

import pytest

from flightpath.errors import MeasurementFailed
from probes.transfers.stream import Stream
from services.stream import StreamServer
from topologies.links.spec import PAYLOAD_SHARE, LinkSpec
from topologies.multipath_pair import MultipathPair
from topologies.sandbox.sandbox import TEMPORARY
from topologies.testbed.testbed import Testbed

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

LINK = LinkSpec(bandwidth_bps=20_000_000, delay_s=0.005)
PAYLOAD_BPS = 20e6 * PAYLOAD_SHARE


@pytest.mark.parametrize(("mptcp", "port"), [(False, 0), (True, 0), (True, 6)], ids=["tcp", "mptcp", "mptcp over ipv6"])
def test_goodput_first_byte_and_silence(mptcp, port):
    family = 6 if port else 4
    network = MultipathPair(paths=2, links=LINK, mptcp=mptcp, family=family, congestion_control="cubic")
    with Testbed(network) as testbed:
        client, server = testbed.net.hosts
        address = server.address() if family == 4 else str(server.addresses[0][1].ip)
        events: dict[str, int] = {}

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


def test_what_went_wrong_is_said():
    with Testbed(MultipathPair(paths=1)) as testbed:
        client, server = testbed.net.hosts
        with pytest.raises(MeasurementFailed, match=r"could not read the stream: .*refused"):
            Stream(seconds=1).run(client, server.address())
        with StreamServer(server, TEMPORARY) as source:
            begun = time.monotonic()
            with pytest.raises(MeasurementFailed, match=r"closed the connection|reset"):
                Stream(seconds=60).run(client, server.address(), on_start=lambda start_ns: source.stop())
            assert time.monotonic() - begun < 20
