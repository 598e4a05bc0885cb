"""The cases of the paper on congestion controls over four paths, and the comparison of an algorithm with the others."""

from collections.abc import Sequence
from itertools import product

from experiments.claims import Evidence
from experiments.judging import Found, Point, change

PATHS = 4
PAPERS = ("cubic", "reno", "illinois", "scalable", "veno", "highspeed", "vegas")
ALL_BUT_VEGAS = PAPERS[:-1]


def cells_of(configuration: str, algorithm: str, paths: int = PATHS) -> Point:
    """Returns the parameters of an algorithm's cells in a configuration."""
    return {"configuration": configuration, "congestion_control": algorithm, "paths": paths}


def against_each(evidence: Evidence, algorithm: str, configurations: Sequence[str], metric: str) -> dict[str, Found]:
    """Returns the lead of an algorithm over each other one in each configuration."""
    others = [name for name in PAPERS if name != algorithm]
    return {
        f"{other}, {configuration}": change(
            evidence, metric, cells_of(configuration, other), cells_of(configuration, algorithm)
        )
        for configuration, other in product(configurations, others)
    }
