"""Which datapaths Open vSwitch has here: without the user datapath there is no network on a kernel without modules."""

import json

from flightpath.commands import SETUP_HINT, CommandFailed, require, run
from flightpath.errors import MeasurementFailed, MissingCapability
from topologies.doctor import modules
from topologies.doctor.check import COMMAND_LIMIT_S, Check, Finding, missing, ok
from topologies.doctor.links import require_tun

AREA = "switches"
_BRIDGE = "fp-bridge"


def _probe_user_datapath() -> Finding:
    """Starts a private Open vSwitch and makes a bridge in it, whose own port is a TAP device."""
    private = _openvswitch().PrivateOpenVSwitch
    require_tun()
    try:
        with private():
            vsctl = [require("ovs-vsctl"), f"--timeout={COMMAND_LIMIT_S:.0f}"]
            run([*vsctl, "add-br", _BRIDGE, "--", "set", "Bridge", _BRIDGE, "datapath_type=netdev"])
            said = run([*vsctl, "--format=json", "--columns=error", "find", "Interface", f"name={_BRIDGE}"])
            run([*vsctl, "del-br", _BRIDGE])  # its devices would outlive Open vSwitch
    except (CommandFailed, MeasurementFailed) as error:
        return missing(str(error))
    [[trouble]] = json.loads(said)["data"]
    return ok("a private instance starts, with a bridge") if trouble == ["set", []] else missing(str(trouble))


def _probe_kernel_datapath() -> Finding:
    require("ovs-dpctl")
    if _openvswitch().has_kernel_datapath():
        return ok("a datapath can be made")
    return missing("the kernel makes no datapath for Open vSwitch", modules.remedy("openvswitch"))


def _openvswitch():  # noqa: ANN202 (a module)
    """The module that starts Open vSwitch; imported late, for it needs Mininet, and the doctor must not."""
    try:
        from topologies.testbed import openvswitch
    except ImportError as error:
        raise MissingCapability(f"Mininet cannot be imported: {error}", SETUP_HINT) from error
    return openvswitch


CHECKS = (
    Check(
        AREA,
        "OVS user datapath",
        _probe_user_datapath,
        "There are no switches, unless this kernel has the kernel datapath.",
        "sudo apt-get install openvswitch-switch mininet",
        required=True,
        sandboxed=True,
    ),
    Check(
        AREA,
        "OVS kernel datapath",
        _probe_kernel_datapath,
        "Switches take more processor time: packets pass them in user space.",
        "sudo modprobe openvswitch",
        sandboxed=True,
    ),
)
