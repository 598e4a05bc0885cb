"""Mininet in the virtual-time kernel: at the keyboard, and its scripts."""

import contextlib
import fcntl
import os
import re
import sys
import time

import pytest

from flightpath import libc
from flightpath.project import PROJECT
from tests.support.finished import finished
from tests.support.terminal import Terminal
from tests.support.uml import VIRTUAL

pytestmark = pytest.mark.starts_kernels

_PROBE_MS = 60 * 8 / 10_000
"""Time for which a link of 10 Mb/s is busy with the frame of 60 bytes by which the controller probes it each 0.1 s."""


def test_mn_at_the_keyboard_keeps_real_pace(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / ("long" * 30)))
    (tmp_path / ("long" * 30)).mkdir()
    mn = "mn --custom topologies/mn.py --topo dtn_pair --link relay,bw=10,delay=15ms --controller steering"
    prompt = "mininet> "
    with Terminal([*VIRTUAL, "--interactive", "--", *mn.split()]) as terminal:
        terminal.read_until(prompt)
        with _without_signals_of_keys(terminal.pid):
            terminal.type("dtn1 ping -c 1 dtn2\n")  # until then, ARP and rules
            terminal.read_until(prompt)
        began = time.monotonic()
        terminal.type("dtn1 ping dtn2\n")
        terminal.read_until("icmp_seq=4")
        assert 2.9 < time.monotonic() - began < 10
        terminal.type("\x03")
        shown = terminal.read_until(prompt)
        shortest, _, longest, _ = map(float, re.search(r"mdev = ([0-9./]+) ms", shown)[1].split("/"))
        assert 30.16 < shortest < 30.18  # 30 ms, and 98 bytes at 10 Mb/s twice
        assert longest < shortest + 0.01 + 2 * _PROBE_MS, "each way it may wait for a frame of the controller"
        time.sleep(2)  # a person reads; meanwhile no hours pass
        dates = [_date(terminal, prompt) for _ in range(2)]
        assert 0 < dates[1] - dates[0] < 5
        _stands_still(terminal)
        terminal.type("go\n")
        terminal.read_until(prompt)
        began = time.monotonic()
        terminal.type("dtn1 sleep 2\n")
        terminal.read_until(prompt)
        assert time.monotonic() - began > 1.5, "it keeps real pace again"
        terminal.type("exit\n")
        assert terminal.exit_code() == 0


@contextlib.contextmanager
def _without_signals_of_keys(pid: int):
    """The terminal does not tell the guest of keys, as if the guest had missed that it does."""
    process = os.pidfd_open(pid)
    keyboard = libc.duplicate(process, 0)
    flags = fcntl.fcntl(keyboard, fcntl.F_GETFL)
    assert flags & os.O_ASYNC
    fcntl.fcntl(keyboard, fcntl.F_SETFL, flags & ~os.O_ASYNC)
    yield
    fcntl.fcntl(keyboard, fcntl.F_SETFL, flags)
    os.close(keyboard)
    os.close(process)


def _date(terminal: Terminal, prompt: str) -> float:
    """The time of day in a host, in seconds."""
    terminal.type("dtn1 date +%s.%N\n")
    return float(terminal.read_until(prompt).splitlines()[1])


def _stands_still(terminal: Terminal) -> None:
    """Stops the clock of mn, looks, and lets it go on by steps."""
    prompt = " s> "
    terminal.type("stop\n")
    terminal.read_until(prompt)
    stopped = _date(terminal, prompt)
    time.sleep(0.5)
    terminal.type("\x03")
    terminal.read_until(prompt)
    later = _date(terminal, prompt)
    assert 0 < later - stopped < 0.02
    for line in ("step 5s", "until link down"):
        began = time.monotonic()
        terminal.type(f"{line}\n")
        shown = terminal.read_until(prompt)
        assert time.monotonic() - began < 5 or line != "step 5s", "at once"
    assert "neither looked into" in shown, "of the relay"
    assert 5 < _date(terminal, prompt) - later < 5.1


@pytest.mark.nightly  # test_mn_rates.py has scripts there, and test_replay.py the same figures to the last bit
def test_a_script_of_mininets_gives_the_same_digits_each_time(tmp_path):
    script = tmp_path / "net.py"
    script.write_text(
        "import pathlib, sys\n"
        "from mininet.link import TCLink\n"
        "from mininet.net import Mininet\n"
        "from mininet.topo import SingleSwitchTopo\n"
        "net = Mininet(SingleSwitchTopo(2), link=lambda *a, **k: TCLink(*a, **k, bw=10))\n"
        "net.start()\n"
        "pathlib.Path('rates').write_text(str(net.iperf(seconds=1)))\n"
        "print(net['h1'].cmd('ping -c 1 10.0.0.2'), sys.stdin.read())\n"
        "net.stop()\n"
        "sys.exit(5)\n"
    )
    command = [sys.executable, "-m", "flightpath.cli", "mn-run", "--clock", "virtual", "--seed", "1", str(script)]
    shown = set()
    for _ in range(2):
        done = finished(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(PROJECT)}, input="typed")
        assert done.returncode == 5, done.stderr
        shown.add((done.stdout, (tmp_path / "rates").read_text()))
    ((pinged, rates),) = shown
    assert "typed" in pinged and "time=0.3" in pinged, "98 bytes at 10 Mb/s, four times"
    assert rates.startswith("['9.5")
