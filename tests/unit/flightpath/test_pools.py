"""Pools of threads that end in the same way each time."""

from threading import Barrier, Thread

from flightpath.pools import ThreadPool

THREADS = 12


def test_threads_are_joined_in_the_order_of_their_names(monkeypatch):
    joined, join = [], Thread.join
    monkeypatch.setattr(Thread, "join", lambda thread: (joined.append(thread.name), join(thread)))
    all_run = Barrier(THREADS)
    with ThreadPool(THREADS) as pool:
        list(pool.map(lambda _: all_run.wait(), range(THREADS)))
    assert len(joined) == THREADS and joined == sorted(joined)
