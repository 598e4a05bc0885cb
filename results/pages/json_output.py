"""Output of `--json`: one object for a run, a list of runs, or a comparison."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from results.comparison.compare import Compared, Comparison
from results.comparison.differences import Difference
from results.records import Claim, ClaimVerdict, RunRecord, Verdict
from results.store.run_list import RunList, worst
from results.store.store import Store
from results.summary.runs import machine
from results.summary.verdicts import overall


def print_json(document: Mapping[str, Any]) -> None:
    print(json.dumps(document, indent=2))


def run_json(store: Store, run: str) -> dict[str, Any]:
    """Returns a run with its cells and claims; its verdict is that of its worst cell, null without cells."""
    record, cells = store.run(run), store.cells(run)
    return {
        "run": record.run_id,
        "scenario": record.scenario,
        "verdict": str(overall(cells)) if cells else None,
        "cells": [
            {
                **vars(cell.cell),
                "verdict": str(cell.certificate.verdict),
                "metrics": {name: vars(metric) for name, metric in cell.measurement.metrics.items()},
            }
            for cell in cells
        ],
        "claims": [
            {"claim": c.claim, "paper": c.paper, "measured": c.measured, "verdict": _claim_verdict(c)}
            for c in store.claims(run)
        ],
    }


def run_list_json(listed: RunList) -> dict[str, Any]:
    return {"runs": [_run(*each) for each in listed.runs]}


def comparison_json(
    runs: Sequence[str], comparisons: Sequence[Compared], differences: Sequence[Difference]
) -> dict[str, Any]:
    return {
        "runs": list(runs),
        "compared": [
            {**vars(each), "sentence": each.sentence, "comparisons": list(map(_comparison, each.comparisons))}
            for each in comparisons
        ],
        "differences": list(map(vars, differences)),
    }


def _claim_verdict(claim: Claim) -> str:
    is_explained = claim.verdict in (ClaimVerdict.NOT_DECIDED, ClaimVerdict.NOT_TESTED) and claim.why
    return f"{claim.verdict} ({claim.why})" if is_explained else str(claim.verdict)


def _run(record: RunRecord, counts: Mapping[Verdict, int]) -> dict[str, Any]:
    verdict = worst(counts)
    return {
        "run": record.run_id,
        "scenario": record.scenario,
        "form": record.plan.get("form"),
        "status": str(record.status),
        "machine": machine(record),
        "started_at": record.started_at.isoformat(),
        "ended_at": record.ended_at.isoformat() if record.ended_at else None,
        "cells": {str(name): count for name, count in counts.items()},
        "verdict": str(verdict) if verdict else None,
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    effect = comparison.effect
    return {
        "metric": comparison.metric,
        "parameters": dict(comparison.parameters),
        "change": str(comparison.change),
        "before": effect and effect.before,
        "after": effect and effect.after,
        "difference": effect and effect.change.value,
        "low": effect and effect.change.low,
        "high": effect and effect.change.high,
        "unit": "%" if effect and effect.relative else comparison.unit,
        "p": effect and effect.p,
        "verdict": str(comparison.verdict),
    }
