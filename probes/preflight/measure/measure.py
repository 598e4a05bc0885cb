"""The measurement as a whole: iterations over fresh connections, the route before, iperf3 after, and nothing left."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from probes.preflight.measure import iperf3, route
from probes.preflight.measure.environment import environment, now
from probes.preflight.measure.iteration import iterate
from probes.preflight.measure.preparation import prepared
from probes.preflight.measure.progress import Status, Tell
from probes.preflight.records import IterationResult, PreflightResult, Route
from probes.preflight.spec import TransferSpec
from probes.preflight.ssh import sockets
from probes.preflight.ssh.session import Access, Session, for_streams
from probes.preflight.ssh.sockets import Address
from probes.preflight.ssh.target import Target

_NOTE_MPTCP = "MPTCP was asked for, but the far end (or something on the way) speaks TCP only"

Keep = Callable[[IterationResult], None]


def measure(
    target: Target,
    spec: TransferSpec,
    *,
    access: Access | None = None,
    tell: Tell | None = None,
    keep: Keep | None = None,
) -> PreflightResult:
    """Measures the path to a target by transferring a file.

    Args:
        target: the far end.
        spec: what to transfer, and how.
        access: how the far end is met: unknown host keys, and whether somebody can be asked for a password.
        tell: gets the state of things several times a second.
        keep: gets each iteration as soon as it has ended.

    Returns:
        The result, whole; there is none of a measurement that failed.

    Raises:
        FlightpathError: it failed; the message says at what, and whether something was left at the far end.
    """
    started_at = now()
    tell, access = tell or (lambda status: None), access or Access()
    tell(Status("looking up the name"))
    addresses = sockets.look_up(target.host, target.port, spec.family)
    tell(Status("connecting"))
    with contextlib.ExitStack() as stack:
        control = stack.enter_context(Session(target, addresses, _plain(spec), access))
        control.stay()
        reached = _reached(addresses, control)
        notes = [f"its host key was added to {control.added_to}"] if control.added_to else []
        looking = stack.enter_context(_looking(reached, spec))
        plan = stack.enter_context(prepared(control, spec, tell, notes))
        tell(Status("tracing the route"))
        found_route, mtu = looking() if looking else (None, None)
        iterations = []
        for number in range(1, spec.iterations + 1):
            iterations.append(iterate(number, target, spec, (reached,), for_streams(access, control), plan, tell))
            if keep is not None:
                keep(iterations[-1])
        if spec.mptcp and not all(each.connection.mptcp for every in iterations for each in every.streams):
            notes.append(_NOTE_MPTCP)
        beside = None
        if spec.iperf3_port is not None:
            tell(Status("the same with iperf3"))
            beside = iperf3.measure(reached, spec, iterations[-1].transfer_s)
        tell(Status("tidying up at the far end"))
    return PreflightResult(
        target=target,
        spec=spec,
        iterations=tuple(iterations),
        started_at=started_at,
        file_bytes=plan.file_bytes,
        route=found_route,
        path_mtu=mtu or iterations[-1].streams[0].connection.path_mtu,
        iperf3=beside,
        environment=environment(),
        notes=tuple(notes),
    )


def _plain(spec: TransferSpec) -> TransferSpec:
    """What is set for the measured connections must not slow the one that prepares them."""
    return dataclasses.replace(
        spec, send_buffer_bytes=None, receive_buffer_bytes=None, window_clamp_bytes=None, mss_bytes=None, mptcp=False
    )


def _reached(addresses: Sequence[Address], control: Session) -> Address:
    """The address that answered: all connections of a measurement go to the same."""
    host = control.connection.getpeername()[0]
    return next((each for each in addresses if each.host.partition("%")[0] == host.partition("%")[0]), addresses[0])


@contextmanager
def _looking(target: Address, spec: TransferSpec) -> Iterator[Callable[[], tuple[Route, int | None]] | None]:
    """Traces the route in the background; the block gets a function that waits for what was found."""
    if not spec.route:
        yield None
        return
    with ThreadPoolExecutor(2) as pool:
        way: Future[Route] = pool.submit(route.trace, target)
        mtu: Future[int | None] = pool.submit(route.path_mtu, target)
        yield lambda: (way.result(), mtu.result())
