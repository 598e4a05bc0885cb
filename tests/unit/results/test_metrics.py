"""The vocabulary of metrics, and that scenarios and probes keep to it: one name and one unit for each quantity."""

import dataclasses
import re
from collections import Counter
from fnmatch import fnmatchcase

import pytest

from flightpath.project import PROJECT
from flightpath.tcp_info import TcpInfo
from probes.jmeter.jtl import read_jtl
from probes.jmeter.metrics import LoadRun
from probes.transfers.stream import StreamRun
from probes.transfers.tcp_flow import FlowTrace
from results.metrics import METRICS, Better, metric_kind
from tests.support.vocabulary import unknown_metrics

OTHERS = PROJECT / "probes/preflight"
"""Names of its own, which its stored measurements have."""

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
        if not path.is_relative_to(OTHERS)
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


def test_measurements_of_probes_keep_to_it():
    load = LoadRun(read_jtl(PROJECT / "tests" / "data" / "jmeter_errors.jtl"), 2, 0.2, 0.05, cpu_s=1.5)
    stream = StreamRun(0, (1.0,), (2.0,), (1000,), 0.01, (1000,) * 20, ())
    columns = {field.name: (1, 2) for field in dataclasses.fields(TcpInfo)}
    flow = FlowTrace("cubic", {**columns, "time_ns": (0, 10**9)})
    for observation in (load, stream, flow):
        assert unknown_metrics(observation.measurement().metrics) == {}
