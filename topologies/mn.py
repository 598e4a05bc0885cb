#!/usr/bin/python3
"""Mininet's own command with Flightpath's networks, links, switches and controllers.

    sudo topologies/mn.py --topo dtn_pair --link relay,bw=10000,delay=15ms --switch auto --controller steering

It also works as a file for `mn --custom`, except that `mn` runs its clean-up on the machine if it does not find the
file. `mn` executes this file and adds all its names to its own. All of `mn` runs in a sandbox: its network, its Open
vSwitch and its processes end with it, however it ends, and other networks on the machine are not affected, so that
`mn -c` is never needed. The sandbox is isolated from the outside: there is no `--nat`, and a remote controller must run
inside (`sh ./controller &`).

`--controller flightpath` forwards over shortest paths. `osken,app.py` runs your application for os-ken or Ryu; its log
is /run/flightpath/c0.log (`sh cat …`). `steering` gives each TCP connection and each MPTCP subflow its own path:
`--controller steering,policy=widest` (policies: `controllers.subflows.policies`); `connections` on mn's command line
shows them.
"""

import sys
from pathlib import Path

# If anything below fails, mn would "clean up": it ends all processes with names like Mininet's, also those of others.
if hasattr(sys.modules["__main__"], "MininetRunner"):
    vars(sys.modules["__main__"])["cleanup"] = lambda: None

if __name__ == "__main__" and not sys.flags.safe_path:
    sys.path.pop(0)  # this folder, in which there is another `mininet`
# mn executes this file without setting __file__.
sys.path.insert(0, str(Path(sys._getframe().f_code.co_filename).resolve().parents[1]))

from mininet.link import Link, OVSLink

from flightpath.errors import UsageError
from topologies.links.emulators import choose_emulator, link_class
from topologies.mininet import catalogue
from topologies.mininet.cli import FlightpathCLI as CLI
from topologies.mininet.command import check_link_option, move_into_sandbox, nothing_to_clean, start_mn
from topologies.mininet.network import AutoSwitch, KernelSwitch, link_class_for_mn
from topologies.mininet.network import InteractiveNetwork as Mininet
from topologies.mininet.scripts.nodes import ScriptBridge, ScriptController, ScriptRemoteController, ScriptUserSwitch
from topologies.testbed.applications import OskenController
from topologies.testbed.controller import FlightpathController, SteeringController

__all__ = ["CLI", "LINKS", "Mininet", "MininetWithControlNet", "cleanup", "controllers", "findController", "switches"]
__all__ += ["topos", "validate"]

if __name__ == "__main__":
    sys.exit(start_mn(Path(__file__).resolve()))
move_into_sandbox()

# Not earlier: only the sandbox shows which links can be made.
from topologies.mininet.scripts.links import ShapedLink  # noqa: E402
from topologies.mininet.scripts.stand_ins import stand_in  # noqa: E402

stand_in()  # for the user's files that come after this one
topos = {name: catalogue.topology(name) for name in catalogue.names()}
switches: dict[str, type[AutoSwitch]] = dict.fromkeys(("auto", "default", "ovs"), AutoSwitch)
switches |= {"ovsk": KernelSwitch, "user": ScriptUserSwitch, "ovsbr": ScriptBridge, "lxbr": ScriptBridge}
controllers = {"flightpath": FlightpathController, "steering": SteeringController}
controllers |= {"osken": OskenController, "ryu": OskenController, "remote": ScriptRemoteController}
controllers |= dict.fromkeys(("ref", "ovsc"), ScriptController)
# Mininet 2.3.0 does not take `links` from a custom file (a comma is missing in its list of names).
_auto = link_class_for_mn(link_class(choose_emulator()))
_ours = {"default": _auto, "auto": _auto, **{name: link_class_for_mn(link_class(name)) for name in ("relay", "netem")}}
LINKS = {**_ours, "veth": Link, "tc": ShapedLink, "tcu": ShapedLink, "ovs": OVSLink}
validate = check_link_option
cleanup = nothing_to_clean


def MininetWithControlNet(*_: object, **__: object) -> Mininet:
    """Refuses the option `--innamespace`."""
    raise UsageError("--innamespace: switches are one Open vSwitch, which has one namespace", "leave the option out")


def findController() -> type[FlightpathController]:
    """Returns the default of the option `--controller`."""
    return FlightpathController
