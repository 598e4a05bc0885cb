"""All that touches os-ken: without it each application would depend on the library's version and its traps.

os-ken is held below 4: there the event loop of an application ends silently with the first exception in a handler,
and `hub.Event.wait(timeout)` never times out. Whoever moves to another version has only this module to look at.

Of the library's start-up only what is needed runs. `osken-manager` would read /etc, listen on all addresses, share
its port with whoever else listens there (SO_REUSEPORT) and patch the standard library.
"""

import os
import socket
import warnings
from typing import Any

os.environ["OSKEN_HUB_TYPE"] = "eventlet"  # the other one, native threads, loses events
os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")  # a third of the start-up time, and no name is ever looked up
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    import eventlet
    from os_ken import cfg
    from os_ken.base.app_manager import AppManager, OSKenApp
    from os_ken.controller.controller import Datapath, datapath_connection_factory
    from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
    from os_ken.controller.ofp_event import (
        EventOFPBarrierReply,
        EventOFPErrorMsg,
        EventOFPPacketIn,
        EventOFPStateChange,
    )
    from os_ken.controller.ofp_handler import OFPHandler
    from os_ken.lib import hub
    from os_ken.ofproto import ofproto_v1_3, ofproto_v1_3_parser

from controllers.rules import Output, Rule, ToController
from flightpath.errors import FlightpathError, UsageError

__all__ = [
    "DEAD_DISPATCHER",
    "MAIN_DISPATCHER",
    "Datapath",
    "EventOFPBarrierReply",
    "EventOFPErrorMsg",
    "EventOFPPacketIn",
    "EventOFPStateChange",
    "OpenFlowApp",
    "add_rule",
    "delete_all_but",
    "send_barrier",
    "serve",
    "set_ev_cls",
]

_COOKIE_BITS = 64
_PARTS = ofproto_v1_3_parser


class OpenFlowApp(OSKenApp):
    """Base of the applications that decide what switches do. They speak OpenFlow 1.3, no other version."""

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._failure = hub.HubEvent()

    def fail(self, error: FlightpathError) -> None:
        """Ends the controller: `serve` raises the error."""
        if not self._failure.ready():
            self._failure.send_exception(error)

    def wait_for_failure(self) -> None:
        """Blocks until `fail` is called, and raises its error."""
        self._failure.wait()


class _Listener(OFPHandler):
    """os-ken's handshake with switches, on a socket of ours instead of the one that its options describe."""

    def __init__(self, listening: eventlet.greenio.GreenSocket) -> None:
        super().__init__()
        self._listening = listening

    def start(self) -> None:
        OSKenApp.start(self)  # not OFPHandler's: that one opens os-ken's own socket
        self.threads.append(hub.spawn(self._accept_forever))

    def _accept_forever(self) -> None:
        while True:
            connection, address = self._listening.accept()
            hub.spawn(datapath_connection_factory, connection, address)


def serve(host: str, port: int, application: type[OpenFlowApp], **arguments: Any) -> None:
    """Listens for switches and runs the application for them; prints the address once it listens.

    Args:
        host: address to listen on, IPv4 or IPv6.
        port: TCP port; 0 picks a free one.
        application: is made with `arguments`.
        **arguments: see there.

    Raises:
        UsageError: the address cannot be listened on.
        FlightpathError: what the application called `fail` with. Otherwise this never returns.
    """
    cfg.CONF(args=[], default_config_files=[], default_config_dirs=[], use_env=False)
    listening = _listen(host, port)
    manager = AppManager.get_instance()
    app = manager.instantiate(application, **arguments)
    for started in (app, manager.instantiate(_Listener, listening)):
        started.start()
    print(f"listening on {_show(*listening.getsockname()[:2])}", flush=True)
    app.wait_for_failure()


def add_rule(datapath: Datapath, rule: Rule, cookie: int) -> int:
    """Sends a rule to a switch; one with the same priority and match is replaced without a gap.

    Returns:
        The transaction id, which an error message about the rule carries.
    """
    message = _PARTS.OFPFlowMod(
        datapath,
        cookie=cookie,
        command=ofproto_v1_3.OFPFC_ADD,
        hard_timeout=rule.hard_timeout_s,
        priority=rule.priority,
        match=_PARTS.OFPMatch(**dict(rule.match)),
        instructions=_instructions(rule),
    )
    datapath.send_msg(message)
    return message.xid


def delete_all_but(datapath: Datapath, cookie: int) -> None:
    """Deletes every rule in every table that carries another cookie.

    OpenFlow can ask for an equal cookie under a mask, not for another one. But another cookie differs in at least
    one bit, so one deletion per bit finds them all, and never a rule that is to stay.
    """
    for bit in (1 << i for i in range(_COOKIE_BITS)):
        deletion = _PARTS.OFPFlowMod(
            datapath,
            cookie=~cookie & bit,
            cookie_mask=bit,
            table_id=ofproto_v1_3.OFPTT_ALL,
            command=ofproto_v1_3.OFPFC_DELETE,
            out_port=ofproto_v1_3.OFPP_ANY,
            out_group=ofproto_v1_3.OFPG_ANY,
            match=_PARTS.OFPMatch(),
        )
        datapath.send_msg(deletion)


def send_barrier(datapath: Datapath) -> int:
    """Asks the switch to answer when it has done all that was sent before; returns the transaction id."""
    message = _PARTS.OFPBarrierRequest(datapath)
    datapath.send_msg(message)
    return message.xid


def _instructions(rule: Rule) -> list[Any]:
    match rule.action:
        case None:
            return []
        case Output(port):
            action = _PARTS.OFPActionOutput(port)
        case ToController(max_bytes):
            action = _PARTS.OFPActionOutput(ofproto_v1_3.OFPP_CONTROLLER, max_bytes)
    return [_PARTS.OFPInstructionActions(ofproto_v1_3.OFPIT_APPLY_ACTIONS, [action])]


def _listen(host: str, port: int) -> eventlet.greenio.GreenSocket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return eventlet.listen((host, port), family=family, reuse_port=False)
    except OSError as error:
        hint = "another controller may be running there; choose another port with --listen"
        raise UsageError(f"cannot listen on {_show(host, port)}: {os.strerror(error.errno or 0)}", hint) from error


def _show(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
