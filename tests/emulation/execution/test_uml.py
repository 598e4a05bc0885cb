"""Commands in the virtual-time kernel: their clock, what they leave behind, and that nothing outlives them."""

import contextlib
import fcntl
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from execution.uml import kernel
from execution.uml.inspection import KernelMemory
from execution.uml.uml import UserModeLinux
from flightpath import libc
from flightpath.launcher import python_module
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from tests.support.finished import finished
from tests.support.killed import killed_at_end
from tests.support.ordinary_user import UID, results_of_ordinary_user
from tests.support.process_list import mentioning
from tests.support.rings import nightly
from tests.support.terminal import Terminal
from tests.support.uml import shared_folder, uml_kernels, unprivileged

pytestmark = pytest.mark.starts_kernels

RUN = [sys.executable, "-m", "execution.virtual"]
NAT_IN_A_NAMESPACE_THAT_ENDS = """
ip netns add client
ip link add right type veth peer name left netns client
ip addr add 10.0.0.2/24 dev right && ip link set right up
ip -n client addr add 10.0.0.1/24 dev left && ip -n client addr add 10.0.0.3/24 dev left
ip -n client link set left up
tc -n client qdisc add dev left clsact
set -- protocol ip flower ip_proto tcp action ct
tc -n client filter add dev left egress "$@" commit nat src addr 10.0.0.3 pipe action ok
tc -n client filter add dev left ingress "$@" nat pipe action ok
python3 -c 'import socket; print(socket.create_server(("10.0.0.2", 80)).accept()[1][0], flush=True)' &
sleep 1
ip netns exec client python3 -c 'import socket; socket.create_connection(("10.0.0.2", 80), 5).recv(1)'
ip netns del client
sleep 1
echo ended
"""


def run(*words: str, options: tuple[str, ...] = (), typed: str = "", cwd: Path = PROJECT) -> CompletedProcess[str]:
    argv = [*RUN, *options, "--", *words]
    return finished(argv, cwd=cwd, input=typed, errors="surrogateescape")


def test_results_stay_and_nothing_else_and_the_exit_code_is_the_commands(tmp_path):
    here, results, elsewhere = tmp_path / "a,ro, b", tmp_path / "results", tmp_path / "elsewhere"
    here.mkdir()
    script = 'cat > made; echo "$1" | tee "$2/kept" > "$3"; cat "$3"; id -u >&2; exit 7'
    words = ("sh", "-c", script, "sh", "it's \udcff two", str(results), str(elsewhere))
    done = run(*words, options=("--results", str(results)), cwd=here, typed="typed\n" * 100_000)
    assert (done.returncode, done.stdout) == (7, "it's \udcff two\n")
    said = r"0\nvirtual time: [\d.]+ s, in [\d.]+ s; seed 1\nexit code 7; again: flightpath virtual --seed 1 -- sh -c "
    assert re.match(said, done.stderr), done.stderr
    assert (results / "kept").read_bytes() == b"it's \xff two\n"
    assert (here / "made").read_text() == "typed\n" * 100_000
    assert not elsewhere.exists(), "what the command wrote there was to be gone with the virtual-time kernel"


def test_virtual_time_passes_at_once_and_real_time_does_not():
    sleep = ("python3", "-c", "import time; a = time.monotonic(); time.sleep(600); print(time.monotonic() - a)")
    began = time.monotonic()
    slept = run(*sleep, cwd=Path("/"))
    assert 600 <= float(slept.stdout) < 600.01 and time.monotonic() - began < 60
    assert "writes in / vanishes with the guest" in slept.stderr
    began = time.monotonic()
    done = run("sleep", "2", options=("--clock", "real"))
    assert done.returncode == 0 and time.monotonic() - began > 2


def test_the_clock_is_read_in_order_and_without_a_system_call():
    read = "import time; print(*(clock() for clock in (time.monotonic_ns, time.time_ns) for _ in range(100)))"
    times = [int(word) for word in run("python3", "-c", read).stdout.split()]
    steps = [later - earlier for part in (times[:100], times[100:]) for earlier, later in itertools.pairwise(part)]
    assert min(steps) > 0
    assert steps.count(8) > 180, "a reading that needs a system call takes 256 ns"
    dear = run("python3", "-c", read, options=("--clock-reading", "2us")).stdout.split()
    assert int(dear[99]) - int(dear[0]) > 99 * 1900


def test_readings_cost_the_same_wherever_a_program_first_touches_its_memory():
    read = """if True:
        import mmap, os, sys, time
        memory, began = mmap.mmap(-1, 64 << 20), time.monotonic_ns()
        for number in range(1000):
            time.monotonic_ns()
            memory[number * int(sys.argv[1])] = 1
            if number % 10 == 0: os.getppid()
        print(time.monotonic_ns() - began)
    """
    new_pages, one_page = (run("python3", "-c", read, step).stdout for step in ("65536", "0"))
    assert new_pages == one_page and 100 * 256 <= int(one_page) < 110 * 256


# A sleep may last 50 us longer, the timer slack. It ends at a multiple of 256 ns, and may begin 31 readings (of 8 ns)
# after one.
COARSE, YIELDS, FAILS, POLLS = (
    "import time; a = time.clock_gettime_ns(6); time.sleep(0.0001); print(time.clock_gettime_ns(6) - a)",
    "import os, time; a = time.monotonic(); [os.getppid() for _ in range(300_000)]; print(time.monotonic() - a)",
    "import os, time; a = time.monotonic(); [os.access('/no', 0) for _ in range(3000)]; print(time.monotonic() - a)",
    "import select, socket; ready = socket.socketpair()[0]; a = time.monotonic()\n"
    "[select.select([], [ready], []) for _ in range(1101)]; print(time.monotonic() - a)",
)


def test_the_coarse_clock_is_exact_and_programs_that_call_without_end_cannot_stop_the_clock():
    done = run("python3", "-c", "\n".join((COARSE, YIELDS, FAILS, POLLS)))
    coarse_ns, yields_s, fails_s, polls_s = map(float, done.stdout.split())
    assert 149_776 <= coarse_ns <= 152_000
    assert 0.19 <= yields_s <= 0.21 and 0.19 <= fails_s <= 0.21
    assert 0.008 <= polls_s < 0.011, "after 100 polls of what is ready, each further one takes 10 us"


def test_date_and_machine_of_the_build_are_not_in_the_kernel_and_so_not_in_its_random_numbers():
    version, date = kernel.IDENTITY["KBUILD_BUILD_VERSION"], kernel.IDENTITY["KBUILD_BUILD_TIMESTAMP"]
    assert run("uname", "-v").stdout == f"#{version} {date}\n"


def test_a_seed_draws_the_same_numbers_each_time_and_some_seeds_are_those_that_fail(tmp_path):
    draw = 'date -u +%F; od -An -N2 -tu2 /dev/urandom > number; read n < number; echo "$n"; exit $((n % 2))'
    options = ("--seeds", "1-8", "--same", "--results", str(tmp_path))
    done = run("sh", "-c", draw, options=options, cwd=tmp_path)
    assert done.returncode == 1 and not (tmp_path / "number").exists()
    tally, failed = re.match(r"8 seeds: (\d) passed, (\d) failed", done.stdout), sorted(tmp_path.glob("seed-*.log"))
    assert tally and int(tally[1]) + int(tally[2]) == 8 and 0 < int(tally[2]) == len(failed) < 8, done.stdout
    assert "x exit code 1: " in done.stdout and f"again: flightpath virtual --seed {failed[0].stem[5:]} " in done.stdout
    again = run("sh", "-c", draw, options=("--seed", failed[0].stem[5:], "--discard"), cwd=tmp_path)
    assert (again.returncode, again.stdout) == (1, failed[0].read_text()) and again.stdout.startswith("2026-01-01")
    assert len({file.read_text() for file in failed}) == len(failed)


@pytest.mark.parametrize(("options", "finds"), [nightly((), False), (("--jitter", "500us"), True)])
def test_a_lost_wake_up_is_found_with_jitter_only(tmp_path, options, finds):
    compiled = tmp_path / "race"
    subprocess.run(["cc", "-pthread", "-o", compiled, Path(__file__).with_name("lost_wake_up.c")], check=True)
    done = run(str(compiled), options=("--seeds", "1-20", *options), cwd=tmp_path)
    assert (done.returncode == 1) is finds, done.stdout
    assert ("x exit code 9: the wake-up was lost" in done.stdout) is finds


@pytest.mark.nightly
def test_its_numbers_are_those_of_the_seed_wherever_the_checkout_lies(tmp_path):
    elsewhere = tmp_path / "it's a $HOME"
    leave_out = shutil.ignore_patterns("runs", "objects", "__pycache__")
    for floor in (file.parent.name for file in PROJECT.glob("*/__init__.py")):
        shutil.copytree(PROJECT / floor, elsewhere / floor, ignore=leave_out)
    draw = ("sh", "-c", "head -c 16 /dev/urandom | od -An -tx1")
    argv = [*python_module("execution.virtual", "--seed", "1", "--"), *draw]
    argv[1] = f"PYTHONPATH={elsewhere}"
    done = finished(argv, cwd=tmp_path, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    assert done.stdout == run(*draw, options=("--seed", "1"), cwd=tmp_path).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_its_numbers_are_those_of_the_seed_whatever_the_host_notes_in_its_run_folder():
    notes = "mkdir -p /run/mount /run/systemd/system; touch /run/mount/utab /run/systemd/systemd-units-load"
    numbers = set()
    for noted in (":", notes):
        host = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs run /run; {noted}; exec "$@"', "sh"]
        numbers.add(finished([*host, *RUN, "--", "cat", "/proc/sys/kernel/random/uuid"], cwd=PROJECT).stdout)
    assert len(numbers) == 1 and re.fullmatch("[-0-9a-f]{36}\n", numbers.pop())


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize(
    ("room_mib", "code", "said"), [(64, 3, "cannot start"), nightly(160, 1, "has ended before the comm")]
)
def test_it_is_said_that_there_is_no_room_for_its_memory(tmp_path, room_mib, code, said):
    small = f'for folder in "$0" /dev/shm; do mount -t tmpfs -o size={room_mib}M tmpfs $folder; done; exec "$@"'
    fill = [*RUN, "--", "sh", "-c", "head -c 300M /dev/zero > /dev/shm/file"]
    contained = ["unshare", "--mount", "sh", "-c", small, tmp_path]
    done = finished([*contained, *fill], env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == code and f"kernel {said}" in done.stderr, done.stderr
    assert f"room for {room_mib}" in done.stderr or f"room for {room_mib - 1}" in done.stderr
    assert "--shm-size" in done.stderr


def test_a_folder_that_the_guest_has_not_is_refused():
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="flightpath-test-") as folder:
        done = finished([*RUN, "--discard", "--", "true"], cwd=folder)
        assert (done.returncode, folder in done.stderr and "in another folder" in done.stderr) == (2, True), done
        assert finished([*RUN, "--", "touch", "kept"], cwd=folder).returncode == 0 and Path(folder, "kept").exists()


def test_a_namespace_in_which_tc_translated_tcp_ends():
    done = run("sh", "-c", NAT_IN_A_NAMESPACE_THAT_ENDS, options=("--standstill-limit", "4"))
    assert (done.returncode, done.stdout) == (0, "10.0.0.3\nended\n"), done.stderr


# In the namespace of a container root's files are nobody's.
@pytest.mark.parametrize(
    "container",
    [nightly(()), ("unshare", "--user", "--map-current-user", "--net", "--ipc")],
)
def test_an_ordinary_user_needs_no_privilege(container):
    with results_of_ordinary_user() as results:
        words, environment = unprivileged(
            results, [*container, *RUN, "--results", str(results / "kept"), "--", "unshare", "-n", "sh", "-c"]
        )
        done = finished(
            [*words, f"id -u; touch {results}/kept/made; ip link add type veth; ip -br link | wc -l"], env=environment
        )
        assert (done.returncode, done.stdout.split()[0]) == (0, "0"), done.stderr
        assert int(done.stdout.split()[1]) >= 3
        assert (results / "kept/made").stat().st_uid == UID


@pytest.mark.parametrize("how", ["ctrl-c", *map(nightly, ("kill -9", "time limit"))])
def test_a_lab_that_goes_on_is_ended(tmp_path, how):
    results = tmp_path / "results"
    # In virtual time a program that computes for ever stops the clock.
    limit = ["--time-limit", "5"] if how == "time limit" else []
    command = [*RUN, *limit, "--results", str(results), "--", "sh", "-c", f"touch {results}/begun; while :; do :; done"]
    with killed_at_end(subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True)) as process:
        wait_until((results / "begun").exists, "the command to begin", 60)
        assert uml_kernels(results)
        (shared,) = set(uml_kernels(results).values())
        if how != "time limit":
            os.kill(process.pid, signal.SIGINT if how == "ctrl-c" else signal.SIGKILL)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == {"time limit": 1, "ctrl-c": 130, "kill -9": -9}[how]
    assert "had not ended after 5 s" in said or how != "time limit"
    wait_until(lambda: not uml_kernels(results), "the end of the virtual-time kernel", 10)
    wait_until(lambda: not shared.exists(), "its shared folder to go", 10)


def test_a_program_that_waits_by_reading_the_clock_is_named():
    spin = """if True:
        import threading, time
        def wait():
            open("/proc/thread-self/comm", "w").write("waiter")
            end = time.monotonic() + 60
            while time.monotonic() < end: pass
        threading.Thread(target=wait).start()
    """
    done = run("python3", "-c", spin, options=("--standstill-limit", "5"))
    assert done.returncode == 1
    assert "virtual time stood still because the program 'python3' computed for 5 s (thread 'waiter', " in done.stderr
    assert re.search(r" s in the kernel, in \w+(, \w+)*[,)]", done.stderr)
    own = r"its own code at 0x(?!7fffffffc)\w+: [0-9a-f]{2} "  # there is the way into the kernel
    assert re.search(f" s in (system calls that return at once|{own})", done.stderr)


@pytest.mark.nightly
def test_a_program_that_computes_for_long_may_do_so_while_others_run():
    """Two programs that take turns compute in the same stopped time as one; only one that never yields is ended."""
    done = run("sh", "-c", "for i in 1 2 3; do sleep 100; done", options=("--standstill-limit", "1"))
    assert done.returncode == 0, done.stderr


def test_the_memory_of_a_lab_that_was_killed_is_no_number():
    with UserModeLinux(kernel.find()).guest(["sleep", "infinity"]) as guest:
        assert guest.booted()
        # The oldest: user space has processes of its own there.
        pid = min(pid for pid in mentioning("init=") if shared_folder(pid) == guest.shared)
        with KernelMemory(pid, kernel.find().symbols) as memory:
            assert memory.virtual_ns() > 0
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: shared_folder(pid) is None, "the virtual-time kernel to end", 10)
            for read in (memory.virtual_ns, memory.running_task):
                with pytest.raises(ProcessLookupError):
                    read()


def test_mn_at_the_keyboard_keeps_real_pace(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / ("long" * 30)))
    (tmp_path / ("long" * 30)).mkdir()
    mn = "mn --custom topologies/mn.py --topo dtn_pair --link relay,bw=10,delay=15ms --controller steering"
    prompt = "mininet> "
    with Terminal([*RUN, "--interactive", "--", *mn.split()]) as terminal:
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
        assert 30.16 < shortest <= longest < shortest + 0.01  # 30 ms, and 98 bytes at 10 Mb/s twice
        time.sleep(2)  # a person reads; meanwhile no hours pass
        dates = [float(_answer(terminal, "dtn1 date +%s.%N", prompt))]
        dates.append(float(_answer(terminal, "dtn1 date +%s.%N", prompt)))
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


def _answer(terminal: Terminal, command: str, prompt: str) -> str:
    terminal.type(f"{command}\n")
    return terminal.read_until(prompt).splitlines()[1]


def _stands_still(terminal: Terminal) -> None:
    """Stops the clock of mn, looks, and lets it go on by steps."""
    prompt = " s> "
    terminal.type("stop\n")
    terminal.read_until(prompt)
    dates = [float(_answer(terminal, "dtn1 date +%s.%N", prompt))]
    time.sleep(0.5)
    terminal.type("\x03")
    terminal.read_until(prompt)
    dates.append(float(_answer(terminal, "dtn1 date +%s.%N", prompt)))
    assert 0 < dates[1] - dates[0] < 0.02
    for line in ("step 5s", "until link down"):
        began = time.monotonic()
        terminal.type(f"{line}\n")
        shown = terminal.read_until(prompt)
        assert time.monotonic() - began < 5 or line != "step 5s", "at once"
    assert "neither looked into" in shown, "of the relay"
    assert 5 < float(_answer(terminal, "dtn1 date +%s.%N", prompt)) - dates[1] < 5.1


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
