"""The workers of a scheduler: what they are, and which of them may measure a cell."""

import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from distributed import Client

from flightpath.clock import Clock
from scenarios.framework.cluster import task
from scenarios.framework.cluster.about import difference
from scenarios.framework.plan import Plan


@dataclass
class Workers:
    """The workers that were seen, and those that are there.

    Attributes:
        seen: what each has said of its machine, by its address.
        threads: how many cells each that is there takes at once.
    """

    seen: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    threads: dict[str, int] = field(default_factory=dict)

    def look(self, client: Client) -> None:
        """Finds out which workers are there, and asks new ones what they are."""
        self.threads = client.nthreads()
        if new := [address for address in self.threads if address not in self.seen]:
            for address, about in client.run(task.about, workers=new, on_error="ignore").items():
                self.seen[address] = about
                if why := difference(about):
                    print(f"a worker is not used: {why}", file=sys.stderr)

    def usable(self) -> list[str]:
        """The addresses of those that have this version and commit of Flightpath."""
        return [address for address in self.threads if address in self.seen and not difference(self.seen[address])]

    def places(self) -> int:
        """How many cells they take at once."""
        return sum(self.threads[address] for address in self.usable())

    def machines(self) -> list[Mapping[str, Any]]:
        """What was said of each machine."""
        return sorted({about["machine"]: about for about in self.seen.values()}.values(), key=lambda each: each["host"])

    def has_other(self, tried: Collection[str]) -> bool:
        """Whether there is a machine besides those that have tried a cell."""
        return any(self._machine(address) not in tried for address in self.usable())

    def where(self, plan: Plan, turn: int | None = None, tried: Collection[str] = ()) -> dict[str, Any]:
        """Which workers a cell may go to, and what it takes of one, as Dask's `submit` understands it.

        On the real clock the repetitions of a point go round the machines, and the points begin at different ones, so
        that a slow machine does not become a point's fault. Only if these workers are gone may others take it.

        Args:
            plan: of the cell.
            turn: the cell's, as `turns` says.
            tried: machines that it should not go to.
        """
        usable = self.usable()
        machines = sorted({self._machine(address) for address in usable} - set(tried))
        if turn is not None and machines:
            machines = [machines[turn % len(machines)]]
        chosen = [address for address in usable if self._machine(address) in machines]
        kind = "exclusive" if _is_real(plan) else "virtual"
        return {"workers": chosen or usable, "allow_other_workers": True, "resources": {kind: 1}}

    def _machine(self, address: str) -> str:
        return self.seen[address]["machine"]


def turns(plan: Plan) -> list[int | None]:
    """For each cell of a plan, its turn among the machines; None in virtual time, where any machine will do."""
    cells = plan.cells()
    if not _is_real(plan):
        return [None] * len(cells)
    points: dict[str, int] = {}
    return [points.setdefault(repr(sorted(cell.parameters.items())), len(points)) + cell.repetition for cell in cells]


def _is_real(plan: Plan) -> bool:
    return plan.settings.get("clock") == Clock.REAL
