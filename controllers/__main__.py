"""`python -m controllers`: without it the testbed would have to run the controller inside its own process."""

import argparse
import gc
import ipaddress
import sys
from collections.abc import Sequence
from pathlib import Path

from controllers.forwarding.link_monitor import ProbePlan
from controllers.lifetime import end_with_parent
from controllers.network.description import load
from controllers.settings import DEFAULT_REST, Settings, probe_period_s
from controllers.subflows.policies import DEFAULT_POLICY, POLICIES
from flightpath.errors import FlightpathError, UsageError

DEFAULT_LISTEN = "127.0.0.1:6653"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the controller until it is told to end, or its parent is gone; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    if arguments[:1] == ["show"]:
        return _show(arguments[1:])
    end_with_parent()
    options = _parser().parse_args(arguments)
    try:
        host, port = parse_listen(options.listen)
        if options.when_told:
            gc.disable()  # what is loaded stays: to search it for garbage again and again takes a fifth of the time
            _application(options)
            gc.freeze()
            gc.enable()
            sys.stdin.read()
        network = load(options.network)
        settings = _settings(options)
        application = _application(options)
        from controllers.openflow.library import serve

        serve(host, port, application, network=network, **({} if settings is None else {"settings": settings}))
    except FlightpathError as error:
        print(f"controllers: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _show(arguments: Sequence[str]) -> int:
    from controllers.view.show import main as show

    try:
        return show(arguments)
    except FlightpathError as error:
        print(f"controllers: {error}", file=sys.stderr)
        return error.exit_code


def parse_listen(text: str) -> tuple[str, int]:
    """Host and port from `127.0.0.1:6653` or `[::1]:6653`.

    Raises:
        UsageError: cannot be read, or is no loopback address: OpenFlow here has no password.
    """
    host, _, port = text.rpartition(":")
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
        number = int(port)
    except ValueError as error:
        raise UsageError(f"--listen: cannot read {text!r}", "accepted forms: 127.0.0.1:6653, [::1]:6653") from error
    if not address.is_loopback:
        raise UsageError(f"--listen: {address} is not a loopback address, and anyone there could steer the network")
    if not 0 <= number <= 65535:
        raise UsageError(f"--listen: {number} is not a TCP port")
    return str(address), number


def _application(options: argparse.Namespace) -> type:
    """What is to run; os-ken takes most of the start-up time, and a mistake in the arguments need not wait for it."""
    if options.policy is None:
        from controllers.forwarding.forwarding import Forwarding

        return Forwarding
    import networkx  # noqa: F401 - else it would be loaded when the first path is looked for

    from controllers.steering import Steering

    return Steering


def _settings(options: argparse.Namespace) -> Settings | None:
    """How to steer; None: not at all."""
    if options.policy is None:
        return None
    probes = ProbePlan(probe_period_s(options.probe_period))
    return Settings(options.policy, options.network, tuple(options.rest or (DEFAULT_REST,)), probes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m controllers",
        description="OpenFlow 1.3 controller of an emulated network: installs all forwarding rules when a switch "
        "connects, then prints `switch NAME ready: N rules`. Ends with the process that started it. "
        "`python -m controllers show` shows what a running one steers.",
    )
    parser.add_argument("--network", type=Path, required=True, metavar="FILE", help="JSON description of the network")
    parser.add_argument(
        "--when-told",
        action="store_true",
        help="load all libraries, and read FILE when standard input has ended: it may be written meanwhile",
    )
    parser.add_argument(
        "--listen",
        default=DEFAULT_LISTEN,
        metavar="HOST:PORT",
        help="loopback address and port; port 0 picks a free one (default: %(default)s)",
    )
    parser.add_argument(
        "--policy",
        nargs="?",
        const=DEFAULT_POLICY,
        metavar="NAME",
        help="steer TCP and MPTCP: "
        + "; ".join(f"{it.name}: {it.description}" for it in POLICIES.values())
        + " (without: forwarding by shortest paths only)",
    )
    parser.add_argument(
        "--rest",
        action="append",
        metavar="WHERE",
        help="where to serve what `show` shows: a loopback HOST:PORT (port 0 picks one), or unix:PATH; may be repeated "
        f"(default: {DEFAULT_REST})",
    )
    parser.add_argument(
        "--probe-period",
        default="100ms",
        metavar="TIME",
        help="between two probes of a link; a dead one is found in twice as long; 0s: none (default: %(default)s)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
