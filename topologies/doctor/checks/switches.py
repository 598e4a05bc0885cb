"""Checks of Open vSwitch's datapaths: in user space, which works on every kernel, and in the kernel."""

import json
from functools import partial
from types import ModuleType

from flightpath.commands import CommandFailed, require, run
from flightpath.errors import MeasurementFailed, MissingCapability
from flightpath.project import SETUP_HINT
from topologies.doctor import kernel_modules
from topologies.doctor.check import COMMAND_TIMEOUT_S, Area, Finding, missing, ok, register
from topologies.doctor.checks.links import require_tun

_BRIDGE = "fp-bridge"
_switch_check = partial(register, Area.SWITCHES, sandboxed=True)


@_switch_check(
    "OVS user datapath",
    costs="There are no switches, unless this kernel has the kernel datapath.",
    remedy="sudo apt-get install openvswitch-switch mininet",
    required=True,
)
def _probe_user_datapath() -> Finding:
    """Starts a private Open vSwitch and makes a bridge in it, whose own port is a TAP device."""
    private = _openvswitch().PrivateOpenVSwitch
    require_tun()
    try:
        with private():
            vsctl = [require("ovs-vsctl"), f"--timeout={COMMAND_TIMEOUT_S:.0f}"]
            run([*vsctl, "add-br", _BRIDGE, "--", "set", "Bridge", _BRIDGE, "datapath_type=netdev"])
            answer = run([*vsctl, "--format=json", "--columns=error", "find", "Interface", f"name={_BRIDGE}"])
            run([*vsctl, "del-br", _BRIDGE])  # its devices would outlive Open vSwitch
    except (CommandFailed, MeasurementFailed) as error:
        return missing(str(error))
    [[problem]] = json.loads(answer)["data"]
    return ok("a private instance starts, with a bridge") if problem == ["set", []] else missing(str(problem))


@_switch_check(
    "OVS kernel datapath",
    costs="Switches take more processor time, because packets pass through user space.",
    remedy="sudo modprobe openvswitch",
)
def _probe_kernel_datapath() -> Finding:
    require("ovs-dpctl")
    if _openvswitch().has_kernel_datapath():
        return ok("a datapath can be made")
    return missing("the kernel makes no datapath for Open vSwitch", kernel_modules.remedy("openvswitch"))


def _openvswitch() -> ModuleType:
    """Returns the module that starts Open vSwitch, which needs Mininet: the doctor must work without."""
    try:
        from topologies.testbed import openvswitch
    except ImportError as error:
        raise MissingCapability(f"Mininet cannot be imported: {error}", SETUP_HINT) from error
    return openvswitch
