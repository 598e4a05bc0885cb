"""The load on the examination system, and the proof of how it was served: protocol, paths, and saved answers."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from experiments.scenario import RunningCell
from flightpath.units import counted
from probes.counters import links, mptcp
from probes.jmeter.engines import Generator
from probes.jmeter.probe import JMeterLoad, LoadProgress, LoadRun
from results.records import Measurement, Metric, Series
from scenarios.web_load.arrivals import Arrivals
from scenarios.web_load.set_up import SetUp
from services.exam.service import ExamService, SavedAnswer
from topologies.web_service import CLIENT, DATABASE, MANAGEMENT_PORT, PLANES, WEB

JMETER_PLAN = Path(__file__).with_name("load.jmx")

_TO_CLIENTS = "h1_h2"
_DOWNSTREAM = {_TO_CLIENTS: "b_to_a", "h2_h3": "a_to_b"}
"""Direction in which the links of the client carry the responses, for each pair of hosts."""


class WebLoad:
    """The load of one cell on a running service."""

    def __init__(self, run: RunningCell, service: ExamService, set_up: SetUp, arrivals: Arrivals) -> None:
        self._run, self._service, self._set_up, self._arrivals = run, service, set_up, arrivals
        self._events_started = False

    def measure(self) -> Measurement:
        """Applies the load and returns all metrics and series.

        Raises:
            MeasurementFailed: JMeter failed, or the hosts used another protocol or other paths than expected.
        """
        run, settings = self._run, self._run.plan.settings
        client, address = run.testbed.host(CLIENT), run.testbed.host(WEB).address(0)
        jmeter = JMeterLoad(
            plan=JMETER_PLAN,
            students_csv=self._service.students_csv,
            threads=self._arrivals.students,
            ramp_s=self._arrivals.ramp_s,
            mptcp=self._set_up.is_mptcp,
            **{name: settings[name] for name in ("pace_s", "connect_timeout_s", "response_timeout_s")},
        )
        load_run = jmeter.run(
            client, address, folder=run.folder / "jmeter", watch=self._watch, generators=self._generators()
        )
        run.watch.set_load_interval(load_run.started_at_s, load_run.ended_at_s)
        throughputs = self._throughputs(load_run)
        lost = lost_writes(load_run.acknowledged_saves(), self._service.saved_answers())
        metrics = {
            "students": Metric(self._arrivals.students, "1"),
            "lost_writes": Metric(len(lost), "1"),
            **self._requests_on_paths(max(1, int(load_run.samples.ok.sum()))),
            **{f"cpu_{name}": Metric(seconds, "s") for name, seconds in self._service.cpu_seconds().items()},
            **{
                f"throughput_{pair}_mean": Metric(
                    sum(mean_value(throughputs[f"throughput_{pair}_{plane}"]) for plane in PLANES), "bit/s"
                )
                for pair in _DOWNSTREAM
            },
        }
        facts = {"mptcp": self._prove_protocol(), "lost_writes": [list(save) for save in lost[:20]]}
        series = {**throughputs, "idle_cpu": run.watch.idle_cpu}
        return load_run.measurement().merged(Measurement(metrics, series, facts))

    def _generators(self) -> list[Generator]:
        hosts = [self._run.testbed.host(name) for name in self._set_up.clients]
        return [Generator(host, host.address(MANAGEMENT_PORT)) for host in hosts] if len(hosts) > 1 else []

    def _watch(self, progress: LoadProgress) -> None:
        watch = self._run.watch
        watch.check()
        if progress.first_at_s is not None and not self._events_started:
            # The first request is seen up to a second after it was sent.
            watch.start_events(round(progress.first_at_s * 1e9))
            self._events_started = True
        if progress.fraction > 0.5 and not watch.algorithms:
            watch.record_congestion_control()
        errors = f", {counted(progress.errors, 'error')}" if progress.errors else ""
        self._run.progress(0.2 + 0.8 * progress.fraction, f"{progress.requests} requests{errors}")

    def _throughputs(self, load_run: LoadRun) -> dict[str, Series]:
        """Returns the throughput on the wire from H2 to the clients and from H3 to H2, on each plane."""
        log, during = self._run.watch.log, {"start_s": load_run.started_at_s, "end_s": load_run.ended_at_s}

        def rate(pair: str, plane: str) -> Series:
            hosts = self._set_up.clients if pair == _TO_CLIENTS else [DATABASE]
            names = (f"{host}_{plane}.{_DOWNSTREAM[pair]}" for host in hosts)
            return total([log.rates(name, "bit/s", scale=8, **during) for name in names])

        return {f"throughput_{pair}_{plane}": rate(pair, plane) for pair in _DOWNSTREAM for plane in PLANES}

    def _requests_on_paths(self, answered: int) -> dict[str, Metric]:
        """Returns the bytes per answered request, the first path's capacity in requests/s, and the paths' shares."""
        (before, *_, after), (first, *_) = self._run.watch.log.rows, self._set_up.planes()
        carried = [
            sum(after[name] - before[name] for name in (f"{client}_{plane}.b_to_a" for client in self._set_up.clients))
            for plane in PLANES
        ]
        size = sum(carried) / answered
        shares = {f"share_path{n}": Metric(100 * each / sum(carried), "%") for n, each in enumerate(carried, start=1)}
        capacity = {"path_capacity": Metric(first.bandwidth_bps / 8 / size, "1/s")} if first.bandwidth_bps else {}
        return {"request_size": Metric(size, "B"), **capacity, **shares}

    def _prove_protocol(self) -> dict[str, Any]:
        clients = self._set_up.clients
        # The application opened its connections to the database before the load, so the counters count from the start.
        counters = {name: mptcp.read_counters(self._run.testbed.host(name)) for name in (*clients, WEB)}
        carried = {
            name: links.carried_bytes(self._run.watch.log, [f"{name}_{plane}" for plane in PLANES])
            for name in (*clients, DATABASE)
        }
        proof: dict[str, Any] = {}
        for name, of_host in counters.items():
            if self._set_up.is_mptcp:
                expected = {"joined": self._set_up.joins_expected, "may_fall_back": bool(self._run.plan.events)}
                proof[name] = mptcp.require_mptcp(name, {}, of_host, **expected)
            else:
                mptcp.require_no_mptcp(name, {}, of_host)
        if self._set_up.paths_expected == 1:
            links.require_one_path(carried)
        elif self._set_up.paths_expected is not None and not self._run.plan.events:
            links.require_all_paths(carried)
        return {**proof, "bytes_per_path": carried}


def lost_writes(
    acknowledged: Sequence[tuple[str, int, str]], saved: Sequence[SavedAnswer]
) -> list[tuple[str, int, str]]:
    """Returns the acknowledged saves (account, question, choice) that the database does not hold exactly once."""
    stored = Counter((answer.account, answer.question, answer.choice) for answer in saved)
    return [save for save in acknowledged if stored[save] != 1]


def total(series: Sequence[Series]) -> Series:
    """Adds series that have the same times."""
    return replace(series[0], values=tuple(map(sum, zip(*(each.values for each in series), strict=True))))


def mean_value(series: Series) -> float:
    """Returns the mean of a series; 0 if it is empty."""
    return statistics.fmean(series.values) if series.values else 0.0
