"""OpenFlow messages: plain data to bytes for a switch, and a switch's messages back to events."""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from controllers.network.description import LARGEST_PORT
from controllers.openflow.channel import Channel
from controllers.openflow.event_table import Event, PacketIn, PortCounters
from controllers.openflow.library import Datapath
from controllers.openflow.library import ofproto_v1_3 as _ofp
from controllers.openflow.library import ofproto_v1_3_parser as _parser
from controllers.openflow.rules import (
    Action,
    EndWithFlow,
    Match,
    Output,
    Rule,
    SetDestination,
    StoredRule,
    ToController,
    ToGroup,
)
from controllers.openflow.switches import SwitchConnection
from flightpath.overrides import override

_COOKIE_BITS = 64
_HEADER = struct.Struct(_ofp.OFP_HEADER_PACK_STR)
_FLOW_MOD = struct.Struct(_ofp.OFP_FLOW_MOD_PACK_STR0)
_PACKET_OUT = struct.Struct(_ofp.OFP_PACKET_OUT_PACK_STR)
_REMEMBERED = 1 << 14
"""Number of matches, and of lists of actions or instructions, whose encoding is kept: switches share most of them."""

_ETHERNET_BYTES = 14

_ADD_OR_MODIFY = 0x8000
"""Open vSwitch's own group command (ovs-ofctl(8), --may-create). OpenFlow's own commands fail to add a group that
exists, and to modify one that does not."""


@dataclass(frozen=True)
class OpenFlowChannel(Channel):
    """Sends messages over a connection of os-ken's."""

    datapath: Datapath

    @property
    @override
    def dpid(self) -> int:
        return self.datapath.id

    @override
    def add_rules(self, rules: Iterable[Rule], cookie: int) -> list[int]:
        return self._send_all(_ofp.OFPT_FLOW_MOD, [_flow_mod(rule, cookie, _ofp.OFPFC_ADD) for rule in rules])

    @override
    def delete_rule(self, rule: Rule) -> None:
        self._send_all(_ofp.OFPT_FLOW_MOD, [_flow_mod(rule, 0, _ofp.OFPFC_DELETE_STRICT)])

    @override
    def delete_all_but(self, cookie: int, sibling_bit: int) -> None:
        # OpenFlow can match cookies that are equal under a mask, but not those that differ. A cookie that differs does
        # so in at least one bit, so one deletion per bit finds them all, and never a rule with this cookie.
        everything = Rule(0, (), None, table=_ofp.OFPTT_ALL)
        deletions = []
        for bit in (1 << i for i in range(_COOKIE_BITS)):
            if bit == sibling_bit:
                continue
            # A lower bit is compared only in cookies that are not siblings.
            condition = sibling_bit if bit < 1 << 48 else 0
            other = (~cookie & bit) | (cookie & condition)
            deletions.append(_flow_mod(everything, other, _ofp.OFPFC_DELETE, bit | condition))
        self._send_all(_ofp.OFPT_FLOW_MOD, deletions)

    @override
    def set_group(self, group: int, buckets: Iterable[Sequence[Action]]) -> None:
        parts = [_parser.OFPBucket(1, _ofp.OFPP_ANY, _ofp.OFPG_ANY, actions=_actions(it)) for it in buckets]
        self._send(_parser.OFPGroupMod(self.datapath, _ADD_OR_MODIFY, _ofp.OFPGT_SELECT, group, parts))

    @override
    def send_barrier(self) -> int:
        return self._send(_parser.OFPBarrierRequest(self.datapath))

    @override
    def send_frames(self, in_port: int, frames: Iterable[tuple[bytes, tuple[Action, ...]]]) -> None:
        self._send_all(_ofp.OFPT_PACKET_OUT, [_packet_out(in_port, *it) for it in frames])

    @override
    def request_rules(self, cookie: int, mask: int) -> None:
        any_port, any_group, match = _ofp.OFPP_ANY, _ofp.OFPG_ANY, _parser.OFPMatch()
        self._send(
            _parser.OFPFlowStatsRequest(
                self.datapath, 0, _ofp.OFPTT_ALL, any_port, any_group, cookie & mask, mask, match
            )
        )

    @override
    def request_port_counters(self) -> int:
        return self._send(_parser.OFPPortStatsRequest(self.datapath, 0, _ofp.OFPP_ANY))

    @override
    def request_ports(self) -> None:
        self._send(_parser.OFPPortDescStatsRequest(self.datapath, 0))

    def _send(self, message: Any) -> int:
        self.datapath.send_msg(message)
        return message.xid

    def _send_all(self, kind: int, bodies: Sequence[bytes]) -> list[int]:
        """Sends messages of one kind as one piece; returns their transaction ids."""
        xids: list[int] = []
        parts: list[bytes] = []
        for body in bodies:
            self.datapath.xid = self.datapath.xid + 1 & _ofp.MAX_XID
            xids.append(self.datapath.xid)
            length = _HEADER.size + len(body)
            parts += _HEADER.pack(_ofp.OFP_VERSION, kind, length, xids[-1]), body
        if parts:
            self.datapath.send(b"".join(parts))
        return xids


def decode(message: Any, connection: SwitchConnection, now_s: float) -> Iterator[tuple[Any, ...]]:
    """Decodes a message to events with their arguments; ignores frames too short for Ethernet, and reserved ports."""
    match message:
        case _parser.OFPPacketIn(data=frame) if len(frame) >= _ETHERNET_BYTES:
            in_port, rule = message.match.get("in_port", 0), (message.table_id, message.cookie)
            yield Event.PACKET_IN, PacketIn(connection, in_port, frame, message.total_len, *rule, now_s)
        case _parser.OFPBarrierReply():
            yield Event.CONFIRMED, connection, message.xid
        case _parser.OFPErrorMsg():
            error = f"OpenFlow error type {message.type}, code {message.code}"
            yield Event.REFUSED, connection, message.xid, error
        case _parser.OFPFlowRemoved(reason=_ofp.OFPRR_IDLE_TIMEOUT):
            yield Event.RULE_EXPIRED, tuple(message.match.items())
        case _parser.OFPFlowStatsReply():
            is_last = not message.flags & _ofp.OFPMPF_REPLY_MORE
            yield Event.RULES, connection, list(map(_stored_rule, message.body)), is_last, now_s
        case _parser.OFPPortDescStatsReply():
            for port in filter(_is_ordinary, message.body):
                yield Event.PORT, connection, port.port_no, _is_up(port), now_s
        case _parser.OFPPortStatus(desc=port) if _is_ordinary(port):
            is_up = _is_up(port) and message.reason != _ofp.OFPPR_DELETE
            yield Event.PORT, connection, port.port_no, is_up, now_s
        case _parser.OFPPortStatsReply():
            counters = [
                PortCounters(it.port_no, it.tx_packets, it.rx_packets, it.tx_bytes, it.rx_bytes)
                for it in filter(_is_ordinary, message.body)
            ]
            yield Event.COUNTERS, connection, message.xid, counters, now_s


def _stored_rule(entry: Any) -> StoredRule:
    actions: list[Action] = []
    goto = None
    for instruction in entry.instructions:
        if instruction.type == _ofp.OFPIT_GOTO_TABLE:
            goto = instruction.table_id
        elif instruction.type == _ofp.OFPIT_APPLY_ACTIONS:
            actions += filter(None, map(_parse_action, instruction.actions))
    match = tuple(entry.match.items())
    rule = Rule(entry.priority, match, tuple(actions) or None, table=entry.table_id, goto=goto)
    return StoredRule(rule, entry.cookie, entry.packet_count)


def _is_up(port: Any) -> bool:
    """Returns whether a port can carry frames: its cable is whole, and it is not disabled."""
    return not (port.state & _ofp.OFPPS_LINK_DOWN or port.config & _ofp.OFPPC_PORT_DOWN)


def _is_ordinary(port: Any) -> bool:
    """Returns whether a port has a cable, and is not one of OpenFlow's reserved ports."""
    return 1 <= port.port_no <= LARGEST_PORT


def _flow_mod(rule: Rule, cookie: int, command: int, cookie_mask: int = 0) -> bytes:
    """Encodes a flow mod, but for its header. With os-ken's own objects this would take most of a network's start."""
    body = _FLOW_MOD.pack(
        cookie,
        cookie_mask,
        rule.table,
        command,
        rule.idle_timeout_s,
        rule.hard_timeout_s,
        rule.priority,
        _ofp.OFP_NO_BUFFER,
        _ofp.OFPP_ANY,
        _ofp.OFPG_ANY,
        _ofp.OFPFF_SEND_FLOW_REM if rule.idle_timeout_s else 0,
    )
    return body + _encoded_match(rule.match) + _encoded_instructions(rule.actions, rule.goto)


def _packet_out(in_port: int, frame: bytes, actions: tuple[Action, ...]) -> bytes:
    """Encodes a packet-out, but for its header."""
    encoded = _encoded_actions(actions)
    return _PACKET_OUT.pack(_ofp.OFP_NO_BUFFER, in_port, len(encoded)) + encoded + frame


@lru_cache(_REMEMBERED)
def _encoded_actions(actions: tuple[Action, ...]) -> bytes:
    encoded = bytearray()
    for action in _actions(actions):
        action.serialize(encoded, len(encoded))
    return bytes(encoded)


@lru_cache(_REMEMBERED)
def _encoded_match(match: Match) -> bytes:
    encoded = bytearray()
    _parser.OFPMatch(_ordered_fields=match).serialize(encoded, 0)  # os-ken's own order puts tcp_flags before ip_proto
    return bytes(encoded)


@lru_cache(_REMEMBERED)
def _encoded_instructions(actions: tuple[Action, ...], goto: int | None) -> bytes:
    encoded = bytearray()
    for instruction in _instructions(actions, goto):
        instruction.serialize(encoded, len(encoded))
    return bytes(encoded)


def _instructions(actions: tuple[Action, ...], goto: int | None) -> Iterator[Any]:
    if actions:
        yield _parser.OFPInstructionActions(_ofp.OFPIT_APPLY_ACTIONS, _actions(actions))
    if goto is not None:
        yield _parser.OFPInstructionGotoTable(goto)


def _actions(actions: Iterable[Action]) -> list[Any]:
    return list(map(_action, actions))


def _action(action: Action) -> Any:
    match action:
        case Output(port):
            return _parser.OFPActionOutput(port)
        case ToController(max_bytes):
            return _parser.OFPActionOutput(_ofp.OFPP_CONTROLLER, max_bytes)
        case SetDestination(mac):
            return _parser.OFPActionSetField(eth_dst=mac)
        case ToGroup(group):
            return _parser.OFPActionGroup(group)
        case EndWithFlow(idle_s):
            return _parser.NXActionFinTimeout(idle_s, 0)


def _parse_action(action: Any) -> Action | None:
    if action.type == _ofp.OFPAT_OUTPUT:
        return ToController(action.max_len) if action.port == _ofp.OFPP_CONTROLLER else Output(action.port)
    if action.type == _ofp.OFPAT_SET_FIELD and action.key == "eth_dst":
        return SetDestination(action.value)
    if action.type == _ofp.OFPAT_GROUP:
        return ToGroup(action.group_id)
    if isinstance(action, _parser.NXActionFinTimeout):
        return EndWithFlow(action.fin_idle_timeout)
    return None
