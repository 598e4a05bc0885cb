"""The clock and the random numbers of programs in the virtual-time kernel."""

import itertools
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from execution.uml import kernel
from flightpath.launcher import python_module
from flightpath.project import PROJECT
from tests.support.finished import finished
from tests.support.rings import nightly
from tests.support.uml import VIRTUAL, run_virtual

pytestmark = pytest.mark.starts_kernels


def test_virtual_time_passes_at_once_and_real_time_does_not():
    sleep = ("python3", "-c", "import time; a = time.monotonic(); time.sleep(600); print(time.monotonic() - a)")
    began = time.monotonic()
    slept = run_virtual(*sleep, cwd=Path("/"))
    assert 600 <= float(slept.stdout) < 600.01 and time.monotonic() - began < 60
    assert "writes in / vanishes with the guest" in slept.stderr
    began = time.monotonic()
    done = run_virtual("sleep", "2", options=("--clock", "real"))
    assert done.returncode == 0 and time.monotonic() - began > 2


def test_the_clock_is_read_in_order_and_without_a_system_call():
    read = "import time; print(*(clock() for clock in (time.monotonic_ns, time.time_ns) for _ in range(100)))"
    times = [int(word) for word in run_virtual("python3", "-c", read).stdout.split()]
    steps = [later - earlier for part in (times[:100], times[100:]) for earlier, later in itertools.pairwise(part)]
    assert min(steps) > 0
    assert steps.count(8) > 180, "a reading that needs a system call takes 256 ns"
    dear = run_virtual("python3", "-c", read, options=("--clock-reading", "2us")).stdout.split()
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
    new_pages, one_page = (run_virtual("python3", "-c", read, step).stdout for step in ("65536", "0"))
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
    done = run_virtual("python3", "-c", "\n".join((COARSE, YIELDS, FAILS, POLLS)))
    coarse_ns, yields_s, fails_s, polls_s = map(float, done.stdout.split())
    assert 149_776 <= coarse_ns <= 152_000
    assert 0.19 <= yields_s <= 0.21 and 0.19 <= fails_s <= 0.21
    assert 0.008 <= polls_s < 0.011, "after 100 polls of what is ready, each further one takes 10 us"


def test_a_program_that_waits_by_reading_the_clock_is_named():
    spin = """if True:
        import threading, time
        def wait():
            open("/proc/thread-self/comm", "w").write("waiter")
            end = time.monotonic() + 60
            while time.monotonic() < end: pass
        threading.Thread(target=wait).start()
    """
    done = run_virtual("python3", "-c", spin, options=("--standstill-limit", "5"))
    assert done.returncode == 1
    assert "virtual time stood still because the program 'python3' computed for 5 s (thread 'waiter', " in done.stderr
    assert re.search(r" s in the kernel, in \w+(, \w+)*[,)]", done.stderr)
    own = r"its own code at 0x(?!7fffffffc)\w+: [0-9a-f]{2} "  # there is the way into the kernel
    assert re.search(f" s in (system calls that return at once|{own})", done.stderr)


def test_a_seed_draws_the_same_numbers_each_time_and_some_seeds_are_those_that_fail(tmp_path):
    draw = 'date -u +%F; od -An -N2 -tu2 /dev/urandom > number; read n < number; echo "$n"; exit $((n % 2))'
    options = ("--seeds", "1-8", "--same", "--results", str(tmp_path))
    done = run_virtual("sh", "-c", draw, options=options, cwd=tmp_path)
    assert done.returncode == 1 and not (tmp_path / "number").exists()
    tally, failed = re.match(r"8 seeds: (\d) passed, (\d) failed", done.stdout), sorted(tmp_path.glob("seed-*.log"))
    assert tally and int(tally[1]) + int(tally[2]) == 8 and 0 < int(tally[2]) == len(failed) < 8, done.stdout
    again = ("--seed", failed[0].stem[5:], "--discard")
    assert "x exit code 1: " in done.stdout and f"again: flightpath virtual {' '.join(again)} -- sh " in done.stdout
    repeated = run_virtual("sh", "-c", draw, options=again, cwd=tmp_path)
    assert (repeated.returncode, repeated.stdout) == (1, failed[0].read_text())
    assert (
        repeated.stdout.startswith("2026-01-01") and f"again: flightpath virtual {' '.join(again)} " in repeated.stderr
    )
    assert len({file.read_text() for file in failed}) == len(failed)


def test_numbers_are_those_of_the_seed_in_each_folder_and_whatever_is_kept(tmp_path):
    deeper = tmp_path / "a" / "b"
    deeper.mkdir(parents=True)
    ways = [("--discard",), (), ("--results", str(tmp_path)), ("--results", str(deeper / "new"))]
    drawn = {
        run_virtual("head", "-c", "12", "/proc/sys/kernel/random/uuid", options=way, cwd=folder).stdout
        for folder, way in itertools.product((tmp_path, deeper), ways)
    }
    assert len(drawn) == 1 and re.fullmatch("[-0-9a-f]{12}", drawn.pop())


@pytest.mark.parametrize(("options", "finds"), [nightly((), False), (("--jitter", "500us"), True)])
def test_a_lost_wake_up_is_found_with_jitter_only(tmp_path, options, finds):
    compiled = tmp_path / "race"
    subprocess.run(["cc", "-pthread", "-o", compiled, Path(__file__).with_name("lost_wake_up.c")], check=True)
    done = run_virtual(str(compiled), options=("--seeds", "1-20", *options), cwd=tmp_path)
    assert (done.returncode == 1) is finds, done.stdout
    assert ("x exit code 9: the wake-up was lost" in done.stdout) is finds


def test_date_and_machine_of_the_build_are_not_in_the_kernel_and_so_not_in_its_random_numbers():
    version, date = kernel.IDENTITY["KBUILD_BUILD_VERSION"], kernel.IDENTITY["KBUILD_BUILD_TIMESTAMP"]
    assert run_virtual("uname", "-v").stdout == f"#{version} {date}\n"


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
    assert done.stdout == run_virtual(*draw, options=("--seed", "1"), cwd=tmp_path).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_its_numbers_are_those_of_the_seed_whatever_the_host_notes_in_its_run_folder():
    notes = "mkdir -p /run/mount /run/systemd/system; touch /run/mount/utab /run/systemd/systemd-units-load"
    numbers = set()
    for noted in (":", notes):
        host = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs run /run; {noted}; exec "$@"', "sh"]
        numbers.add(finished([*host, *VIRTUAL, "--", "cat", "/proc/sys/kernel/random/uuid"], cwd=PROJECT).stdout)
    assert len(numbers) == 1 and re.fullmatch("[-0-9a-f]{36}\n", numbers.pop())
