"""Answers of a guest for a cell, in files of the folder that it shares: a result, or an error in a sentence."""

import contextlib
import functools
import json
import random
from dataclasses import asdict
from typing import Any

from execution.guest_side import check_plan, measure_cell
from experiments.plan import Plan
from flightpath.calls import Failure, Returns
from flightpath.errors import FlightpathError
from results.records import CellResult
from results.store.rows import json_default
from tests.fuzz.mutation import json_or_bytes
from tests.support.made_up_runs import cell


def made(chance: random.Random) -> bytes:
    return json_or_bytes(chance, _answers())


def read(data: bytes) -> None:
    """Reads it as an answer with a result, and as one with a plan."""
    with contextlib.suppress(FlightpathError):
        assert isinstance(Returns.of(measure_cell).value(data), CellResult)
    with contextlib.suppress(FlightpathError):
        assert isinstance(Returns.of(check_plan).value(data), dict)


@functools.cache
def _answers() -> list[Any]:
    plan = Returns.of(check_plan).answer(Plan("quick", {"load": (1.0,)}).as_json).model_dump()
    result = {"value": asdict(cell("tcp", 500.0)), "failure": None}
    result["value"]["measurement"]["series"] = {}
    failure = {"value": None, "failure": Failure(kind="UsageError", message="m", hint="h").model_dump()}
    return json.loads(json.dumps([plan, result, failure, 3], default=json_default))
