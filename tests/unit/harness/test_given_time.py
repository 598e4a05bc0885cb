"""The clock of the soak: it goes slower while the soak waits for others, and not while it waits for itself."""

import pytest

from tests.campaign.soak.given_time import ProcessorTime, Thread

S = 10**9
BEFORE = ProcessorTime(spent=400.0, ours=30.0, threads={1: Thread(3 * S, 2 * S)})


@pytest.mark.parametrize(
    ("spent", "ours", "ran", "waited", "given"),
    [
        (0.0, 0.0, 0, 0, 1.0),  # an idle machine
        (20.0, 20.0, 20, 60, 1.0),  # its threads wait for each other
        (20.0, 10.0, 10, 0, 1.0),
        (20.0, 0.0, 0, 0, 1.0),  # it wants nothing, or hangs: others take what they can
        (20.0, 5.0, 5, 15, 1 - 0.75 * 0.75),
        (20.0, 0.0, 0, 20, 0.0),
        (20.0, 21.0, 21, 9, 1.0),  # the kernel counts both in ticks, at different moments
    ],
)
def test_what_was_given_is_what_was_wanted_without_what_others_took(spent, ours, ran, waited, given):
    half = Thread(ran * S // 2, waited * S // 2)
    threads = {1: Thread(3 * S + half.ran, 2 * S + half.waited), 2: half}
    after = ProcessorTime(400.0 + spent, 30.0 + ours, threads)
    assert after.given_since(BEFORE) == pytest.approx(given)
