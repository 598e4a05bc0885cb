"""Policies of a controller for MPTCP subflows and TCP connections: our own experiment, on equal and unequal paths."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from mininet.topo import Topo

from controllers.subflows.policies import POLICIES
from experiments.parameters import CONGESTION_CONTROL, Axis, Setting, at_least, one_of
from experiments.plan import Plan
from experiments.policy import NO_POLICY, controller_policy
from experiments.scenario import RunningCell, Scenario
from flightpath.overrides import override
from probes.counters import mptcp
from probes.transfers.stream import Stream, StreamRun
from results.records import Cell, Measurement, Metric
from results.statistics.estimates import median
from scenarios.steering.claims import steering_claims
from scenarios.steering.figures import steering_figures
from services.stream import StreamServer
from topologies.fabric import Fabric
from topologies.hosts import congestion_control
from topologies.links.emulated_link import EmulatedLink
from topologies.links.events import LinkEvent
from topologies.testbed.testbed import Testbed

CLIENT, SERVER = "h1", "h2"
PATHS: Mapping[str, tuple[str, ...]] = {
    "equal": ("bw=20 delay=2ms queue=30ms",) * 4,
    "unequal": (
        "bw=40 delay=2ms queue=30ms",
        "bw=20 delay=4ms queue=30ms",
        "bw=10 delay=8ms queue=30ms",
        "bw=5 delay=16ms queue=30ms",
    ),
}
"""Link of each path between the edge switches."""

SETTLED_S, FAILURE_S, RECOVERY_S = 1.5, 2.5, 2.5
_LEAD_NS = 50_000_000


class _LoadPhases:
    """The phases of a load: steady; the busiest path is cut and restored; the busiest path becomes a black hole."""

    def __init__(self, run: RunningCell) -> None:
        self._run = run
        self._paths = _path_links(run.testbed)
        self._steady_s = float(run.plan.settings["seconds"])
        self._start_ns = 0
        self._steps = [
            (SETTLED_S, self._settle),
            (self._steady_s, self._cut),
            (self._steady_s + FAILURE_S, self._restore),
            (self._steady_s + FAILURE_S + RECOVERY_S, self._drop_packets),
        ]
        self.length_s = self._steady_s + 2 * FAILURE_S + RECOVERY_S + 0.5
        self._failed_ns: dict[str, int] = {}
        self._carried: list[int] = []
        self._before: list[int] = []
        self._failing: EmulatedLink = self._paths[0]

    def begin(self, start_ns: int) -> None:
        """Sets the start time of the load."""
        self._start_ns = start_ns

    def proceed(self) -> None:
        """Takes the steps that are due; called a few times a second during the load."""
        self._run.watch.check()
        elapsed_s = (time.monotonic_ns() - self._start_ns) / 1e9
        self._run.progress(0.4 + 0.6 * min(1.0, elapsed_s / self.length_s), "load")
        while self._steps and elapsed_s >= self._steps[0][0]:
            self._steps.pop(0)[1]()

    def measurement(self, stream: StreamRun) -> Measurement:
        """Returns the metrics of all phases."""
        total = max(1, sum(self._carried))
        shares = {f"share_path{n}": 100 * count / total for n, count in enumerate(self._carried, start=1)}
        metrics = {
            "goodput": Metric(stream.goodput_bps(SETTLED_S, self._steady_s), "bit/s"),
            **{name: Metric(share, "%") for name, share in shares.items()},
            "busiest_share": Metric(max(shares.values()), "%"),
            "paths_used": Metric(sum(share >= 2 for share in shares.values()), "1"),
        }
        for failure, at_ns in self._failed_ns.items():
            until_ns = at_ns + round(FAILURE_S * 1e9)
            after_s = (at_ns - stream.start_ns) / 1e9
            metrics[f"silence_{failure}"] = Metric(stream.longest_silence_s(at_ns, until_ns) * 1e3, "ms")
            metrics[f"goodput_{failure}"] = Metric(stream.goodput_bps(after_s + 1, after_s + FAILURE_S), "bit/s")
        facts = {"failed_at_s": {name: (ns - stream.start_ns) / 1e9 for name, ns in self._failed_ns.items()}}
        return Measurement(metrics, {"goodput": stream.goodput()}, facts)

    def _settle(self) -> None:
        self._before = self._path_bytes()

    def _cut(self) -> None:
        self._run.watch.record_congestion_control()
        self._carried = self._since(self._before)
        self._failing = self._busiest(self._carried)
        self._failed_ns["cut"] = time.monotonic_ns() + _LEAD_NS
        self._failing.set_carrier(False, at_ns=self._failed_ns["cut"])

    def _restore(self) -> None:
        self._failing.set_carrier(True)
        self._before = self._path_bytes()

    def _drop_packets(self) -> None:
        self._failing = self._busiest(self._since(self._before))
        self._failed_ns["black_hole"] = time.monotonic_ns() + _LEAD_NS
        self._failing.set_black_hole(True, at_ns=self._failed_ns["black_hole"])

    def _busiest(self, carried: Sequence[int]) -> EmulatedLink:
        return self._paths[max(range(len(carried)), key=carried.__getitem__)]

    def _path_bytes(self) -> list[int]:
        """Returns the bytes towards the client on each path's link to its edge switch, which is end a of the link."""
        return [link.stats()["directions"]["b_to_a"]["out_bytes"] for link in self._paths]

    def _since(self, before: Sequence[int]) -> list[int]:
        return [now - then for now, then in zip(self._path_bytes(), before, strict=True)]


def _path_links(testbed: Testbed) -> list[EmulatedLink]:
    """Returns the link of each path at the client's edge switch, in the order of the core switches."""
    by_core = {
        link.intf2.node.name: link
        for link in testbed.links
        if link.intf1.node.name == "edge1" and link.intf2.node.name.startswith("core")
    }
    return [by_core[name] for name in sorted(by_core)]


class SubflowSteering(Scenario):
    """Steering of MPTCP subflows and TCP connections over four paths, by policy.

    h1 reads from h2 over a fabric: two edge switches, joined by four core switches, each of which is a path (equal: 20
    Mb/s each; unequal: 40, 20, 10 and 5 Mb/s with growing delay). The load is one MPTCP connection with `flows`
    subflows, or as many parallel TCP connections. `none` is no steering: the address of a subflow decides its path.

    Measured in each cell: the time to the first byte of short connections; goodput, and each path's share of the bytes.
    Then a link of the busiest path is cut and restored, and a link of the busiest path becomes a black hole (the
    interface is up, packets vanish). The longest silence on a connection is the cost of such a failure.

      flightpath run subflow_steering                              the quick form
      flightpath run subflow_steering --only policy=disjoint --only paths=equal
      flightpath run subflow_steering --full                       all policies; 1, 2 and 4 flows; three times
    """

    name = "subflow_steering"
    summary = "steering of MPTCP subflows by a controller: policies over equal and unequal paths, the cost of failures"
    headlines = (
        "goodput",
        "paths_used",
        "busiest_share",
        "first_byte",
        "silence_cut",
        "silence_black_hole",
        "idle_cpu",
    )
    programs = ("ping", "ss")
    axes = (
        Axis("paths", tuple(PATHS)),
        Axis(
            "policy",
            (NO_POLICY, "single", "ecmp", "disjoint", "least-loaded"),
            (NO_POLICY, *POLICIES),
            option="--policies",
            help="policies of the controller",
            check=one_of("--policies", (NO_POLICY, *POLICIES)),
        ),
        Axis("protocol", ("tcp", "mptcp")),
        Axis("flows", (4,), (1, 2, 4)),
    )
    options = (
        CONGESTION_CONTROL,
        Setting(
            "--seconds",
            "duration of the steady load before the failures",
            4.0,
            read=at_least("--seconds", SETTLED_S + 1),
        ),
    )
    figures = steering_figures(PATHS)
    claims = steering_claims()

    @override
    def topology(self, cell: Cell, plan: Plan) -> Topo:
        links, is_mptcp = PATHS[str(cell.parameters["paths"])], cell.parameters["protocol"] == "mptcp"
        return Fabric(
            edges=2,
            hosts=1,
            cores=len(links),
            links=links,
            mptcp=is_mptcp,
            subflows=cell.parameters["flows"] if is_mptcp else None,
            congestion_control=plan.settings["congestion_control"],
        )

    @override
    def testbed_options(self, cell: Cell, plan: Plan) -> Mapping[str, Any]:
        return {"policy": controller_policy(str(cell.parameters["policy"]))}

    @override
    def caused_events(self, cell: Cell, plan: Plan) -> list[LinkEvent]:
        # Any path may turn out to be the busiest one, which then fails.
        paths = range(1, len(PATHS[str(cell.parameters["paths"])]) + 1)
        return [LinkEvent.parse(f"0s edge1-core{n} {kind}") for n in paths for kind in ("down", "blackhole=on")]

    @override
    def load_s(self, cell: Cell, plan: Plan) -> float:
        return plan.settings["seconds"] + 2 * (FAILURE_S + RECOVERY_S) + 4

    @override
    def load(self, run: RunningCell) -> Measurement:
        client, server = run.testbed.host(CLIENT), run.testbed.host(SERVER)
        is_mptcp, flows = run.cell.parameters["protocol"] == "mptcp", int(run.cell.parameters["flows"])
        phases = _LoadPhases(run)
        with StreamServer(server, run.folder, mptcp=is_mptcp, on_listening=congestion_control.set_on_listeners):
            probe = Stream(seconds=phases.length_s, connections=1 if is_mptcp else flows, mptcp=is_mptcp)
            run.progress(0.3, "short connections")
            first_byte = median(probe.first_byte_ms(client, server.address(), 10))
            run.watch.start_events()
            stream = probe.run(client, server.address(), watch=phases.proceed, on_start=phases.begin)
            if is_mptcp and flows > 1:
                mptcp.require_mptcp(CLIENT, {}, mptcp.read_counters(client))
        metric = Metric(first_byte.value, "ms", first_byte.low, first_byte.high)
        return phases.measurement(stream).merged(Measurement({"first_byte": metric}))


if __name__ == "__main__":
    from scenarios.command import runner

    runner.main(SubflowSteering())
