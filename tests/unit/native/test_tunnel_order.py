"""The reordering buffer of the tunnel."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.relay_line import MS, NEVER, SECOND
from tests.support.tunnel_ends import End, driver, number_of, numbered, packets_of, single, udp_packet


def arrive(end, *numbers, path=0, now=0, base=0):
    for number in numbers:
        end.receive(path, numbered(base + number, udp_packet(number % 2**32)), now)
    return [number_of(packet) for packet in packets_of(end.written(now))]


@given(order=st.permutations(range(1, 60)))
def test_within_the_window_any_order_is_put_right(order):
    end = End()
    assert arrive(end, 0) == [0]
    assert arrive(end, *order) == list(range(1, 60))
    assert end.counter("held") == 0 and end.due() == NEVER


def test_a_missing_packet_is_waited_for_as_long_as_allowed():
    end = End(limit_ms=30)
    assert arrive(end, 0, 2, 3, now=0) == [0]
    assert end.due() == 30 * MS
    assert arrive(end, 5, now=20 * MS) == []
    assert arrive(end, now=30 * MS - 1) == []
    assert arrive(end, now=30 * MS) == [2, 3]
    assert end.due(30 * MS) == 50 * MS, "the next gap has been there since 5 came"
    assert arrive(end, 4, now=40 * MS) == [4, 5]
    assert end.counter("given_up") == 1


def test_what_comes_after_its_place_was_given_up_is_delivered_late_but_only_once():
    end = End(limit_ms=10)
    arrive(end, 0, 2)
    assert arrive(end, now=10 * MS) == [2]
    assert arrive(end, 1, now=11 * MS) == [1]
    assert end.counter("late") == 1
    assert arrive(end, 1, 2, 0, now=12 * MS) == [] and end.counter("duplicates") == 3


def test_a_full_window_moves_on():
    end = End(window=64)
    arrive(end, 0)
    assert arrive(end, *range(2, 65)) == []
    assert arrive(end, 65) == list(range(2, 66)), "1 is given up to make room, and then nothing is missing"
    assert arrive(end, 100, 129) == [], "just within the window"
    assert arrive(end, 131) == [], "66 and 67 are given up, 68 is waited for"
    assert arrive(end, *range(68, 100)) == list(range(68, 101))
    assert arrive(end, 1) == [] and end.counter("stale") == 1, "too long ago to know whether it came"


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 1), st.integers(0, 2000)), max_size=60),
    st.booleans(),
    st.integers(0, 60),
)
def test_when_it_is_due_something_happens(arrivals, by_paths, lead_ms):
    """Otherwise the waiting thread would spin."""
    end, now = End(by_paths=by_paths, limit_ms=50), 0
    arrive(end, 0)
    end.lead(1, lead_ms * MS)
    for number, path, pause_ms in arrivals:
        now += pause_ms * MS
        while end.due(now) <= now:
            before = end.counter("held"), end.counter("given_up")
            arrive(end, now=now)
            assert (end.counter("held"), end.counter("given_up")) != before
        arrive(end, number, path=path, now=now)
        assert end.due(now) > now


def test_a_single_packet_with_a_far_number_is_not_believed_but_a_second_one_after_a_long_loss():
    end = End(window=64)
    arrive(end, *range(10))
    assert arrive(end, 10_000_000) == [] and end.counter("strays") == 1
    assert arrive(end, *range(10, 20)) == list(range(10, 20))
    assert arrive(end, 10_000_000) == [] and end.counter("strays") == 2, "the others between have shown it wrong"
    assert arrive(end, 21, 5000) == []
    assert arrive(end, 5001, 5002) == [21, 5001, 5002], "what was held comes first"


def test_old_numbers_do_not_turn_the_clock_back_unless_the_peer_tells():
    end = End(window=64)
    arrive(end, 5000)
    assert arrive(end, *range(40)) == [] and end.counter("stale") == 40
    end.restart(40)
    assert arrive(end, *range(40, 80)) == list(range(40, 80))


def test_where_the_peer_says_that_it_starts_is_where_packets_are_put_in_order():
    end = End()
    end.restart(7)
    assert arrive(end, 9, 8) == [] and arrive(end, 7) == [7, 8, 9]
    end = End()
    end.restart(1_000_000)
    assert arrive(end, 9, 10) == [9, 10], "it is not so, however"


def test_where_nobody_tells_old_numbers_after_a_pause_mean_a_restart_inside_the_window_too():
    end = End(window=16384, backwards=True, limit_ms=200)
    arrive(end, *range(600))
    assert arrive(end, *range(10), now=SECOND) == list(range(1, 10)), "the second confirms the first"
    assert arrive(end, *range(10, 800), now=SECOND) == list(range(10, 800))


@pytest.mark.parametrize(("window", "came"), [(64, [5000]), (16384, range(600))])
def test_where_nobody_tells_many_old_numbers_in_a_row_mean_a_restart(window, came):
    end = End(window=window, backwards=True)
    arrive(end, *came)
    assert arrive(end, *range(40)) == list(range(15, 40))


def test_a_restart_is_found_among_numbers_that_had_been_given_up():
    end = End(window=16384, backwards=True, limit_ms=10)
    arrive(end, *range(0, 600, 3))
    arrive(end, now=SECOND)
    came = arrive(end, *range(600), now=2 * SECOND)
    assert came[-550:] == list(range(50, 600)), "the first of them cannot be told from late ones"
    assert len(set(came)) == len(came)


def test_copies_on_a_slower_path_are_no_restart():
    end = End(window=16384, backwards=True, limit_ms=200)
    arrive(end, 0, path=1)
    arrive(end, *range(1, 600), path=0)
    for number in range(600):
        assert arrive(end, number, path=1, now=SECOND + number * MS) == []
    assert end.counter("duplicates") == 600


def test_copies_of_one_packet_are_no_restart():
    end = End(window=16384, backwards=True)
    arrive(end, *range(600))
    assert arrive(end, *[5] * 100, now=SECOND) == [] and end.counter("duplicates") == 100
    assert arrive(end, 600, now=SECOND) == [600]


def test_held_packets_survive_a_restart():
    end = End()
    arrive(end, 5000, 5002)
    end.restart(0)
    assert arrive(end, 0, 1) == [5002, 0, 1]


def test_a_forged_number_that_moved_the_window_is_found_out_by_what_the_peer_announces():
    end = End(window=64)
    arrive(end, 0)
    arrive(end, 300_000, 300_001)  # two forged packets are believed
    assert arrive(end, 1, 2) == []
    end.compare(3)
    assert arrive(end, 3, 4) == [3, 4]
    end.compare(2**32 - 100_000)  # the peer's data overtook what it announced: no reason to doubt
    assert arrive(end, 6, 5) == [5, 6]


@pytest.fixture
def end():
    """One that has had a packet of each of its paths."""
    end = End(by_paths=True, limit_ms=100)
    assert arrive(end, 0, path=0) + arrive(end, 1, path=1) == [0, 1]
    return end


def test_a_packet_that_all_paths_have_passed_is_not_waited_for(end):
    assert arrive(end, 3, path=0) == [], "path 1 may still bring 2"
    assert arrive(end, 4, path=1) == [3, 4]


def test_a_message_that_overtook_no_packet_tells_what_its_path_does_not_bring(end):
    assert arrive(end, 3, path=0) == []
    driver().reorder_pass(end.reorder, 1, 2)
    assert arrive(end) == [], "2 may come after it"
    driver().reorder_pass(end.reorder, 1, 3)
    assert arrive(end) == [3]


def test_a_message_tells_only_of_what_has_left():
    end = End()
    end.send(single(udp_packet(0)))
    assert end.counter("sent") == 1
    end.send(single(udp_packet(1)), flush=False)
    assert end.counter("sent") == 1, "it waits here for others to go with it"
    end.send()
    assert end.counter("sent") == 2


def test_packets_of_a_short_path_are_as_long_under_way_as_those_of_a_long_one():
    end = End(limit_ms=100)
    end.lead(0, 45 * MS)
    assert arrive(end, 0, path=0) == [] and end.due() == 45 * MS
    assert arrive(end, 1, path=0, now=10 * MS) == [], "0 was first"
    assert arrive(end, now=45 * MS - 1) == []
    assert arrive(end, 2, path=1, now=45 * MS) == [0] and end.due(45 * MS) == 55 * MS
    assert arrive(end, now=55 * MS) == [1, 2] and end.due(55 * MS) == NEVER
    assert arrive(end, 3, path=1, now=60 * MS) == [3]


def test_a_full_window_waits_for_no_time():
    end = End(window=64)
    end.lead(0, 45 * MS)
    assert arrive(end, *range(64)) == [] and arrive(end, 64) == [0]


def test_a_path_of_which_nothing_has_come_yet_is_waited_for_if_it_is_up():
    end = End(by_paths=True, limit_ms=100)
    for path in (0, 1):
        end.expect_path(path, 0)
    end.restart(0)
    assert arrive(end, 0, 2, path=0) == [0]
    assert arrive(end, 1, path=1, now=40 * MS) == [1, 2]
    assert arrive(end, 4, path=0, now=41 * MS) == [] and arrive(end, 3, path=1, now=90 * MS) == [3, 4]


def test_a_slower_path_is_waited_for_after_its_first_late_packet():
    end = End(by_paths=True, limit_ms=100)
    assert arrive(end, 0, 2, path=0) == [0, 2], "nobody has told of path 1"
    assert arrive(end, 1, path=1, now=40 * MS) == [1] and end.counter("margin_ns") == 40 * MS
    assert arrive(end, 4, path=0, now=41 * MS) == [] and arrive(end, 3, path=1, now=90 * MS) == [3, 4]


def test_a_path_that_has_fallen_silent_among_others_is_not_waited_for(end):
    for number in range(2, 12):
        assert arrive(end, number, path=0, now=(number - 1) * 100 * MS) == [number]
    assert arrive(end, 13, path=0, now=1100 * MS) == [13], "path 1 has brought nothing for a second"


def test_a_pause_of_all_paths_is_no_silence_of_one(end):
    assert arrive(end, 3, path=0, now=5 * SECOND) == []
    assert arrive(end, 2, path=1, now=5 * SECOND + 40 * MS) == [2, 3]


def test_a_path_that_reorders_by_itself_is_given_time_after_the_first_late_packet():
    end = End(1, by_paths=True, limit_ms=100)
    assert arrive(end, 0, 2) == [0, 2], "one path has passed 1"
    assert arrive(end, 1, now=5 * MS) == [1] and end.counter("margin_ns") == 5 * MS
    assert arrive(end, 4, now=6 * MS) == []
    assert arrive(end, 3, now=9 * MS) == [3, 4]
    assert arrive(end, 6, now=10 * MS) == [] and end.due(10 * MS) == 15 * MS
    assert arrive(end, now=15 * MS) == [6]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([2**31 - 100, 2**32 - 100]) | st.integers(0, 2**32 - 1),
    st.lists(st.tuples(st.integers(0, 200), st.integers(0, 1)), max_size=150),
    st.booleans(),
)
def test_nothing_is_delivered_twice_and_nothing_is_forgotten(base, arrivals, by_paths):
    end = End(window=64, by_paths=by_paths, limit_ms=5)
    delivered = []
    for number, (sequence, path) in enumerate(arrivals):
        delivered += arrive(end, sequence, path=path, now=number * MS, base=base)
    delivered += arrive(end, now=SECOND)
    assert end.counter("held") == 0
    assert len(set(delivered)) == len(delivered)
    dropped = end.counter("duplicates") + end.counter("stale") + end.counter("strays")
    assert len(delivered) + dropped == len(arrivals)
