"""Each claim of each scenario, fed with what the paper measured, the opposite, a tie, a gap, and noise."""

import pytest

from experiments.catalogue import find, names
from experiments.claims import check_claims
from results.records import CellResult, Claim, ClaimVerdict
from tests.support.claim_cases import dtn, multipath, steering, web_load
from tests.support.claim_cases.case import Case, World

WORLDS: dict[str, World] = {**dtn.WORLDS, **multipath.WORLDS, **steering.WORLDS, **web_load.WORLDS}
CLAIMS = [(name, check.claim) for name in names() for check in find(name).claims]
every_claim = pytest.mark.parametrize(("scenario", "sentence"), CLAIMS, ids=[f"{n}: {claim}" for n, claim in CLAIMS])


def case_of(scenario: str, sentence: str) -> tuple[World, Case]:
    """Returns the case of a claim; fails for a claim without one."""
    worlds = [world for name, world in WORLDS.items() if name.partition(" ")[0] == scenario]
    world, case = next(((world, case) for world in worlds if (case := world.case(sentence))), (None, None))
    assert world and case, f"tests/support/claim_cases says nothing of this claim of {scenario}: {sentence}"
    return world, case


def judged(scenario: str, sentence: str, cells: list[CellResult]) -> Claim:
    (check,) = (check for check in find(scenario).claims if check.claim == sentence)
    return check_claims([check], cells, "full")[0]


@every_claim
def test_what_the_paper_measured_is_reproduced(scenario, sentence):
    world, _ = case_of(scenario, sentence)
    claim = judged(scenario, sentence, world.run())
    assert claim.verdict is ClaimVerdict.REPRODUCED, claim
    assert claim.measured


@every_claim
def test_the_opposite_is_not_reproduced(scenario, sentence):
    world, case = case_of(scenario, sentence)
    claim = judged(scenario, sentence, world.run(case.opposite, noise=case.noise_of_opposite))
    assert claim.verdict is ClaimVerdict.NOT_REPRODUCED, claim
    assert claim.measured


@every_claim
def test_a_tie_is_neither_more_nor_less(scenario, sentence):
    world, case = case_of(scenario, sentence)
    claim = judged(scenario, sentence, world.run(case.tie))
    assert claim.verdict is case.on_tie, claim


@every_claim
def test_with_a_gap_it_is_not_tested_and_says_what_is_missing(scenario, sentence):
    world, case = case_of(scenario, sentence)
    claim = judged(scenario, sentence, world.run(gap=case.gap))
    assert claim.verdict is ClaimVerdict.NOT_TESTED, claim
    assert claim.why and not claim.measured


@pytest.mark.parametrize("one_repetition", [False, True], ids=["noise", "one repetition"])
@every_claim
def test_noise_and_one_repetition_decide_nothing_but_a_count(scenario, sentence, one_repetition):
    world, case = case_of(scenario, sentence)
    claim = judged(scenario, sentence, world.run(noise=(1.0,) if one_repetition else case.noise))
    assert claim.verdict is (case.on_one if one_repetition and case.on_one else case.on_noise), claim


def test_every_scenario_that_claims_something_has_a_world_and_no_case_is_left_over():
    assert {name.partition(" ")[0] for name in WORLDS} == {scenario for scenario, _ in CLAIMS}
    sentences = {sentence for _, sentence in CLAIMS}
    assert not {sentence for world in WORLDS.values() for sentence in world.cases} - sentences
