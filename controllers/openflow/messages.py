"""OpenFlow messages: plain data to bytes for a switch, and a switch's answers back to plain data."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from controllers.network.description import LARGEST_PORT
from controllers.openflow.library import Datapath
from controllers.openflow.library import ofproto_v1_3 as _ofp
from controllers.openflow.library import ofproto_v1_3_parser as _parser
from controllers.openflow.rules import Action, EndWithFlow, Output, Rule, SetDestination, ToController, ToGroup

CONTROLLER_PORT = _ofp.OFPP_CONTROLLER

_COOKIE_BITS = 64

_ADD_OR_MODIFY = 0x8000
"""Open vSwitch's own group command (ovs-ofctl(8), --may-create). OpenFlow's own commands fail to add a group that
exists, and to modify one that does not."""


@dataclass(frozen=True)
class StoredRule:
    """A rule as a switch has it, but without timeouts, and without actions that this project never installs."""

    rule: Rule
    cookie: int
    packets: int


def add_rule(datapath: Datapath, rule: Rule, cookie: int) -> int:
    """Sends a rule, which replaces one with the same priority and match without a gap; returns the transaction id."""
    return _send(datapath, _flow_mod(datapath, rule, cookie, _ofp.OFPFC_ADD))


def delete_rule(datapath: Datapath, rule: Rule) -> None:
    """Deletes the rule with this priority and match, if there is one."""
    _send(datapath, _flow_mod(datapath, rule, 0, _ofp.OFPFC_DELETE_STRICT))


def delete_all_but(datapath: Datapath, cookie: int, sibling_bit: int = 0) -> None:
    """Deletes the rules in all tables that have another cookie.

    OpenFlow can match cookies that are equal under a mask, but not those that differ. A cookie that differs does so in
    at least one bit, so one deletion per bit finds them all, and never a rule with this cookie.

    Args:
        sibling_bit: one of the upper 16 bits, or 0. Rules stay too if the upper 16 bits of their cookie differ from
            `cookie` in exactly this bit.
    """
    everything = Rule(0, (), None, table=_ofp.OFPTT_ALL)
    for bit in (1 << i for i in range(_COOKIE_BITS)):
        if bit == sibling_bit:
            continue
        # A lower bit is compared only in cookies that are not siblings.
        condition = sibling_bit if bit < 1 << 48 else 0
        other = (~cookie & bit) | (cookie & condition)
        _send(datapath, _flow_mod(datapath, everything, other, _ofp.OFPFC_DELETE, bit | condition))


def set_group(datapath: Datapath, group: int, buckets: Sequence[Sequence[Action]]) -> None:
    """Creates or replaces a select group: the switch picks a bucket for each flow by a hash of its own."""
    parts = [
        _parser.OFPBucket(1, _ofp.OFPP_ANY, _ofp.OFPG_ANY, actions=list(map(_action, actions))) for actions in buckets
    ]
    _send(datapath, _parser.OFPGroupMod(datapath, _ADD_OR_MODIFY, _ofp.OFPGT_SELECT, group, parts))


def send_barrier(datapath: Datapath) -> int:
    """Asks the switch to reply when it has processed all earlier messages; returns the transaction id."""
    return _send(datapath, _parser.OFPBarrierRequest(datapath))


def send_frame(datapath: Datapath, in_port: int, frame: bytes, actions: Iterable[Action]) -> None:
    """Makes a switch apply actions to a frame as if it had arrived at `in_port`, which may be CONTROLLER_PORT."""
    message = _parser.OFPPacketOut(datapath, _ofp.OFP_NO_BUFFER, in_port, list(map(_action, actions)), frame)
    _send(datapath, message)


def request_rules(datapath: Datapath, cookie: int, mask: int) -> None:
    """Requests all rules whose cookie equals this one under the mask."""
    message = _parser.OFPFlowStatsRequest(
        datapath, 0, _ofp.OFPTT_ALL, _ofp.OFPP_ANY, _ofp.OFPG_ANY, cookie & mask, mask, _parser.OFPMatch()
    )
    _send(datapath, message)


def request_port_counters(datapath: Datapath) -> int:
    """Requests the counters of all ports; returns the transaction's number, which the reply has, too."""
    return _send(datapath, _parser.OFPPortStatsRequest(datapath, 0, _ofp.OFPP_ANY))


def request_ports(datapath: Datapath) -> None:
    """Requests a description of all ports, with the state of their cables."""
    _send(datapath, _parser.OFPPortDescStatsRequest(datapath, 0))


def parse_rules(message: Any) -> Iterator[StoredRule]:
    """The rules in a reply to `request_rules`."""
    for entry in message.body:
        actions: list[Action] = []
        goto = None
        for instruction in entry.instructions:
            if instruction.type == _ofp.OFPIT_GOTO_TABLE:
                goto = instruction.table_id
            elif instruction.type == _ofp.OFPIT_APPLY_ACTIONS:
                actions += filter(None, map(_parse_action, instruction.actions))
        match = tuple(entry.match.items())
        rule = Rule(entry.priority, match, tuple(actions) or None, table=entry.table_id, goto=goto)
        yield StoredRule(rule, entry.cookie, entry.packet_count)


def is_port_up(port: Any) -> bool:
    """Whether a port that a switch describes can carry frames: its cable is whole, and it is not disabled."""
    return not (port.state & _ofp.OFPPS_LINK_DOWN or port.config & _ofp.OFPPC_PORT_DOWN)


def is_ordinary_port(port: Any) -> bool:
    """Whether a port has a cable, and is not one of OpenFlow's reserved ports."""
    return 1 <= port.port_no <= LARGEST_PORT


def has_ingress(message: Any) -> bool:
    """Whether a frame that a switch sends says at which ordinary port it entered."""
    return 1 <= message.match.get("in_port", 0) <= LARGEST_PORT


def _send(datapath: Datapath, message: Any) -> int:
    datapath.send_msg(message)
    return message.xid


def _flow_mod(datapath: Datapath, rule: Rule, cookie: int, command: int, cookie_mask: int = 0) -> Any:
    return _parser.OFPFlowMod(
        datapath,
        cookie=cookie,
        cookie_mask=cookie_mask,
        table_id=rule.table,
        command=command,
        idle_timeout=rule.idle_timeout_s,
        hard_timeout=rule.hard_timeout_s,
        priority=rule.priority,
        out_port=_ofp.OFPP_ANY,
        out_group=_ofp.OFPG_ANY,
        flags=_ofp.OFPFF_SEND_FLOW_REM if rule.idle_timeout_s else 0,
        match=_parser.OFPMatch(_ordered_fields=rule.match),  # os-ken's own order puts tcp_flags before ip_proto
        instructions=list(_instructions(rule)),
    )


def _instructions(rule: Rule) -> Iterator[Any]:
    if rule.actions:
        yield _parser.OFPInstructionActions(_ofp.OFPIT_APPLY_ACTIONS, list(map(_action, rule.actions)))
    if rule.goto is not None:
        yield _parser.OFPInstructionGotoTable(rule.goto)


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
