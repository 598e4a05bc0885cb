"""Packet captures of the load, kept with the results."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from mininet.topo import Topo

from experiments.plan import Plan
from flightpath.commands import require
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from results.records import Cell
from results.store.ownership import give_to_caller, make_folder
from topologies.capture.capture import PacketCapture, file_name, find_target
from topologies.testbed.testbed import Testbed

_FOLDER = "captures"


class Context(Protocol):
    """The cell that is measured."""

    @property
    def cell(self) -> Cell: ...  # noqa: D102
    @property
    def plan(self) -> Plan: ...  # noqa: D102
    @property
    def artifacts(self) -> Path: ...  # noqa: D102


def check(plan: Plan, topology: Topo) -> None:
    """Checks the names before anything starts.

    Raises:
        UsageError: the topology has no such interface.
        MissingCapability: tcpdump is not installed.
    """
    ends = [(info[f"node{i}"], info[f"port{i}"]) for *_, info in topology.links(withInfo=True) for i in (1, 2)]
    names = [*topology.hosts(), *sorted(f"{node}-eth{port}" for node, port in ends)]
    for name in _targets(plan):
        if name not in names:
            raise UsageError(
                f"--capture: there is no {name!r}", did_you_mean(name, names, f"known: {', '.join(names)}")
            )
        require("tcpdump")


@contextlib.contextmanager
def running(testbed: Testbed, context: Context) -> Iterator[Sequence[PacketCapture]]:
    """Provides the captures of a cell while it is under load; their files are in the run's folder."""
    folder = context.artifacts / _FOLDER
    nodes = {node.name: node for node in [*testbed.net.hosts, *testbed.net.switches]}
    with contextlib.ExitStack() as stack:
        taken = []
        for name in _targets(context.plan):
            make_folder(folder)
            node, interface = find_target(name, nodes)
            capture = PacketCapture(node, interface, folder / file_name(context.cell.label, name))
            taken.append(stack.enter_context(capture))
        yield taken
    give_to_caller(*(capture.file for capture in taken))


def facts(taken: Sequence[PacketCapture]) -> Mapping[str, Any]:
    """Returns what was captured, for the certificate: capturing costs processor time."""
    if not taken:
        return {}
    found = [
        {"file": f"{_FOLDER}/{each.file.name}", "packets": counted.packets, "missing": counted.dropped}
        for each in taken
        if (counted := each.captured) is not None
    ]
    return {"captures": found}


def _targets(plan: Plan) -> Sequence[str]:
    return plan.settings.get("capture") or ()
