"""Plans of scenarios."""

from scenarios.framework import runner
from scenarios.framework.plan import Plan
from scenarios.framework.scenario import Scenario


def plan_of(scenario: Scenario, *words: str) -> Plan:
    """What the options of a command line ask for; the machine and the clock are not chosen."""
    return scenario.plan(runner.parser_of(scenario).parse_args(words))
