"""Replacement of Mininet's classes by ours, for all later imports.

A script that imports `OVSSwitch` from `mininet.node` gets ours. Mininet's own modules keep theirs: scripts get copies
of Mininet's modules, in which some names are replaced.
"""

import importlib
import sys
from types import ModuleType
from typing import Any

from mininet import clean, cli, link, net, node, nodelib
from mininet.log import info

from topologies.mininet.cli import FlightpathCLI
from topologies.mininet.network import InteractiveNetwork
from topologies.mininet.scripts import nodes
from topologies.mininet.scripts.links import ShapedLink
from topologies.testbed.mininet_tc import CheckedTCIntf

_BUILT_ON_THEM = ("mininet.topolib",)
"""Mininet's modules that import classes from the replaced ones: they are reloaded when a script imports them."""


def nothing_to_clean() -> None:
    """Replaces Mininet's clean-up, which ends all processes on the machine that look like Mininet's."""
    info("*** Nothing to clean up: the kernel removes a sandbox with its last process\n")


class NoCleanUp:
    """Mininet's `Cleanup`, with nothing to do."""

    cleanup = staticmethod(nothing_to_clean)


_SWITCHES = {
    "OVSSwitch": nodes.ScriptSwitch,
    "OVSKernelSwitch": nodes.ScriptSwitch,
    "OVSBridge": nodes.ScriptBridge,
    "UserSwitch": nodes.ScriptUserSwitch,
}
_CONTROLLERS = {
    "Controller": nodes.ScriptController,
    "OVSController": nodes.ScriptController,
    "DefaultController": nodes.ScriptController,
    "Ryu": nodes.ScriptRyu,
    "RemoteController": nodes.ScriptRemoteController,
    "DefaultControllers": (nodes.ScriptController,),
    "findController": lambda *_: nodes.ScriptController,
}
_LINKS = {"TCLink": ShapedLink, "TCULink": ShapedLink, "TCIntf": CheckedTCIntf}

STAND_INS: dict[ModuleType, dict[str, Any]] = {
    node: {**_SWITCHES, **_CONTROLLERS, "CPULimitedHost": nodes.UnlimitedHost},
    nodelib: {"LinuxBridge": nodes.ScriptBridge, "NAT": nodes.ScriptNAT},
    link: _LINKS,
    net: {**_SWITCHES, **_CONTROLLERS, "NAT": nodes.ScriptNAT, "Mininet": InteractiveNetwork},
    cli: {"CLI": FlightpathCLI},
    clean: {"cleanup": nothing_to_clean, "Cleanup": NoCleanUp},
}


def stand_in() -> None:
    """Replaces the modules; modules that were imported before keep Mininet's classes."""
    package = importlib.import_module("mininet")
    for name in _BUILT_ON_THEM:
        sys.modules.pop(name, None)
    for original, names in STAND_INS.items():
        copy = ModuleType(original.__name__, original.__doc__)
        vars(copy).update({**vars(original), **{name: it for name, it in names.items() if hasattr(original, name)}})
        sys.modules[original.__name__] = copy
        setattr(package, original.__name__.rpartition(".")[2], copy)
