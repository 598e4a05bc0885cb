"""Commands in the virtual-time kernel: what they leave behind, what is refused, and that nothing outlives them."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from execution.uml import kernel
from execution.uml.inspection import KernelMemory
from execution.uml.uml import UserModeLinux
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from tests.support.finished import finished
from tests.support.killed import killed_at_end
from tests.support.ordinary_user import UID, dropped, results_of_ordinary_user
from tests.support.process_list import mentioning
from tests.support.rings import nightly
from tests.support.uml import VIRTUAL, run_virtual, shared_folder, uml_kernels

pytestmark = pytest.mark.starts_kernels

NAT_IN_A_NAMESPACE_THAT_ENDS = """
ip netns add client && ip link add right type veth peer name left netns client
ip addr add 10.0.0.2/24 dev right && ip link set right up
ip -n client addr add 10.0.0.1/24 dev left && ip -n client addr add 10.0.0.3/24 dev left
ip -n client link set left up && tc -n client qdisc add dev left clsact
set -- protocol ip flower ip_proto tcp action ct
tc -n client filter add dev left egress "$@" commit nat src addr 10.0.0.3 pipe action ok
tc -n client filter add dev left ingress "$@" nat pipe action ok
python3 -c 'import socket; print(socket.create_server(("10.0.0.2", 80)).accept()[1][0], flush=True)' &
sleep 1
ip netns exec client python3 -c 'import socket; socket.create_connection(("10.0.0.2", 80), 5).recv(1)'
ip netns del client && sleep 1 && echo ended
"""

ASKS_FOR_THE_PROCESSOR = """
import ctypes, mmap, os, time
page = mmap.mmap(-1, 8192, mmap.MAP_PRIVATE | mmap.MAP_ANON, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
def run(place, code, returned=ctypes.c_uint):
    page[place : place + len(code) // 2] = bytes.fromhex(code)
    return ctypes.CFUNCTYPE(returned)(ctypes.addressof(ctypes.c_char.from_buffer(page)) + place)()
for place in 0, 64, 4090:  # in a page that was executed already, and across the border of two
    print(run(place, "5331c031c90fa289d85bc3").to_bytes(4, "little").decode(), end=" ")  # CPUID, and its EBX
tsc = "0f3148c1e2204809d0"
waited = run(1024, f"{tsc}488d8840420f00{tsc}4839c872f2c3", ctypes.c_ulong)  # until a million later
print(abs(waited - time.monotonic_ns()) < 99999, end=" ")
os.fork() and os._exit(os.wait()[1] and 1)  # what follows is in a process's copy
print(run(0, "").to_bytes(4, "little").decode(), hex(run(256, "b80fa20fa2c3")), end=" ")  # the bytes as a number
print(hex(run(512, "c70540000000785634128b053a000000c3")))  # writes to the page in which it is
"""


def test_results_stay_and_nothing_else_and_the_exit_code_is_the_commands(tmp_path):
    here, results, elsewhere = tmp_path / "a,ro, b", tmp_path / "results", tmp_path / "elsewhere"
    here.mkdir()
    script = 'cat > made; echo "$1" | tee "$2/kept" > "$3"; cat "$3"; id -u >&2; exit 7'
    words = ("sh", "-c", script, "sh", "it's \udcff two", str(results), str(elsewhere))
    done = run_virtual(*words, options=("--results", str(results)), cwd=here, typed="typed\n" * 100_000)
    assert (done.returncode, done.stdout) == (7, "it's \udcff two\n")
    said = r"0\nvirtual time: [\d.]+ s, in [\d.]+ s; seed 1\nexit code 7; again: flightpath virtual --seed 1 -- sh -c "
    assert re.match(said, done.stderr), done.stderr
    assert (results / "kept").read_bytes() == b"it's \xff two\n"
    assert (here / "made").read_text() == "typed\n" * 100_000
    assert not elsewhere.exists(), "what the command wrote there was to be gone with the virtual-time kernel"


def test_a_folder_is_listed_by_name_and_each_file_once_while_they_are_removed(tmp_path):
    for number in range(3000):  # more than a call lists
        (tmp_path / f"{number:x}").touch()
    script = "import os; print(*os.listdir()); [os.unlink(file) for file in os.scandir()]; print(os.listdir())"
    done = run_virtual("sh", "-c", 'python3 -c "$0"; dmesg | grep -c "page dumped"', script, cwd=tmp_path)
    assert done.stdout.splitlines() == [" ".join(sorted(f"{it:x}" for it in range(3000))), "[]", "0"], done.stderr


@pytest.mark.parametrize(
    ("options", "parameter", "vendor"),
    [
        ([], "", "Genu"),
        ([], "search-for-cpuid", "Genu"),  # as on a processor that cannot let CPUID fault
        (["--host-cpu"], "", re.search(r"vendor_id\s*: (.{4})", Path("/proc/cpuinfo").read_text())[1]),
    ],
)
def test_programs_see_the_same_processor_on_each_machine(tmp_path, options, parameter, vendor):
    real = kernel.find()
    started = tmp_path / "uml" / real.image.parent.name / real.image.name
    started.parent.mkdir(parents=True)
    started.with_name(real.symbols.name).symlink_to(real.symbols)
    started.write_text(f'#!/bin/sh\nexec {real.image} "$@" {parameter}\n')
    started.chmod(0o755)
    script = '/bin/ld.so --list-diagnostics; java -Xlog:os+cpu -version | grep -c ", avx,"; python3 -c "$0"'
    words = [*VIRTUAL, *options, "--", "sh", "-c", script, ASKS_FOR_THE_PROCESSOR]
    done = finished(words, env={**os.environ, "FLIGHTPATH_CACHE": str(tmp_path)})
    seen = re.findall(r"^x86.cpu_features.(basic.model|isa_1)=(.*)", done.stdout, re.MULTILINE)
    assert (seen == [("basic.model", "0x2c"), ("isa_1", "0x3")]) is (not options) and len(seen) == 2, done
    asked = f"\n{'[01]' if options else 0}\n{f'{vendor} ' * 3}{not options} {vendor} 0xa20fa20f 0x12345678\n$"
    assert re.search(asked, done.stdout), done  # Java asks for AVX with one CPUID after the other


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
@pytest.mark.parametrize(
    ("room_mib", "code", "said"), [(64, 3, "cannot start"), nightly(160, 1, "has ended before the comm")]
)
def test_it_is_said_that_there_is_no_room_for_its_memory(tmp_path, room_mib, code, said):
    small = f'for folder in "$0" /dev/shm; do mount -t tmpfs -o size={room_mib}M tmpfs $folder; done; exec "$@"'
    fill = [*VIRTUAL, "--", "sh", "-c", "head -c 300M /dev/zero > /dev/shm/file"]
    contained = ["unshare", "--mount", "sh", "-c", small, tmp_path]
    done = finished([*contained, *fill], env={**os.environ, "TMPDIR": str(tmp_path)})
    assert done.returncode == code and f"kernel {said}" in done.stderr, done.stderr
    assert f"room for {room_mib}" in done.stderr or f"room for {room_mib - 1}" in done.stderr
    assert "--shm-size" in done.stderr


def test_a_folder_that_the_guest_has_not_is_refused():
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="flightpath-test-") as folder:
        done = finished([*VIRTUAL, "--discard", "--", "true"], cwd=folder)
        assert (done.returncode, folder in done.stderr and "in another folder" in done.stderr) == (2, True), done
        assert finished([*VIRTUAL, "--", "touch", "kept"], cwd=folder).returncode == 0 and Path(folder, "kept").exists()


def test_a_namespace_in_which_tc_translated_tcp_ends():
    done = run_virtual("sh", "-c", NAT_IN_A_NAMESPACE_THAT_ENDS, options=("--standstill-limit", "4"))
    assert (done.returncode, done.stdout) == (0, "10.0.0.3\nended\n"), done.stderr


# In the namespace of a container root's files are nobody's.
@pytest.mark.parametrize("container", [nightly(()), ("unshare", "--user", "--map-current-user", "--net", "--ipc")])
def test_an_ordinary_user_needs_no_privilege(container):
    with results_of_ordinary_user() as results:
        script = f"id -u; touch {results}/kept/made; ip link add type veth; ip -br link | wc -l"
        command = [*VIRTUAL, "--results", str(results / "kept"), "--", "unshare", "-n", "sh", "-c", script]
        image = kernel.find().image
        shutil.copytree(image.parent, results / "cache/lab" / image.parent.name)
        environment = {"FLIGHTPATH_CACHE": str(results / "cache"), "HOME": "/nonexistent", "PATH": os.environ["PATH"]}
        done = finished(dropped(["--no-new-privs", *container, *command]), env=environment)
        assert (done.returncode, done.stdout.split()[0]) == (0, "0"), done.stderr
        assert int(done.stdout.split()[1]) >= 3
        assert (results / "kept/made").stat().st_uid == UID


@pytest.mark.parametrize("how", ["ctrl-c", *map(nightly, ("kill -9", "time limit"))])
def test_a_lab_that_goes_on_is_ended(tmp_path, how):
    results = tmp_path / "results"
    options = ["--results", str(results), *(["--time-limit", "5"] if how == "time limit" else [])]
    # In virtual time a program that computes for ever stops the clock.
    argv = [*VIRTUAL, *options, "--", "sh", "-c", f"touch {results}/begun; while :; do :; done"]
    with killed_at_end(subprocess.Popen(argv, cwd=PROJECT, stderr=subprocess.PIPE, text=True)) as process:
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
