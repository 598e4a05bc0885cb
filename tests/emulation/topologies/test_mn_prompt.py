"""The prompt of Mininet's `mn` with Flightpath's file: verbs for links, captures and scripts, and their errors."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from flightpath.waiting import wait_until
from tests.support.busy_machine import busy_machine
from tests.support.finished import finished
from tests.support.mininet_command import CUSTOM, Running, mn

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet's mn")


@pytest.fixture(scope="module")
def prompt() -> Iterator[Running]:
    """Starts one mn for all tests, with windows requested on a machine without a display.

    A test that changes links has hosts of its own, since the tests run in any order, and some of them in other
    processes. Hosts have permanent neighbours: for one that does not answer, a host would send itself an ICMP error
    three seconds later, and whichever command runs then would have a certificate.
    """
    words = ["mn", *CUSTOM, "--topo", "single,6", "--mac", "--arp", "--link", "relay,bw=100", "-v", "output", "-x"]
    with Running(["env", "-u", "DISPLAY", *words]) as process:
        assert "*** No terminals: there is no display" in process.ask("")[0]
        yield process


def test_a_host_runs_a_command_and_not_the_rest_of_the_script(prompt):
    prompt.type("h1 echo begun; sleep 1; echo $((6 * 7))")
    prompt.read_until("begun")
    prompt.type("h2 echo $((7 * 7))")
    prompt.read_until("42")
    prompt.read_until("49")


def test_a_command_that_sends_packets_has_a_certificate_and_others_have_none(prompt):
    *_, certificate = prompt.ask("pingpair")
    assert re.fullmatch(r"\*\*\* certificate: (faithful|degraded|unusable), cubic: .+", certificate)
    assert prompt.ask("h1 echo $((6 * 7))") == ["42"]


@pytest.mark.alone
def test_a_command_on_a_machine_that_does_not_keep_up_says_so(tmp_path):
    (tmp_path / "script").write_text("h1 ping -c 3 -i 0.5 h2\n")
    with busy_machine():
        done = mn("--topo", "single,2", script=f"source {tmp_path}/script\ncertify\n")

    said = re.findall(r"\*\*\* certificate: unusable, cubic: the machine had no idle processor time", done.stdout)
    assert len(said) == 3, done.stdout  # of each command, and of all together


def speeds(prompt: Running) -> tuple[list[str], str]:
    """Returns what ethtool in h3 tells of speed and duplex, and the speed of the port in its switch's description."""
    ethtool = [line.strip() for line in prompt.ask("h3 ethtool h3-eth0") if re.search("Speed|Duplex", line)]
    ports = "\n".join(prompt.ask("sh ovs-ofctl -O OpenFlow13 dump-ports-desc s1"))
    return ethtool, re.search(r"\(s1-eth3\).*?speed: (\d+ Mbps) now", ports, re.DOTALL)[1]


def test_both_ends_tell_the_rate_that_they_send_at_and_link_set_changes_it(prompt):
    assert speeds(prompt) == (["Speed: 100Mb/s", "Duplex: Full"], "100 Mbps")
    assert prompt.ask("link_set h3 s1 bandwidth=1Gbit") == []
    wait_until(lambda: speeds(prompt)[1] == "1000 Mbps", "the switch to read the new speed", 10)
    assert prompt.ask("link_set s1->h3 bandwidth=10Mbit") == []
    wait_until(lambda: speeds(prompt)[1] == "10 Mbps", "the switch to read the new speed", 10)
    assert speeds(prompt)[0] == ["Speed: 1000Mb/s", "Duplex: Full"]
    assert prompt.ask("link_set h3 s1 bandwidth=100Mbit") == []


def test_a_script_goes_on_after_a_line_that_fails(prompt, tmp_path):
    script = tmp_path / "script.txt"
    script.write_text("# What h1 says\nh1 echo $((6 * 7))\nsource missing.txt\nh1 echo $((7 * 7))\n")

    missing = "*** source: cannot read 'missing.txt': No such file or directory"
    assert prompt.ask(f"source {script}") == ["42", missing, "49"]


def shown(prompt: Running, link: str) -> list[str]:
    """Returns the properties of each direction of a link in the output of `link_stats`."""
    return [line.strip() for line in prompt.ask(f"link_stats {link}") if re.match(r"  \S+->\S+: ", line)]


def test_verbs_change_links_and_link_stats_and_links_show_it(prompt):
    for line in ("h4 s1 bandwidth=10Mbit delay=20ms", "s1->h5 bw=5 loss=1%", "h5-eth0 queue=50p"):
        assert prompt.ask(f"link_set {line}") == []

    both = "rate=10Mbit queue_packets=1000 delay"
    assert shown(prompt, "h4 s1") == [f"h4->s1: {both}=20ms", f"s1->h4: {both}=20ms"]
    there, back = "rate=100Mbit queue_packets=50", "rate=5Mbit queue_packets=50 loss=0.01"
    assert shown(prompt, "h5-s1") == [f"h5->s1: {there}", f"s1->h5: {back}"]
    prompt.type("at 0s link_set h4 s1 delay=30ms")
    prompt.read_until("*** event 0s h4-s1 delay=30ms: after ")
    assert [line for line in prompt.ask("links") if not line.startswith(("h1-", "h2-", "h3-"))] == [
        f"h4-eth0<->s1-eth4 (OK OK) relay: {both}=30ms",
        f"h5-eth0<->s1-eth5 (OK OK) relay: h5->s1 {there}; s1->h5 {back}",
        "h6-eth0<->s1-eth6 (OK OK) relay: rate=100Mbit queue_packets=1000",
    ]
    assert "Usage: black_hole" in "".join(prompt.ask("help black_hole"))


@pytest.mark.parametrize(
    ("stop", "mend", "seen"),
    [
        ("link_down h1 s1", "link_up h1 s1", "DOWN DOWN"),
        ("link h2 s1 down", "link h2 s1 up", "DOWN DOWN"),
        ("black_hole h1->s1 on", "black_hole h1->s1 off", "OK OK"),
    ],
)
def test_a_cut_cable_and_a_black_hole_stop_packets_until_they_are_mended(prompt, stop, mend, seen):
    ends = "h2-eth0<->s1-eth2" if "h2" in stop else "h1-eth0<->s1-eth1"

    def received() -> str:
        return re.search(r"(\d) received", "".join(prompt.ask("h1 ping -c 1 -W 1 10.0.0.2")))[1]

    def swallowed() -> int:
        return sum(map(int, re.findall(r"blackhole=(\d+)", "".join(prompt.ask("link_stats h1 s1")))))

    before = swallowed()
    assert prompt.ask(stop) == []
    assert received() == "0"
    assert any(line.startswith(f"{ends} ({seen}) ") for line in prompt.ask("links"))
    assert (swallowed() > before) == ("black_hole" in stop)
    assert prompt.ask(mend) == []
    wait_until(lambda: received() == "1", "packets to pass again", 30)
    assert all("(OK OK)" in line for line in prompt.ask("links"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("link_set h1 s2 bw=5", "did you mean 'h1-s1'?"),
        ("link_set h1 s1 bw=fast", "bandwidth: cannot read 'fast'; accepted forms"),
        ("link_set h1 s1", "`help link_set` shows"),
        ("link_set h1", "name both ends"),
        ("link_down h1->s1", "one direction"),
        ("black_hole h1 s1 perhaps", "`help black_hole` shows"),
        ("at 5s", "for example"),
        ("at 5s link_cut h1 s1", "known: link_set"),
        ("link_stats h7 s1", "there is no link"),
        ("capture h9-eth0 FILE", "there is no interface 'h9-eth0'; interfaces: h1-eth0, h2-eth0"),
        ("capture h1-eth0 /nowhere/x", "cannot write /nowhere/x: No such file"),
        ("capture h1-eth0 FILE foo bar", "can't parse filter expression"),
        ("capture h1-eth0", "for example: capture h1-eth0 web.pcapng"),
        ("capture stop h1-eth0", "h1-eth0 is not captured"),
        ("xterm h1", "there is no display for windows (DISPLAY is not set); run the command here"),
        ("x h1 xclock", "there is no display for windows"),
    ],
)
def test_what_a_verb_cannot_do_is_said_in_one_line(prompt, tmp_path, line, expected):
    (output,) = prompt.ask(line.replace("FILE", f"{tmp_path}/x.pcapng"))

    assert output.startswith("*** ")
    assert expected in output
    assert not any(tmp_path.iterdir())


def test_a_change_does_not_slip_under_one_that_is_due_later(prompt):
    assert prompt.ask("at 3600s link_set h6 s1 delay=5ms") == []  # later than all tests of this file
    (output,) = prompt.ask("link_set h6 s1 bw=5")
    assert "due" in output
    assert prompt.ask("link_down h6 s1") == prompt.ask("link_up h6 s1") == []


def packets(file: Path) -> list[str]:
    return finished(["tcpdump", "-nr", file], check=True).stdout.splitlines()


def test_a_capture_has_every_packet_once_and_only_what_was_asked_for(tmp_path):
    """The network has no switches, so there is no controller to wait for."""
    script = [
        f"capture h1-eth0 {tmp_path}/one.pcapng icmp",
        f"capture h2 {tmp_path}/all.pcapng icmp",
        "h1 ping -c 3 -i 0.2 10.0.1.2",
        "h1 ping -c 2 -i 0.2 10.0.2.2",
        f"sh timeout 20 sh -c 'until [ -s {tmp_path}/all.pcapng ]; do sleep 0.1; done'",
        "capture",
        "capture stop h1-eth0",
        "h1 ping -c 1 10.0.1.2",
        "exit",
    ]
    network = ("--topo", "multipath_pair,paths=2,mptcp=off", "--link", "relay,bw=50,delay=1ms")
    done = mn(*network, "--controller", "none", "--wait", script="\n".join(script))
    assert f"*** h1-eth0: 6 packets in {tmp_path}/one.pcapng" in done.stdout, done.stdout
    assert f"*** h2: 12 packets in {tmp_path}/all.pcapng" in done.stdout, "it is ended with the command line"
    assert re.search(r"h2: [1-9]\d* bytes in ", done.stdout)
    captured = packets(tmp_path / "one.pcapng")
    # On a busy machine a reply may come after the next request.
    assert sorted(re.search(r"echo (\w+), .* seq (\d)", line).groups() for line in captured) == [
        (kind, str(number)) for kind in ("reply", "request") for number in (1, 2, 3)
    ]
    assert len(packets(tmp_path / "all.pcapng")) == 12
