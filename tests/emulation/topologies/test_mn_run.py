"""Unchanged scripts for Mininet, through `flightpath mn-run`: their network, and nothing left behind."""

import re
import shutil
import signal
from pathlib import Path

import pytest

from flightpath.processes import family
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from tests.support.finished import finished
from tests.support.mininet_command import MN_RUN, Running, machine, mn_run
from tests.support.rings import nightly
from topologies.mininet.scripts import program

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet")

EXAMPLES = Path("/usr/share/doc/mininet/examples")
NETWORK = """
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo
net = Mininet(topo=SingleSwitchTopo(2))
net.start()
print("started", flush=True)
"""


@pytest.fixture
def script(tmp_path):
    def write(text):
        path = tmp_path / "script.py"
        path.write_text(text)
        return path

    return write


def test_the_command_flightpath_runs_it_from_the_folder_that_has_it(script, tmp_path):
    script("import sys, helper\nprint(sys.argv, __name__, helper.__name__)\n")
    (tmp_path / "helper.py").write_text("")
    code = f"import sys; sys.path.insert(0, {str(PROJECT)!r}); from flightpath.cli import main; sys.exit(main())"
    argv = [MN_RUN[0], "-c", code, "mn-run", "script.py", "-n", "--two"]

    done = finished(argv, cwd=tmp_path, timeout=60)

    assert done.returncode == 0, done.stderr
    assert done.stdout == "['script.py', '-n', '--two'] __main__ helper\n"


def test_a_missing_script_is_refused(capsys):
    assert program.main(["missing.py"]) == 2
    assert "error: there is no script 'missing.py'" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        program.main(["--clok", "virtual", "missing.py"])
    assert "did you mean --clock?" in capsys.readouterr().err


def test_its_end_is_its_own_and_leaves_nothing(script):
    before = machine()

    done = mn_run(script(f"{NETWORK}import atexit\natexit.register(print, 'bye')\nraise SystemExit(7)\n"))

    assert done.returncode == 7, done.stdout
    assert "bye" in done.stdout
    assert machine() == before


def test_words_with_which_it_ends_are_said(script):
    done = mn_run(script("import sys\nsys.exit('no luck')\n"))

    assert (done.returncode, done.stdout) == (1, "no luck\n")


def test_an_error_of_the_script_shows_its_own_lines_only(script):
    path = script("def broken():\n    return {}['missing']\n\nbroken()\n")

    done = mn_run(path)

    assert done.returncode == 1
    first = f'Traceback (most recent call last):\n  File "{path}", line 4, in <module>\n    broken()\n'
    assert done.stdout.startswith(first)
    assert "running.py" not in done.stdout


LINKS = """
from functools import partial
from mininet.link import Link, TCLink
from mininet.net import Mininet
from mininet.topo import MinimalTopo
net = Mininet(MinimalTopo(), link=partial(TCLink, delay="30ms", bw=100), waitConnected=True)
net.start()
link = net.links[0]
print(link.a_to_b.delay_s, link.b_to_a.bandwidth_bps)
link.intf1.config(loss=50, jitter="1ms")
print(link.a_to_b.loss, link.a_to_b.bandwidth_bps, link.b_to_a.loss)
both = net.addLink("h1", "h2", cls=TCLink, params1={"bw": 1}, params2={"bw": 2})
print(both.a_to_b.bandwidth_bps, both.b_to_a.bandwidth_bps)
for refused in (
    partial(net.addLink, "h1", "s1", cls=TCLink, bw=-1),
    partial(net.addLink, "h1", "s1", cls=TCLink, delai="5ms"),
    partial(net.addLink, "h1", "s1", cls=TCLink, params1={"bww": 1}),
    partial(link.intf1.config, jiter="1ms"),
    net.addNAT,
):
    try:
        refused()
    except Exception as error:
        print(str(error).splitlines()[0])
net.addLink("h1", "s1", bw=10, delay="5ms", cls=Link)
net.addLink("h1", "s1", cls=TCLink, color="red", bw=1)
net.addLink("h1", "s1", cls=TCLink, enable_red=True)
"""


def test_shaped_links_are_configured_as_mininets_and_a_refusal_names_the_line_of_the_script(script):
    path = script(LINKS)

    done = mn_run(path)

    assert done.returncode == 2, done.stdout
    assert [line for line in done.stdout.splitlines() if not line.startswith("  ")] == [
        "0.03 100000000",
        "0.5 None 0.0",
        "1000000 2000000",
        "bandwidth: cannot read '-1'",
        "link: 'delai' is unknown",
        "link: 'bww' is unknown",
        "link: 'jiter' is unknown",
        "nat0: there is no way from the network to the internet, and so no NAT",
        "*** h1-eth2<->s1-eth3: bw, delay have no effect without link=TCLink, as in Mininet",
        "*** link: 'color' is unknown, and has no effect",
        f"{path}:27: error: TCLink: enable_red is not emulated (random early detection)",
    ]
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, *map(nightly, (signal.SIGTERM, signal.SIGKILL))])
def test_a_signal_ends_it_and_leaves_nothing(script, number):
    before = machine()
    with Running([*MN_RUN, str(script(f"{NETWORK}import time\ntime.sleep(100)\n"))]) as process:
        process.read_until("started")
        inside = family(process.pid)
        process.send_signal(number)
        process.communicate(timeout=30)

    assert process.returncode == (-number if number == signal.SIGKILL else 130)
    assert len(inside) > 3
    wait_until(lambda: not any(one.is_alive() for one in inside), "the end of the script's processes", 10)
    assert machine() == before


ALGORITHMS = """
import os, sys
from mininet.net import Mininet
from mininet.topo import MinimalTopo

ASK = "socket.socket(proto=it).getsockopt(6, 13, 16).strip(bytes(1)).decode() for it in (0, socket.IPPROTO_MPTCP)"
SOCKETS = f"python3 -c 'import socket; print(*({ASK}))'"
SYSCTL = "sysctl -qw net.ipv4.tcp_congestion_control="

def show(prefix=""):
    print(*(net[host].cmd(f"{prefix} {SOCKETS}").strip() for host in ("h1", "h2")))

net = Mininet(MinimalTopo())
show()
show("mptcpize run")
for algorithm in ("reno", sys.argv[1]):
    net["h1"].cmd(SYSCTL + algorithm)
    show()
net.stop()
os.system(SYSCTL + "reno")
net = Mininet(MinimalTopo())
show()
"""
MACHINES_OWN = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()


@pytest.mark.parametrize("chosen", [nightly("cubic"), "reno"])
def test_the_congestion_control_is_cubic_or_what_an_option_or_a_host_chooses(script, chosen):
    """It is that of TCP's and of MPTCP's sockets; mptcpize makes MPTCP's of both kinds."""
    options = [] if chosen == "cubic" else ["--congestion-control", chosen]

    done = mn_run(*options, script(ALGORITHMS), MACHINES_OWN)

    assert done.returncode == 0, done.stdout
    assert [line.split() for line in done.stdout.splitlines()] == [
        [h1, h1, h2, h2]
        for h1, h2 in (*[(chosen, chosen)] * 2, ("reno", chosen), (MACHINES_OWN, chosen), ("reno", "reno"))
    ]


SWITCHES = """
from mininet.net import Mininet
from mininet.node import OVSBridge, OVSKernelSwitch, OVSSwitch, UserSwitch
from mininet.nodelib import LinuxBridge
import sys
net = Mininet(waitConnected=True)
net.addController("c0")
last = None
for number, kind in enumerate((OVSSwitch, OVSKernelSwitch, UserSwitch, OVSBridge, LinuxBridge), start=1):
    switch = net.addSwitch(f"s{number}", cls=kind)
    assert isinstance(switch, OVSSwitch), type(switch)
    net.addLink(net.addHost(f"h{number}"), switch)
    if last:
        net.addLink(last, switch)
    last = switch
net.start()
sys.exit(int(net.pingAll()))
"""


def test_each_switch_of_mininets_forwards(script):
    done = mn_run(script(SWITCHES))

    assert done.returncode == 0, done.stdout


CONTROLLERS = """
from functools import partial
from subprocess import Popen
from mininet.net import Mininet
from mininet.node import Controller, OVSController, RemoteController, Ryu
from mininet.topo import SingleSwitchTopo
import sys
Popen(["controller", "ptcp:6633"])
for controller in (
    OVSController,
    partial(Controller, command="controller", port=7001),
    partial(Ryu, ryuArgs="ryu.app.simple_switch_13", port=7002),
    partial(RemoteController, ip="127.0.0.1", port=6633),
):
    net = Mininet(SingleSwitchTopo(2), controller=controller, waitConnected=True)
    net.start()
    if net.pingAll():
        sys.exit(f"{controller} lost packets")
    net.stop()
"""


def test_each_controller_of_mininets_controls(script):
    done = mn_run(script(CONTROLLERS))

    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="needs the examples of Debian's package mininet")
def test_mininets_example_of_a_router_runs():
    done = mn_run(EXAMPLES / "linuxrouter.py", typed="pingall\n")

    assert done.returncode == 0, done.stdout
    assert "0% dropped (12/12 received)" in done.stdout
    assert "% dropped" not in done.stdout.replace(" 0% dropped", "")


@pytest.mark.nightly
@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="needs the examples of Debian's package mininet")
def test_mininets_example_that_moves_a_host_runs():
    """The script deletes rules while the controller still makes some, so a packet may be lost with any controller."""
    done = mn_run(EXAMPLES / "mobility.py")

    assert done.returncode == 0, done.stdout
    answered = [int(count) for count in re.findall(r"dropped \((\d)/6 received\)", done.stdout)]
    assert len(answered) == 4 and sum(answered) >= 22, done.stdout
