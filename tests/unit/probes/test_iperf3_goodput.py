"""The goodput of iperf3 where a receiver holds bytes back behind a lost packet."""

from itertools import pairwise

import pytest

from probes.transfers.iperf3 import between_crests

RATE = 362.5e6


def counts(*held_bits: float, interval_s: float = 0.1) -> list[tuple[float, float, float]]:
    """Intervals of a path that carries RATE all the time; so many bits are held back at each of their boundaries."""
    return [
        (at * interval_s, (at + 1) * interval_s, RATE * interval_s + before - after)
        for at, (before, after) in enumerate(pairwise(held_bits))
    ]


def naive(intervals: list[tuple[float, float, float]]) -> float:
    return sum(bits for _, _, bits in intervals) / (intervals[-1][1] - intervals[0][0])


NOTHING = (0.0,) * 31


@pytest.mark.parametrize(
    ("held", "mistake"),
    [
        (NOTHING, 1.0),
        ((40e6, 40e6, 40e6, *NOTHING[3:]), 1.03),
        ((*NOTHING[3:], 40e6, 40e6, 40e6), 0.97),
        ((0.0, *(30e6 if at % 7 == 3 else 0.0 for at in range(29)), 0.0), 1.0),
    ],
    ids=["nothing", "at the beginning", "at the end", "between"],
)
def test_what_was_held_back_at_an_end_does_not_count(held, mistake):
    intervals = counts(*held)
    assert naive(intervals) == pytest.approx(RATE * mistake, rel=0.01)
    assert between_crests(intervals) == pytest.approx(RATE, rel=1e-6)


def test_a_rate_that_grows_is_that_of_the_whole_time_and_few_intervals_are_too():
    growing = [(0.1 * at, 0.1 * (at + 1), 1e6 * at) for at in range(30)]
    assert between_crests(growing) == pytest.approx(naive(growing))
    assert between_crests([(0.0, 0.5, 1e6), (0.5, 1.0, 3e6)]) == 4e6
    assert between_crests([(0.0, 1.0, 5e6)]) == 5e6
