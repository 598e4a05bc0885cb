"""The probe in an emulated host: it runs there as a user would run it on a real machine, in a process of its own."""

import json
import subprocess
from pathlib import Path

from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability, UntrustworthyResult, UsageError
from flightpath.hosts import Host
from flightpath.launcher import project_python
from flightpath.project import PROJECT
from probes.preflight import codec
from probes.preflight.records import PreflightResult
from probes.preflight.spec import TransferSpec

_ERRORS: dict[int, type[FlightpathError]] = {2: UsageError, 3: MissingCapability}


def run_in(
    host: Host, target: str, spec: TransferSpec, *, ssh_config: Path | None = None, timeout_s: float = 600
) -> PreflightResult:
    """Measures from a host; the verdict tells whether the figure is one of the path.

    Args:
        host: where the probe runs.
        target: `[USER@]HOST`, or a Host of the configuration.
        spec: what to transfer.
        ssh_config: file for `ssh -F` (`services.sshd.Sshd.client_configuration`); the user's own by default.
        timeout_s: after so many seconds the probe is ended.

    Raises:
        FlightpathError: the probe failed; with what it said.
    """
    options = ["--json", "--forget", "--batch", "--spec", "-", *(["-F", str(ssh_config)] if ssh_config else [])]
    argv = [project_python(), "-m", "probes.preflight", *options, "--", target]
    process = host.popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", cwd=PROJECT
    )
    try:
        printed, said = process.communicate(json.dumps(codec.encode(spec)), timeout=timeout_s)
    except subprocess.TimeoutExpired as error:
        raise MeasurementFailed(f"preflight on {host.name}: no end after {timeout_s:g} s") from error
    finally:
        if process.poll() is None:
            process.terminate()  # it tidies up at the far end
            try:
                process.communicate(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
    if process.returncode not in (0, UntrustworthyResult.exit_code):
        kind = _ERRORS.get(process.returncode, MeasurementFailed)
        raise kind(f"preflight on {host.name}: {said.strip().removeprefix('error: ') or 'it said nothing'}")
    return PreflightResult.from_json(json.dumps(json.loads(printed)["measurement"]))
