"""The parts of the record: runs, each with its form and its clock. To add one, add it to `PARTS`."""

from collections.abc import Sequence
from dataclasses import dataclass

from experiments import catalogue
from experiments.plan import Plan
from experiments.scenario import Scenario
from flightpath.clock import Clock
from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from scenarios.command import runner
from scenarios.command.options import request_from

CORES = 2
"""Number of cores that the estimates assume by default."""


@dataclass(frozen=True)
class Part:
    """One run of the record.

    Several parts may run the same scenario, for example on both clocks. A claim is then judged by the first of them
    that tests it.

    Attributes:
        name: for `PART="…"`; usually the scenario's.
        paper: name of the paper's file in `papers/`.
        options: the scenario's options; the clock, the jobs and the store are added.
        cell_s: processor time of one cell in virtual time, roughly, as measured; 0 on the real clock, where the
            scenario itself knows how long a cell takes.
    """

    name: str
    paper: str
    options: str
    cell_s: float = 0.0
    clock: Clock = Clock.VIRTUAL
    scenario_name: str = ""

    @property
    def scenario(self) -> Scenario:
        """The scenario that is run."""
        return catalogue.get(self.scenario_name or self.name)

    @property
    def arguments(self) -> list[str]:
        """The options of the scenario, and the clock; at the paper's rates, since cells tell if a machine is slow."""
        scale = [] if self.clock is Clock.VIRTUAL else ["--scale", "1"]
        return [*self.options.split(), "--clock", str(self.clock), *scale]

    @property
    def command(self) -> str:
        """The command that repeats this part by itself."""
        return " ".join(["flightpath run", self.scenario.name, *self.arguments])

    def plan(self) -> Plan:
        """Returns the plan, before cells that this machine cannot measure are left out."""
        return runner.requested_plan(self.scenario, request_from(self.scenario, self.arguments))

    def estimate_s(self, jobs: int = CORES) -> float:
        """Estimates the duration; in virtual time, `jobs` cells are measured at once."""
        plan = self.plan()
        if self.clock is Clock.VIRTUAL:
            return len(plan.cells()) * self.cell_s / jobs
        return sum(self.scenario.estimate_s(cell, plan) for cell in plan.cells())


def _only(name: str, *values: object) -> str:
    return " ".join(f"--only {name}={value}" for value in values)


_SEVEN = "cubic,reno,illinois,scalable,veno,highspeed,vegas"
_CONFIGURATIONS = "baseline4,tun4_path4,tun4_path6,tun6_path4,tun6_path6,tun4_path4_plain,mptcp4,mptcp6"

PARTS = (
    # The paper's size: with fewer students no request waits for its timeout (1500: none fails at 800 requests/s).
    Part("mptcp_load", "mptcp-load-sdn", "--full --loads 50,500,800 --repeat 2", cell_s=200),
    Part("multipath_10gbe", "mptgre-vs-mptcp-10gbe", "--repeat 5", clock=Clock.REAL),
    Part(
        "congestion_quadpath",
        "congestion-control-quadpath",
        f"--configurations {_CONFIGURATIONS} --algorithms {_SEVEN} --seconds 3 --repeat 3",
        cell_s=19,
    ),
    Part(
        "congestion_quadpath_processors",
        "congestion-control-quadpath",
        f"--configurations mptcp6,tun6_path6 --algorithms {_SEVEN} --repeat 3",
        clock=Clock.REAL,
        scenario_name="congestion_quadpath",
    ),
    Part(
        "congestion_quadpath_paths",
        "congestion-control-quadpath",
        "--configurations mptcp6,tun6_path6 --algorithms cubic --paths 1,2,3,4 --size 0 --udp 0 --repeat 3",
        clock=Clock.REAL,
        scenario_name="congestion_quadpath",
    ),
    Part("dtn_buffers", "netpreflight", f"--full {_only('size_mb', 5, 20, 60, 100)} --repeat 3", cell_s=7),
    Part("dtn_congestion", "netpreflight", f"--full {_only('size_mb', 20, 100)} --repeat 3", cell_s=7),
    Part("dtn_bottleneck", "netpreflight", f"--full {_only('size_mb', 50, 500)} --repeat 3", cell_s=20),
    Part("dtn_tools", "netpreflight", "--repeat 3", cell_s=12),
    Part("dtn_window", "netpreflight", "--full --repeat 3", cell_s=6),
    Part(
        "dtn_streams",
        "netpreflight",
        f"--full {_only('size_mb', 100)} {_only('traffic', 'cross')} --repeat 3",
        cell_s=65,
    ),
    Part("dtn_multihomed", "netpreflight", "--repeat 3", cell_s=18),
    Part("dtn_mss", "netpreflight", "--seconds 4 --repeat 3", cell_s=35),
)


def chosen(names: Sequence[str]) -> list[Part]:
    """Returns the parts with these names, in the order of the record; all parts if no name is given.

    Raises:
        UsageError: there is no such part.
    """
    known = [part.name for part in PARTS]
    for name in names:
        if name not in known:
            raise UsageError(f"there is no part {name!r}", did_you_mean(name, known))
    return [part for part in PARTS if not names or part.name in names]
