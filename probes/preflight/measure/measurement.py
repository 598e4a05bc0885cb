"""A whole measurement: preparation, route, iterations over fresh connections, iperf3, and clean-up."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from probes.preflight.measure import iperf3, route
from probes.preflight.measure.environment import environment, now
from probes.preflight.measure.iteration import iterate
from probes.preflight.measure.preparation import prepare
from probes.preflight.records import IterationResult, OnProgress, PreflightResult, Route, Status
from probes.preflight.spec import TransferSpec
from probes.preflight.ssh import sockets
from probes.preflight.ssh.session import Access, Session
from probes.preflight.ssh.sockets import Address
from probes.preflight.target import Target

_NOTE_MPTCP = "MPTCP was asked for, but the far end (or something on the way) speaks TCP only"


def measure(
    target: Target,
    spec: TransferSpec,
    *,
    access: Access | None = None,
    on_progress: OnProgress | None = None,
    on_iteration: Callable[[IterationResult], None] | None = None,
) -> PreflightResult:
    """Measures the path to a target by transferring a file.

    Args:
        target: the far end.
        spec: what to transfer, and how.
        access: how to get past the host key and the log-in.
        on_progress: gets the status several times a second.
        on_iteration: gets each iteration as soon as it has ended.

    Raises:
        FlightpathError: it failed; the message says at what, and whether something was left at the far end.
    """
    started_at = now()
    on_progress, access = on_progress or (lambda status: None), access or Access()
    on_progress(Status("looking up the name"))
    addresses = sockets.look_up(target.host, target.port, spec.family)
    on_progress(Status("connecting"))
    with contextlib.ExitStack() as stack:
        control = stack.enter_context(Session(target, addresses, _without_options(spec), access))
        control.keep_alive()
        address = _answering(addresses, control)
        notes = [f"its host key was added to {control.added_to}"] if control.added_to else []
        traced = stack.enter_context(_tracing(address, spec))
        plan = stack.enter_context(prepare(control, spec, on_progress, notes))
        on_progress(Status("tracing the route"))
        found_route, mtu = traced()
        iterations = []
        for number in range(1, spec.iterations + 1):
            iterations.append(iterate(number, target, spec, address, control.access_for_streams(), plan, on_progress))
            if on_iteration is not None:
                on_iteration(iterations[-1])
        if spec.mptcp and not all(stream.connection.mptcp for each in iterations for stream in each.streams):
            notes.append(_NOTE_MPTCP)
        by_iperf3 = None
        if spec.iperf3_port is not None:
            on_progress(Status("measuring with iperf3"))
            by_iperf3 = iperf3.measure(address, spec, iterations[-1].transfer_s)
        on_progress(Status("cleaning up at the far end"))
    return PreflightResult(
        target=target,
        spec=spec,
        iterations=tuple(iterations),
        started_at=started_at,
        file_bytes=plan.file_bytes,
        route=found_route,
        path_mtu=mtu or iterations[-1].streams[0].connection.path_mtu,
        iperf3=by_iperf3,
        environment=environment(),
        notes=tuple(notes),
    )


def _without_options(spec: TransferSpec) -> TransferSpec:
    """The specification for the connection that prepares the others and must not be slowed down by their options."""
    return dataclasses.replace(
        spec, send_buffer_bytes=None, receive_buffer_bytes=None, window_clamp_bytes=None, mss_bytes=None, mptcp=False
    )


def _answering(addresses: Sequence[Address], control: Session) -> Address:
    """The address that answered, to which all further connections go."""
    host = control.connection.getpeername()[0].partition("%")[0]
    return next((address for address in addresses if address.host.partition("%")[0] == host), addresses[0])


@contextmanager
def _tracing(address: Address, spec: TransferSpec) -> Iterator[Callable[[], tuple[Route | None, int | None]]]:
    """Traces the route in the background; the block gets a function that waits for route and path MTU."""
    if not spec.route:
        yield lambda: (None, None)
        return
    with ThreadPoolExecutor(2) as pool:
        found_route, mtu = pool.submit(route.trace, address), pool.submit(route.path_mtu, address)
        yield lambda: (found_route.result(), mtu.result())
