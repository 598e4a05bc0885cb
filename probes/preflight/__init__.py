"""The preflight probe: measures a path by transferring a file over SSH.

It follows the paper *Net-Preflight Check: Using File Transfers to Measure Network Performance before Large Data
Transfers*. `measure.measurement.measure` does it; `flightpath preflight --help` explains the command.
"""

from probes.preflight.records import PreflightResult
from probes.preflight.spec import TransferSpec
from probes.preflight.target import Target

__all__ = ["PreflightResult", "Target", "TransferSpec"]
