import json
from collections import Counter

import pytest

from flightpath.errors import UsageError
from scenarios.framework.plan import Plan, restrictions

AXES = {"protocol": ("tcp", "mptcp"), "load": (500, 800)}


def test_every_point_is_measured_as_often_as_asked_in_blocks():
    cells = Plan("quick", AXES, repeat=3).cells()
    assert Counter(cell.repetition for cell in cells) == {1: 4, 2: 4, 3: 4}
    assert [cell.repetition for cell in cells] == sorted(cell.repetition for cell in cells)
    assert len({cell.label for cell in cells}) == 12


def test_the_order_comes_from_the_seed():
    orders = {tuple(cell.label for cell in Plan("quick", AXES, repeat=2, seed=seed).cells()) for seed in range(20)}
    assert len(orders) > 5
    assert Plan("quick", AXES, seed=3).cells() == Plan("quick", AXES, seed=3).cells()


def test_a_plan_survives_the_store():
    plan = Plan("full", AXES, settings={"ramp_s": {"500": 160.0}}, repeat=2, seed=9, only={"load": ("800",)})
    assert Plan.from_json(json.loads(json.dumps(plan.as_json()))).cells() == plan.cells()


def test_only_keeps_what_is_named():
    cells = Plan("quick", AXES, only=restrictions(["protocol=mptcp", "load=800"])).cells()
    assert [cell.parameters for cell in cells] == [{"protocol": "mptcp", "load": 800}]


@pytest.mark.parametrize("pair", ["protocol", "=tcp", "protocol=", "speed=1", "load=799"])
def test_only_refuses_what_it_does_not_know(pair):
    with pytest.raises(UsageError, match="--only"):
        Plan("quick", AXES, only=restrictions([pair]))
