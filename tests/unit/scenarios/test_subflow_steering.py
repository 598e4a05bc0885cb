"""The plan of the experiment on steering policies, and its networks."""

import pytest

from flightpath.errors import UsageError
from scenarios.subflow_steering import PATHS, SubflowSteering
from tests.support.plans import plan_of


def test_the_plan_and_its_networks():
    scenario = SubflowSteering()
    plan = plan_of(scenario, "--policies", "none,disjoint")
    assert len(plan.cells()) == 2 * 2 * 2
    for each in plan.cells():
        assert len(scenario.topology(each, plan).switches()) == 2 + len(PATHS[each.parameters["paths"]])
        assert len(scenario.caused_events(each, plan)) == 8
    with pytest.raises(UsageError, match="'disjont' is unknown"):
        plan_of(scenario, "--policies", "disjont")
    with pytest.raises(UsageError, match=r"--seconds: 1 is less than 2\.5"):
        plan_of(scenario, "--seconds", "1")
