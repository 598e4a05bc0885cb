"""The judge: says whether the testbed did what it was told while a cell was measured.

A scenario measures inside a `Watch`, which calibrates, samples, checks and judges; each module beside this one judges
one thing, with its thresholds and why they are what they are.
"""

from scenarios.fidelity.certificate import certify
from scenarios.fidelity.watch import Watch

__all__ = ["Watch", "certify"]
