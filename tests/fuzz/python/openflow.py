"""Messages of a switch, its matches and rules among them: os-ken reads or refuses them, and the controller goes on.

A switch that sends what os-ken cannot read loses its connection. What it can read must not make a handler fail.
"""

import contextlib
import io
import random
import struct
from functools import cache
from typing import Any

from os_ken.controller import handler, ofp_event
from os_ken.ofproto import ofproto_parser, ofproto_protocol, ofproto_v1_3

from controllers.app import ControllerApp
from controllers.network.description import Network
from controllers.openflow.event_table import Event
from controllers.openflow.labels import Labels, interface_numbers
from controllers.openflow.library import MAIN_DISPATCHER, EventTick, events, ofproto_v1_3_parser
from controllers.openflow.messages import OpenFlowChannel
from controllers.openflow.steering_rules import base_rules, hold_rules
from controllers.settings import Settings
from controllers.steering_managers import steering_table
from tests.fuzz.mutation import pack, unpack, vary_bytes
from tests.fuzz.python.frames import originals as frames
from tests.fuzz.python.networks import NETWORK

_MESSAGES = 12
_HEADER = struct.Struct("!BBHI")
_RULE = struct.Struct("!HBxIIHHHH4xQQQ")
_FLOW_MOD, _MATCH_AT = struct.Struct("!QQBBHHH"), 48
_PORT = struct.Struct("!I4x6s2x16sIIIIIIII")
_SEEN = struct.Struct("!IHBBQ")
_COUNTERS = struct.Struct("!I4x12QII")
_PACKET_IN, _FLOW_REMOVED, _PORT_STATUS, _ERROR, _MULTIPART, _BARRIER = 10, 11, 12, 1, 19, 21
_RULES, _PORT_COUNTERS, _PORTS = 1, 4, 13


class _Datapath(ofproto_protocol.ProtocolDesc):
    """A switch; what is sent to it is encoded, and kept."""

    def __init__(self, dpid: int) -> None:
        super().__init__(ofproto_v1_3.OFP_VERSION)
        self.id, self.xid, self.sent = dpid, 0, []

    def send_msg(self, message: Any) -> None:
        self.xid += 1
        message.set_xid(self.xid)
        message.serialize()
        self.send(message.buf)

    def send(self, message: bytes) -> None:
        self.sent.append(bytes(message))


def made(chance: random.Random) -> bytes:
    """Messages of two switches of a described network, or of one that is discovered: the first byte says which."""
    messages = [(chance.randrange(1, 3), _message(chance)) for _ in range(chance.randint(1, _MESSAGES))]
    return bytes([chance.randrange(2)]) + pack(messages)


def read(data: bytes) -> None:
    """Connects two switches, and gives their messages to the application."""
    settings = Settings(policy="disjoint", rest=())
    app = ControllerApp(table=steering_table(settings, NETWORK if data and data[0] % 2 else None))
    handler.register_instance(app)
    switches = {dpid: _Datapath(dpid) for dpid in (1, 2)}
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        for datapath in switches.values():
            app.on_connect(events.EventOFPStateChange(datapath))
        for dpid, message in unpack(data[1:]):
            _take(app, switches.get(dpid, switches[1]), message)
        (serve,) = app.table.rows[Event.STARTED]
        serve.args[0]["/metrics"]()
        for _period_s, steps in app.table.tasks:
            app.on_tick(EventTick(steps))


def _take(app: ControllerApp, datapath: _Datapath, data: bytes) -> None:
    try:
        version, kind, _length, number = _HEADER.unpack_from(data)
        parsed = ofproto_parser.msg(datapath, ofproto_v1_3.OFP_VERSION, kind, len(data), number, data)
    except Exception:  # os-ken ends this switch's connection
        return
    if parsed is None or version != ofproto_v1_3.OFP_VERSION:
        return
    event = ofp_event.ofp_msg_to_ev(parsed)
    for handle in app.get_handlers(event, MAIN_DISPATCHER):
        handle(event)


def _message(chance: random.Random) -> bytes:
    kind, body = chance.choice(_originals())
    if kind == _PACKET_IN:
        body += chance.choice(frames())
    if body and chance.random() < 0.7:
        body = _varied(chance, body)
    return _HEADER.pack(4, kind, _HEADER.size + len(body), chance.choice((1, 2, 100, 2**32 - 1))) + body


def _varied(chance: random.Random, body: bytes) -> bytes:
    """Some bytes with other values; seldom with another length, which os-ken refuses."""
    if chance.random() < 0.2:
        return vary_bytes(chance, [body])
    changed = bytearray(body)
    for _ in range(chance.randint(1, 4)):
        changed[chance.randrange(len(changed))] = chance.choice((0, 1, 2, 9, 0x10, 0x7F, 0x80, 0xFF))
    return bytes(changed)


@cache
def _originals() -> list[tuple[int, bytes]]:
    """Messages of a switch by number: type, and what follows the header."""
    rules = [_stored(rule) for rule in _rules(NETWORK)]
    of_frame = bytearray()
    ofproto_v1_3_parser.OFPMatch(in_port=9, eth_type=0x800).serialize(of_frame, 0)
    matches = [bytes(of_frame), *(match for match, _rule in rules[:3])]
    port = _PORT.pack(1, bytes(6), b"s1-eth1", 0, 0, 0, 0, 0, 0, 0, 0)
    counters = _COUNTERS.pack(1, *range(12), 1, 2)
    some = [b"".join(rule for _match_, rule in rules[begin : begin + 6]) for begin in range(0, len(rules), 6)]
    return [
        *((_MULTIPART, struct.pack("!HH4x", _RULES, 0) + body) for body in some),
        *((_FLOW_REMOVED, struct.pack("!QHBBIIHHQQ", 1, 1, 0, 1, 1, 1, 5, 0, 1, 1) + match) for match in matches),
        *((_PACKET_IN, _SEEN.pack(2**32 - 1, 100, 0, table, 5) + matches[0] + b"\0\0") for table in range(4)),
        (_PORT_STATUS, struct.pack("!B7x", 2) + port),
        (_MULTIPART, struct.pack("!HH4x", _PORTS, 0) + port),
        (_MULTIPART, struct.pack("!HH4x", _PORT_COUNTERS, 0) + counters),
        (_ERROR, struct.pack("!HH", 5, 1) + bytes(20)),
        (_BARRIER, b""),
    ]


def _rules(network: Network) -> list[bytes]:
    """The messages that install the rules of a switch."""
    datapath = _Datapath(1)
    labels = Labels.for_hosts(it.mac for it in network.interfaces)
    base = base_rules(network, network, network.switches[0], labels, interface_numbers(network), learning=True)
    for rule in (*base, *hold_rules()):
        OpenFlowChannel(datapath).add_rules([rule], 5)
    return datapath.sent


def _stored(message: bytes) -> tuple[bytes, bytes]:
    """A rule as the switch describes it: its match, and its entry in a reply."""
    cookie, _mask, table, _command, _idle, _hard, priority = _FLOW_MOD.unpack_from(message, _HEADER.size)
    _kind, length = struct.unpack_from("!HH", message, _MATCH_AT)
    match, instructions = message[_MATCH_AT:][: -(-length // 8) * 8], message[_MATCH_AT:][-(-length // 8) * 8 :]
    head = _RULE.pack(_RULE.size + len(match) + len(instructions), table, 1, 1, priority, 0, 0, 0, cookie, 7, 700)
    return match, head + match + instructions
