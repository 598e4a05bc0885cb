"""All that touches os-ken: without it each application would depend on the library's version and its traps.

What is said to switches is in `controllers.openflow.messages`, the other half of this.

os-ken is held below 4: there the event loop of an application ends silently with the first exception in a handler,
and `hub.Event.wait(timeout)` never times out. Whoever moves to another version has only this module to look at.

Of the library's start-up only what is needed runs. `osken-manager` would read /etc, listen on all addresses, share
its port with whoever else listens there (SO_REUSEPORT) and patch the standard library.
"""

import contextlib
import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from controllers.openflow.lean_import import lean_os_ken
from flightpath.errors import FlightpathError, UsageError

with lean_os_ken():
    import eventlet
    from os_ken import cfg
    from os_ken.base.app_manager import AppManager, OSKenApp
    from os_ken.controller import event
    from os_ken.controller.controller import Datapath, datapath_connection_factory
    from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
    from os_ken.controller.ofp_event import (
        EventOFPBarrierReply,
        EventOFPErrorMsg,
        EventOFPFlowRemoved,
        EventOFPFlowStatsReply,
        EventOFPPacketIn,
        EventOFPPortDescStatsReply,
        EventOFPPortStatsReply,
        EventOFPPortStatus,
        EventOFPStateChange,
    )
    from os_ken.controller.ofp_handler import OFPHandler
    from os_ken.lib import hub
    from os_ken.ofproto import ofproto_v1_3

__all__ = [
    "DEAD_DISPATCHER",
    "MAIN_DISPATCHER",
    "Datapath",
    "EventOFPBarrierReply",
    "EventOFPErrorMsg",
    "EventOFPFlowRemoved",
    "EventOFPFlowStatsReply",
    "EventOFPPacketIn",
    "EventOFPPortDescStatsReply",
    "EventOFPPortStatsReply",
    "EventOFPPortStatus",
    "EventOFPStateChange",
    "EventTick",
    "OpenFlowApp",
    "listen",
    "serve",
    "serve_http",
    "set_ev_cls",
    "spawn",
]


spawn = hub.spawn


class EventTick(event.EventBase):
    """It is time for something.

    Args:
        what: which of an application's regular works.
    """

    def __init__(self, what: str) -> None:
        super().__init__()
        self.what = what


class OpenFlowApp(OSKenApp):
    """Base of the applications that decide what switches do. They speak OpenFlow 1.3, no other version.

    All of an application's handlers run one after the other, in one greenlet. Regular work does too, as `EventTick`,
    so no handler finds another one's work half done.
    """

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.supervised = False
        self._failure = hub.HubEvent()

    def every(self, period_s: Callable[[], float], what: str) -> None:
        """From now on sends this application an `EventTick` again and again.

        Args:
            period_s: asked for each pause.
            what: as in the event.
        """

        def tick() -> None:
            while True:
                hub.sleep(period_s())
                self.send_event(self.name, EventTick(what))

        self.threads.append(hub.spawn(tick))

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
    listening = listen(host, port)
    manager = AppManager.get_instance()
    app = manager.instantiate(application, **arguments)
    app.supervised = True
    for started in (app, manager.instantiate(_Listener, listening)):
        started.start()
    print(f"listening on {_show(*listening.getsockname()[:2])}", flush=True)
    app.wait_for_failure()


def serve_http(listening: eventlet.greenio.GreenSocket, application: Callable[..., Any], longest_request: int) -> None:
    """Serves a WSGI application beside everything else, to requests whose line has no more characters than that."""
    from eventlet import wsgi  # not with the rest: not every controller serves

    hub.spawn(wsgi.server, listening, application, log_output=False, url_length_limit=longest_request)


def listen(host: str, port: int) -> eventlet.greenio.GreenSocket:
    """A listening socket of the event loop.

    Args:
        host: address, IPv4 or IPv6; or the path of a socket in the file system, then without a port. One that is left
            over there is replaced.
        port: TCP port; 0 picks a free one.

    Raises:
        UsageError: the address cannot be listened on.
    """
    try:
        if host.startswith("/"):
            return _listen_in_file_system(host)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return eventlet.listen((host, port), family=family, reuse_port=False)
    except OSError as error:
        hint = "another controller may be running there; choose another place with --listen, --rest"
        raise UsageError(f"cannot listen on {_show(host, port)}: {os.strerror(error.errno or 0)}", hint) from error


def _listen_in_file_system(path: str) -> eventlet.greenio.GreenSocket:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(Path(path).stat().st_mode):
            Path(path).unlink()
    listening = eventlet.listen(path, family=socket.AF_UNIX)
    Path(path).chmod(0o600)  # for its owner only
    return listening


def _show(host: str, port: int) -> str:
    if host.startswith("/"):
        return host
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
