"""Changes of links from made-up probes, counters and times: dead ones are found, living ones left in peace."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

import pytest

from controllers.forwarding.link_monitor import URGENCY, LinkChange, LinkMonitor, ProbePlan
from controllers.forwarding.link_probes import Probe, Prober, is_probe
from controllers.network.paths import Edge, Hop

EDGE = Edge("s1", 1, "s2", 2)
FORTH = Hop(*EDGE)
BACK = FORTH.reversed()
SWITCHES = {"s1", "s2"}
PERIOD_S = 0.1
TICK_S = PERIOD_S / URGENCY
SOON_S = 2 * PERIOD_S + 3 * TICK_S


class Link:
    """A link in made-up time, which has run for a second, and what its monitor says of it."""

    def __init__(self, travel_s: float = 0.0, **plan) -> None:
        self.monitor = LinkMonitor(ProbePlan(period_s=PERIOD_S, **plan))
        self.monitor.watch([EDGE], 0.0)
        self.crosses = {FORTH: True, BACK: True}
        self.traffic = False  # whether other frames than probes cross it, either way
        self.deaf = False  # whether its switches are too busy to send what they are told to
        self.travel_s = travel_s
        self.loss, self._chance = 0.0, random.Random(1)  # a share of the probes
        self.probed = 0
        self.changes: list[tuple[float, LinkChange]] = []
        self.now_s, self._ticks, self._carried = 0.0, 0, dict.fromkeys((FORTH, BACK), 0)
        self._sent = dict.fromkeys((FORTH, BACK), 0)
        self._under_way: list[tuple[float, Hop]] = []
        self.run(1.0)

    def run(self, seconds: float) -> None:
        for _ in range(round(seconds / TICK_S)):
            self._tick()

    def cut(self, seconds: float, way: Hop = FORTH) -> None:
        """Loses everything that way for so long."""
        self.crosses[way] = False
        self.run(seconds)
        self.crosses[way] = True

    def found_within(self, way: Hop) -> float:
        """Cuts it; returns the seconds until that is a change."""
        begin_s, known = self.now_s, len(self.changes)
        self.cut(5.0, way)
        return self.changes[known][0] - begin_s

    def note(self, changes) -> None:
        self.changes += [(self.now_s, change) for change in changes]

    def port(self, live: bool) -> None:
        self.note(self.monitor.on_port("s1", 1, live, self.now_s))

    def _tick(self) -> None:
        self.now_s += TICK_S
        self._ticks += 1
        arrived = [(sent_s, hop) for sent_s, hop in self._under_way if sent_s + self.travel_s <= self.now_s]
        self._under_way = [it for it in self._under_way if it not in arrived]
        for sent_s, hop in arrived:
            self._carried[hop] += 1
            self.note(self.monitor.on_probe(hop, self.now_s - sent_s, self.now_s))
        suspects = self.monitor.tick(SWITCHES, self.now_s)
        for hop, crosses in self.crosses.items():
            if hop in suspects or self._ticks % URGENCY == 0:
                self.probed += 1
                self._sent[hop] += not self.deaf
                if crosses and not self.deaf and self._chance.random() >= self.loss:
                    self._under_way.append((self.now_s, hop))
        for hop in suspects:
            self._carried[hop] += self.traffic
        if suspects or self._ticks % (10 * URGENCY) == 0:
            for hop in (FORTH, BACK):
                numbers = self._sent[hop], self._carried[hop.reversed()]
                self.note(self.monitor.on_counters(hop.switch, hop.port, *numbers, self.now_s, requested_s=self.now_s))


def test_a_black_hole_is_found_within_two_periods_and_a_little_and_by_no_more_than_a_few_probes():
    for way in (FORTH, BACK):
        link = Link()
        usual = link.probed
        link.cut(1.0, way)
        ((at_s, change),) = link.changes
        assert change == LinkChange(EDGE, False, "black hole")
        assert at_s - 1.0 <= SOON_S
        assert link.probed - 2 * usual <= 4


def test_a_link_that_carries_frames_is_alive_though_every_probe_is_lost():
    link = Link()
    link.crosses[FORTH] = False
    link.traffic = True
    link.run(5.0)
    assert link.changes == []
    link.traffic = False
    link.run(1.0)
    assert [change.up for _, change in link.changes] == [False]


def test_occasionally_lost_probes_kill_no_idle_link_however_long_it_is():
    for travel_s in (0.0, 0.3):
        link = Link(travel_s)
        for _ in range(20):
            link.cut(PERIOD_S)
            link.run(3 * PERIOD_S)
        assert link.changes == [], travel_s


@pytest.mark.parametrize("loss", [0.05, 0.1, 0.3])
def test_a_link_that_loses_frames_by_chance_is_alive_and_one_that_loses_all_is_still_found(loss):
    link = Link()
    link.loss = 0.01  # before it is known what a link loses, it looks dead sooner
    link.run(20.0)
    link.loss = loss
    link.run(60.0)
    link.changes.clear()
    link.run(600.0)
    assert link.changes == []
    link.cut(1.0)
    assert [change.cause for _, change in link.changes] == ["black hole"]


def test_what_a_dead_link_lost_does_not_count_as_loss_by_chance():
    link, found_s = Link(), []
    for _ in range(5):
        found_s.append(link.found_within(FORTH))
        link.run(10.0)
    assert max(found_s) <= found_s[0] + 2 * TICK_S, found_s


def test_a_switch_that_counts_from_0_again_does_not_look_like_a_link_that_loses_frames():
    link = Link()
    link.run(100.0)
    link._sent[FORTH] = link._carried[BACK] = 0
    link.run(10.0)
    assert link.found_within(BACK) <= SOON_S


def test_what_a_link_lost_long_ago_is_forgotten():
    link = Link()
    link.loss = 0.2
    link.run(600.0)
    link.loss = 0.0
    link.run(2000.0)
    assert link.found_within(FORTH) <= SOON_S


def test_a_link_is_back_when_enough_probes_in_a_row_have_arrived_and_not_before():
    link = Link(returning=5)
    link.cut(1.0)
    link.run(3 * PERIOD_S)
    link.cut(5 * PERIOD_S)
    link.run(4 * PERIOD_S)
    assert [change.up for _, change in link.changes] == [False]
    link.run(3 * PERIOD_S)
    assert [(change.up, change.cause) for _, change in link.changes][1:] == [(True, "back")]


def test_a_port_that_is_down_is_a_change_at_once_and_so_is_its_return():
    link = Link()
    link.port(False)
    link.port(False)
    link.run(TICK_S)
    link.port(True)
    assert [change.cause for _, change in link.changes] == ["port down", "back"]


def test_a_link_whose_switch_is_not_connected_is_not_judged():
    link = Link()
    for number in range(100):
        assert link.monitor.tick({"s1"}, 1.0 + number * TICK_S) == frozenset()


def test_switches_that_are_too_busy_to_send_probes_do_not_look_like_dead_links():
    link = Link()
    link.deaf = True
    link.run(3.0)
    assert link.changes == []
    link.deaf = False
    link.cut(1.0)
    assert len(link.changes) == 1


def test_many_links_are_probed_less_often():
    plan = ProbePlan(period_s=0.1, max_per_s=1000.0)
    assert [plan.period_for(links) for links in (100, 400)] == [0.1, 0.4]


def test_of_very_many_silent_links_only_those_that_were_silent_first_are_looked_at_and_all_dead_ones_are_found():
    plan = ProbePlan(period_s=PERIOD_S, max_per_s=1000.0)
    monitor, edges = LinkMonitor(plan), [Edge(f"a{number}", 1, f"b{number}", 1) for number in range(150)]
    switches = {name for edge in edges for name in (edge.switch, edge.other_switch)}
    hops = [hop for edge in edges for hop in (Hop(*edge), Hop(*edge).reversed())]
    monitor.watch(edges, 0.0)
    for number, hop in enumerate(hops):
        list(monitor.on_probe(hop, 0.0, number * 1e-6))
    now_s, dead, sent = 1.0, set(), Counter()
    suspects = monitor.tick(switches, now_s)
    assert suspects == set(hops[: plan.max_suspects]) and len(suspects) == 100
    list(monitor.on_counters(hops[-1].next_switch, 1, 0, 0, now_s, requested_s=now_s))
    assert monitor.pop_wanted() == frozenset(), "nothing is asked about the others"
    while suspects:
        assert len(suspects) <= plan.max_suspects
        for hop in suspects:
            sent[hop] += 1
        for hop in hops:
            counts = (sent[hop], 0, now_s)
            dead |= {change.edge for change in monitor.on_counters(*hop[:2], *counts, requested_s=now_s)}
        now_s += monitor.tick_s
        suspects = monitor.tick(switches, now_s)
    assert dead == set(edges)


def test_links_that_are_gone_are_not_judged():
    link = Link()
    link.monitor.watch([], 1.0)
    assert list(link.monitor.on_port("s1", 1, False, 1.0)) == []
    assert list(link.monitor.on_probe(FORTH, 0.0, 1.0)) == []
    assert link.monitor.tick(SWITCHES, 2.0) == frozenset()


class BusyEnds:
    """A link that loses nothing; its switches and the controller work only now and then, on all that has piled up."""

    def __init__(self) -> None:
        self.monitor, self.now_s = LinkMonitor(ProbePlan(period_s=PERIOD_S)), 0.0
        self.monitor.watch([EDGE], 0.0)
        self.carried: Counter[Hop] = Counter()
        self.frames: list[tuple[Hop, float]] = []
        self.told: dict[str, list[tuple[Hop | None, float]]] = {name: [] for name in SWITCHES}
        self.answers: dict[str, list[Callable[[float], Iterable[LinkChange]]]] = {name: [] for name in SWITCHES}
        self.changes: list[LinkChange] = []

    def tick(self) -> None:
        suspects = self.monitor.tick(SWITCHES, self.now_s)
        for hop in suspects:
            self.told[hop.switch].append((hop, self.now_s))
        for name in SWITCHES if suspects else ():
            self.told[name].append((None, self.now_s))

    def work(self, switch: str) -> None:
        """Sends probes and reads counters, as told, and after that takes in what has come over the link."""
        out, answers = FORTH if switch == FORTH.switch else BACK, self.answers[switch]
        for hop, told_s in self.told[switch]:
            if hop is None:
                numbers = self.carried[out], self.carried[out.reversed()]
                answers.append(partial(self.monitor.on_counters, switch, out.port, *numbers, requested_s=told_s))
            else:
                self.carried[hop] += 1
                self.frames.append((hop, told_s))
        self.told[switch] = []
        for hop, sent_s in [it for it in self.frames if it[0].next_switch == switch]:
            answers.append(lambda now_s, hop=hop, sent_s=sent_s: self.monitor.on_probe(hop, now_s - sent_s, now_s))
        self.frames = [it for it in self.frames if it[0].next_switch != switch]

    def hear(self, switch: str) -> None:
        for answer in self.answers[switch]:
            self.changes += answer(self.now_s)
            for name in self.monitor.pop_wanted():
                self.told[name].append((None, self.now_s))
        self.answers[switch] = []


@pytest.mark.parametrize("seed", range(3))
def test_no_link_looks_dead_because_its_switches_or_the_controller_are_behind_with_their_work(seed):
    ends, chance = BusyEnds(), random.Random(seed)
    for _ in range(5000):
        ends.now_s += chance.choice((0.001, 0.001, TICK_S, 0.1))
        step, *switch = chance.choice(("tick", "work s1", "work s2", "hear s1", "hear s2")).split()
        getattr(ends, step)(*switch)
    assert ends.changes == []


SENT_S = 100.0


def test_a_probe_is_decoded_to_what_was_sent_and_counts_once():
    prober = Prober()
    first, second, other = (prober.encode(7, port, SENT_S + late_s) for port, late_s in ((3, 0.0), (3, 0.1), (4, 0.0)))
    assert is_probe(second)
    assert prober.decode(second, SENT_S + 1) == Probe(7, 3, SENT_S + 0.1)
    assert prober.decode(second, SENT_S + 1) is None
    assert prober.decode(first, SENT_S + 1) is None, "it comes after a newer one"
    assert prober.decode(other, SENT_S + 1) == Probe(7, 4, SENT_S), "it is of another port"
    assert prober.received == 2


def test_an_old_or_forged_probe_is_rejected():
    prober, forger = Prober(), Prober()
    genuine = prober.encode(7, 3, SENT_S)
    assert prober.decode(genuine, SENT_S + 60) is None
    assert prober.decode(prober.encode(7, 3, SENT_S + 58), SENT_S + 60) is not None, "a queue of two seconds"
    assert prober.decode(forger.encode(7, 4, SENT_S), SENT_S) is None
    for forged in (genuine[:25] + b"\x08" + genuine[26:], genuine[:30]):
        assert prober.decode(forged, SENT_S) is None
