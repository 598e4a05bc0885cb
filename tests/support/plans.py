"""Plans of scenarios."""

from experiments.plan import Plan
from experiments.scenario import Scenario
from scenarios.command import runner


def plan_of(scenario: Scenario, *words: str) -> Plan:
    """What the options of a command line ask for; the machine and the clock are not chosen."""
    return scenario.plan(runner.parser_of(scenario).parse_args(words))
