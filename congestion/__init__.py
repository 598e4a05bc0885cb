"""Congestion controls by name: what this kernel has, and how one that it does not have gets into it.

    congestion.ensure("vegas")          # from the kernel, else its module, else BPF; lasts as long as this process
    with congestion.held("mine.bpf.c") as held: ...

A congestion control is the whole machine's, so this is called before a run moves into its sandbox.
"""

from congestion.origin import Origin, origin
from congestion.provision import Held, available, ensure, held, name_of
from congestion.registry import RECORDS, Orphan, clean
from congestion.sources import shipped
from flightpath.launcher import use_project_environment

__all__ = [
    "RECORDS",
    "Held",
    "Origin",
    "Orphan",
    "available",
    "clean",
    "ensure",
    "held",
    "name_of",
    "origin",
    "shipped",
]

use_project_environment(__name__)
