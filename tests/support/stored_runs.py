"""Runs and cells in a store: small ones, hostile ones, and any that Hypothesis thinks of."""

from hypothesis import strategies as st
from sqlalchemy import select

from results.records import Cell, CellResult, Certificate, Claim, ClaimVerdict, Measurement, Metric, Series, Verdict
from results.store.schema import CellRow, ClaimRow, DocumentRow, MetricRow, RunRow, SeriesRow
from results.store.store import Store

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>'\"{{7*7}}"

finite = st.floats(allow_nan=False, allow_infinity=False)
# PostgreSQL keeps no NUL, and UTF-8 has no lone surrogates.
characters = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
names = st.text(characters, min_size=1, max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | finite | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=6,
)
facts = st.dictionaries(names, json_values, max_size=3)
metrics = st.builds(Metric, finite, st.text(characters, max_size=5), st.none() | finite, st.none() | finite)
series = st.builds(
    lambda unit, points: Series(unit, tuple(time for time, _ in points), tuple(value for _, value in points)),
    st.text(characters, max_size=5),
    st.lists(st.tuples(finite, finite), max_size=8),
)
cell_results = st.builds(
    CellResult,
    st.builds(
        Cell,
        st.dictionaries(names, st.text(max_size=8) | st.integers() | st.booleans() | finite, max_size=3),
        st.integers(1, 1000),
    ),
    st.builds(
        Measurement, st.dictionaries(names, metrics, max_size=3), st.dictionaries(names, series, max_size=2), facts
    ),
    st.builds(Certificate, st.sampled_from(Verdict), st.lists(st.text(max_size=20), max_size=3).map(tuple), facts),
)


def simple(load: float = 500, repetition: int = 1, **metric_values: float) -> CellResult:
    measured = {name: Metric(value, "1") for name, value in (metric_values or {"x": 1.0}).items()}
    return CellResult(Cell({"load": load}, repetition), Measurement(measured), Certificate(Verdict.FAITHFUL))


def begin(store: Store, *cells: CellResult, scenario: str = "mptcp_load") -> str:
    """Begins a run, and records these cells."""
    run_id = store.begin_run(scenario, {"form": "quick", "seed": 1}, {"kernel": "6.1"}, ["python", "-m", "x", "--a b"])
    for order, result in enumerate(cells):
        store.record(run_id, result, order)
    return run_id


def everything(store: Store) -> dict[str, list]:
    with store.reading() as session:
        tables = [kind.__table__ for kind in (RunRow, CellRow, MetricRow, SeriesRow, ClaimRow, DocumentRow)]
        return {table.name: session.execute(select(table).order_by(*table.primary_key)).all() for table in tables}


def hostile_run(store) -> str:
    """A run of which every text is hostile, and every fact another than a certificate's."""
    facts = {
        "links": {f"{HOSTILE}:b": {"a_to_b": HOSTILE, "b_to_a": 3, "emulator": []}, "x": 7, "a:b": HOSTILE},
        "links_before_load": [3, {"link": HOSTILE, "direction": []}, {"link": "x"}],
        "links_during_load": {HOSTILE: {"a_to_b": {"packets": HOSTILE, "drops": 5}}},
        "paths_before_load": [{"source": HOSTILE, "target": {}, "port": HOSTILE, "rtt_ms": "", "expected_rtt_ms": 1}],
        "congestion_control": 4,
        "idle_cpu_percent": [HOSTILE],
        "emulator": {HOSTILE: HOSTILE},
        "kernel": HOSTILE,
    }
    plan = {HOSTILE: HOSTILE, "headlines": {"a": HOSTILE}, "question": HOSTILE}
    run_id = store.begin_run(HOSTILE, plan, {HOSTILE: [HOSTILE]}, [HOSTILE])
    for number, found in enumerate([facts, *({name: value} for name, value in facts.items())], start=1):
        unit = HOSTILE if number > 2 else "x"
        numbers = {HOSTILE: Metric(1e308 if number % 2 else 5e-324, unit), "n": Metric(-1e308, "s")}
        over_time = {HOSTILE: Series(HOSTILE, (0.0, 1.0), (1e308, -1e308)), "none": Series("s", (), ())}
        measured = Measurement(numbers, over_time, {HOSTILE: HOSTILE})
        certificate = Certificate(Verdict.DEGRADED, (HOSTILE,), found)
        store.record(run_id, CellResult(Cell({HOSTILE: HOSTILE}, number), measured, certificate), number)
    store.record_claims(run_id, [Claim(HOSTILE, HOSTILE, HOSTILE, ClaimVerdict.NOT_TESTED, HOSTILE)])
    return run_id
