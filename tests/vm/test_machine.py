"""The VM itself: what a command sees and leaves behind, and that nothing outlives it."""

import os
import signal
import subprocess
import sys

import pytest

from execution.vm import kernels, virtual_machine
from flightpath.errors import FlightpathError
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from tests.support.finished import finished
from tests.support.killed import killed_at_end
from tests.support.process_list import mentioning

RUN = [sys.executable, "-m", "execution", "vm"]
pytestmark = pytest.mark.timeout(300)


@pytest.fixture(autouse=True, scope="module")
def kernel() -> kernels.Kernel:
    """The one that `make vm-setup` unpacked; it is not part of `make setup`."""
    try:
        virtual_machine._program("virtme-run")
        return kernels.find()
    except FlightpathError as error:
        pytest.skip(f"{str(error).splitlines()[0]}: make vm-setup")


def test_results_stay_and_nothing_else_and_the_exit_code_is_the_commands(tmp_path, kernel):
    results, elsewhere = tmp_path / "results", tmp_path / "elsewhere"
    script = 'uname -r; echo "$1" | tee "$2/kept" > "$3"; cat "$3"; exit 7'
    done = finished(
        [*RUN, "--results", str(results), "--", "sh", "-c", script, "sh", "it's  two", str(results), str(elsewhere)]
    )
    assert done.returncode == 7, done.stderr
    assert done.stdout == f"{kernel.version}\nit's  two\n"
    assert (results / "kept").read_text() == "it's  two\n"
    assert not elsewhere.exists(), "what the command wrote there was to be gone with the VM"


@pytest.mark.parametrize("how", ["time limit", "ctrl-c"])
def test_a_vm_that_goes_on_is_ended(tmp_path, how):
    results = tmp_path / "results"
    limit = ["--time-limit", "5"] if how == "time limit" else []
    command = [*RUN, *limit, "--results", str(results), "--", "sh", "-c", f"touch {results}/begun; sleep 600"]

    def still_going() -> None:
        assert process.poll() is None, process.communicate()[1]

    with killed_at_end(subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE, text=True)) as process:
        wait_until((results / "begun").exists, "the command to begin", 180, check=still_going)
        assert mentioning("qemu", str(results))
        if how == "ctrl-c":
            os.kill(process.pid, signal.SIGINT)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == (130 if how == "ctrl-c" else 1)
    assert "had not ended after 5 s" in said or how == "ctrl-c"
    wait_until(lambda: not mentioning("qemu", str(results)), "the end of the VM", 10)
