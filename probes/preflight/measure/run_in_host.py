"""A measurement from an emulated host, by the command `preflight` in a process there."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from flightpath.commands import end
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability, UntrustworthyResult, UsageError
from flightpath.hosts import Host
from flightpath.launcher import python_module
from probes.preflight.records import PreflightResult
from probes.preflight.spec import TransferSpec

_CLEAN_UP_S = 10
_ERRORS: dict[int, type[FlightpathError]] = {2: UsageError, 3: MissingCapability}


def run_in(
    host: Host, target: str, spec: TransferSpec, *, ssh_config: Path | None = None, timeout_s: float = 600
) -> PreflightResult:
    """Measures from a host.

    Args:
        target: `[USER@]HOST`, or a Host of the SSH configuration.
        ssh_config: file for `ssh -F` (`services.sshd.Sshd.client_configuration`); the user's own by default.

    Raises:
        FlightpathError: the probe failed; with its own message.
    """
    options = ["-F", str(ssh_config)] if ssh_config else []
    command = python_module("probes.preflight", *options)
    return run_command(host, command, target, spec, timeout_s=timeout_s)


def run_command(
    host: Host, command: Sequence[str], target: str, spec: TransferSpec, *, timeout_s: float
) -> PreflightResult:
    """Measures with a command that starts `preflight` in a host."""
    argv = [*command, "--json", "--forget", "--batch", "--spec", json.dumps(spec.as_json()), "--", target]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
    process = host.popen(argv, **pipes)
    try:
        stdout, stderr = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise MeasurementFailed(f"preflight on {host.name}: no end after {timeout_s:g} s") from error
    finally:
        end(process, grace_s=_CLEAN_UP_S)
    if process.returncode not in (0, UntrustworthyResult.exit_code):
        kind = _ERRORS.get(process.returncode, MeasurementFailed)
        raise kind(f"preflight on {host.name}: {stderr.strip().removeprefix('error: ') or 'it printed no message'}")
    return PreflightResult.from_json(json.dumps(json.loads(stdout)["measurement"]))
