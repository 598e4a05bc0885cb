"""Failures under way, of links and of the controller itself; and a host that floods the controller."""

import time

import pytest

from controllers.openflow.steering_rules import FINISHED_IDLE_S, FLOW_PRIORITY
from flightpath.commands import run
from flightpath.waiting import wait_until
from tests.support.killed import killed_at_end
from tests.support.rings import nightly
from tests.support.steering_tools import (
    Transfer,
    core_link,
    download,
    fabric,
    kill_controller,
    path_of,
    serving,
    start_controller,
    subflows,
)
from topologies.links.spec import LinkSpec
from topologies.testbed.testbed import Testbed

pytestmark = [pytest.mark.virtual, pytest.mark.in_sandbox]

SIZE = 4_000_000


def links_up(testbed) -> list[bool]:
    return [link["up"] for link in testbed.controller.view.topology()["links"]]


def fail(link, how: str, on: bool = True) -> None:
    if how == "cut":
        link.set_carrier(not on)
    else:
        link.set_black_hole(on, *([] if how == "black hole" else [how]))


@pytest.mark.parametrize("how", ["cut", "a_to_b", *(nightly(how) for how in ("black hole", "b_to_a"))])
def test_a_flow_leaves_a_dead_link_and_the_link_is_used_again_when_it_is_back(how):
    with Testbed(fabric(), policy="disjoint") as testbed, serving(testbed.host("h2"), "10.0.1.2", mptcp=False):
        transfer = Transfer(testbed.host("h1"), "10.0.1.2", 3 * SIZE, mptcp=False)
        transfer.wait_begun()
        (before,) = subflows(testbed).values()
        dead = core_link(testbed, "edge1", path_of(before))
        fail(dead, how)
        wait_until(lambda: path_of(next(iter(subflows(testbed).values()))) != path_of(before), "another path", 30)
        # TCP alone would wait for ever: that all arrives says that frames take the new path.
        assert transfer.end(60).received == 3 * SIZE
        (move,) = testbed.controller.view.topology()["moves"]
        assert (move["moved"], move["cause"]) == (1, "port down" if how == "cut" else "black hole")
        download(testbed.host("h1"), "10.0.1.2", 1000, mptcp=False)  # what is not steered yet finds its way too
        testbed.host("h1").run(["ip", "neigh", "flush", "all"])
        download(testbed.host("h1"), "10.0.1.2", 1000, mptcp=False)
        fail(dead, how, on=False)
        wait_until(lambda: all(links_up(testbed)), "the link to be back", 30)


def test_a_full_queue_is_no_black_hole():
    # Seconds of queue at 1 Mb/s, and losses besides: probes come late or never.
    slow = LinkSpec(bandwidth_bps=1_000_000, delay_s=0.005, queue="300kB")
    with Testbed(fabric(links=slow), policy="disjoint") as testbed:
        with serving(testbed.host("h2"), "10.0.1.2", mptcp=False):
            transfer = Transfer(testbed.host("h1"), "10.0.1.2", SIZE, mptcp=False)
            transfer.wait_begun()  # with losses, three requests for an address may all be lost: nothing would begin
            for link in testbed.links:
                if "core" in link.intf2.node.name:
                    link.change(loss=0.1)
            time.sleep(60)  # how much comes in that time is a matter of chance
            transfer.kill()
        assert testbed.controller.view.topology()["moves"] == []
        assert all(links_up(testbed))


def test_subflows_share_a_path_while_they_must_and_part_again():
    with Testbed(fabric(mptcp=True), policy="disjoint") as testbed, serving(testbed.host("h2"), "10.0.1.2"):
        transfer = Transfer(testbed.host("h1"), "10.0.1.2", 100 * SIZE)
        transfer.wait_begun()
        wait_until(lambda: len(subflows(testbed)) == 2, "two subflows", 30)

        def paths() -> set[str]:
            return {path_of(it) for it in subflows(testbed).values()}

        assert paths() == {"core1", "core2"}
        core_link(testbed, "edge2", "core2").set_carrier(False)
        wait_until(lambda: paths() == {"core1"}, "both subflows on one path", 30)
        core_link(testbed, "edge2", "core2").set_carrier(True)
        wait_until(lambda: paths() == {"core1", "core2"}, "the subflows to part again", 30)
        transfer.kill()


@pytest.mark.timeout(180)
def test_flows_outlive_the_controller_and_the_next_one_knows_them():
    with Testbed(fabric(mptcp=True), policy="disjoint") as testbed, serving(testbed.host("h2"), "10.0.1.2"):
        transfer = Transfer(testbed.host("h1"), "10.0.1.2", 100 * SIZE)
        transfer.wait_begun()
        wait_until(
            lambda: [it["state"] for it in subflows(testbed).values()] == ["established"] * 2, "two subflows", 10
        )
        before = subflows(testbed)
        kill_controller(testbed)
        began = testbed.host("h2").run(["ss", "-HtniO", "sport = :5001"])
        # Nobody steers, but nobody waits for long either.
        assert download(testbed.host("h1"), "10.0.1.2", 1000).received == 1000
        start_controller(testbed)
        assert subflows(testbed).keys() >= before.keys()
        after = subflows(testbed)
        for flow, it in before.items():
            for what in ("switches", "label", "token", "joined", "backup", "state"):
                assert after[flow][what] == it[what], what
        assert began != testbed.host("h2").run(["ss", "-HtniO", "sport = :5001"])
        # The next controller goes on where the first one ended: it moves these flows, and adds a join to them.
        core_link(testbed, "edge1", "core1").set_carrier(False)
        wait_until(lambda: {path_of(subflows(testbed)[flow]) for flow in before} == {"core2"}, "the flows to move", 10)
        transfer.abort()
        wait_until(lambda: not subflows(testbed).keys() & before.keys(), "the end of these flows", 30)


@pytest.mark.timeout(180)
def test_what_ends_while_no_controller_is_there_is_not_kept():
    def established(testbed) -> set:
        return {flow for flow, it in subflows(testbed).items() if it["state"] == "established"}

    def rules_of_flows() -> int:
        argv = ["ovs-ofctl", "-O", "OpenFlow13", "dump-flows"]
        tables = [run([*argv, switch, "table=1"]) for switch in ("edge1", "edge2")]
        return sum(text.count(f"priority={FLOW_PRIORITY},") for text in tables)

    with Testbed(fabric(mptcp=True), policy="disjoint") as testbed, serving(testbed.host("h2"), "10.0.1.2"):
        lasting = Transfer(testbed.host("h1"), "10.0.1.2", 100 * SIZE)
        lasting.wait_begun()
        wait_until(lambda: len(established(testbed)) == 2, "its two subflows", 30)
        kept = established(testbed)
        ending = Transfer(testbed.host("h1"), "10.0.1.2", 100 * SIZE, mptcp=False)
        ending.wait_begun()
        wait_until(lambda: len(established(testbed)) == 3, "the other one", 30)
        kill_controller(testbed)
        ending.kill()
        start_controller(testbed)
        # Switches let go what has ended and is silent; what goes on they keep.
        wait_until(lambda: established(testbed) == kept, "only what goes on to be left", FINISHED_IDLE_S + 30)
        wait_until(lambda: rules_of_flows() == 2 * len(kept), "the rules of the others to be gone", 30)
        lasting.kill()


SYNS = """
import random, socket, sys, time
while True:  # some thousand a second: many for a controller, little for the links
    for _ in range(5):
        with socket.socket() as begun:
            begun.setblocking(False)
            begun.connect_ex((sys.argv[1], random.randrange(1, 65536)))
    time.sleep(0.001)
"""


def test_a_flood_of_syns_costs_other_hosts_no_connection_and_the_controller_no_memory():
    with (
        Testbed(fabric(hosts=2, multihomed=False), policy="disjoint") as testbed,
        serving(testbed.host("h3"), "10.0.1.3", mptcp=False),
    ):
        with killed_at_end(testbed.host("h2").popen(["python3", "-c", SYNS, "10.0.1.4"])):
            view = testbed.controller.view
            wait_until(lambda: view.metrics()["ports_quietened_total"] >= 1, "the flood to be noticed", 30)
            slowest = max(download(testbed.host("h1"), "10.0.1.3", 1000, mptcp=False).connect_s for _ in range(20))
            assert slowest < 3, "a SYN was lost twice"
            assert len(subflows(testbed)) <= 300
            wait_until(lambda: view.metrics()["ports_quietened_total"] >= 2, "it to be noticed again", 30)
            assert len(subflows(testbed)) <= 300
            steered = view.metrics()['syns_total{outcome="steered"}']
            download(testbed.host("h1"), "10.0.1.3", 1000, mptcp=False)
            assert view.metrics()['syns_total{outcome="steered"}'] > steered
        assert view.health()["ready"]
        assert view.topology()["moves"] == [], "links looked dead to a busy controller"
        testbed.check()
