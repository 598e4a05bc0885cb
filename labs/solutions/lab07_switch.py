"""Lab 7: the solution, and typical mistakes."""

from pathlib import Path

import labs.lab07_switch
from labs.framework.lab import Parameters
from labs.lab07_switch.lab import FILE
from labs.solutions.attempt import Attempt

_DELIVERED = (Path(labs.lab07_switch.__file__).parent / "work" / FILE).read_text()
_HUB = "        self.send(message, [port for port in FLOOD[datapath.id] if port != in_port])\n"

_LEARNS = """\
        local, group = self.local.setdefault(datapath.id, {{}}), int(frame.dst[:2], 16) & 1
        if in_port in HOST_PORTS or datapath.id in (CORE1, CORE2):
            local[frame.src] = in_port
        if group:
            self.send(message, [port for port in FLOOD[datapath.id] if port != in_port])
            return
        if frame.dst in local:
            out = local[frame.dst]
        elif datapath.id in (CORE1, CORE2):
            out = EDGE2 if in_port == EDGE1 else EDGE1
        elif in_port in HOST_PORTS:
            out = {uplink}
        else:
            self.send(message, HOST_PORTS)
            return
        {rule}
        self.send(message, [out])
"""
_RULE = 'self.add_rule(datapath, 1, {"in_port": in_port, "eth_dst": frame.dst}, [out])'


def solution(parameters: Parameters) -> Attempt:
    """Learns which hosts are at a switch's own ports, and chooses the core switch by the port of the sender."""
    return _with(_uplinks(parameters, parameters["core_of_first"]), _RULE)


def mistakes(parameters: Parameters) -> dict[str, Attempt]:
    other = "core2" if parameters["core_of_first"] == "core1" else "core1"
    right = _uplinks(parameters, parameters["core_of_first"])
    return {
        "everything over one core switch": _with("1", _RULE, "is the line shared"),
        "the other way round": _with(_uplinks(parameters, other), _RULE, "other core switch"),
        "no rules": _with(right, "pass", "controller is off"),
        "broadcasts in a circle": Attempt(
            {},
            {FILE: _DELIVERED.replace("(1, 16, 17)", "(1, 2, 16, 17)").replace("CORE2: ()", "CORE2: (1, 2)")},
            "in circles",
        ),
        "an error": Attempt({}, {FILE: _DELIVERED + "\nraise SystemExit('oh')\n"}, "switch.py ended"),
    }


def _uplinks(parameters: Parameters, core_of_first: str) -> str:
    """Returns an expression for the port to the core switch: by switch and the port of the sender."""
    first, second = (1, 2) if core_of_first == "core1" else (2, 1)
    h3, h4 = (first, second) if parameters["first"] == "h3" else (second, first)
    return (
        f"{{(EDGE1, 16): {first}, (EDGE1, 17): {second}, (EDGE2, 16): {h3}, (EDGE2, 17): {h4}}}[datapath.id, in_port]"
    )


def _with(uplink: str, rule: str, hint: str = "") -> Attempt:
    text = _DELIVERED.replace(_HUB, _LEARNS.format(uplink=uplink, rule=rule))
    start = "    OFP_VERSIONS = [ofproto_v1_3.OFP_VERSION]\n"
    return Attempt({}, {FILE: text.replace(start, f"{start}    local = {{}}\n")}, hint)
