"""Mininet's own `mn` with Flightpath's file: its start, its end, a person at the keyboard, and nothing left behind."""

import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from flightpath.errors import FlightpathError
from flightpath.processes import descendants
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from results.exchange.progress import live_networks
from tests.support.finished import finished
from tests.support.mininet_command import CUSTOM, Running, machine, mn
from tests.support.process_list import sandbox_processes, waits_in
from tests.support.rings import nightly
from tests.support.terminal import Terminal
from topologies.mininet.network import InteractiveNetwork

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet's mn")

MN = ["mn", *CUSTOM]


@pytest.mark.parametrize(
    "arguments",
    [
        "--topo dtn_pair,cross_traffic=1 --link relay,bw=10000,delay=15ms --switch auto --controller steering",
        "--topo fabric,edges=2,hosts=1,cores=2 --controller flightpath --switch auto,datapath=user",
        nightly("--topo linear,2 --switch lxbr"),
        nightly("--topo tree,depth=2,fanout=2 --mac --switch user --controller ref --link relay,delay=1ms"),
    ],
)
def test_every_host_reaches_every_other(arguments):
    before = machine()

    done = mn(*arguments.split(), "--wait", script="pingall\n")

    assert "Results: 0% dropped" in done.stdout, done.stdout
    assert done.returncode == 0
    assert machine() == before


def test_the_dashboard_has_its_network_until_it_ends_or_is_killed(tmp_path, monkeypatch):
    """It is started from any folder; Debian's ordinary users have no `sbin` folder on their PATH."""
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    store, ended = tmp_path / "results/runs", tmp_path / "results/runs/.networks"
    store.mkdir(parents=True)
    argv = [Path(sys.executable).with_name("flightpath"), "mn", "--topo", "dtn_pair", "--link", "relay,bw=100"]
    for end in ("quit", "kill"):
        with Running(argv, tmp_path) as process:
            process.type("dtn1 ping -i 0.2 dtn2 > /dev/null &")

            def shown():
                loads = [link for each in live_networks(store) for link in each.links if min(link.rate_bps) > 0]
                return loads and live_networks(store)[0]

            wait_until(lambda: bool(shown()), "the links to carry pings", 30)
            network = shown() or live_networks(store)[0]
            assert set(network.hosts) == {"dtn1", "dtn2"} and network.command.startswith("mn --topo dtn_pair")
            assert {100e6} == {limit for link in network.links for limit in link.limit_bps if limit} and network.series
            if end == "quit":
                process.type("quit")
                process.wait(30)
                assert list(ended.iterdir()) == []
        wait_until(lambda: not live_networks(store), "the killed network to vanish", 10)


TOPOLOGY = """
from mininet.clean import *
from mininet.cli import *
from mininet.link import *
from mininet.log import *
from mininet.net import *
from mininet.node import *
from mininet.topo import *
from mininet.util import *
from functools import partial
from sys import *
from time import *
hosts = options = 4

class Pairs(Topo):
    def build(self, **of_link):
        h1, h2, h3, h4, h5, h6 = map(self.addHost, ("h1", "h2", "h3", "h4", "h5", "h6"))
        self.addLink(h1, h2, cls=TCLink, **of_link)
        self.addLink(h3, h4, cls=partial(TCLink, loss=100))
        self.addLink(h5, h6, cls=Link)

def own(net):
    print("own test of", len(net.hosts), "hosts", flush=True)

topos = {"pairs": Pairs}
tests = {"own": own}
"""
LOSSY = ("h1->h2", "h2->h1", "h3->h4", "h4->h3")


def test_a_topology_of_the_users_has_links_of_ours_where_it_asks_for_mininets_shaped_ones(tmp_path):
    """Mininet's own link stays; `links` shows the effect of `link`. What the file imports replaces nothing of mn's."""
    file = tmp_path / "topology.py"
    file.write_text(TOPOLOGY)
    pings = [f"{host} ping -c 1 -W 1 {address}" for host, address in (("h1", "10.0.0.2"), ("h3", "10.0.0.4"))]
    lines = [*pings, "link_stats", "links", "link h5 h6 down", "links", "link h5 h6 up", "links"]

    done = mn("--custom", str(file), "--topo", "pairs,loss=100", script="\n".join(lines))

    assert done.returncode == 0, done.stdout
    assert re.findall(r"(\d) received", done.stdout) == ["0", "0"]
    assert [bool(re.search(f"{way}: .*loss=1$", done.stdout, re.MULTILINE)) for way in LOSSY] == [True] * 4
    plain = re.findall(r"h5-eth0<->h6-eth0 \((.*)\) not emulated", done.stdout)
    assert plain == ["OK OK", "DOWN DOWN", "OK OK"]
    tested = mn("--custom", str(file), "--topo", "pairs", "--controller", "none", "--test", "own")
    assert (tested.returncode, "own test of 6 hosts" in tested.stdout) == (0, True), tested.stdout


def test_a_signal_to_mn_ends_a_command_and_not_the_command_line():
    """Another process sends it to the outermost process alone, which hands it on (keys: the next test)."""
    with Running([*MN, "--topo", "single,2"]) as process:
        process.type("h1 echo begun; sleep 100\npingall")
        process.read_until("begun")
        wait_until(lambda: any("sleep 100" in it.command_line for it in descendants(process.pid)), "the command", 20)
        mn_inside = sandbox_processes(process.pid)[-1]
        wait_until(lambda: waits_in(mn_inside, "wait_woken"), "mn to read from the host", 20)

        process.send_signal(signal.SIGINT)

        process.read_until("Results: 0% dropped")

        def has_ended() -> bool:
            # More than once: Python does not notice a signal that arrives just before it begins to wait for input.
            if descendants(process.pid):
                process.send_signal(signal.SIGTERM)
            return process.poll() is not None

        wait_until(has_ended, "the end of mn", 20, poll_s=1)
    assert process.returncode in (130, -signal.SIGTERM)  # while Python ends, a signal has its default effect again


IN_EACH_FOLDER = """
exec 2>&1
PROJECT=/mnt/$(basename "$1"); mount -t tmpfs tmpfs /mnt; mkdir "$PROJECT"; mount --rbind "$1" "$PROJECT"
mount -t tmpfs tmpfs /tmp; touch /tmp/kept.log; cd /
for words in "--topo nowhere" "--custom none.py" "-c"; do "$PROJECT/topologies/mn.py" $words; echo "code $?"; done
cd "$PROJECT"; mn --custom topologies/mn.py -c; echo "code $?"
ls /tmp
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a /tmp of its own")
def test_mininets_clean_up_is_never_done_and_mn_py_is_a_program_in_each_folder():
    """The clean-up would delete the machine's /tmp/*.log; here it could only delete those of a namespace."""
    contained = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    done = finished([*contained, "sh", "-c", IN_EACH_FOLDER, "sh", PROJECT])

    assert re.findall(r"code (\d+)", done.stdout) == ["2", "2", "0", "0"], done.stdout
    assert [done.stdout.count(words) for words in ("error: ", "Nothing to clean up")] == [2, 2]
    assert "kept.log" in done.stdout


def test_the_network_is_not_made_outside_a_sandbox():
    with pytest.raises(FlightpathError, match="only in a sandbox"):
        InteractiveNetwork()


def test_ctrl_c_ends_a_command_and_leaves_the_network():
    prompt = "mininet> "
    with Terminal([*MN, "--topo", "single,2", "--link", "relay,bw=10"]) as terminal:
        terminal.read_until(prompt)
        terminal.type("h1 ping h2\n")
        terminal.read_until("icmp_seq=2")
        terminal.type("\x03")
        assert "packet loss" in terminal.read_until(prompt)
        mn_inside = sandbox_processes(terminal.pid)[-1]
        for _ in range(10):
            wait_until(lambda: waits_in(mn_inside, "poll"), "mn to wait for a key", 20)
            terminal.type("\x03")
            terminal.read_until(prompt)
        terminal.type("links\n")
        assert terminal.read_until(prompt).count("(OK OK)") == 2
        terminal.type("pingall\n")
        assert "0% dropped (2/2 received)" in terminal.read_until(prompt)
        terminal.type("exit\n")
        assert terminal.exit_code() == 0
