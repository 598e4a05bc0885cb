"""TCP congestion controls by name: from the kernel, from its modules, or as BPF programs.

    congestion.ensure("vegas")              # until this process ends
    with congestion.provided("mine.bpf.c") as algorithm: ...

The whole machine shares its congestion controls, so these are called before a run enters its sandbox.
"""

from congestion.provision import Algorithm, Origin, available, ensure, name_of, origin, provided
from congestion.registry import RECORDS, Orphan, clean
from congestion.sources import shipped
from flightpath.launcher import use_project_environment

__all__ = [
    "RECORDS",
    "Algorithm",
    "Origin",
    "Orphan",
    "available",
    "clean",
    "ensure",
    "name_of",
    "origin",
    "provided",
    "shipped",
]

use_project_environment(__name__)
