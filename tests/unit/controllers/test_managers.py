"""The managers of a controller, with switches in memory: what each event makes them send."""

import pytest

from controllers.forwarding.link_monitor import URGENCY
from controllers.openflow.cookies import RuleKind
from controllers.openflow.event_table import Event, PacketIn
from controllers.openflow.rules import Output
from controllers.openflow.steering_rules import Table
from controllers.openflow.switches import DROP_S
from controllers.packets.segments import ACK, SYN
from controllers.settings import Settings
from controllers.steering_managers import steering_table
from tests.support.memory_channel import MemoryChannel
from tests.support.steering_model import FABRIC, FLOW, H1, H2, H3, follow, frame_of
from tests.support.tcp_frames import ipv4, tcp

UNKNOWN = "02:00:00:00:00:99"
SYN_FRAME, LOST_FRAME = (
    bytes.fromhex((target + H1[0].mac).replace(":", "")) + rest
    for target, rest in ((H2[0].mac, ipv4(tcp())[12:]), (UNKNOWN, bytes(50)))
)


class Controlled:
    """A controller and its switches, which report and confirm when the test says so."""

    def __init__(self, policy: str = "disjoint") -> None:
        self.table = steering_table(Settings(policy, rest=()), FABRIC)
        self.channels = {switch.name: MemoryChannel(switch.dpid) for switch in FABRIC.switches}

    def connect(self, *names: str) -> None:
        """Connects switches that had no rules, by default all, and lets them confirm what they are sent."""
        for name in names or self.channels:
            self.table.connect(self.channels[name], 0.0)
            self.report(Event.RULES, name, [], True, 0.0)
        self.confirm()

    def report(self, event: Event, name: str, *arguments: object) -> None:
        channel = self.channels[name]
        self.table.handle(event, self.table.switches.by_channel[channel], *arguments)

    def confirm(self) -> None:
        while waiting := [name for name, channel in self.channels.items() if channel.barriers]:
            self.report(Event.CONFIRMED, waiting[0], self.channels[waiting[0]].barriers.pop(0))

    def packet_in(self, frame: bytes, table=Table.WATCH, cookie=RuleKind.HOLD.cookie) -> None:
        """A host's frame, by default a SYN that its switch holds."""
        connection = self.table.switches.by_channel[self.channels["e1"]]
        self.table.handle(Event.PACKET_IN, PacketIn(connection, H1[0].port, frame, len(frame), table, cookie, 1.0))

    def path(self) -> list[str]:
        """The switches at which the flow's frames arrive one after the other."""
        crossed, _ = follow(FABRIC, self.channels, H1[0], frame_of(FLOW, H2[0], ACK))
        return [port.switch for port in crossed]


@pytest.fixture
def steered() -> Controlled:
    """A controller whose switches are all connected."""
    controlled = Controlled()
    controlled.connect()
    return controlled


def test_probes_wait_until_a_switch_has_confirmed_its_rules():
    controlled = Controlled()
    e1, steps = controlled.channels["e1"], [step for _, steps in controlled.table.tasks for step in steps]
    controlled.table.connect(e1, 0.0)

    def probed() -> int:
        e1.frames.clear()
        for number in range(URGENCY):
            for step in steps:
                step(number * 0.025)
        return len(e1.frames)

    assert probed() == 0
    controlled.confirm()
    assert probed() == len(FABRIC.next_hops.link_ports("e1")) > 0


def test_a_switch_is_ready_when_it_has_confirmed_everything_that_it_was_sent(capsys):
    controlled, stranger = Controlled(), MemoryChannel(99)
    for switch in (controlled.channels["e1"], stranger):
        controlled.table.connect(switch, 0.0)
    sent, output = list(controlled.channels["e1"].sent), capsys.readouterr()
    assert sent[-1] == "send_barrier"
    assert {"add_rule", "delete_all_but", "request_ports", "request_rules"} < set(sent)
    assert output.out == ""
    controlled.confirm()
    assert capsys.readouterr().out.startswith("switch e1 ready: ")
    assert not stranger.sent
    assert "a switch with dpid 99 connected" in output.err
    controlled.report(Event.REFUSED, "e1", 1, "other")
    assert "switch e1 refused a message: other" in capsys.readouterr().err, "it is no base rule any more"


def test_the_end_of_an_old_connection_does_not_end_the_new_one_of_its_switch(steered):
    new, switches = MemoryChannel(1), steered.table.switches
    steered.table.connect(new, 0.0)
    steered.table.disconnect(steered.channels["e1"])
    assert switches.by_name["e1"].channel is new
    steered.table.disconnect(new)
    assert "e1" not in switches.by_name


def test_a_held_syn_goes_on_when_its_path_is_confirmed_and_its_flow_leaves_links_that_go_down(steered, capsys):
    e1 = steered.channels["e1"]
    steered.packet_in(SYN_FRAME)
    ((core, channel),) = ((name, it) for name, it in steered.channels.items() if it.barriers)
    steered.report(Event.CONFIRMED, core, channel.barriers.pop())
    assert e1.frames == [], "its own rules are not confirmed yet"
    steered.confirm()
    ((port, frame, actions),) = e1.frames
    assert (port, frame[:12], len(actions)) == (H1[0].port, SYN_FRAME[:12], 2)
    before = steered.path()
    assert before in (["e1", "c1", "e2"], ["e1", "c2", "e2"])
    port = {"c1": 1, "c2": 2}[before[1]]
    steered.report(Event.PORT, "e1", port, False, 2.0)
    steered.confirm()
    assert steered.path()[1] != before[1]
    for interface in H2:
        assert e1.handle(H3[0].port, {"eth_dst": interface.mac, "eth_type": 0x86DD})[0] == [3 - port], "not steered"
    steered.report(Event.PORT, "e1", 3 - port, False, 3.0)
    output = capsys.readouterr().out
    assert "1 flows moved, 0 stay" in output and "0 flows moved, 1 stay" in output


@pytest.mark.parametrize("how", ["refused", "disconnected"])
def test_a_held_syn_whose_path_fails_goes_on_as_forwarding_would_send_it(steered, how):
    steered.packet_in(SYN_FRAME)
    ((core, channel),) = ((name, it) for name, it in steered.channels.items() if it.barriers)
    if how == "refused":
        steered.report(Event.REFUSED, core, channel.barriers[0] - 1, "full")
    else:
        steered.table.disconnect(channel)
    assert [actions for _, _, actions in steered.channels["e1"].frames] == [(Output(1),)]


def test_frames_wait_until_all_switches_have_reported_their_rules():
    controlled = Controlled()
    controlled.connect("e1")
    controlled.packet_in(SYN_FRAME)
    assert not controlled.channels["e1"].frames and not controlled.channels["e1"].barriers
    controlled.connect("e2", "c1", "c2")
    assert len(controlled.channels["e1"].frames) == 1


def test_a_frame_to_an_unknown_destination_is_reported_once_and_dropped(steered, capsys):
    for _ in range(2):
        steered.packet_in(LOST_FRAME, Table.BASE, cookie=0)
    assert capsys.readouterr().err == f"switch e1: no rule for {H1[0].mac} -> {UNKNOWN} (no. 1); dropped\n"
    (rule,) = (it.rule for it in steered.channels["e1"].rules.values() if it.rule.hard_timeout_s == DROP_S)
    assert (rule.table, rule.match, rule.actions) == (Table.BASE, (("eth_dst", UNKNOWN),), ())


def test_switches_choose_paths_by_groups_if_the_policy_is_theirs():
    controlled = Controlled(policy="ecmp")
    controlled.connect()
    assert [len(buckets) for buckets in controlled.channels["e1"].groups.values()] == [2] * len(H2)
    assert controlled.channels["c1"].handle(1, frame_of(FLOW, H2[0], SYN))[:2] == ([2], False)
