"""Looking inside a network in `mn`: captures, links as they are, and events that say when they happened."""

import re
import shutil
import subprocess

import pytest

from tests.support.mininet_command import mn

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet's mn")

TWO_PATHS = ("--topo", "multipath_pair,paths=2,mptcp=off", "--link", "relay,bw=50,delay=1ms")


def packets(file) -> list[str]:
    return subprocess.run(["tcpdump", "-nr", file], capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_capture_has_every_packet_once_and_only_what_was_asked_for(tmp_path):
    script = [
        f"capture h1-eth0 {tmp_path}/one.pcapng icmp",
        f"capture h2 {tmp_path}/all.pcapng icmp",
        "h1 ping -c 3 -i 0.2 10.0.1.2",
        "h1 ping -c 2 -i 0.2 10.0.2.2",
        "capture",
        "capture stop h1-eth0",
        "h1 ping -c 1 10.0.1.2",
        "exit",
    ]
    done = mn(*TWO_PATHS, script="\n".join(script))
    assert f"*** h1-eth0: 6 packets in {tmp_path}/one.pcapng" in done.stdout
    assert f"*** h2: 12 packets in {tmp_path}/all.pcapng" in done.stdout, "it is ended with the command line"
    assert re.search(r"h2: [1-9]\d* bytes in ", done.stdout)
    found = packets(tmp_path / "one.pcapng")
    assert [re.search(r"echo (\w+), .* seq (\d)", line).groups() for line in found] == [
        (kind, str(number)) for number in (1, 2, 3) for kind in ("request", "reply")
    ]
    assert len(packets(tmp_path / "all.pcapng")) == 12


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("capture h9-eth0 FILE", "there is no interface 'h9-eth0'; interfaces: h1-eth0, h1-eth1"),
        ("capture h1-eth0 /nowhere/x", "cannot write /nowhere/x: No such file"),
        ("capture h1-eth0 FILE foo bar", "can't parse filter expression"),
        ("capture h1-eth0", "for example: capture h1-eth0 web.pcapng"),
        ("capture stop h1-eth0", "h1-eth0 is not captured"),
    ],
)
def test_what_cannot_be_captured_is_said_in_a_sentence(tmp_path, line, said):
    file = tmp_path / "x.pcapng"
    done = mn(*TWO_PATHS, script=f"{line.replace('FILE', str(file))}\nexit\n")
    assert said in done.stdout and "Traceback" not in done.stdout
    assert not file.exists()


def test_links_shows_what_links_are_now():
    script = ["link_set h1->h2 bandwidth=10Mbit", "links", "link_set h1 h2 delay=7ms", "links", "exit"]
    done = mn("--topo", "multipath_pair,paths=1,mptcp=off", "--link", "relay,bw=50,delay=1ms", script="\n".join(script))
    first, second = re.findall(r"h1-eth0<->h2-eth0 \(OK OK\) (.*)", done.stdout)
    assert "h1->h2 rate=10Mbit" in first and "h2->h1 rate=50Mbit" in first
    assert first.count("delay=1ms") == 2 and second.count("delay=7ms") == 2


def test_an_event_says_when_it_happened():
    script = ["at 500ms link_down h1 h2", "sh sleep 1.5", "links", "exit"]
    done = mn("--topo", "multipath_pair,paths=1,mptcp=off", "--link", "relay,bw=50,delay=1ms", script="\n".join(script))
    (seen_s,) = re.findall(r"\*\*\* event 0.5s h1-h2 down: after ([\d.]+) s", done.stdout)
    assert 0.5 <= float(seen_s) < 2.5
    assert "(DOWN DOWN)" in done.stdout


def test_certify_measures_each_link_beside_what_was_asked_for():
    done = mn("--link", "tc,bw=10,delay=5ms", script="certify\nblack_hole h1->s1 on\ncertify\nexit\n")
    measured = re.findall(r"(\S+)->(\S+): ([\d.]+) of 10Mbit, ([\d.]+) of 5 ms: as asked", done.stdout)
    assert len(measured) == 4 and "*** all links are as asked" in done.stdout
    assert all(abs(float(rate) - 10) < 0.1 and abs(float(delay) - 5) < 0.3 for *_, rate, delay in measured)
    assert (
        "*** link h1-eth0:s1-eth1: none of 100 packets passed from a to b" in done.stdout
        and "Traceback" not in done.stdout
    )
