"""Where a controller sends the subflows of MPTCP, and what comes of it: policies beside each other on the same paths.

Neither policy is a paper's: the comparison is ours, and so are the claims, which say what each policy is for.
"""

import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from mininet.topo import Topo

from controllers.subflows.policies import POLICIES
from flightpath.errors import UsageError
from probes.counters import mptcp
from probes.transfers.stream import Stream, StreamRun
from results.records import Cell, CellResult, Claim, Measurement, Metric
from results.statistics import estimates as statistics
from scenarios import fidelity
from scenarios.framework import runner
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Context
from scenarios.framework.testbed_scenario import TestbedScenario
from scenarios.steering import claims as subflow_steering_claims
from scenarios.steering import figures as subflow_steering_figures
from services.stream import StreamServer
from topologies.fabric import Fabric
from topologies.hosts import congestion_control
from topologies.links.emulated_link import EmulatedLink
from topologies.links.events import LinkEvent
from topologies.testbed.testbed import Testbed

CLIENT, SERVER = "h1", "h2"
FORWARDING = "none"
"""Not a policy: shortest-path forwarding by address, so that a host's interface chooses the path."""

PATHS: Mapping[str, tuple[str, ...]] = {
    "equal": ("bw=20 delay=2ms queue=30ms",) * 4,
    "unequal": (
        "bw=40 delay=2ms queue=30ms",
        "bw=20 delay=4ms queue=30ms",
        "bw=10 delay=8ms queue=30ms",
        "bw=5 delay=16ms queue=30ms",
    ),
}
"""Each path's two links, between the edge switches."""

QUICK_POLICIES = (FORWARDING, "single", "ecmp", "disjoint", "least-loaded")
QUICK_FLOWS, FULL_FLOWS = (4,), (1, 2, 4)
SETTLED_S, FAILURE_S, RECOVERY_S = 1.5, 2.5, 2.5
_LEAD_NS = 50_000_000


class SubflowSteering(TestbedScenario):
    """The scenario; see its description."""

    name = "subflow_steering"
    summary = "where a controller sends MPTCP subflows: policies on equal and unequal paths, and what a failure costs"
    programs = ("ping", "ss")
    description = """\
Steering of MPTCP subflows and TCP connections over four paths, by policy.

h1 reads from h2 over a fabric: two edge switches, joined by four core switches, each a path of its own (equal: 20 Mb/s
each; unequal: 40, 20, 10 and 5 Mb/s with growing delay). The load is one MPTCP connection with so many subflows, or so
many TCP connections side by side. `none` is no steering: the address that a subflow uses chooses its path.

Each cell: time to the first byte of short connections; goodput and each path's share of the bytes; then a link of the
busiest path is cut, mended, and turned into a black hole (interface up, packets vanish), and the longest silence on a
connection is what the failure cost.

  python -m scenarios.subflow_steering                              the quick form
  python -m scenarios.subflow_steering --only policy=disjoint --only paths=equal
  python -m scenarios.subflow_steering --full                       all policies; 1, 2 and 4 flows; three times"""

    headlines = (
        "goodput",
        "paths_used",
        "busiest_share",
        "first_byte",
        "silence_cut",
        "silence_black_hole",
        "idle_cpu",
    )

    def add_options(self, parser: ArgumentParser) -> None:
        """Adds the options of the load."""
        super().add_options(parser)
        parser.add_argument("--seconds", type=float, default=4.0, help="of steady load, before the failures (4)")
        parser.add_argument("--policies", metavar="P,P,...", help=f"{FORWARDING}, {', '.join(POLICIES)}")

    def plan(self, options: Namespace) -> Plan:
        """The quick or full plan, changed by the options."""
        full = options.form == "full"
        policies = (FORWARDING, *POLICIES) if full else QUICK_POLICIES
        if options.policies:
            policies = tuple(options.policies.split(","))
            for policy in policies:
                _check_policy(policy)
        if options.seconds < SETTLED_S + 1:
            raise UsageError(f"--seconds: {options.seconds:g} s is too short", f"at least {SETTLED_S + 1:g}")
        axes = {
            "paths": tuple(PATHS),
            "policy": policies,
            "protocol": ("tcp", "mptcp"),
            "flows": FULL_FLOWS if full else QUICK_FLOWS,
        }
        return self.planned(options, axes, {"seconds": options.seconds}, quick_repeat=1, full_repeat=3)

    def topology(self, cell: Cell, plan: Plan) -> Topo:
        """The fabric."""
        return Fabric(
            edges=2,
            hosts=1,
            cores=len(PATHS[cell.parameters["paths"]]),
            links=PATHS[cell.parameters["paths"]],
            mptcp=cell.parameters["protocol"] == "mptcp",
            subflows=cell.parameters["flows"] if cell.parameters["protocol"] == "mptcp" else None,
            congestion_control=plan.settings["congestion_control"],
        )

    def testbed_options(self, cell: Cell, plan: Plan) -> Mapping[str, Any]:
        """The policy."""
        policy = cell.parameters["policy"]
        return {"policy": None if policy == FORWARDING else policy}

    def disturbances(self, cell: Cell, plan: Plan) -> list[LinkEvent]:
        """Whichever path turns out to be the busiest will fail."""
        count = len(PATHS[cell.parameters["paths"]])
        kinds = ("down", "blackhole=on")
        return [LinkEvent.parse(f"0s edge1-core{n} {kind}") for n in range(1, count + 1) for kind in kinds]

    def estimate_s(self, cell: Cell, plan: Plan) -> float:
        """The load with its two failures, and starting the testbed."""
        return plan.settings["seconds"] + 2 * (FAILURE_S + RECOVERY_S) + self.starting_s + 4

    def load(self, testbed: Testbed, watch: fidelity.Watch, cell: Cell, context: Context) -> Measurement:
        """Short connections, then the load with its failures."""
        client, server = testbed.host(CLIENT), testbed.host(SERVER)
        is_mptcp = cell.parameters["protocol"] == "mptcp"
        flows = int(cell.parameters["flows"])
        course = _Course(testbed, watch, context)
        with ExitStack() as stack:
            stack.enter_context(
                StreamServer(server, context.folder, mptcp=is_mptcp, on_listening=congestion_control.set_on_listeners)
            )
            probe = Stream(seconds=course.length_s, connections=1 if is_mptcp else flows, mptcp=is_mptcp)
            context.progress(0.3, "short connections")
            waits = probe.first_byte_ms(client, server.address(), 10)
            self.load_begins(testbed, context)
            run = probe.run(client, server.address(), watch=course.go_on, on_start=course.begin)
            if is_mptcp and flows > 1:
                mptcp.require_mptcp(CLIENT, {}, mptcp.read_counters(client))
        return course.measurement(run).merged(_short_connections(waits))

    def figures(self, cells: Sequence[CellResult], folder: Path) -> list[Path]:
        """Goodput, shares of the paths, silence."""
        return subflow_steering_figures.figures(list(cells), folder)

    def claims(self, cells: Sequence[CellResult], form: str) -> list[Claim]:
        """What each policy is for."""
        return subflow_steering_claims.claims(list(cells))


class _Course:
    """What happens during a load: steady, then the busiest path is cut and mended, then made a black hole."""

    def __init__(self, testbed: Testbed, watch: fidelity.Watch, context: Context) -> None:
        self._watch, self._context = watch, context
        self._paths = _path_links(testbed)
        self._steady_s = float(context.plan.settings["seconds"])
        self._start_ns = 0
        self._steps = [
            (SETTLED_S, self._settled),
            (self._steady_s, self._cut),
            (self._steady_s + FAILURE_S, self._mend),
            (self._steady_s + FAILURE_S + RECOVERY_S, self._swallow),
        ]
        self.length_s = self._steady_s + 2 * FAILURE_S + RECOVERY_S + 0.5
        self._failed_ns: dict[str, int] = {}
        self._carried: list[int] = []
        self._before: list[int] = []
        self._victim: EmulatedLink = self._paths[0]

    def begin(self, start_ns: int) -> None:
        """The load has begun."""
        self._start_ns = start_ns

    def go_on(self) -> None:
        """Does what is due; called again and again during the load."""
        self._watch.check()
        elapsed_s = (time.monotonic_ns() - self._start_ns) / 1e9
        self._context.progress(0.4 + 0.6 * min(1.0, elapsed_s / self.length_s), "load")
        while self._steps and elapsed_s >= self._steps[0][0]:
            self._steps.pop(0)[1]()

    def measurement(self, run: StreamRun) -> Measurement:
        """The figures of the whole course."""
        total = max(1, sum(self._carried))
        shares = {f"share_path{n}": 100 * count / total for n, count in enumerate(self._carried, start=1)}
        metrics = {
            "goodput": Metric(run.goodput_bps(SETTLED_S, self._steady_s), "bit/s"),
            **{name: Metric(share, "%") for name, share in shares.items()},
            "busiest_share": Metric(max(shares.values()), "%"),
            "paths_used": Metric(sum(share >= 2 for share in shares.values()), "1"),
        }
        for failure, at_ns in self._failed_ns.items():
            until_ns = at_ns + round(FAILURE_S * 1e9)
            after_s = (at_ns - run.start_ns) / 1e9
            metrics[f"silence_{failure}"] = Metric(run.longest_silence_s(at_ns, until_ns) * 1e3, "ms")
            metrics[f"goodput_{failure}"] = Metric(run.goodput_bps(after_s + 1, after_s + FAILURE_S), "bit/s")
        facts = {"failed_at_s": {name: (ns - run.start_ns) / 1e9 for name, ns in self._failed_ns.items()}}
        return Measurement(metrics, {"goodput": run.goodput()}, facts)

    def _settled(self) -> None:
        self._before = self._path_bytes()

    def _cut(self) -> None:
        self._watch.note_congestion_control()
        self._carried = self._since(self._before)
        self._choose_victim(self._carried)
        self._failed_ns["cut"] = time.monotonic_ns() + _LEAD_NS
        self._victim.set_carrier(False, at_ns=self._failed_ns["cut"])

    def _mend(self) -> None:
        self._victim.set_carrier(True)
        self._before = self._path_bytes()

    def _swallow(self) -> None:
        self._choose_victim(self._since(self._before))
        self._failed_ns["black_hole"] = time.monotonic_ns() + _LEAD_NS
        self._victim.set_black_hole(True, at_ns=self._failed_ns["black_hole"])

    def _choose_victim(self, carried: Sequence[int]) -> None:
        self._victim = self._paths[max(range(len(carried)), key=carried.__getitem__)]

    def _path_bytes(self) -> list[int]:
        """Towards the client: on each path's link to its edge switch, which is the link's end a."""
        return [link.stats()["directions"]["b_to_a"]["out_bytes"] for link in self._paths]

    def _since(self, before: Sequence[int]) -> list[int]:
        return [now - then for now, then in zip(self._path_bytes(), before, strict=True)]


def _path_links(testbed: Testbed) -> list[EmulatedLink]:
    """Each path's link at the client's edge switch, by the number of its core switch."""
    found = {
        link.intf2.node.name: link
        for link in testbed.links
        if link.intf1.node.name == "edge1" and link.intf2.node.name.startswith("core")
    }
    return [found[name] for name in sorted(found)]


def _short_connections(waits_ms: Sequence[float]) -> Measurement:
    wait = statistics.median(waits_ms)
    return Measurement({"first_byte": Metric(wait.value, "ms", wait.low, wait.high)})


def _check_policy(policy: str) -> None:
    if policy not in (FORWARDING, *POLICIES):
        raise UsageError(f"--policies: {policy!r} is unknown", f"known: {FORWARDING}, {', '.join(POLICIES)}")


if __name__ == "__main__":
    sys.exit(runner.main(SubflowSteering()))
