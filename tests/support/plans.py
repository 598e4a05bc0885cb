"""Plans of scenarios."""

from experiments.plan import Plan
from experiments.scenario import Scenario
from scenarios.command.options import request_from


def plan_of(scenario: Scenario, *words: str) -> Plan:
    return scenario.plan(request_from(scenario, words).plan)
