"""The command `flightpath mn`: Mininet's `mn` in a sandbox, with our networks, links, switches and controllers."""

import signal
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import TracebackType
from typing import Any

from mininet.link import Link, OVSLink
from mininet.log import debug, info

from flightpath.command_line import INTERRUPTED, exit_code_of, sigterm_as_interrupt
from flightpath.commands import require
from flightpath.completion import is_completing
from flightpath.errors import FlightpathError, UsageError
from topologies.links.emulators import choose_emulator, link_class
from topologies.mininet import catalogue, congestion_control, options
from topologies.mininet.certificates import print_certificate
from topologies.mininet.cli import FlightpathCLI
from topologies.mininet.network import InteractiveNetwork, link_class_for_mn
from topologies.mininet.scripts.nodes import (
    AutoSwitch,
    KernelSwitch,
    ScriptBridge,
    ScriptController,
    ScriptRemoteController,
    ScriptUserSwitch,
)
from topologies.sandbox import sandbox
from topologies.testbed.applications import OskenController
from topologies.testbed.controller import FlightpathController, SteeringController

_TABLES = ("topos", "switches", "hosts", "controllers", "links", "tests")
"""Names with which a custom file adds choices to options; mn has them in capitals."""

_CLASSES = ("CLI", "Mininet")
"""Classes of mn's that a custom file may define anew. All other names are the file's own, and stay in it."""


def main(arguments: Sequence[str], prog: str = "flightpath mn") -> int:
    """Runs `mn` with these arguments in a sandbox, and returns the exit code; its help needs no sandbox."""
    return exit_code_of(lambda: _start(arguments))


def _start(arguments: Sequence[str]) -> int:
    if is_completing():
        return 0
    if {"-h", "--help"} & set(arguments):
        sys.argv = ["mn", "--help"]
        return _run_mn()
    sigterm_as_interrupt()
    sys.argv = ["mn", *arguments]
    requested = options.congestion_control_in(arguments)
    congestion_control.provide(requested)
    return sandbox.run_inside(lambda: _run_inside(requested))


def _run_inside(requested: str | None) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C ends a command, not the network
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(INTERRUPTED))
    congestion_control.choose(requested)
    try:
        return _run_mn()
    finally:
        print_certificate()


def _run_mn() -> int:
    loader = SourceFileLoader("mn", require("mn"))
    spec = spec_from_loader("mn", loader)
    assert spec is not None, "only a loader without a method `exec_module` has none"
    command = module_from_spec(spec)
    loader.exec_module(command)
    sys.modules["__main__"] = command
    command.OptionParser = options.MnOptions  # type: ignore[attr-defined]
    try:
        type("Runner", (_Runner, command.MininetRunner), {"_names": vars(command)})()
    except FlightpathError:
        raise
    except Exception as error:
        debug(traceback.format_exc())
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


class _Runner:
    """Mixin of `MininetRunner`."""

    _names: dict[str, Any]  # mn's own globals
    _is_prepared = False
    options: Any

    def custom(self, _option: Any, _word: str, value: str, _parser: Any) -> None:
        """Runs the files of `--custom`: as in Mininet one file, or several with commas."""
        files = [value] if Path(value).is_file() else value.split(",")
        for name in files:
            if not Path(name).is_file():
                raise UsageError(f"--custom: there is no file {name!r}", f"paths are relative to {Path.cwd()}")
        self._prepare()
        for name in files:
            for key, it in names_in(name).items():
                self.setCustom(key, it)

    def setCustom(self, name: str, value: Any) -> None:
        """Takes a name from a custom file, if it is one of those that mean something to mn."""
        if name in _TABLES and isinstance(value, Mapping):
            self._names[name.upper()].update(value)
        elif name in _CLASSES and getattr(value, "__module__", "") == "builtins":  # the file's own: it has no __name__
            self._names[name] = value
        elif name == "validate" and callable(value):
            self.validate = value

    def begin(self) -> None:
        """Checks the options, then makes the network and runs tests or the command line."""
        self._prepare()
        given = self.options
        tables = {name: self._names[name.upper()] for name in _TABLES}
        options.check(given, tables, self._names["Mininet"])
        if not given.clean:
            info(f"*** Congestion control: {congestion_control.in_force()}\n")
        super().begin()  # type: ignore[misc]

    def _prepare(self) -> None:
        if self._is_prepared:
            return
        self._is_prepared = True
        # Not earlier: only the sandbox shows which links can be made.
        from topologies.mininet.scripts import stand_ins

        stand_ins.stand_in()
        for name, choices in _choices().items():
            self._names[name].update(choices)
        self._names.update(
            Mininet=InteractiveNetwork,
            MininetWithControlNet=_refuse_control_network,
            CLI=FlightpathCLI,
            cleanup=stand_ins.nothing_to_clean,
            findController=lambda: FlightpathController,
        )


def _choices() -> dict[str, dict[str, Any]]:
    """Returns our choices for options of mn, by the name of mn's table of them."""
    from topologies.mininet.scripts.links import ShapedLink

    auto = link_class_for_mn(link_class(choose_emulator()))
    return {
        "TOPOS": {name: catalogue.topology(name) for name in catalogue.names()},
        "SWITCHES": {
            **dict.fromkeys(("auto", "default", "ovs"), AutoSwitch),
            "ovsk": KernelSwitch,
            "user": ScriptUserSwitch,
            **dict.fromkeys(("ovsbr", "lxbr"), ScriptBridge),
        },
        "CONTROLLERS": {
            "flightpath": FlightpathController,
            "steering": SteeringController,
            **dict.fromkeys(("osken", "ryu"), OskenController),
            "remote": ScriptRemoteController,
            **dict.fromkeys(("ref", "ovsc"), ScriptController),
        },
        "LINKS": {
            **dict.fromkeys(("default", "auto"), auto),
            **{name: link_class_for_mn(link_class(name)) for name in ("relay", "netem")},
            "veth": Link,
            **dict.fromkeys(("tc", "tcu"), ShapedLink),
            "ovs": OVSLink,
        },
    }


def own_part(error: BaseException, file: str) -> TracebackType | None:
    """Returns an error's traceback from a user's file on, as Python would print it."""
    entry = error.__traceback__
    while entry is not None and entry.tb_frame.f_code.co_filename != file:
        entry = entry.tb_next
    return entry


def names_in(file: str) -> dict[str, Any]:
    """Runs a custom file, and returns its names; an error in it is shown with the file's own lines."""
    names: dict[str, Any] = {"__file__": file}
    try:
        exec(compile(Path(file).read_bytes(), file, "exec"), names)
    except FlightpathError:
        raise
    except Exception as error:
        traceback.print_exception(type(error), error, own_part(error, file))
        sys.exit(1)
    return names


def _refuse_control_network(*_: object, **__: object) -> None:
    raise UsageError("--innamespace: switches are one Open vSwitch, which has one namespace", "leave the option out")
