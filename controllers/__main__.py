"""`python -m controllers`: without it the testbed would have to run the controller inside its own process."""

import argparse
import ipaddress
import sys
from collections.abc import Sequence
from pathlib import Path

from controllers.lifetime import end_with_parent
from controllers.network import load
from flightpath.errors import FlightpathError, UsageError

DEFAULT_LISTEN = "127.0.0.1:6653"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the controller until it is told to end, or its parent is gone; returns the exit code."""
    end_with_parent()
    options = _parser().parse_args(argv)
    try:
        host, port = parse_listen(options.listen)
        network = load(options.network)
        # os-ken takes most of the start-up time: a mistake in the arguments need not wait for it.
        from controllers.forwarding import Forwarding
        from controllers.openflow import serve

        serve(host, port, Forwarding, network=network)
    except FlightpathError as error:
        print(f"controllers: {error}", file=sys.stderr)
        return error.exit_code
    return 0


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m controllers",
        description="OpenFlow 1.3 controller of an emulated network: installs all forwarding rules when a switch "
        "connects, then prints `switch NAME ready: N rules`. Ends with the process that started it.",
    )
    parser.add_argument("--network", type=Path, required=True, metavar="FILE", help="JSON description of the network")
    parser.add_argument(
        "--listen",
        default=DEFAULT_LISTEN,
        metavar="HOST:PORT",
        help="loopback address and port; port 0 picks a free one (default: %(default)s)",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
