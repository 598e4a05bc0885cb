"""Plans of scenarios."""

from experiments.plan import Plan
from experiments.scenario import Scenario
from scenarios.command.options import request_from


def plan_of(scenario: Scenario, *words: str) -> Plan:
    """What the options of a command line ask for; the executor and the clock are not chosen."""
    return scenario.plan(request_from(scenario, words).plan)
