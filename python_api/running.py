"""Running a scenario from Python, in a process of its own: the caller needs no privileges, and stays as it is."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, NoReturn

from flightpath import libc
from flightpath.command_line import INTERRUPTED
from flightpath.commands import how_ended
from flightpath.errors import (
    FlightpathError,
    MeasurementFailed,
    MissingCapability,
    UntrustworthyResult,
    UntrustworthyWarning,
    UsageError,
)
from flightpath.launcher import python_module, require_mininet
from python_api.channels import environment
from python_api.runs import Run, load
from results.store.store import DEFAULT_FOLDER

_ERROR = "error: "
_INDENT = "  "
_ENDING_LIMIT_S = 30.0
_ERRORS: dict[int, type[FlightpathError]] = {
    error.exit_code: error for error in (MeasurementFailed, UsageError, MissingCapability, UntrustworthyResult)
}


def run(
    scenario: str | os.PathLike[str],
    *,
    clock: Literal["auto", "real", "virtual"] | None = None,
    repeat: int | None = None,
    form: Literal["quick", "full"] = "quick",
    results: str | os.PathLike[str] | None = None,
    progress: bool = True,
    **options: Any,
) -> Run:
    """Measures a scenario, as `flightpath run SCENARIO` does, and returns the run.

        run = flightpath.run("mptcp_load", clock="virtual", loads=[500, 800], only={"protocol": ["tcp", "mptcp"]})
        run = flightpath.run("outage.toml", repeat=5)

    Args:
        scenario: its name, which `flightpath run` lists, or the path of an experiment file (`.toml`, `.py`).
        clock: clock of the measurement; by default virtual, but real where the question is one of processors.
        repeat: repetitions of each point; by default those of the scenario.
        form: the short form, or that of the paper's size.
        results: folder that keeps the run; by default `results/runs` of the current folder.
        progress: whether to show progress on stderr.
        **options: the scenario's other options by name (`flightpath run SCENARIO --help` lists them): `--loads 500,800`
            is `loads=[500, 800]`, a flag is True, and `--only KEY=VALUE` is `only={"KEY": "VALUE"}`.

    Raises:
        UsageError: there is no such scenario or option, or a value is invalid; nothing was started.
        MissingCapability: this machine lacks something; the message says what.
        MeasurementFailed: cells could not be measured. `load("latest")` has the others.
        UntrustworthyResult: this machine was too slow for anything to be measured.
        KeyboardInterrupt: Ctrl-C. Finished cells are kept; `resume="latest"` measures the others.

    Warns:
        UntrustworthyWarning: some cells are unusable; their verdicts and reasons are in the run.
    """
    require_mininet()
    from experiments import catalogue
    from python_api.options import words_for  # with Mininet

    name = os.fspath(scenario)
    definition = catalogue.asked_for(name)
    if form not in ("quick", "full"):
        raise UsageError(f"form: {form!r} is unknown", "choose quick or full")
    words = words_for(definition, {"clock": clock, "repeat": repeat, "full": form == "full", **options})
    folder = Path(results or DEFAULT_FOLDER).absolute()
    code, stdout, stderr = _run_command([name, "--json", f"--results={folder}", *words], shown=progress)
    run_id = _run_id(stdout)
    if code not in (0, UntrustworthyResult.exit_code) or run_id is None:
        _raise(name, code, stderr)
    if code:
        problem = _message(stderr) or "some cells are unusable"
        warnings.warn(problem, UntrustworthyWarning, stacklevel=2)
    return load(run_id, results=folder, store=options.get("store"))


def _run_command(words: Sequence[str], *, shown: bool) -> tuple[int, str, str]:
    """Runs the command, and returns exit code, stdout and stderr. Ctrl-C and the end of this process end it."""
    process = subprocess.Popen(
        python_module("scenarios", *words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env=environment(),
        start_new_session=True,
        preexec_fn=partial(libc.end_with, os.getpid(), signal.SIGTERM),
    )
    assert process.stdout is not None and process.stderr is not None  # pipes, as requested
    lines: list[str] = []
    reader = threading.Thread(target=_pass_on, args=(process.stderr, lines, shown), daemon=True)
    reader.start()
    with process:
        try:
            stdout = process.stdout.read()
            code = process.wait()
        except BaseException:
            _interrupt(process)
            raise
        finally:
            reader.join()
    return code, stdout, "".join(lines)


def _pass_on(stderr: IO[str], lines: list[str], shown: bool) -> None:
    for line in stderr:
        lines.append(line)
        if shown and not line.startswith(_ERROR):
            sys.stderr.write(line)
            sys.stderr.flush()


def _interrupt(process: subprocess.Popen[str]) -> None:
    """Ends the command as Ctrl-C does, so that it keeps what it has measured.

    By SIGTERM, because what a shell starts in the background ignores SIGINT.
    """
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_ENDING_LIMIT_S)
    process.kill()


def _run_id(stdout: str) -> str | None:
    try:
        return json.loads(stdout)["run"]
    except (ValueError, KeyError):
        return None


def _raise(scenario: str, code: int, stderr: str) -> NoReturn:
    if code == INTERRUPTED:
        raise KeyboardInterrupt
    problem = _message(stderr)
    if not problem:
        raise MeasurementFailed(f"{scenario} {how_ended(code)}: {stderr.strip()[-2000:] or 'it printed nothing'}")
    message, *rest = problem.splitlines()
    is_hint = all(line.startswith(_INDENT) for line in rest)
    hint = " ".join(line.strip() for line in rest)
    raise _ERRORS.get(code, MeasurementFailed)(*((message, hint) if is_hint else (problem,)))


def _message(stderr: str) -> str:
    """Returns the last error in a command's stderr, with its hint."""
    _, _, message = f"\n{stderr}".rpartition(f"\n{_ERROR}")
    return message.strip() if f"\n{_ERROR}" in f"\n{stderr}" else ""
