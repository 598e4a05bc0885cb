"""Rates and times of networks of Mininet's `mn` and of a script for Mininet: as requested, in virtual time."""

import re
import shutil

import pytest

from flightpath.project import PROJECT
from tests.support.mininet_command import mn, mn_run

pytestmark = [pytest.mark.virtual, pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet's mn")]

CLASSIC = PROJECT / "tests/data/classic_mininet.py"


def received_mbps(text: str) -> float:
    return float(re.search(r"\*\*\* Results: \['([\d.]+) Mbits/sec", text)[1])


def fastest_ms(text: str) -> float:
    return float(re.search(r"rtt .* = ([\d.]+)/", text)[1])


def test_a_classic_script_runs_and_its_links_are_what_it_asks_for():
    done = mn_run(CLASSIC, "10", typed="h1 ping -c 1 h2\nlink_stats s1 s2\n")

    assert done.returncode == 0, done.stdout
    assert "*** Results: 0% dropped (2/2 received)" in done.stdout
    assert 8.5 < received_mbps(done.stdout) < 10
    assert 10 < fastest_ms(done.stdout) < 15
    assert "mininet> " in done.stdout
    assert "1 packets transmitted, 1 received" in done.stdout
    shown = re.search("s1->s2: .*", done.stdout)[0].split()
    assert {"rate=10Mbit", "delay=5ms", "queue_packets=100"} <= set(shown)


def test_a_slow_link_is_as_slow_as_it_says_until_it_is_cut():
    lines = ["iperf", "iperfudp", "h1 ping -c 5 -i 0.2 h2", "certify", "black_hole h1->s1 on", "certify"]
    lines += ["at 500ms link_down h1 s1", "sh sleep 1.5", "links"]

    done = mn("--link", "tc,bw=10,delay=10ms", script="\n".join(lines))

    assert 8 < received_mbps(done.stdout) < 10
    certificates = re.findall(r"\*\*\* certificate: (.*)", done.stdout)
    assert certificates == ["faithful, cubic: in virtual time no packet is late"] * 6
    assert "*** Results: ['10M', " in done.stdout
    assert 40 < fastest_ms(done.stdout) < 50
    measured = re.findall(r"(\S+)->(\S+): ([\d.]+) of 10Mbit, ([\d.]+) of 10 ms: as asked", done.stdout)
    assert len(measured) == 4 and "*** all links are as asked" in done.stdout, done.stdout
    assert all(abs(float(rate) - 10) < 0.1 and abs(float(delay) - 10) < 0.3 for *_, rate, delay in measured)
    assert "*** link h1-eth0:s1-eth1: none of 100 packets passed from a to b" in done.stdout
    (seen_s,) = re.findall(r"\*\*\* event 0.5s h1-s1 down: after ([\d.]+) s", done.stdout)
    assert 0.5 <= float(seen_s) < 2.5
    assert "(DOWN DOWN)" in done.stdout
    assert "Traceback" not in done.stdout
