"""Each claim of each scenario, fed with what the paper measured, the opposite, a tie, a gap, and noise."""

import pytest

from experiments.catalogue import find, names
from experiments.claims import check_claims
from results.records import ClaimVerdict
from tests.support.claim_cases.case import Case, World, all_cases, case_in
from tests.support.claim_cases.papers import WORLDS

CASES = all_cases()
CLAIMS = [(name, check.claim) for name in names() for check in find(name).claims]


def case_of(scenario: str, sentence: str) -> tuple[World, Case]:
    for name, cases in CASES.items():
        if name.partition(" ")[0] == scenario and (case := case_in(cases, sentence)):
            return WORLDS[name], case
    pytest.fail(f"tests/support/claim_cases says nothing of this claim of {scenario}: {sentence}")


@pytest.mark.parametrize(("scenario", "sentence"), CLAIMS, ids=[f"{name}: {claim}" for name, claim in CLAIMS])
def test_a_claim_is_judged_by_what_was_measured(scenario, sentence):
    world, case = case_of(scenario, sentence)
    runs = {
        "as in the paper": (world.run(noise=case.noise_of_paper), ClaimVerdict.REPRODUCED),
        "the opposite": (world.run(case.opposite, noise=case.noise_of_opposite), ClaimVerdict.NOT_REPRODUCED),
        "a tie": (world.run(case.tie), case.on_tie),
        "a gap": (world.run(gap=case.gap, noise=case.noise_of_paper), ClaimVerdict.NOT_TESTED),
        "noise": (world.run(noise=case.noise), case.on_noise),
        "one repetition": (world.run(noise=(1.0,)), case.on_one or case.on_noise),
    }
    (check,) = (check for check in find(scenario).claims if check.claim == sentence)
    judged = {name: check_claims([check], cells, "full")[0] for name, (cells, _) in runs.items()}
    assert {name: claim.verdict for name, claim in judged.items()} == {name: due for name, (_, due) in runs.items()}
    assert judged["as in the paper"].measured and judged["the opposite"].measured
    assert judged["a gap"].why and not judged["a gap"].measured


def test_every_scenario_that_claims_something_has_a_world_and_no_case_is_left_over():
    assert CASES.keys() == WORLDS.keys()
    assert {name.partition(" ")[0] for name in WORLDS} == {scenario for scenario, _ in CLAIMS}
    sentences = {sentence for _, sentence in CLAIMS}
    assert not {sentence for cases in CASES.values() for sentence in cases} - sentences
