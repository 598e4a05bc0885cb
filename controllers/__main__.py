"""`flightpath controller`: runs the controller of a described network in a process of its own."""

import argparse
import gc
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from controllers.addresses import DEFAULT_REST, parse_loopback
from controllers.network.description import Network
from controllers.network.reading import load
from controllers.parent_death import end_with_parent
from flightpath.command_line import exit_code_of
from flightpath.completion import parse
from flightpath.overrides import override
from flightpath.parsers import Parser

if TYPE_CHECKING:
    from controllers.settings import Settings

DEFAULT_LISTEN = "127.0.0.1:6653"


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath controller") -> int:
    """Runs a command and returns the exit code.

    `show` prints what a running controller steers. Otherwise a controller runs until it receives a signal or its parent
    ends.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    command = _show if words[:1] == ["show"] else _control
    return exit_code_of(lambda: command(words, prog), describe="controllers: {}".format)


def _show(words: Sequence[str], prog: str) -> int:
    from controllers.view.show import main as show

    return show(words[1:], f"{prog} show")


def _control(words: Sequence[str], prog: str) -> int:
    end_with_parent()
    return _run(parse(_Parser(prog), words))


def _run(options: argparse.Namespace) -> int:
    host, port = parse_loopback(options.listen, "--listen")
    settings = None if options.policy is None else _settings(options)
    if options.when_told:
        gc.disable()  # loaded modules stay in memory, and to look for garbage in them takes a fifth of the time
        control = _load_controller(settings)
        gc.freeze()
        gc.enable()
        sys.stdin.read()
        network = load(options.network, is_trusted=True)
    else:
        network = load(options.network)
        control = _load_controller(settings)
    control(host, port, network)
    return 0


def _settings(options: argparse.Namespace) -> "Settings":
    from controllers.settings import Settings, probe_plan
    from controllers.subflows.policies import DEFAULT_POLICY

    rest, probes = tuple(options.rest or (DEFAULT_REST,)), probe_plan(options.probe_period)
    return Settings(options.policy or DEFAULT_POLICY, options.network, rest, probes)


def _load_controller(settings: "Settings | None") -> Callable[[str, int, Network], None]:
    """Loads os-ken, which takes most of the start-up time, and the managers: those of steering if it has settings."""
    from controllers.app import ControllerApp
    from controllers.openflow.library import serve

    if settings is None:
        from controllers.forwarding.rule_manager import forwarding_table

        return lambda host, port, network: serve(host, port, ControllerApp, table=forwarding_table(network))
    from controllers.steering_managers import steering_table

    return lambda host, port, network: serve(host, port, ControllerApp, table=steering_table(settings, network))


class _Parser(Parser):
    """The command line; the module that describes the policies is loaded only when help is printed."""

    def __init__(self, prog: str) -> None:
        super().__init__(
            prog=prog,
            description="OpenFlow 1.3 controller of an emulated network: installs all forwarding rules when a switch "
            "connects, then prints `switch NAME ready: N rules`. Ends with the process that started it. "
            "`flightpath controller show` shows what a running controller steers.",
        )
        self.add_argument("--network", type=Path, required=True, metavar="FILE", help="JSON description of the network")
        self.add_argument(
            "--when-told",
            action="store_true",
            help="load all libraries first, and read FILE when standard input ends; FILE may be written meanwhile, and "
            "must be what the testbed writes: mistakes in it are not explained",
        )
        self.add_argument(
            "--listen",
            default=DEFAULT_LISTEN,
            metavar="HOST:PORT",
            help="loopback address and port; port 0 picks a free one (default: %(default)s)",
        )
        self.add_argument(
            "--policy",
            nargs="?",
            const="",
            metavar="NAME",
            help="steer TCP and MPTCP by a policy, see below (without this option: forwarding by shortest paths only)",
        )
        self.add_argument(
            "--rest",
            action="append",
            metavar="WHERE",
            help="where to serve what `show` shows: a loopback HOST:PORT (port 0 picks one), or unix:PATH; may be "
            f"repeated (default: {DEFAULT_REST})",
        )
        self.add_argument(
            "--probe-period",
            default="100ms",
            metavar="TIME",
            help="time between two probes of a link; a dead link is found in twice this time; 0s sends none "
            "(default: %(default)s)",
        )

    @override
    def format_help(self) -> str:
        from controllers.subflows.policies import DEFAULT_POLICY, POLICIES

        policies = "; ".join(f"{it.name}: {it.description}" for it in POLICIES.values())
        self.epilog = f"Policies: {policies}. Default: {DEFAULT_POLICY}."
        return super().format_help()


if __name__ == "__main__":
    sys.exit(main())
