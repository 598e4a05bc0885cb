"""The lines of `mn> certify`, and the certificates after commands."""

from types import SimpleNamespace

import pytest

from topologies.calibration.records import LinkCalibration
from topologies.mininet import certificates
from topologies.mininet.certificates import Certifier, certified


def measured(**fields) -> LinkCalibration:
    usual = {"delay_ms": 5.1, "delay_p99_ms": 5.2, "expected_delay_ms": 5.0}
    return LinkCalibration("h1-eth0:s1-eth1", "b_to_a", **{**usual, **fields})


@pytest.mark.parametrize(
    ("fields", "line", "is_right"),
    [
        ({}, "5.10 of 5 ms: as asked", True),
        ({"delay_ms": 5.4}, "5.40 of 5 ms: NOT as asked", False),
        ({"delay_ms": 5.4, "delay_uncertainty_ms": 0.2}, "5.40 of 5 ms: as asked", True),
        ({"rate_bps": 9.5e6, "expected_rate_bps": 1e7}, "9.5 of 10Mbit, 5.10 of 5 ms: NOT as asked", False),
        ({"unchecked": ("rate: too busy",)}, "5.10 of 5 ms; rate: too busy: NOT as asked", False),
        ({"not_judged": ("rate: a trace",)}, "5.10 of 5 ms; rate: a trace: as asked", True),
    ],
)
def test_a_link_is_told_beside_what_was_asked(fields, line, is_right):
    assert certified(measured(**fields)) == (f"s1-eth1->h1-eth0: {line}", is_right)


class Network:
    """Answers to a Certifier about a network, processors and the clock; a second has 100 ticks of processor time."""

    def __init__(self, monkeypatch) -> None:
        self.now = self.idle = self.sent = 0.0
        self.late = [0] * 30
        monkeypatch.setattr(certificates, "EmulatedLink", SimpleNamespace)
        self.links, self.hosts = [SimpleNamespace(name="h1-eth0:s1-eth1", stats=self.stats)], [self]
        cpu = {"read_counters": lambda: {"cpu_idle": self.idle, "cpu_steal": 0.0, "cpu_total": self.now * 100}}
        monkeypatch.setattr(certificates, "processor", SimpleNamespace(**{**vars(certificates.processor), **cpu}))
        monkeypatch.setattr(certificates.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(Certifier, "_run", lambda _: None)
        monkeypatch.setattr(certificates, "_sent_by", lambda host: host.sent)
        monkeypatch.setattr(certificates.congestion_control, "in_force", lambda host: "cubic")

    def stats(self) -> dict:
        there = {"lateness_ns": {"histogram": list(self.late)}}
        return {"directions": {"a_to_b": there, "b_to_a": {"lateness_ns": None}}}

    def passes(self, certifier: Certifier, *idle_percent: float, sent: int = 10, late_bin: int = 10) -> None:
        """Lets seconds pass, each with a share of idle time, packets, and a lateness."""
        for share in idle_percent:
            self.now, self.idle, self.sent = self.now + 1, self.idle + share, self.sent + sent
            self.late[late_bin] += sent
            certifier.mark()


@pytest.fixture
def network(monkeypatch):
    return Network(monkeypatch)


@pytest.fixture
def certifier(network):
    certifier = Certifier()
    certifier.watch(network)
    network.passes(certifier, 0, 0, 0, sent=0)
    return certifier


@pytest.mark.parametrize(
    ("seconds", "late_bin", "verdict", "words"),
    [
        ((60, 80), 10, "faithful", "70 % idle; packets at most 0.002 ms late"),
        ((60, 1), 10, "unusable", "no idle processor time in 50% of the seconds"),
        ((9, 9), 19, "degraded", "only 9 % idle processor time"),
        ((60, 80), 20, "degraded", "(a to b): more than 1 % of the packets were at least 1 ms"),
        ((60, 80), 23, "unusable", "(a to b): more than 1 % of the packets were at least 8.4"),
    ],
)
def test_a_command_is_judged_by_its_own_seconds_and_packets(network, certifier, seconds, late_bin, verdict, words):
    network.passes(certifier, 1, 1, late_bin=25)
    mark = certifier.mark()
    network.passes(certifier, *seconds, late_bin=late_bin)

    line = certifier.certificate(mark)
    assert line.startswith(f"*** certificate: {verdict}, cubic: ") and words in line


def test_one_packet_in_a_hundred_may_be_late(network, certifier):
    mark = certifier.mark()
    network.passes(certifier, 50, sent=99)
    network.late[25] += 1
    assert "faithful" in certifier.certificate(mark)
    network.late[25] += 1
    assert "unusable" in certifier.certificate(mark)


def test_a_short_command_is_judged_by_the_second_that_ends_with_it(network, certifier):
    network.passes(certifier, 40, sent=0)
    network.now += 0.9
    network.idle += 36
    mark = certifier.mark()
    network.now, network.sent = network.now + 0.1, network.sent + 2  # all processors are busy meanwhile

    assert "faithful, cubic: 36 % idle" in certifier.certificate(mark)


def test_the_end_is_judged_by_all_seconds_with_packets_of_all_networks(network, certifier):
    network.passes(certifier, 100, 100, 0)
    network.passes(certifier, *[0] * 50, sent=0)
    certifier.leave(network)
    network.sent = 0
    certifier.watch(network)
    network.passes(certifier, 100, late_bin=23)

    assert certifier.certificate().startswith("*** certificate: unusable, cubic: link h1-eth0:s1-eth1 (a to b)")
