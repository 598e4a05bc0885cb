"""Scripts for Mininet as they are, through `flightpath mn-run`: what they get, and nothing of them that stays."""

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from flightpath.processes import family
from flightpath.project import PROJECT
from tests.support.mininet_command import MN_RUN, machine, mn_run
from tests.support.terminal import Terminal

pytestmark = pytest.mark.skipif(shutil.which("mn") is None, reason="needs Mininet")

CLASSIC = PROJECT / "tests/data/classic_mininet.py"
EXAMPLES = Path("/usr/share/doc/mininet/examples")
NETWORK = """
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo
net = Mininet(topo=SingleSwitchTopo(2), waitConnected=True)
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


@pytest.mark.alone
def test_a_classic_script_runs_and_its_links_are_what_it_asks_for():
    before = machine()

    done = mn_run(CLASSIC, "10", typed="h1 ping -c 1 h2\nlink_stats s1 s2\n")

    assert done.returncode == 0, done.stdout
    assert "*** Results: 0% dropped (2/2 received)" in done.stdout
    received = float(re.search(r"\*\*\* Results: \['([\d.]+) Mbits/sec", done.stdout)[1])
    assert 8.5 < received < 10
    fastest_ms = float(re.search(r"round trip .* = ([\d.]+)/", done.stdout)[1])
    assert 10 < fastest_ms < 15
    assert "mininet> " in done.stdout
    assert "1 packets transmitted, 1 received" in done.stdout
    shown = re.search("s1->s2: .*", done.stdout)[0].split()
    assert {"rate=10Mbit", "delay=5ms", "queue_packets=100"} <= set(shown)
    assert machine() == before


def test_the_command_flightpath_runs_it_from_the_folder_that_has_it(script, tmp_path):
    script("import sys, helper\nprint(sys.argv, __name__, helper.__name__)\n")
    (tmp_path / "helper.py").write_text("")
    code = f"import sys; sys.path.insert(0, {str(PROJECT)!r}); from flightpath.front_door import main; sys.exit(main())"
    argv = [MN_RUN[0], "-c", code, "mn-run", "script.py", "-n", "--two"]

    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 0, done.stderr
    assert done.stdout == "['script.py', '-n', '--two'] __main__ helper\n"


@pytest.mark.parametrize(
    ("ending", "code", "said"),
    [
        ("raise SystemExit(7)", 7, ""),
        ("import sys; sys.exit('no luck')", 1, "no luck"),
        ("1 / 0", 1, "ZeroDivisionError: division by zero"),
        ("net.addLink('h1', 's1', cls=__import__('mininet.link').link.TCLink, bw=-1)", 2, "bandwidth"),
        ("net.addNAT()", 2, "no way from the network to the internet"),
        ("import atexit; atexit.register(print, 'bye')", 0, "bye"),
    ],
)
def test_its_end_is_its_own_and_leaves_nothing(script, ending, code, said):
    before = machine()

    done = mn_run(script(NETWORK + ending + "\n"))

    assert done.returncode == code, done.stdout
    assert said in done.stdout
    assert machine() == before


def test_an_error_of_the_script_shows_its_own_lines_only(script):
    path = script("def broken():\n    return {}['missing']\n\nbroken()\n")

    done = mn_run(path)

    assert done.returncode == 1
    assert done.stdout.splitlines()[:3] == [
        "Traceback (most recent call last):",
        f'  File "{path}", line 4, in <module>',
        "    broken()",
    ]
    assert "running.py" not in done.stdout


def test_a_refusal_names_the_line_of_the_script(script):
    path = script(NETWORK + "from mininet.link import TCLink\nnet.addLink('h1', 's1', cls=TCLink, enable_red=True)\n")

    done = mn_run(path)

    assert done.returncode == 2
    assert f"{path}:8: error: TCLink: enable_red is not emulated" in done.stdout
    assert "Traceback" not in done.stdout


def test_a_missing_script_is_refused():
    done = mn_run(Path("missing.py"))

    assert done.returncode == 2
    assert "error: there is no script 'missing.py'" in done.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_it_and_leaves_nothing(script, number):
    before = machine()
    words = [*MN_RUN, str(script(NETWORK + "import time\ntime.sleep(100)\n"))]
    with subprocess.Popen(words, cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:
            if "started" in line:
                break
        inside = family(process.pid)
        process.send_signal(number)
        process.communicate(timeout=30)

    assert process.returncode == (-number if number == signal.SIGKILL else 130)
    assert len(inside) > 3
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{pid}/exe").exists() and _runs(pid) for pid in inside):
        assert time.monotonic() < deadline, "processes of the script still run"
        time.sleep(0.1)
    assert machine() == before


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_ctrl_c_at_a_terminal_ends_the_script(script):
    words = [*MN_RUN, str(script(NETWORK + "net['h1'].cmd('sleep 100')\n"))]
    os.chdir(PROJECT)
    with Terminal(words) as terminal:
        terminal.read_until("started")
        time.sleep(0.5)  # a person is not faster
        terminal.type("\x03")
        assert terminal.exit_code() in (0, 130)


SWITCHES = """
from mininet.net import Mininet
from mininet.node import OVSBridge, OVSSwitch, UserSwitch, OVSKernelSwitch, Host
from mininet.nodelib import LinuxBridge
from mininet.topo import LinearTopo
import sys
net = Mininet(LinearTopo(2), switch={0}, waitConnected=True)
net.start()
lost = net.pingAll()
assert isinstance(net['s1'], OVSSwitch), type(net['s1'])
net.stop()
sys.exit(int(lost))
"""


@pytest.mark.parametrize("switch", ["OVSSwitch", "OVSKernelSwitch", "UserSwitch", "OVSBridge", "LinuxBridge"])
def test_each_switch_of_mininets_forwards(script, switch):
    done = mn_run(script(SWITCHES.format(switch)))

    assert done.returncode == 0, done.stdout


CONTROLLERS = """
from functools import partial
from subprocess import Popen
from mininet.net import Mininet
from mininet.node import Controller, OVSController, RemoteController, Ryu
from mininet.topo import SingleSwitchTopo
import sys
controller = {0}
if controller is RemoteController:
    Popen(["controller", "ptcp:6633"])
    controller = partial(RemoteController, ip="127.0.0.1", port=6633)
net = Mininet(SingleSwitchTopo(2), controller=controller, waitConnected=True)
net.start()
sys.exit(int(net.pingAll()))
"""


@pytest.mark.parametrize(
    "controller",
    [
        "OVSController",
        "partial(Controller, command='controller')",
        "partial(Ryu, ryuArgs='ryu.app.simple_switch_13')",
        "RemoteController",
    ],
)
def test_each_controller_of_mininets_controls(script, controller):
    done = mn_run(script(CONTROLLERS.format(controller)))

    assert done.returncode == 0, done.stdout
    assert "0% dropped" in done.stdout


PARTS = """
from functools import partial
from mininet.link import TCLink
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
net.stop()
"""


def test_a_shaped_link_is_configured_as_mininets(script):
    done = mn_run(script(PARTS))

    assert done.returncode == 0, done.stdout
    said = [line for line in done.stdout.splitlines() if re.match(r"[\d.]+ ", line)]
    assert said == ["0.03 100000000", "0.5 None 0.0", "1000000 2000000"]


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="needs the examples of Debian's package mininet")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("controllers", "0% dropped (12/12 received)"),
        ("controlnet", "0% dropped (12/12 received)"),
        ("linuxrouter", "0% dropped (12/12 received)"),
        ("numberedports", "0% dropped (20/20 received)"),
        ("simpleperf", "*** Results: ['10M', "),
    ],
)
def test_examples_of_mininets_run(name, said):
    done = mn_run(EXAMPLES / f"{name}.py", typed="pingall\n")

    assert done.returncode == 0, done.stdout
    assert said in done.stdout
    assert "% dropped" not in done.stdout.replace(" 0% dropped", "")


@pytest.mark.skipif(not EXAMPLES.is_dir(), reason="needs the examples of Debian's package mininet")
def test_mininets_example_that_moves_a_host_runs():
    """It deletes the rules while the controller still makes some: with any controller, a packet is lost at times."""
    done = mn_run(EXAMPLES / "mobility.py")

    assert done.returncode == 0, done.stdout
    answered = [int(count) for count in re.findall(r"dropped \((\d)/6 received\)", done.stdout)]
    assert len(answered) == 4 and sum(answered) >= 22, done.stdout
