"""Link events: parsing, errors that name what is wrong, and order; and the timer that calls them."""

import dataclasses
import queue
import threading
import time
from types import SimpleNamespace

import pytest

from flightpath.errors import UsageError
from flightpath.waiting import wait_until
from scenarios.command.options import request_from
from scenarios.command.runner import requested_plan
from scenarios.mptcp_load import MptcpLoad
from topologies.links import observing
from topologies.links.changes import DIRECTIONS, ChangeableLink
from topologies.links.events import LinkEvent, check, normalised, parse_events, schedule
from topologies.links.spec import LinkSpec
from topologies.links.timer import Timer
from topologies.multipath_pair import MultipathPair

START_NS = 1_000_000_000


class FakeLink(ChangeableLink):
    """A link between two nodes that records the changes."""

    records_changes = False

    def __init__(self, a="h1", b="s1", port=0, spec=None):
        self.a_to_b = self.b_to_a = spec or LinkSpec(bandwidth_bps=50_000_000)
        ends = (SimpleNamespace(name=f"{node}-eth{port}", node=SimpleNamespace(name=node)) for node in (a, b))
        self.intf1, self.intf2 = ends
        self.changes = []

    def apply(self, direction, spec, at_ns=None):
        self.changes.append((at_ns, direction, spec))

    @classmethod
    def stats_of(cls, links):
        return [{"directions": {way: {"spec": {"loss": 0.02}} for way in DIRECTIONS}} for _ in links]

    def set_carrier(self, up, at_ns=None):
        self.changes.append((at_ns, "up" if up else "down"))

    def set_black_hole(self, on, *directions, at_ns=None):
        self.changes.append((at_ns, "blackhole", on, directions))


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("5s h1-s1 bw=10 delay=5ms", LinkEvent(5, "h1-s1", changes=(("bw", "10Mbit"), ("delay", "5ms")))),
        ("12345.678901s h1-s1 down", LinkEvent(12345.678901, "h1-s1", carrier=False)),
        ("30s h1->s1 blackhole=on", LinkEvent(30, "h1->s1", black_hole=True)),
        ("0 h1-s1 loss=1% blackhole=off", LinkEvent(0, "h1-s1", black_hole=False, changes=(("loss", "1%"),))),
    ],
)
def test_an_event_is_read_and_written_alike(text, event):
    assert LinkEvent.parse(text) == LinkEvent.parse(str(event)) == event


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot read"),
        ("-10s h1-s1 down", "-10s"),
        ("10s h1-s1 sideways", "sideways"),
        ("10s h1-s1 delay=", "cannot read"),
        ("10s h1-s1 delya=5ms", "did you mean 'delay'"),
        ("10s h1-s1 delay=5ms delay=6ms", "twice"),
        ("10s h1-s1 blackhole=perhaps", "perhaps"),
        ("10s h1->s1 down", "one direction"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(text, message):
    with pytest.raises(UsageError, match=message):
        LinkEvent.parse(text)


TABLE = "time,bw,delay,loss\n0s,80,22ms,0%\n15s,60Mbit,,0.5%\n30s,end\n"


def table(folder, text=TABLE):
    path = folder / "table.csv"
    if text is not None:
        path.write_text(text)
    return path


def test_a_table_stands_for_an_event_for_each_row(tmp_path):
    text = f"5s h1->s1 table={table(tmp_path)} repeat=2"
    assert list(map(str, parse_events([text, "1s h1-s1 down"]))) == [
        "5s h1->s1 bw=80Mbit delay=22ms loss=0%",
        "20s h1->s1 bw=60Mbit loss=0.5%",
        "35s h1->s1 bw=80Mbit delay=22ms loss=0%",
        "50s h1->s1 bw=60Mbit loss=0.5%",
        "1s h1-s1 down",
    ]
    assert parse_events([normalised(text)]) == parse_events([text])


def test_the_path_of_a_table_is_stored_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(table(tmp_path).parent)
    assert plan_with("0s h1-s1 table=table.csv").events == (f"0s h1-s1 table={tmp_path}/table.csv repeat=1",)


@pytest.mark.parametrize(
    ("text", "more", "message"),
    [
        (None, "", "table: cannot read"),
        ("", "", "does not begin with the names"),
        ("time\n0s\n", "", "does not begin with the names"),
        ("time,loss\n", "", "times must begin with 0s"),
        ("time,loss\n1s,0%\n", "", "times must begin with 0s and increase"),
        ("time,loss\n0s,0%\n0s,1%\n", "", "times must begin with 0s and increase"),
        ("time,loss\n0s,0%\n2s,1%\n1s,end\n", "", "times must begin with 0s and increase"),
        ("time,loss,delay\n0s,100%,5ms\n5s,,6ms\n", "", "never lets a packet pass"),
        ("time,bandwidth\n0s,0Mbit\n", "", r"row 2: bandwidth: '0Mbit' must be more than zero"),
        ("time,loss\n0s,0%,5ms\n", "", "row 2: 3 fields for 2 columns"),
        ("time,dealy\n0s,5ms\n", "", r"row 2: link: 'dealy' is unknown\n  did you mean 'delay'"),
        ("time,mtu\n0s,1400\n", "", "row 2: mtu: it cannot change"),
        ("time,loss\n0s,0%\n", "repeat=2", r"does not say how long it lasts\n  end it with a line as 30s,end"),
        (TABLE, "repeat=0", "repeat: 0 is not 1 or more"),
        (TABLE, "repeat=1001", "1001 x 2 changes are more than 2000"),
        (TABLE, "queue=5p", "queue beside a table"),
    ],
)
def test_a_table_that_makes_no_sense_is_refused(tmp_path, text, more, message):
    with pytest.raises(UsageError, match=message):
        parse_events([f"0s h1-s1 table={table(tmp_path, text)} {more}"])


@pytest.mark.parametrize("at_s", [-1.0, float("nan"), float("inf")])
def test_a_time_before_the_start_is_refused(at_s):
    with pytest.raises(UsageError, match="not a time after the start"):
        LinkEvent(at_s, "h1-s1", carrier=False)


def test_events_are_handed_over_in_time_order_and_build_on_each_other():
    link = FakeLink()

    schedule(map(LinkEvent.parse, ["20s h1-s1 delay=8ms", "25s h1-s1 down", "10s h1->s1 bw=10"]), [link], START_NS)

    first, second = LinkSpec(bandwidth_bps=10_000_000), LinkSpec(bandwidth_bps=10_000_000, delay_s=0.008)
    assert link.changes == [
        (START_NS + 10 * 10**9, "a_to_b", first),
        (START_NS + 20 * 10**9, "a_to_b", second),
        (START_NS + 20 * 10**9, "b_to_a", dataclasses.replace(second, bandwidth_bps=50_000_000)),
        (START_NS + 25 * 10**9, "down"),
    ]


@pytest.mark.parametrize(
    ("name", "directions"),
    [
        ("h1->s1", ("a_to_b",)),
        ("s1->h1", ("b_to_a",)),
        ("s1-h1", ("a_to_b", "b_to_a")),
        ("h1-eth0", ("a_to_b", "b_to_a")),
        ("s1-eth0->h1", ("b_to_a",)),
    ],
)
def test_a_direction_is_named_from_either_end(name, directions):
    link = FakeLink()

    schedule([LinkEvent.parse(f"1s {name} blackhole=on")], [FakeLink(a="h2"), link], START_NS)

    assert link.changes == [(START_NS + 10**9, "blackhole", True, directions)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1s h1-s2 down", "did you mean"),
        ("1s nobody down", "links: h1-s1, h2-s1"),
        ("1s h2-s1 bw=1Mbit queue=1bdp", "less than one packet"),
    ],
)
def test_nothing_is_handed_over_if_one_event_is_wrong(text, message):
    links = [FakeLink(), FakeLink(a="h2")]

    with pytest.raises(UsageError, match=message) as refused:
        schedule([LinkEvent.parse("0 h1-s1 down"), LinkEvent.parse(text)], links, START_NS)

    assert text in str(refused.value)
    assert links[0].changes == links[1].changes == []


def test_an_event_may_lean_on_what_an_earlier_one_gave():
    unlimited = FakeLink(spec=LinkSpec())
    queue = LinkEvent.parse("2s h1-s1 queue=2bdp delay=20ms")

    with pytest.raises(UsageError, match="needs a bandwidth"):
        schedule([queue], [unlimited], START_NS)
    schedule([queue, LinkEvent.parse("1s h1-s1 bw=10")], [unlimited], START_NS)

    assert unlimited.a_to_b == LinkSpec(bandwidth_bps=10_000_000, queue="2bdp", delay_s=0.02)


def test_parallel_links_are_named_by_their_interfaces():
    with pytest.raises(UsageError, match="h1-eth0, h1-eth1, h1-eth2"):
        check([LinkEvent.parse("1s h1-h2 down")], MultipathPair(paths=3))
    check([LinkEvent.parse("1s h1-eth2 down"), LinkEvent.parse("1s h2-eth1->h1 blackhole=on")], MultipathPair(paths=3))


def plan_with(*events):
    scenario = MptcpLoad()
    words = [word for event in events for word in ("--event", event)]
    return requested_plan(scenario, request_from(scenario, words))


def test_an_event_that_cannot_happen_is_refused_before_anything_starts():
    with pytest.raises(UsageError, match="would not happen"):
        MptcpLoad().require(plan_with("13s h1-s1 down"))


def test_an_event_that_the_next_one_overtakes_before_anybody_looks_is_not_one_that_did_not_happen(monkeypatch):
    monkeypatch.setattr(observing, "_EVENT_TIMEOUT_S", 0.1)
    link, told = FakeLink(), queue.Queue()
    planned = [LinkEvent.parse(text) for text in ("0 h1-s1 loss=1%", "5ms h1-s1 loss=2%", "10ms h1-s1 loss=3%")]
    observer = observing.EventObserver(lambda event, seen_s: told.put((event, seen_s is not None)))
    observer.follow(schedule(planned, [link], time.monotonic_ns()), time.monotonic_ns())
    assert [told.get(timeout=10), told.get(timeout=10)] == [(planned[1], True), (planned[2], False)]
    assert set(observer.seen_s) == set(planned[1:])


def test_a_link_that_records_its_changes_has_the_time_of_each_although_the_next_is_due_when_somebody_looks():
    link, told, start_ns = FakeLink(), queue.Queue(), time.monotonic_ns() - 10_000_000_000
    link.records_changes, link.change_made_ns = True, lambda due_ns: due_ns + 7_000_000
    planned = [LinkEvent.parse(text) for text in ("0 h1-s1 loss=1%", "5ms h1-s1 loss=2%", "1s h1-s1 loss=3%")]
    observer = observing.EventObserver(lambda event, seen_s: told.put((event, seen_s)))
    observer.follow(schedule(planned, [link], start_ns), start_ns)
    assert [told.get(timeout=10) for _ in planned] == [(event, pytest.approx(event.at_s + 0.007)) for event in planned]


def test_changes_are_made_in_the_order_of_their_times_those_of_one_moment_at_once_and_none_early():
    timer, calls, done = Timer(), [], threading.Event()
    begin_ns = time.monotonic_ns() + 1_000_000_000

    def make(changes):
        calls.append((time.monotonic_ns(), changes))

    timer.call(begin_ns + 60_000_000, lambda _changes: done.set(), None, None)
    for after_ms, change in ((30, "c"), (0, "a"), (30, "d"), (0, "b")):
        timer.call(begin_ns + after_ms * 1_000_000, make, None, change)
    assert done.wait(30)
    assert [changes for _, changes in calls] == [["a", "b"], ["c", "d"]]
    assert calls[0][0] >= begin_ns and calls[1][0] >= begin_ns + 30_000_000


def test_without_a_time_a_change_is_made_at_once_on_this_thread():
    threads = []
    Timer().call(None, lambda changes: threads.append((threading.current_thread(), changes)), None, "now")
    assert threads == [(threading.current_thread(), ["now"])]


def test_what_its_owner_cancels_is_not_made_and_the_rest_is():
    timer, made = Timer(), queue.Queue()
    soon_ns = time.monotonic_ns() + 1_000_000_000
    for owner in ("gone", "there"):
        timer.call(soon_ns, made.put, owner, owner)
    timer.call(soon_ns + 3_600_000_000_000, made.put, "gone", "in an hour")
    timer.cancel("gone")
    assert made.get(timeout=30) == ["there"]
    wait_until(lambda: timer._thread is None, "the thread to end, because nothing is due", 30)
    timer.call(time.monotonic_ns(), made.put, "there", "again")
    assert made.get(timeout=30) == ["again"] and made.empty()


def test_a_failure_is_kept_and_ends_it():
    timer, calls = Timer(), []

    def fail(_changes) -> None:
        raise ValueError("no such thing")

    timer.call(time.monotonic_ns(), fail, None, None)
    timer.call(time.monotonic_ns() + 1_000_000, calls.append, None, "after the failure")
    timer._thread.join(10)
    assert str(timer.problem) == "no such thing" and calls == []
