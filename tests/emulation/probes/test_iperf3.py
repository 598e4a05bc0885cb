"""A transfer by iperf3 between two hosts, over TCP, MPTCP and UDP, as a receiver counts it."""

import pytest

from flightpath.errors import MeasurementFailed
from probes.transfers.iperf3 import Iperf3
from services.iperf3 import Iperf3Server
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
            probe = Iperf3(seconds=3, mptcp=mptcp)
            for backwards in (False, True):
                found = Iperf3(**{**vars(probe), "reverse": backwards}).run(client, server.address())
                expected = 40e6 * PAYLOAD_SHARE * (2 if mptcp else 1)
                assert 0.9 * expected <= found.metrics["goodput"].value <= 1.02 * expected
                series = found.series["goodput"]
                assert series.times_s == pytest.approx([0.5 * i for i in range(len(series.times_s))], abs=0.02)
                assert len(series.values) >= 5 and max(series.values) <= 1.02 * expected, "no more than the paths carry"


def test_a_size_instead_of_a_time():
    with Testbed(MultipathPair(paths=1, links=LINK)) as testbed:
        client, server = testbed.net.hosts
        with Iperf3Server(server, TEMPORARY):
            found = Iperf3(size_bytes=5_000_000, reverse=True).run(client, server.address())
        took_s = 5e6 * 8 / found.metrics["goodput"].value
        assert 1.0 <= took_s <= 1.4, "5 MB at 40 Mbit/s"
        assert len(found.series["goodput"].values) <= 3, "it ends with the last byte, not after a time"


def test_udp_at_a_rate_of_its_own():
    with Testbed(MultipathPair(paths=1, links=LINK)) as testbed:
        client, server = testbed.net.hosts
        with Iperf3Server(server, TEMPORARY):
            found = Iperf3(seconds=3, udp_bps=60_000_000).run(client, server.address())
        assert 24 <= found.metrics["lost"].value <= 36, "a third does not fit"
        assert 36e6 <= found.metrics["goodput"].value <= 40e6


def test_what_iperf3_says_is_in_the_error_and_a_watcher_can_end_it():
    with Testbed(MultipathPair(paths=1)) as testbed:
        client, server = testbed.net.hosts
        with pytest.raises(MeasurementFailed, match=r"h1 to 10\.0\.1\.2: .*refused"):
            Iperf3(seconds=1).run(client, server.address())

        def give_up() -> None:
            raise MeasurementFailed("a part has ended")

        with Iperf3Server(server, TEMPORARY) as service:
            with pytest.raises(MeasurementFailed, match="a part has ended"):
                Iperf3(seconds=30).run(client, server.address(), watch=give_up)
            service.check()
