"""The timer of links: it calls functions in order, not before they are due, and not after its end."""

import threading
import time

from topologies.links.timer import Timer


def test_actions_are_called_in_the_order_of_their_times_and_not_before():
    timer, calls, done = Timer(), [], threading.Event()
    now = time.monotonic_ns()
    timer.call(now + 60_000_000, lambda: (calls.append(("late", time.monotonic_ns())), done.set()))
    timer.call(now + 30_000_000, lambda: calls.append(("early", time.monotonic_ns())))
    assert done.wait(30)
    assert [name for name, _at in calls] == ["early", "late"]
    assert calls[0][1] >= now + 30_000_000 and calls[1][1] >= now + 60_000_000
    timer.stop()


def test_without_a_time_it_is_called_at_once_on_this_thread():
    threads = []
    Timer().call(None, lambda: threads.append(threading.current_thread()))
    assert threads == [threading.current_thread()]


def test_nothing_is_called_after_the_end():
    timer, calls = Timer(), []
    timer.call(time.monotonic_ns() + 3_600_000_000_000, lambda: calls.append("due in an hour"))
    timer.stop()
    assert calls == []


def test_a_failure_is_kept_and_ends_it():
    timer, calls = Timer(), []

    def fail() -> None:
        raise ValueError("no such thing")

    timer.call(time.monotonic_ns(), fail)
    timer.call(time.monotonic_ns() + 1_000_000, lambda: calls.append("after the failure"))
    timer._thread.join(10)
    assert str(timer.problem) == "no such thing" and calls == []
