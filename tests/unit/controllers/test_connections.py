"""Flows that are one connection: on the kernel's own handshakes, and with whatever hostile hosts send."""

from collections import Counter as Tally
from dataclasses import replace

import pytest

from controllers.network.description import Switch
from controllers.openflow.event_table import PacketIn
from controllers.openflow.switches import SwitchConnection
from controllers.packets.mptcp_options import MpCapable, MpJoin, MptcpOptions, token_of
from controllers.packets.segments import ACK, SYN, FlowKey, Segment
from controllers.resilience.flood_guard import FloodGuard
from controllers.subflows.connection_records import Admission, Connection, Counters, State, Subflow, SynKind
from controllers.subflows.connections import LARGEST_ID, ConnectionTable
from tests.support.captures import JOINED, kernels_token, segments
from tests.support.memory_channel import MemoryChannel

CLIENT, SERVER, STRANGER = "10.0.0.1", "10.0.0.2", "10.0.0.9"
PORT, OTHER_PORT = ("s1", 1), ("s2", 1)
KEY = b"aserver'"
TOKEN = token_of(KEY)
CAPABLE = MptcpOptions(capable=MpCapable(1, None))
GRANTED = MptcpOptions(capable=MpCapable(1, KEY))
JOIN_GRANTED = MptcpOptions(join=MpJoin(None, False))
PLAIN = MptcpOptions()


def flow(port: int, source: str = CLIENT) -> FlowKey:
    return FlowKey(source, SERVER, port, 80)


def syn(key: FlowKey, sequence: int = 1) -> Segment:
    return Segment("02:00:00:00:00:01", "02:00:00:00:00:02", key, SYN, sequence, b"", 0, 0)


def syn_ack(key: FlowKey, sequence: int = 1, data: int = 0) -> Segment:
    return replace(syn(key.reversed(), 77), flags=SYN | ACK, acknowledgement=(sequence + 1 + data) % 2**32)


def joining(token: int = TOKEN, *, backup: bool = False) -> MptcpOptions:
    return MptcpOptions(join=MpJoin(token, backup))


def table_with_mptcp(**arguments) -> ConnectionTable:
    """One established MPTCP connection, opened from port 1000."""
    table = ConnectionTable(**arguments)
    table.on_syn(syn(flow(1000)), CAPABLE, PORT, 0.0)
    table.on_syn_ack(syn_ack(flow(1000)), GRANTED, 0.1)
    return table


def established(table: ConnectionTable, port: int, ingress=PORT) -> None:
    table.on_syn(syn(flow(port)), PLAIN, ingress, 0.0)
    assert table.on_syn_ack(syn_ack(flow(port)), PLAIN, 0.1).state is State.ESTABLISHED


def restored(number: int, key: FlowKey, path: int = 0, ingress=PORT, *, backup=False, joined=False) -> Subflow:
    return Subflow(number, key, ingress, State.ESTABLISHED, path, backup, joined, seen_s=50.0)


@pytest.mark.parametrize("name", JOINED)
def test_the_kernels_subflows_are_one_connection_with_the_kernels_token(name):
    table, opened = ConnectionTable(), []
    for segment, options in segments(name):
        if segment.is_syn:
            opened.append(segment.flow)
            table.on_syn(segment, options, PORT, 0.0)
        elif segment.is_syn_ack:
            table.on_syn_ack(segment, options, 0.0)
    (connection,) = table.connections()
    assert (connection.protocol, connection.token) == ("mptcp", kernels_token(name))
    assert [subflow.flow for subflow in connection.subflows] == opened
    assert Tally(subflow.backup for subflow in connection.subflows) == {False: 2, True: 2}
    assert {subflow.state for subflow in connection.subflows} == {State.ESTABLISHED}
    assert table.counters == Counters(opened=1, mptcp=1, joins=3)


def test_a_connection_from_its_first_syn_to_its_end():
    table = ConnectionTable()
    first = Subflow(1, flow(1000), PORT, State.PENDING, None, backup=False, joined=False, seen_s=5.0, sequence=1)
    assert table.on_syn(syn(flow(1000)), CAPABLE, PORT, 5.0) == Admission(SynKind.OPENED, first)
    assert table.set_path(flow(1000), 3) == replace(first, path=3)
    first = replace(first, path=3, state=State.ESTABLISHED)
    assert table.on_syn_ack(syn_ack(flow(1000)), GRANTED, 5.1) == first
    second = Subflow(1, flow(1001), PORT, State.PENDING, None, backup=True, joined=True, seen_s=6.0, sequence=1)
    assert table.on_syn(syn(flow(1001)), joining(backup=True), PORT, 6.0) == Admission(SynKind.JOINED, second)
    connection = Connection(1, "mptcp", TOKEN, (first, second), opened_s=5.0)
    assert table.connections() == (connection,) and table.find_by_token(None, TOKEN) == connection
    assert table.close(flow(1000).reversed()) == first
    assert table.connection(1).subflows == (second,)
    table.close(flow(1001))
    assert (table.connections(), table.find_by_token(None, TOKEN), table.find(flow(1000))) == ((), None, None)
    assert (table.close(flow(1001)), table.set_path(flow(1001), 1)) == (None, None)
    assert table.on_syn(syn(flow(1002)), joining(), PORT, 7.0).kind is SynKind.UNKNOWN_TOKEN
    assert (table.find(flow(1002)), table.counters.unknown_tokens) == (None, 1)


def test_a_retransmission_is_the_same_flow_and_keeps_its_path():
    table = ConnectionTable()
    table.on_syn(syn(flow(1000)), CAPABLE, PORT, 0.0)
    table.set_path(flow(1000), 2)
    again = table.on_syn(syn(flow(1000)), PLAIN, PORT, 1.0)  # Linux leaves MP_CAPABLE out of a later retransmission
    assert (again.kind, again.subflow.path, again.removed) == (SynKind.REPEATED, 2, ())
    table.on_syn_ack(syn_ack(flow(1000)), PLAIN, 1.1)
    late = table.on_syn(syn(flow(1000)), CAPABLE, PORT, 1.2)
    assert (late.kind, late.subflow.state) == (SynKind.REPEATED, State.ESTABLISHED)
    assert (table.connections()[0].protocol, table.counters.opened, table.counters.fallbacks) == ("tcp", 1, 1)


def test_another_syn_on_the_same_addresses_and_ports_is_another_connection():
    table = table_with_mptcp()
    admission = table.on_syn(syn(flow(1000), sequence=2), PLAIN, PORT, 9.0)
    assert admission.kind is SynKind.OPENED
    assert [(it.flow, it.state) for it in admission.removed] == [(flow(1000), State.ESTABLISHED)]
    assert [connection.protocol for connection in table.connections()] == ["tcp"]
    assert table.find_by_token(None, TOKEN) is None


def test_a_syn_ack_must_acknowledge_the_syn():
    table = ConnectionTable()
    table.on_syn(syn(flow(1000), 2**32 - 1), CAPABLE, PORT, 0.0)
    assert table.on_syn_ack(syn_ack(flow(1000), 2**31), GRANTED, 0.1) is None
    assert table.on_syn_ack(syn_ack(flow(1000), 2**32 - 1, data=-1), GRANTED, 0.1) is None
    assert table.on_syn_ack(syn_ack(flow(1001)), GRANTED, 0.1) is None
    assert table.find(flow(1000)).state is State.PENDING
    answered = table.on_syn_ack(syn_ack(flow(1000), 2**32 - 1, data=100), GRANTED, 0.1)  # TCP Fast Open
    assert answered.state is State.ESTABLISHED


def test_the_first_answer_counts():
    table = table_with_mptcp()
    other = MptcpOptions(capable=MpCapable(1, b"another!"))
    assert table.on_syn_ack(syn_ack(flow(1000)), other, 0.2).state is State.ESTABLISHED
    assert table.on_syn_ack(syn_ack(flow(1000)), PLAIN, 0.2).state is State.ESTABLISHED
    assert table.connections()[0].token == TOKEN
    assert table.counters == Counters(opened=1, mptcp=1)


def test_a_join_that_is_not_granted_stays_pending_until_it_expires():
    table = table_with_mptcp()
    table.on_syn(syn(flow(1001)), joining(), PORT, 1.0)
    assert table.on_syn_ack(syn_ack(flow(1001)), PLAIN, 1.1).state is State.PENDING
    assert [it.flow for it in table.expire(41.0)] == [flow(1001)]
    assert len(table.connections()[0].subflows) == 1
    assert (table.counters.joins, table.counters.expired) == (0, 1)


def test_oddities_are_counted():
    table = ConnectionTable()
    table.on_syn(syn(flow(1)), MptcpOptions(version_0=True), PORT, 0.0)
    table.on_syn(syn(flow(2)), MptcpOptions(malformed=3), PORT, 0.0)
    table.on_syn_ack(syn_ack(flow(2)), MptcpOptions(malformed=1), 0.0)
    assert table.counters == Counters(opened=2, version_0=1, malformed=2)
    assert [connection.protocol for connection in table.connections()] == ["tcp", "tcp"]


def test_pending_flows_expire_and_established_ones_do_not():
    table = table_with_mptcp(pending_s=10)
    for port, at_s in ((1, 1.0), (2, 2.0), (3, 3.0)):
        table.on_syn(syn(flow(port)), PLAIN, PORT, at_s)
    table.on_syn(syn(flow(1)), PLAIN, PORT, 5.0)
    assert table.expire(11.9) == ()
    assert [it.flow for it in table.expire(13.0)] == [flow(2), flow(3)]
    assert [it.flow for it in table.expire(15.0)] == [flow(1)]
    assert table.expire(1e9) == ()
    assert len(table.connections()) == 1


def test_a_flood_from_one_port_evicts_only_its_own_pending_flows():
    table = ConnectionTable(limit=100, pending_per_port=5)
    established(table, 1)
    table.on_syn(syn(flow(2)), PLAIN, OTHER_PORT, 0.0)
    removed = []
    for number in range(1000):
        admission = table.on_syn(syn(flow(10 + number, STRANGER)), PLAIN, PORT, 1.0)
        assert admission.kind is SynKind.OPENED
        removed += admission.removed
    assert [it.flow for it in removed] == [flow(10 + number, STRANGER) for number in range(995)]
    assert len(table.connections()) == 2 + 5
    assert table.find(flow(1)).state is State.ESTABLISHED
    assert table.find(flow(2)) is not None
    assert table.counters.evicted == 995


def test_a_port_has_at_most_half_of_all_connections_and_gives_up_its_oldest_pending_one_for_another():
    table = ConnectionTable(limit=4)
    established(table, 1)
    table.on_syn(syn(flow(2)), PLAIN, PORT, 0.0)
    admission = table.on_syn(syn(flow(3)), PLAIN, PORT, 1.0)
    assert (admission.kind, [it.flow for it in admission.removed]) == (SynKind.OPENED, [flow(2)])
    table.on_syn_ack(syn_ack(flow(3)), PLAIN, 1.1)
    assert table.on_syn(syn(flow(4)), PLAIN, PORT, 2.0) == Admission(SynKind.REFUSED)
    assert table.on_syn(syn(flow(5)), PLAIN, OTHER_PORT, 2.0).kind is SynKind.OPENED
    assert table.counters.refused == 1


def test_a_full_table_makes_room_where_most_is_pending():
    table = ConnectionTable(limit=4)
    established(table, 1, ("s1", 1))
    table.on_syn(syn(flow(2)), PLAIN, ("s1", 2), 0.0)
    table.on_syn(syn(flow(3)), PLAIN, ("s1", 2), 0.1)
    established(table, 4, ("s1", 3))
    admission = table.on_syn(syn(flow(5)), PLAIN, ("s1", 4), 1.0)
    assert (admission.kind, [it.flow for it in admission.removed]) == (SynKind.OPENED, [flow(2)])
    for port in (3, 5):
        assert table.on_syn_ack(syn_ack(flow(port)), PLAIN, 1.1).state is State.ESTABLISHED
    assert table.on_syn(syn(flow(6)), PLAIN, ("s1", 5), 2.0).kind is SynKind.REFUSED
    assert len(table.connections()) == 4


def test_a_connection_has_a_bounded_number_of_subflows():
    table = table_with_mptcp(subflows_per_connection=3)
    table.on_syn(syn(flow(1)), joining(), PORT, 1.0)
    table.on_syn(syn(flow(2)), joining(), PORT, 1.0)
    table.on_syn_ack(syn_ack(flow(1)), JOIN_GRANTED, 1.0)
    admission = table.on_syn(syn(flow(3)), joining(), PORT, 1.0)
    assert (admission.kind, [it.flow for it in admission.removed]) == (SynKind.JOINED, [flow(2)])
    table.on_syn_ack(syn_ack(flow(3)), JOIN_GRANTED, 1.0)
    assert table.on_syn(syn(flow(4)), joining(), PORT, 1.0).kind is SynKind.REFUSED
    assert [it.flow for it in table.connections()[0].subflows] == [flow(1000), flow(1), flow(3)]


def test_a_flow_cannot_be_taken_over_from_another_port():
    table = table_with_mptcp()
    before = table.connections()
    for sequence in (1, 2):
        assert table.on_syn(syn(flow(1000), sequence), PLAIN, OTHER_PORT, 1.0).kind is SynKind.REFUSED
    assert table.connections() == before


def test_a_token_is_its_hosts_own_also_if_the_host_becomes_known_later():
    hosts: dict[str, str] = {}
    table = table_with_mptcp(host_of=hosts.get)
    hosts |= {CLIENT: "h1", "10.0.1.1": "h1", SERVER: "h2", "10.0.1.2": "h2", STRANGER: "h9"}
    assert table.on_syn(syn(flow(1, STRANGER)), joining(), PORT, 1.0).kind is SynKind.UNKNOWN_TOKEN
    assert table.on_syn(syn(FlowKey(CLIENT, STRANGER, 2, 80)), joining(), PORT, 1.0).kind is SynKind.UNKNOWN_TOKEN
    theirs = FlowKey(CLIENT, STRANGER, 3, 80)  # a server that answers with a key that it has seen elsewhere
    table.on_syn(syn(theirs), CAPABLE, PORT, 1.0)
    table.on_syn_ack(syn_ack(theirs), GRANTED, 1.0)
    joined = table.on_syn(syn(FlowKey("10.0.1.1", "10.0.1.2", 4, 80)), joining(), PORT, 1.0)
    assert (joined.kind, joined.subflow.connection) == (SynKind.JOINED, table.find(flow(1000)).connection)
    assert table.find_by_token("h9", TOKEN).subflows[0].flow == theirs
    table.close(theirs)
    assert table.find_by_token("h9", TOKEN) is None
    assert table.find_by_token("h2", TOKEN) is not None


def test_the_later_of_two_connections_with_the_same_token_has_it():
    table = table_with_mptcp()
    table.on_syn(syn(flow(1)), CAPABLE, PORT, 1.0)
    table.on_syn_ack(syn_ack(flow(1)), GRANTED, 1.0)
    assert table.find_by_token(None, TOKEN).subflows[0].flow == flow(1)
    assert [connection.token for connection in table.connections()] == [None, TOKEN]
    table.close(flow(1000))
    assert table.find_by_token(None, TOKEN).subflows[0].flow == flow(1)


def test_connections_are_restored_from_rules():
    table = ConnectionTable(subflows_per_connection=2)
    mptcp, tcp = {"token": TOKEN, "protocol": "mptcp"}, {"token": None, "protocol": "tcp"}
    unknown = {"token": None, "protocol": "mptcp"}
    assert table.restore(restored(7, flow(1000), 2), **mptcp).state is State.ESTABLISHED
    table.restore(restored(7, flow(1001), 3, backup=True, joined=True), **mptcp)
    assert table.restore(restored(7, flow(1002), 3, joined=True), **mptcp) is None
    table.restore(restored(5, flow(1)), **tcp)
    table.restore(restored(6, flow(2)), **unknown)
    assert table.restore(restored(8, flow(2)), **tcp) is None
    assert table.restore(restored(6, flow(2), 4), **tcp).path == 4
    first, second, third = table.connections()
    assert (first.id, first.protocol, first.token, first.opened_s) == (7, "mptcp", TOKEN, 50.0)
    assert [(it.path, it.backup, it.joined) for it in first.subflows] == [(2, False, False), (3, True, True)]
    assert [(it.id, it.protocol, it.token) for it in (second, third)] == [(5, "tcp", None), (6, "mptcp", None)]
    table.close(flow(1001))
    assert table.on_syn(syn(flow(1003)), joining(), PORT, 51.0).subflow.connection == 7
    assert table.on_syn(syn(flow(3)), PLAIN, PORT, 51.0).subflow.connection == 8
    assert table.expire(1e9) != ()
    assert table.find(flow(1000)).state is State.ESTABLISHED


def test_no_more_connections_are_restored_than_there_is_room_for():
    table = ConnectionTable(4)
    for number, ingress, has_room in ((1, PORT, True), (2, PORT, True), (3, PORT, False), (4, OTHER_PORT, True)):
        made = restored(number, flow(number), ingress=ingress)
        assert (table.restore(made, token=None, protocol="tcp") == made) is has_room
    assert [it.id for it in table.connections()] == [1, 2, 4]


def test_ids_start_again_and_skip_those_in_use():
    table = ConnectionTable()
    for number in (LARGEST_ID, 1, 2):
        table.restore(restored(number, flow(number % 1000)), token=None, protocol="tcp")
    ids = [table.on_syn(syn(flow(2000 + n)), PLAIN, PORT, 0.0).subflow.connection for n in range(2)]
    assert ids == [3, 4]


def test_the_guard_lets_a_burst_through_and_then_the_rate():
    counters = Counters()
    guard = FloodGuard(8, 5, counters, lambda port, duration_s: (), complaint="floods")

    def is_admitted(now_s: float, port: int = 1) -> bool:
        connection = SwitchConnection(Switch("s1", 1), MemoryChannel(1))
        return guard.admits(PacketIn(connection, port, b"", 0, 0, 0, now_s))

    assert [is_admitted(100.0) for _ in range(7)] == [True] * 5 + [False] * 2
    assert is_admitted(100.0, port=2)
    assert [is_admitted(100.125) for _ in range(2)] == [True, False]
    assert sum(is_admitted(100.125 + i / 1024) for i in range(1, 1025)) == 8
    assert sum(is_admitted(1000.0) for _ in range(100)) == 5
    assert counters.rate_limited == 2 + 1 + 1016 + 95
