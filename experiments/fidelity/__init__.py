"""Fidelity of a testbed: whether it did what it was configured to do while a cell was measured.

A scenario measures inside a `Watch`, which calibrates, samples and certifies. Each of the other modules judges one
aspect, with its thresholds and the reasons for them.
"""

from experiments.fidelity.certificate import certify, too_slow
from experiments.fidelity.watch import Watch

__all__ = ["Watch", "certify", "too_slow"]
