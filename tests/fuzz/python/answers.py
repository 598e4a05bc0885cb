"""What a guest answers for a cell, in files of the folder that it shares: a result, or an error in a sentence."""

import contextlib
import functools
import json
import random
from dataclasses import asdict
from typing import Any

from execution.exchange import GuestError, answer_with_plan, plan_in, read_answer, result_in
from experiments.plan import Plan
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
        answer = read_answer(data)
        for read_part, kind in ((result_in, CellResult), (plan_in, Plan)):
            with contextlib.suppress(FlightpathError):
                assert isinstance(read_part(answer), kind)


@functools.cache
def _answers() -> list[Any]:
    plan = answer_with_plan(Plan("quick", {"load": (1.0,)})).model_dump()
    result = {"plan": None, "result": asdict(cell("tcp", 500.0)), "error": None}
    result["result"]["measurement"]["series"] = {}
    error = {"plan": None, "result": None, "error": GuestError(kind="UsageError", message="m", hint="h").model_dump()}
    return json.loads(json.dumps([plan, result, error, 3], default=json_default))
