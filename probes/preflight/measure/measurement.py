"""A whole measurement: preparation, route, iterations over fresh connections, iperf3, and clean-up."""

import contextlib
import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from probes.preflight.measure import iperf3, route
from probes.preflight.measure.environment import environment, now
from probes.preflight.measure.iteration import iterate
from probes.preflight.measure.preparation import prepare
from probes.preflight.records import IterationResult, OnProgress, PreflightResult, Status
from probes.preflight.spec import TransferSpec
from probes.preflight.ssh import sockets
from probes.preflight.ssh.session import Access, Session
from probes.preflight.target import Target

_KEEPALIVE_S = 15
_NOTE_MPTCP = "MPTCP was requested, but the far end (or something on the way) speaks TCP only"


def measure(
    target: Target,
    spec: TransferSpec,
    access: Access,
    on_progress: OnProgress,
    on_iteration: Callable[[IterationResult], None] | None,
) -> PreflightResult:
    """Measures the path to a target by transferring a file.

    `on_progress` gets the status several times a second, and `on_iteration` each iteration as soon as it has ended.

    Raises:
        FlightpathError: it failed; the message says at what, and whether something was left at the far end.
    """
    started_at = now()
    on_progress(Status("looking up the name"))
    addresses = sockets.look_up(target.host, target.port, spec.family)
    on_progress(Status("connecting"))
    with contextlib.ExitStack() as stack:
        # The connection that prepares the others must not be slowed down by their options.
        plain = dataclasses.replace(
            spec,
            send_buffer_bytes=None,
            receive_buffer_bytes=None,
            window_clamp_bytes=None,
            mss_bytes=None,
            mptcp=False,
        )
        control = stack.enter_context(Session(target, addresses, plain, access))
        control.transport.set_keepalive(_KEEPALIVE_S)
        notes = [f"its host key was added to {control.added_to}"] if control.added_to else []
        pool = stack.enter_context(ThreadPoolExecutor(2))
        trace = pool.submit(route.trace, control.address) if spec.route else None
        path_mtu = pool.submit(route.path_mtu, control.address) if spec.route else None
        plan = stack.enter_context(prepare(control, spec, on_progress, notes))
        on_progress(Status("tracing the route"))
        traced_route = trace.result() if trace else None
        mtu = path_mtu.result() if path_mtu else None
        iterations = []
        for number in range(1, spec.iterations + 1):
            iterations.append(iterate(number, control, spec, plan, on_progress))
            if on_iteration is not None:
                on_iteration(iterations[-1])
        if spec.mptcp and not all(stream.connection.mptcp for each in iterations for stream in each.streams):
            notes.append(_NOTE_MPTCP)
        by_iperf3 = None
        if spec.iperf3_port is not None:
            on_progress(Status("measuring with iperf3"))
            by_iperf3 = iperf3.measure(control.address, spec, iterations[-1].transfer_s)
        on_progress(Status("cleaning up at the far end"))
    return PreflightResult(
        target=target,
        spec=spec,
        iterations=tuple(iterations),
        started_at=started_at,
        file_bytes=plan.file_bytes,
        route=traced_route,
        path_mtu=mtu or iterations[-1].streams[0].connection.path_mtu,
        iperf3=by_iperf3,
        environment=environment(),
        notes=tuple(notes),
    )
