"""The workloads of the transport league, over TCP or over QUIC."""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from experiments.scenario import RunningCell
from flightpath.errors import MeasurementFailed
from flightpath.hosts import run_in
from probes.counters import mptcp
from probes.counters.sampling import Sampler
from probes.transfers.iperf3 import Iperf3
from probes.transfers.quic import QuicTransfer
from probes.transfers.requests import Requests
from probes.transfers.tcp_flow import TcpFlow
from results.records import Measurement, Metric
from services.iperf3 import Iperf3Server
from services.quic.implementation import Implementation
from services.quic.server import QuicServer
from services.reply import ReplyServer, RequestPattern
from services.stream import StreamSink
from topologies.hosts import congestion_control
from topologies.multipath_pair import CLIENT, SERVER
from topologies.testbed.tunnel import Tunnel, TunnelSpec

MB = 1_000_000
LONGEST_S = 300.0
"""Time after which a workload has failed."""


@dataclass(frozen=True)
class Workload:
    """Task of a client: one download, or requests.

    Attributes:
        pattern: requests; None: one download, of the size that the plan says.
        headline: the metric by which transports are compared.
        deadline_s: time after which an answer is of no use; 0: there is no such time.
        has_rival: a flow of TCP with cubic shares the first path.
    """

    pattern: RequestPattern | None
    headline: str
    deadline_s: float = 0.0
    has_rival: bool = False

    def judged(self, measured: Measurement) -> Measurement:
        """Adds the share of the answers that came before their deadlines, if there are any."""
        if not self.deadline_s:
            return measured
        times_ms = measured.series["latency"].values
        on_time = sum(ms <= 1e3 * self.deadline_s for ms in times_ms)
        return measured.merged(Measurement({"on_time": Metric(100 * on_time / len(times_ms), "%")}))


WORKLOADS: Mapping[str, Workload] = {
    "bulk": Workload(None, "goodput"),
    "requests": Workload(RequestPattern(100, 100_000), "latency_service_mean"),
    "stream": Workload(RequestPattern(500, 50_000, 0.02), "on_time", deadline_s=0.1),
    "shared": Workload(None, "goodput", has_rival=True),
}
"""A download; 100 requests of 100 kB, one after the other; 20 Mbit/s for 10 s, in parts of which each has 100 ms; and a
download beside cubic."""

_SAMPLES = 25
"""Samples of the flow beside a download in the time that this would take alone."""
_RECEIVED = re.compile(r"\bbytes_received:(\d+)")


Beside = contextlib.AbstractContextManager[object]
"""Context that holds during a workload, and only then."""


class Rival:
    """A flow of TCP with cubic, from the server to the client over the first path, beside a download.

    Args:
        alone_s: how long the download would take alone.
    """

    def __init__(self, run: RunningCell, alone_s: float) -> None:
        self._client, self._server = run.testbed.host(CLIENT), run.testbed.host(SERVER)
        self._sink = StreamSink(self._client, run.folder)
        self._sampler = Sampler(self._received, alone_s / _SAMPLES)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Runs the flow as long as the block, with which the download begins."""
        with self._sink:
            flow = TcpFlow(congestion_control="cubic", seconds=LONGEST_S).start(self._server, self._client.address())
            try:
                with self._sampler:
                    yield
            finally:
                flow.stop()

    def _received(self) -> Mapping[str, float]:
        sockets = run_in(self._client, ["ss", "-tinH", "state", "established", f"sport = :{self._sink.port}"])
        received = _RECEIVED.search(sockets)
        return {"received": int(received[1]) if received else 0}  # `ss` leaves out what is 0

    def measurement(self, download_s: float) -> Measurement:
        """Returns `rival_goodput` (bit/s) during the download, which took `download_s`; its program ends later.

        The fact `rival_bytes` is all that the flow carried.

        Raises:
            MeasurementFailed: the flow has ended before.
        """
        log = self._sampler.log
        received = [row["received"] for row in log.rows]
        if received[-1] == 0:
            raise MeasurementFailed("the flow beside the download has ended")
        before, after = np.interp([log.times_s[0], log.times_s[0] + download_s], log.times_s, received)
        goodput = Metric(8 * (after - before) / download_s, "bit/s")
        return Measurement({"rival_goodput": goodput}, metadata={"rival_bytes": received[-1]})


def over_tcp(run: RunningCell, workload: Workload, beside: Beside, *, is_mptcp: bool, in_tunnel: bool) -> Measurement:
    """Applies a workload over TCP, MPTCP, or TCP in a tunnel."""
    client, server = run.testbed.host(CLIENT), run.testbed.host(SERVER)
    with contextlib.ExitStack() as stack:
        address = server.address()
        if in_tunnel:
            address = stack.enter_context(Tunnel(client, server, TunnelSpec(weights="adaptive"))).address(server)
        serving: Callable[..., contextlib.AbstractContextManager[object]]
        probe: Iperf3 | Requests
        if workload.pattern is None:
            size = MB * run.plan.settings["size_mb"]
            serving = Iperf3Server
            probe = Iperf3(seconds=LONGEST_S, warm_up_s=0, size_bytes=size, reverse=True, mptcp=is_mptcp)
        else:
            serving, probe = ReplyServer, Requests(workload.pattern, mptcp=is_mptcp, limit_s=LONGEST_S)
        listening = congestion_control.set_on_listeners
        stack.enter_context(serving(server, run.folder, mptcp=is_mptcp, on_listening=listening))
        run.watch.start_events()
        with beside, run.watch.recording_congestion_control(SERVER):
            measured = probe.run(client, address, watch=run.watch.check)
    counted = mptcp.read_counters(client)
    if is_mptcp:
        mptcp.require_mptcp(CLIENT, {}, counted)
    else:
        mptcp.require_no_mptcp(CLIENT, {}, counted)
    return measured


def over_quic(
    run: RunningCell,
    workload: Workload,
    implementation: Implementation,
    beside: Beside,
    *,
    is_multipath: bool,
    is_cut: bool,
) -> Measurement:
    """Applies a workload over QUIC or multipath QUIC; `is_cut`: a path loses its carrier meanwhile."""
    client, server = run.testbed.host(CLIENT), run.testbed.host(SERVER)
    pattern = workload.pattern
    size = MB * run.plan.settings["size_mb"] if pattern is None else pattern.total_bytes
    first, *others = (server.address(port) for port in sorted(server.addresses))
    further = tuple(others) if is_multipath else ()
    algorithm = run.plan.settings["congestion_control"]
    service = QuicServer(
        server, run.folder / "quic", implementation, congestion_control=algorithm, paths=1 + len(further)
    )
    with service:
        run.watch.start_events()
        probe = QuicTransfer(service, size, further_paths=further, limit_s=LONGEST_S, pattern=pattern, is_cut=is_cut)
        with beside:
            return probe.run(client, first, watch=run.watch.check)
