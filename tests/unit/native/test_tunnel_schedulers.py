"""The schedulers of the tunnel."""

import random
from collections import Counter

import pytest

from tests.support.relay_line import MS
from tests.support.tunnel_ends import FLOWHASH, REDUNDANT, RTT, WRR, End, single, udp_packet


def paths_of(end, count, size=1000):
    return [
        end.send(single(udp_packet(number, size)))[0].path for number in range(count)
    ]  # each by itself: the order of decisions


def test_weights_share_bytes_exactly():
    end = End(3, run=1)
    for path, weight in enumerate([5, 2.5, 1]):
        end.path(path, weight=weight)
    chosen = random.Random(1)
    sizes, carried = [chosen.randint(40, 1500) for _ in range(4000)], Counter()
    for number, size in enumerate(sizes):
        (datagram,) = end.send(single(udp_packet(number, size)))
        carried[datagram.path] += size
    total = sum(sizes)
    assert [carried[path] / total for path in range(3)] == pytest.approx([5 / 8.5, 2.5 / 8.5, 1 / 8.5], abs=0.002)


def test_a_run_stays_on_its_path():
    end = End(2, run=4)
    assert paths_of(end, 16) == [0] * 4 + [1] * 4 + [0] * 4 + [1] * 4


def test_a_path_that_goes_down_in_the_middle_of_a_run_is_left_at_once_and_has_no_claim_when_it_returns():
    end = End(2, run=4)
    assert paths_of(end, 2) == [0, 0]
    end.path(0, up=False)
    assert paths_of(end, 20) == [1] * 20
    end.path(0)
    assert Counter(paths_of(end, 16)) == {0: 8, 1: 8}


@pytest.mark.parametrize("scheduler", [WRR, RTT, FLOWHASH, REDUNDANT])
def test_a_backup_path_is_used_only_while_no_other_is_up(scheduler):
    end = End(2, scheduler=scheduler)
    end.path(1, backup=True)
    assert set(paths_of(end, 8)) == {0}
    end.path(0, up=False)
    assert set(paths_of(end, 8)) == {1}
    end.path(0)
    assert set(paths_of(end, 8)) == {0}


def test_the_shortest_path_is_filled_first():
    end = End(2, scheduler=RTT)
    end.path(0, rtt_ms=50)
    end.path(1, rtt_ms=10, bps=8_000_000)  # 1000 bytes take 1 ms; the other is 20 ms longer
    end.time(0)
    chosen = paths_of(end, 40)
    assert chosen == [1] * 19 + [0] * 21
    end.time(5 * MS)
    assert Counter(paths_of(end, 40)) == {1: 5, 0: 35}, "5 ms have made room for 5 packets"


def test_when_a_path_goes_only_its_own_flows_move():
    end = End(3, scheduler=FLOWHASH)

    def homes():
        return [
            end.send(single(b"\x45" + packet[1:20] + port.to_bytes(2, "big") + packet[22:]))[0].path
            for port in range(90)
        ]

    packet = udp_packet(1)
    before = homes()
    assert min(Counter(before).values()) > 15
    end.path(1, up=False)
    after = homes()
    assert all(new == old for new, old in zip(after, before, strict=True) if old != 1) and 1 not in after
    end.path(1, weight=10)
    assert Counter(homes())[1] > 60
