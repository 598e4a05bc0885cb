"""What is said to switches and what they answer, from and to plain data: without it each application would build bytes.

The other half of `controllers.openflow.library`: only these two know os-ken.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from controllers.openflow.library import Datapath
from controllers.openflow.rules import Action, EndWithFlow, Output, Rule, SetDestination, ToController, ToGroup

from os_ken.ofproto import ofproto_v1_3 as _ofp  # isort: skip - after controllers.openflow, which sets os-ken up
from os_ken.ofproto import ofproto_v1_3_parser as _parts  # isort: skip

CONTROLLER_PORT = _ofp.OFPP_CONTROLLER
LAST_PORT = _ofp.OFPP_MAX

_COOKIE_BITS = 64
_ALL_BITS = (1 << _COOKIE_BITS) - 1


@dataclass(frozen=True)
class StoredRule:
    """A rule as a switch has it.

    Attributes:
        rule: without its timeouts; an action that this project never installs is left out.
        cookie: its cookie.
        packets: so many frames have matched it.
    """

    rule: Rule
    cookie: int
    packets: int


@dataclass(frozen=True)
class PortCounters:
    """What a port has carried since it came up, from the switch's side."""

    port: int
    received_packets: int
    received_bytes: int
    sent_packets: int
    sent_bytes: int


def add_rule(datapath: Datapath, rule: Rule, cookie: int) -> int:
    """Sends a rule to a switch; one with the same priority and match is replaced without a gap.

    Returns:
        The transaction id, which an error message about the rule carries.
    """
    return _send(datapath, _flow_mod(datapath, rule, cookie, _ofp.OFPFC_ADD))


def delete_rule(datapath: Datapath, rule: Rule) -> int:
    """Deletes the rule with this priority and match, if it is there; returns the transaction id."""
    return _send(datapath, _flow_mod(datapath, rule, 0, _ofp.OFPFC_DELETE_STRICT))


def delete_all_but(datapath: Datapath, cookie: int, sibling_bit: int = 0) -> None:
    """Deletes every rule in every table that carries another cookie.

    OpenFlow can ask for an equal cookie under a mask, not for another one. But another cookie differs in at least
    one bit, so one deletion per bit finds them all, and never a rule that is to stay.

    Args:
        datapath: the switch.
        cookie: what stays.
        sibling_bit: a single bit; what differs from `cookie` in it and agrees in all bits above 47 but this one stays
            too, whatever its lower bits. It must be one of the upper 16 bits; 0: there are no siblings.
    """
    for bit in (1 << i for i in range(_COOKIE_BITS)):
        if bit == sibling_bit:
            continue
        # A lower bit decides only among those that are no siblings.
        condition = sibling_bit if bit < 1 << 48 else 0
        _delete(datapath, (~cookie & bit) | (cookie & condition), bit | condition)


def delete_with_cookie(datapath: Datapath, cookie: int, mask: int = _ALL_BITS) -> None:
    """Deletes every rule in every table whose cookie is this one under the mask."""
    _delete(datapath, cookie & mask, mask)


def set_group(datapath: Datapath, group: int, buckets: Sequence[Sequence[Action]]) -> None:
    """Makes a group, or makes it anew, that hands each flow to one of the buckets, by a hash of the switch's own."""
    parts = [
        _parts.OFPBucket(
            weight=1, watch_port=_ofp.OFPP_ANY, watch_group=_ofp.OFPG_ANY, actions=list(map(_action, actions))
        )
        for actions in buckets
    ]
    _send(datapath, _parts.OFPGroupMod(datapath, _ADD_OR_MODIFY, _ofp.OFPGT_SELECT, group, parts))


def send_barrier(datapath: Datapath) -> int:
    """Asks the switch to answer when it has done all that was sent before; returns the transaction id."""
    return _send(datapath, _parts.OFPBarrierRequest(datapath))


def send_frame(datapath: Datapath, in_port: int, frame: bytes, actions: Iterable[Action]) -> None:
    """Lets a switch handle a frame as if it had come in by a port; `in_port` may be CONTROLLER_PORT."""
    message = _parts.OFPPacketOut(datapath, _ofp.OFP_NO_BUFFER, in_port, list(map(_action, actions)), frame)
    _send(datapath, message)


def ask_for_rules(datapath: Datapath, cookie: int, mask: int) -> int:
    """Asks for all rules whose cookie is this one under the mask; returns the transaction id."""
    message = _parts.OFPFlowStatsRequest(
        datapath, 0, _ofp.OFPTT_ALL, _ofp.OFPP_ANY, _ofp.OFPG_ANY, cookie & mask, mask, _parts.OFPMatch()
    )
    return _send(datapath, message)


def ask_for_port_counters(datapath: Datapath) -> int:
    """Asks for what all ports have carried; returns the transaction id."""
    return _send(datapath, _parts.OFPPortStatsRequest(datapath, 0, _ofp.OFPP_ANY))


def ask_for_ports(datapath: Datapath) -> int:
    """Asks which ports there are and whether their cables are whole; returns the transaction id."""
    return _send(datapath, _parts.OFPPortDescStatsRequest(datapath, 0))


def stored_rules(message: Any) -> Iterator[StoredRule]:
    """The rules in an answer to `ask_for_rules`."""
    for entry in message.body:
        actions, goto = _read_instructions(entry.instructions)
        match = tuple(entry.match.items())
        rule = Rule(entry.priority, match, actions or None, table=entry.table_id, goto=goto)
        yield StoredRule(rule, entry.cookie, entry.packet_count)


def port_counters(message: Any) -> Iterator[PortCounters]:
    """The counters in an answer to `ask_for_port_counters`."""
    for entry in message.body:
        if entry.port_no <= LAST_PORT:
            yield PortCounters(entry.port_no, entry.rx_packets, entry.rx_bytes, entry.tx_packets, entry.tx_bytes)


def port_is_live(port: Any) -> bool:
    """Whether a port that a switch describes is there for traffic: its cable whole, and not put out of use."""
    return not (port.state & _ofp.OFPPS_LINK_DOWN or port.config & _ofp.OFPPC_PORT_DOWN)


def is_ordinary_port(port: Any) -> bool:
    """Whether a port that a switch describes has a cable, and is none of those with a meaning of their own."""
    return port.port_no <= LAST_PORT


def is_removal(message: Any) -> bool:
    """Whether a message on a port's state says that the port is gone."""
    return message.reason == _ofp.OFPPR_DELETE


def is_eviction(message: Any) -> bool:
    """Whether a message on a removed rule says that the switch evicted it, for nothing had matched it for long."""
    return message.reason == _ofp.OFPRR_IDLE_TIMEOUT


def is_last_part(message: Any) -> bool:
    """Whether no further message answers the same question."""
    return not message.flags & _ofp.OFPMPF_REPLY_MORE


_ADD_OR_MODIFY = 0x8000
"""Open vSwitch's own (ovs-ofctl(8), --may-create): OpenFlow refuses to add a group that is there, and to modify one
that is not."""


def _send(datapath: Datapath, message: Any) -> int:
    datapath.send_msg(message)
    return message.xid


def _flow_mod(datapath: Datapath, rule: Rule, cookie: int, command: int) -> Any:
    return _parts.OFPFlowMod(
        datapath,
        cookie=cookie,
        table_id=rule.table,
        command=command,
        idle_timeout=rule.idle_timeout_s,
        hard_timeout=rule.hard_timeout_s,
        priority=rule.priority,
        out_port=_ofp.OFPP_ANY,
        out_group=_ofp.OFPG_ANY,
        flags=_ofp.OFPFF_SEND_FLOW_REM if rule.idle_timeout_s else 0,
        match=_parts.OFPMatch(_ordered_fields=rule.match),  # left to itself it puts TCP's flags before TCP
        instructions=_instructions(rule),
    )


def _delete(datapath: Datapath, cookie: int, mask: int) -> None:
    deletion = _parts.OFPFlowMod(
        datapath,
        cookie=cookie,
        cookie_mask=mask,
        table_id=_ofp.OFPTT_ALL,
        command=_ofp.OFPFC_DELETE,
        out_port=_ofp.OFPP_ANY,
        out_group=_ofp.OFPG_ANY,
        match=_parts.OFPMatch(),
    )
    _send(datapath, deletion)


def _instructions(rule: Rule) -> list[Any]:
    found = []
    if rule.actions:
        found.append(_parts.OFPInstructionActions(_ofp.OFPIT_APPLY_ACTIONS, list(map(_action, rule.actions))))
    if rule.goto is not None:
        found.append(_parts.OFPInstructionGotoTable(rule.goto))
    return found


def _action(action: Action) -> Any:
    match action:
        case Output(port):
            return _parts.OFPActionOutput(port)
        case ToController(max_bytes):
            return _parts.OFPActionOutput(_ofp.OFPP_CONTROLLER, max_bytes)
        case SetDestination(mac):
            return _parts.OFPActionSetField(eth_dst=mac)
        case ToGroup(group):
            return _parts.OFPActionGroup(group)
        case EndWithFlow(idle_s):
            return _parts.NXActionFinTimeout(idle_s, 0)


def _read_instructions(instructions: Iterable[Any]) -> tuple[tuple[Action, ...], int | None]:
    actions: list[Action] = []
    goto = None
    for instruction in instructions:
        if instruction.type == _ofp.OFPIT_GOTO_TABLE:
            goto = instruction.table_id
        elif instruction.type == _ofp.OFPIT_APPLY_ACTIONS:
            actions += filter(None, map(_read_action, instruction.actions))
    return tuple(actions), goto


def _read_action(action: Any) -> Action | None:
    if action.type == _ofp.OFPAT_OUTPUT:
        return ToController(action.max_len) if action.port == _ofp.OFPP_CONTROLLER else Output(action.port)
    if action.type == _ofp.OFPAT_SET_FIELD and action.key == "eth_dst":
        return SetDestination(action.value)
    if action.type == _ofp.OFPAT_GROUP:
        return ToGroup(action.group_id)
    if isinstance(action, _parts.NXActionFinTimeout):
        return EndWithFlow(action.fin_idle_timeout)
    return None
