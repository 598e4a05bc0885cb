"""The vocabulary of metrics, and that scenarios and probes keep to it: one name and one unit for each quantity."""

import re
from collections import Counter
from fnmatch import fnmatchcase

import pytest

from flightpath.project import PROJECT
from results.metrics import METRICS, Better, metric_kind

EMITTED = re.compile(r'f?"([^"]+)"\]?(?: =|:) Metric\(.*?, "([^"]+)"[,)]', re.DOTALL)
"""A metric that is made in the code: its name, in which `{…}` is known only when it runs, and its unit."""


def test_the_names_are_unique():
    assert [name for name, count in Counter(kind.name for kind in METRICS).items() if count > 1] == []
    assert all(kind.words and kind.unit for kind in METRICS)


@pytest.mark.parametrize(
    ("name", "unit", "better"),
    [
        ("ftp_goodput", "bit/s", Better.HIGHER),
        ("retransmissions", "1", Better.LOWER),
        ("rival_retransmitted_share", "%", Better.LOWER),
        ("share_path3", "%", None),
        ("errors_http_status", "1", Better.LOWER),
        ("latency_intended_p99", "ms", Better.LOWER),
        ("silence_black_hole", "ms", Better.LOWER),
    ],
)
def test_a_metric_or_its_family_is_found(name, unit, better):
    kind = metric_kind(name)
    assert (kind.unit, kind.better) == (unit, better)


def test_other_names_are_not_found():
    assert metric_kind("retransmitted") is metric_kind("nonsense") is None


def test_scenarios_and_probes_use_these_names_and_units():
    files = [path for floor in ("scenarios", "probes") for path in (PROJECT / floor).rglob("*.py")]
    metrics = {
        (path.name, re.sub(r"\{.*?\}", "*", name), unit)
        for path in files
        if not path.is_relative_to(PROJECT / "probes/preflight")  # its stored measurements have names of their own
        for name, unit in EMITTED.findall(path.read_text())
    }
    assert len(metrics) > 75
    assert [metric for metric in metrics if not _is_known(*metric[1:])] == []


def _is_known(name: str, unit: str) -> bool:
    """Whether the vocabulary has this name, or one that it stands for (tests that measure cells check which)."""
    if name.startswith("*"):
        return True
    if "*" not in name:
        return (kind := metric_kind(name)) is not None and kind.unit == unit
    return any(kind.unit == unit and (fnmatchcase(kind.name, name) or fnmatchcase(name, kind.name)) for kind in METRICS)
