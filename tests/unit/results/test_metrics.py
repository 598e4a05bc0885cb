"""The vocabulary of metrics, and that scenarios and probes keep to it: one name and one unit for each quantity."""

import ast
import dataclasses
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from flightpath.project import PROJECT
from flightpath.tcp_info import TcpInfo
from probes.jmeter.jtl import read_jtl
from probes.jmeter.metrics import LoadRun
from probes.transfers.stream import StreamRun
from probes.transfers.tcp_flow import FlowTrace
from results.metrics import METRICS, Better, metric_kind
from tests.support.vocabulary import unknown_metrics

FLOORS = ("scenarios", "probes")
OTHERS = "probes/preflight"
"""Names of its own, which its stored measurements have."""


def emitted() -> list[tuple[str, str, str]]:
    """File, name and unit of every metric that is made in the code; `*` for what is known only when it runs."""
    files = [path for floor in FLOORS for path in sorted((PROJECT / floor).rglob("*.py"))]
    return [
        (str(path.relative_to(PROJECT)), *metric)
        for path in files
        if not path.is_relative_to(PROJECT / OTHERS)
        for metric in _metrics(path)
    ]


def _metrics(path: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(path.read_text())):
        pairs: list[tuple[ast.expr | None, ast.expr]] = []
        if isinstance(node, ast.Dict):
            pairs = list(zip(node.keys, node.values, strict=True))
        elif isinstance(node, ast.DictComp):
            pairs = [(node.key, node.value)]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            pairs = [(node.targets[0].slice, node.value)]
        for key, value in pairs:
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Metric":
                yield _pattern(key), value.args[1].value


def _pattern(key: ast.expr) -> str:
    if isinstance(key, ast.Constant):
        return str(key.value)
    if isinstance(key, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "*" for part in key.values)
    return "*"


def test_the_names_are_unique():
    assert [name for name, count in Counter(kind.name for kind in METRICS).items() if count > 1] == []
    assert all(kind.words and kind.unit for kind in METRICS)


@pytest.mark.parametrize(
    ("name", "unit", "better"),
    [
        ("goodput", "bit/s", Better.HIGHER),
        ("ftp_goodput", "bit/s", Better.HIGHER),
        ("retransmissions", "1", Better.LOWER),
        ("retransmitted_share", "%", Better.LOWER),
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
    assert metric_kind("retransmitted") is None
    assert metric_kind("nonsense") is None


def test_scenarios_and_probes_use_these_names_and_units():
    metrics = emitted()
    assert len(metrics) > 50
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
