"""Topologies, links, switches and controller for Mininet's own command: without it `mn` knows none of ours.

    sudo mn --custom topologies/mn.py --topo dtn_pair --link relay,bw=10000,delay=15ms --switch auto \
        --controller steering

`mn` executes this file and takes every name in it into its own. All of `mn` then runs in a sandbox: its network, its
Open vSwitch and its processes are gone with it, whatever ends it, and nobody else's are touched; `mn -c` is never
needed. Nothing outside can be reached from there: no `--nat`, no remote controller.

`--controller flightpath` forwards by shortest paths, `steering` gives each TCP flow and each subflow of MPTCP a path of
its own: `--controller steering,policy=widest`, see `controllers.subflows.policies`; `mininet> connections` shows which.
"""

import sys
from pathlib import Path

# Should anything below fail, mn would "clean up": end processes, of others too, whose names look like Mininet's.
if hasattr(sys.modules["__main__"], "MininetRunner"):
    sys.modules["__main__"].cleanup = lambda: None

# mn executes this file without telling it where it lies.
sys.path.insert(0, str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))

from mininet.link import Link, OVSLink, TCLink, TCULink

from topologies.dtn_pair import DtnPair
from topologies.fabric import Fabric
from topologies.links.emulators import choose_emulator, link_class
from topologies.mininet.cli import FlightpathCLI as CLI  # noqa: N814 - the name that mn looks for
from topologies.mininet.command import check_link_option, move_into_sandbox, nothing_to_clean
from topologies.mininet.network import AutoSwitch, WebServiceForMn, with_texts
from topologies.mininet.network import SandboxedMininet as Mininet
from topologies.multipath_pair import MultipathPair
from topologies.testbed.controller import FlightpathController, SteeringController

__all__ = ["CLI", "LINKS", "Mininet", "cleanup", "controllers", "findController", "switches", "topos", "validate"]

move_into_sandbox()

_auto = with_texts(link_class(choose_emulator()))

topos = {"dtn_pair": DtnPair, "multipath_pair": MultipathPair, "fabric": Fabric, "web_service": WebServiceForMn}
switches = {"auto": AutoSwitch, "default": AutoSwitch}
controllers = {"flightpath": FlightpathController, "steering": SteeringController}
# Mininet 2.3.0 overlooks `links` in a custom file (a comma is missing in its list of names).
_ours = {"default": _auto, "auto": _auto, **{name: with_texts(link_class(name)) for name in ("relay", "netem")}}
LINKS = {**_ours, "veth": Link, "tc": TCLink, "tcu": TCULink, "ovs": OVSLink}
validate = check_link_option
cleanup = nothing_to_clean


def findController() -> type[FlightpathController]:  # noqa: N802 - mn asks for the default controller by this name
    """The controller where none is asked for."""
    return FlightpathController
