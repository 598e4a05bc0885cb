"""os-ken and its event loop: applications, events, and the sockets of OpenFlow and HTTP.

`controllers.openflow.messages` encodes and decodes OpenFlow messages. No other module imports os-ken or eventlet.

os-ken stays below version 4. From 4 on, the event loop of an application ends silently when a handler raises an
exception, and `hub.Event.wait(timeout)` never times out.

`serve` does what the controller needs of `osken-manager`'s start-up, which would also read configuration from /etc,
listen on all addresses, share its port with other processes (SO_REUSEPORT) and monkey-patch the standard library.
"""

import contextlib
import errno
import os
import socket
import stat
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from flightpath.errors import FlightpathError, UsageError
from flightpath.hosts import endpoint
from flightpath.overrides import override

os.environ["OSKEN_HUB_TYPE"] = "eventlet"  # os-ken's other event loop, native threads, loses events
os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")  # no host name is ever resolved
# eventlet loads pyOpenSSL if it is installed, which takes a tenth of the start-up time. Switches do not speak TLS here.
sys.modules.setdefault("OpenSSL", None)  # type: ignore[arg-type]  # None makes its import fail
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    import eventlet
    from eventlet.hubs.hub import FdListener
    from os_ken import cfg
    from os_ken.base.app_manager import AppManager, OSKenApp
    from os_ken.controller import event
    from os_ken.controller import ofp_event as events
    from os_ken.controller.controller import Datapath, datapath_connection_factory
    from os_ken.controller.handler import DEAD_DISPATCHER, MAIN_DISPATCHER, set_ev_cls
    from os_ken.controller.ofp_handler import OFPHandler
    from os_ken.lib import hub
    from os_ken.ofproto import ofproto_v1_3, ofproto_v1_3_parser


# The names of os-ken that other modules use.
__all__ = [
    "DEAD_DISPATCHER",
    "MAIN_DISPATCHER",
    "Datapath",
    "events",
    "ofproto_v1_3",
    "ofproto_v1_3_parser",
    "set_ev_cls",
]

_IS_NO_LISTENER = (errno.EBADF, errno.EINVAL, errno.ENOTSOCK, errno.EOPNOTSUPP)
_ACCEPT_PAUSE_S = 0.1
_SECONDS_BETWEEN_WARNINGS = 60
_BACKLOG = 4096
"""Number of switches that may connect at the same time: one that is refused tries again only after a second."""

spawn = hub.spawn

# The event loop serves the sockets that are ready in the order of a set of their listeners: with Python's own hash that
# of their addresses, which in virtual time would be another order for a checkout whose path is longer.
FdListener.__hash__ = lambda listener: hash(listener.fileno)


class EventTick(event.EventBase):
    """A periodic task of an application is due; its steps are to be called with the time."""

    def __init__(self, steps: Sequence[Callable[[float], None]]) -> None:
        super().__init__()
        self.steps = steps


class OpenFlowApp(OSKenApp):
    """Base class of the applications that control switches, by OpenFlow 1.3 only.

    All handlers of an application, periodic tasks included, run one after the other in one greenlet. So no handler
    sees the half-done work of another.
    """

    OFP_VERSIONS = (ofproto_v1_3.OFP_VERSION,)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._failure = hub.HubEvent()

    def every(self, period_s: Callable[[], float], steps: Sequence[Callable[[float], None]]) -> None:
        """Sends this application an `EventTick` again and again; `period_s` is called before each pause."""

        def tick() -> None:
            while True:
                hub.sleep(period_s())
                self.send_event(self.name, EventTick(steps))

        self.threads.append(hub.spawn(tick))

    def fail(self, error: FlightpathError) -> None:
        """Ends the controller: `wait_for_failure`, and with it `serve`, raises the error."""
        if not self._failure.ready():
            self._failure.send_exception(error)

    def wait_for_failure(self) -> None:
        """Blocks until `fail` is called, then raises its error."""
        self._failure.wait()


class _Listener(OFPHandler):
    """os-ken's handshake with switches, on a socket that `listen` has opened."""

    def __init__(self, server: eventlet.greenio.GreenSocket) -> None:
        super().__init__()
        self._server = server

    def start(self) -> None:
        OSKenApp.start(self)  # not OFPHandler.start, which opens the socket that os-ken's options describe
        self.threads.append(hub.spawn(self._accept_forever))

    def _accept_forever(self) -> None:
        while True:
            connection, address = self._server.accept()
            hub.spawn(datapath_connection_factory, connection, address)


class _ListeningSocket(eventlet.greenio.GreenSocket):
    """A socket that goes on listening when it cannot accept a connection, for example for want of file descriptors.

    What accepts in a loop would otherwise end at the first error, and never hear of a connection again.
    """

    _silent_until_s = 0.0  # of all sockets: file descriptors lack them all

    @override
    def accept(self) -> tuple[eventlet.greenio.GreenSocket, Any]:
        while True:
            try:
                return super().accept()
            except OSError as error:
                if error.errno in _IS_NO_LISTENER:
                    raise
                self._warn(f"controllers: cannot accept a connection, and tries again: {error.strerror}")
                hub.sleep(_ACCEPT_PAUSE_S)

    def _warn(self, problem: str) -> None:
        """Prints a problem, at most once a minute: between two failures, single connections may be accepted."""
        if time.monotonic() >= self._silent_until_s:
            print(problem, file=sys.stderr, flush=True)
            _ListeningSocket._silent_until_s = time.monotonic() + _SECONDS_BETWEEN_WARNINGS


def serve(host: str, port: int, application: type[OpenFlowApp], **arguments: Any) -> None:
    """Listens for switches and runs an application for them; prints the address once it listens.

    Raises:
        UsageError: the address cannot be listened on.
        FlightpathError: the application called `fail`. If it never does, this function never returns.
    """
    cfg.CONF(args=[], default_config_files=[], default_config_dirs=[], use_env=False)
    server = listen(host, port)
    manager = AppManager.get_instance()
    app = manager.instantiate(application, **arguments)
    app.start()
    manager.instantiate(_Listener, server).start()
    print(f"listening on {endpoint(*server.getsockname()[:2])}", flush=True)
    app.wait_for_failure()


def serve_http(server: eventlet.greenio.GreenSocket, application: Callable[..., Any], max_request_line: int) -> None:
    """Serves a WSGI application in the background; a longer request line, in characters, is refused."""
    hub.spawn(eventlet.wsgi.server, server, application, log_output=False, url_length_limit=max_request_line)


def listen(host: str, port: int) -> eventlet.greenio.GreenSocket:
    """Opens a listening socket for the event loop.

    Args:
        host: an IPv4 or IPv6 address, or the absolute path of a Unix socket. An old socket at that path is replaced.
        port: 0 picks a free one. Ignored for a Unix socket.
    """
    try:
        if host.startswith("/"):
            return _listen_on_unix_socket(host)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return _listen(family, (host, port))
    except OSError as error:
        address = host if host.startswith("/") else endpoint(host, port)
        hint = "another controller may be running there; choose another address with --listen or --rest"
        raise UsageError(f"cannot listen on {address}: {os.strerror(error.errno or 0)}", hint) from error


def _listen_on_unix_socket(path: str) -> eventlet.greenio.GreenSocket:
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISSOCK(Path(path).stat().st_mode):
            Path(path).unlink()
    server = _listen(socket.AF_UNIX, path)
    Path(path).chmod(0o600)
    return server


def _listen(family: int, address: tuple[str, int] | str) -> _ListeningSocket:
    server = _ListeningSocket(family, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(address)
    server.listen(_BACKLOG)
    return server


def refuse_parts_without_length(parsers: ModuleType) -> None:
    """Makes every `parser` of the module's classes raise a ValueError for a part of length 0, or of unknown type.

    os-ken reads lists (of rules, instructions, actions, buckets, …) by going on behind the part that it has just read.
    A part of length 0 would be read for ever, and each time kept: a hostile switch could stop the controller.
    """
    for kind in vars(parsers).values():
        parse = vars(kind).get("parser") if isinstance(kind, type) else None
        if isinstance(parse, classmethod):
            kind.parser = classmethod(_checked(parse.__func__))


def _checked(parse: Callable[..., Any]) -> Callable[..., Any]:
    def parser(kind: type, *arguments: Any) -> Any:
        part = parse(kind, *arguments)
        if part is None or getattr(part, "len", getattr(part, "length", None)) == 0:
            raise ValueError(f"{kind.__name__}: a part of a message has no length, or an unknown type")
        return part

    return parser


refuse_parts_without_length(ofproto_v1_3_parser)
