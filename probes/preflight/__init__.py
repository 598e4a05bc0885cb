"""A path measured by transferring a file over SSH: without it nobody knows what two data transfer nodes can do.

It follows the paper *Net-Preflight Check: Using File Transfers to Measure Network Performance before Large Data
Transfers*. `measure(target, spec)` is the whole of it; `python -m probes.preflight --help` is the command.
"""

from probes.preflight.records import PreflightResult
from probes.preflight.spec import TransferSpec
from probes.preflight.ssh.target import Target

__all__ = ["PreflightResult", "Target", "TransferSpec"]
