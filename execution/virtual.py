"""The command `flightpath virtual`: any command on a clock that repeats itself."""

import argparse
import math
import os
import re
import shlex
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from execution import seeds
from execution.cluster.key import DEFAULT_KEY, require_dask, scheduler_address
from execution.guests import standard_input
from execution.uml import kernel
from execution.uml.inspection import STANDSTILL_S
from execution.uml.terminal import TerminalGuest
from execution.uml.uml import UmlGuest, UserModeLinux, keeps_current_folder
from flightpath.clock import Clock
from flightpath.command_line import check_jobs, run_command, sigterm_as_interrupt
from flightpath.errors import UsageError
from flightpath.parsers import Parser
from flightpath.units import parse_duration

_DESCRIPTION = """\
Runs any command, or a whole test suite, in the virtual-time kernel: a real Linux on whose clock computing takes no time
and sleeping costs none. The same command with the same seed does the same to the last bit, however busy the machine is,
wherever the programs are the same. A test that fails once in a hundred nights has a seed with which it always fails.

  flightpath virtual -- pytest tests/test_network.py     once, with seed 1
  flightpath virtual --seeds 1-200 -- ./simult_flows.sh  200 seeds: which fail, and how
  flightpath virtual --seed 37 --discard -- ./simult_flows.sh    one of them again
  flightpath virtual --seed 37 --same -- ./suite.sh      is a seed really the same each time?
  flightpath virtual --seeds 1-1000 --jitter 50us -- ./race   threads and programs in other orders
  flightpath virtual --seeds 1-9999 --cluster tls://HOST:8786 -- ./suite.sh    on many machines

It needs no root. The command sees all files of this machine and runs as root of the guest, which has one processor and
no network to the outside. What it writes is kept in the current folder (unless --discard) and in the folder of
--results; elsewhere, as in /tmp, it vanishes. Standard input is read to its end first. The exit code is the command's.

A program that waits by reading the clock in a loop makes little progress: --clock-reading 1us helps. One that waits
without any system call stops the clock; after a minute the error names it. BPF programs cannot be compiled here.
Programs see the same processor on each machine, one without AVX; those that need it run with --host-cpu.
"""

_TIME_LIMIT_S = 3600
_MOST_SEEDS, _LONGEST_NS = 1_000_000, 10**9
_NONE = "0"


def main(arguments: Sequence[str] | None = None, prog: str = "flightpath virtual") -> int:
    """Runs the command and returns its exit code."""
    parser = Parser(prog=prog, description=_DESCRIPTION)
    _add_seed_options(parser.add_argument_group("seeds"))
    _add_guest_options(parser.add_argument_group("time, and the guest"))
    parser.add_argument("--discard", action="store_true", help="do not keep what it writes in the current folder")
    parser.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help="a folder in which files of the command are kept; with --seeds, the output of each failed run",
    )
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="after `--`")
    parser.set_defaults(run_command=_run)
    return run_command(parser, arguments)


def _add_seed_options(group: argparse._ArgumentGroup) -> None:
    which = group.add_mutually_exclusive_group()
    which.add_argument("--seed", type=int, default=1, metavar="N", help="seed of all random numbers (default 1)")
    which.add_argument("--seeds", metavar="A-B", help="run once with each seed, and say which fail")
    group.add_argument("--jobs", type=int, metavar="N", help="parallel runs (default: one per processor)")
    group.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="run the seeds on a cluster: its scheduler's address (flightpath cluster --help); "
        "the command's files must be at the same paths on each machine",
    )
    group.add_argument("--key", type=Path, default=DEFAULT_KEY, metavar="FILE", help=f"its key ({DEFAULT_KEY})")
    group.add_argument("--same", action="store_true", help="run twice with each seed, and say what differs first")


def _add_guest_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--clock", type=Clock, choices=list(Clock), default=Clock.VIRTUAL, help="(default virtual)")
    group.add_argument(
        "--jitter",
        default=_NONE,
        metavar="TIME",
        help="random extra time of each system call, at most this, for example 50us",
    )
    group.add_argument(
        "--clock-reading",
        default=_NONE,
        metavar="TIME",
        help="time that reading the clock takes, for example 1us (default: some ns)",
    )
    group.add_argument(
        "--host-cpu",
        action="store_true",
        help="show programs this machine's processor, for those that need AVX; slower, and on machines with another "
        "processor a seed may do something else",
    )
    group.add_argument(
        "--memory",
        type=int,
        default=UserModeLinux.memory_mib,
        metavar="MIB",
        help="memory of the guest (default %(default)s)",
    )
    group.add_argument(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help=f"limit on this machine's clock (default {_TIME_LIMIT_S}; with --interactive none)",
    )
    group.add_argument(
        "--interactive",
        action="store_true",
        help="give the command this terminal, and let virtual time pass no faster than real time",
    )
    group.add_argument(
        "--standstill-limit",
        type=float,
        default=STANDSTILL_S,
        metavar="SECONDS",
        help="of processor time, for which a program may compute while virtual time stands still (default %(default)g)",
    )


def _run(options: argparse.Namespace) -> int:
    check_jobs(options.jobs)
    several = options.seeds is not None or options.same
    of_guest = {
        "memory_mib": options.memory,
        "standstill_s": options.standstill_limit,
        "jitter_ns": _nanoseconds(options.jitter, "--jitter"),
        "clock_reading_ns": _nanoseconds(options.clock_reading, "--clock-reading"),
        "host_cpu": options.host_cpu,
    }
    _refuse_combinations(options, several)
    sigterm_as_interrupt()
    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
    limit_s = math.inf if options.interactive else _TIME_LIMIT_S
    limit_s = limit_s if options.time_limit is None else options.time_limit
    if several:
        command = seeds.SeededCommand(
            argv=options.command, stdin=_standard_input(), time_limit_s=limit_s, twice=options.same, **of_guest
        )
        return _run_several(command, options)
    machine = UserModeLinux(
        kernel.find(),
        options.clock,
        writable=options.results,
        keeps_folder=not options.discard and keeps_current_folder("--results names a folder"),
        seed=options.seed,
        **of_guest,
    )
    return _run_once(machine, limit_s, options)


def _run_once(machine: UserModeLinux, limit_s: float, options: argparse.Namespace) -> int:
    kind = TerminalGuest if options.interactive else UmlGuest
    began_s, guest = time.monotonic(), kind(machine, options.command)
    code = guest.run(limit_s)
    if options.clock is Clock.VIRTUAL and not options.interactive:
        took_s = time.monotonic() - began_s
        print(f"virtual time: {guest.command_s:.2f} s, in {took_s:.1f} s; seed {options.seed}", file=sys.stderr)
        if code:
            discard = ["--discard"] if options.discard else []
            print(f"exit code {code}; again: {_again(options, options.seed, *discard)}", file=sys.stderr)
    return code


def _refuse_combinations(options: argparse.Namespace, several: bool) -> None:
    if options.interactive and several:
        raise UsageError("--interactive is for one run", "leave out --seeds and --same")
    if options.interactive and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("--interactive needs a terminal")
    if options.clock is Clock.REAL and (several or {options.jitter, options.clock_reading} != {_NONE}):
        raise UsageError("--seeds, --same, --jitter and --clock-reading are for the virtual clock")
    if options.jobs is not None and not several:
        raise UsageError("--jobs is for several runs", "add --seeds, for example --seeds 1-100")
    if options.cluster and not several:
        raise UsageError("--cluster is for several runs", "add --seeds, for example --seeds 1-100")
    if options.cluster and options.jobs is not None:
        raise UsageError(
            "--jobs is for this machine", "`flightpath worker --jobs` says it for each machine of a cluster"
        )


def _run_several(command: seeds.SeededCommand, options: argparse.Namespace) -> int:
    wanted = _seeds(options.seeds or str(options.seed))
    if options.cluster:
        require_dask()
        from execution.cluster.seeds import search_on  # loads Dask, which nothing else needs

        outcomes = search_on(scheduler_address(options.cluster), options.key, command, wanted, options.results)
    else:
        kernel.find()
        jobs = options.jobs or os.cpu_count() or 1
        with seeds.here(command, jobs) as submit:
            outcomes = seeds.search(wanted, submit, jobs, options.results)

    def again(outcome: seeds.Outcome) -> str:
        twice = outcome.another_output is not None
        return _again(options, outcome.seed, "--same" if twice else "--discard")

    print(seeds.summary(outcomes, again, twice=options.same))
    return int(any(outcome.failure for outcome in outcomes))


def _standard_input() -> bytes:
    with TemporaryDirectory() as scratch:
        given = Path(scratch) / "stdin"
        given.touch()
        standard_input.copy_to(given)
        return given.read_bytes()


def _again(options: argparse.Namespace, seed: int, *more: str) -> str:
    """Returns the command that does the same: files that are not kept take random numbers, and kept ones do not."""
    words = ["flightpath", "virtual", "--seed", str(seed), *more]
    words += ["--memory", str(options.memory)] if options.memory != UserModeLinux.memory_mib else []
    words += ["--jitter", options.jitter] if options.jitter != _NONE else []
    words += ["--clock-reading", options.clock_reading] if options.clock_reading != _NONE else []
    words += ["--host-cpu"] if options.host_cpu else []
    return shlex.join([*words, "--", *options.command])


def _seeds(text: str) -> range:
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
    if not 0 <= last - first < _MOST_SEEDS:
        raise UsageError(f"--seeds: {text!r} is no range of seeds", "accepted form: 1-200")
    return range(first, last + 1)


def _nanoseconds(text: str, option: str) -> int:
    ns = round(parse_duration(text, option) * 1e9)
    if ns > _LONGEST_NS:
        raise UsageError(f"{option}: {text} is more than a second", "choose some microseconds, as 50us")
    return ns


if __name__ == "__main__":
    sys.exit(main())
