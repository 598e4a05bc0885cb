"""os-ken without what is never used of it: all of it takes five times as long to load, seconds on a slow machine.

Instead of a module that is not needed the import finds a stand-in, empty but for the few names that are asked for.
"""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType


@contextlib.contextmanager
def lean_os_ken() -> Iterator[None]:
    """While it lasts, os-ken and eventlet are imported without what the controller does not need.

    What is loaded already stays as it is; afterwards any module can be imported as usual, by those who do need it.
    """
    os.environ["OSKEN_HUB_TYPE"] = "eventlet"  # the other one, native threads, loses events
    os.environ.setdefault("EVENTLET_NO_GREENDNS", "yes")  # no name is ever looked up
    sys.modules.setdefault("OpenSSL", None)  # nothing speaks TLS
    with warnings.catch_warnings(), _standing_in(_unused()):
        warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
        yield


class _Version:
    """What os-ken asks pbr for, which reads the metadata of all that is installed to find it."""

    def __init__(self, package: str) -> None:
        pass

    def version_string(self) -> str:
        return "not looked up"


class _Packet:
    """What messages ask whether their data is an instance of."""


def _unused() -> list[ModuleType]:
    pbr_version = _stand_in("pbr.version", VersionInfo=_Version)
    # Parsers of all protocols from ARP to BGP; packets are read by `packets.segments`. Its constants are needed.
    folder = Path(find_spec("os_ken").origin).parent / "lib" / "packet"
    packet = _stand_in("os_ken.lib.packet.packet", Packet=_Packet)
    return [
        pbr_version,
        _stand_in("pbr", version=pbr_version),
        packet,
        _stand_in("os_ken.lib.packet", __path__=[str(folder)], packet=packet),
        # Only `controllers.openflow.library.serve_http` serves, and imports it itself.
        _stand_in("eventlet.wsgi"),
        _stand_in("eventlet.websocket", WebSocketWSGI=object),
        *(_stand_in(f"os_ken.ofproto.ofproto_v1_{minor}_parser") for minor in (0, 2, 4, 5)),
        # Another event loop, options that come from plug-ins, and those that are URIs.
        *(_stand_in(name) for name in ("asyncio", "stevedore", "rfc3986")),
    ]


def _stand_in(name: str, **contents: object) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(contents)
    return module


@contextlib.contextmanager
def _standing_in(modules: Iterable[ModuleType]) -> Iterator[None]:
    stand_ins = {module.__name__: module for module in modules if module.__name__ not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        yield
    finally:
        for name in stand_ins:
            del sys.modules[name]
