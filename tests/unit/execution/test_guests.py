"""Guests: their shared folders, which go whoever is killed, their processors, and the watch over their clocks."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from execution.guests.shared_folder import shared_folder
from execution.uml import inspection, processors
from execution.uml.inspection import StandstillWatch, Task
from flightpath.errors import MeasurementFailed
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from tests.support.killed import killed_at_end

OWNER = """
from execution.guests.shared_folder import shared_folder
with shared_folder() as folder:
    (folder / "file").touch()
    print(folder, flush=True)
    input()
"""


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)  # what this process found before


@contextlib.contextmanager
def owner() -> Iterator[SimpleNamespace]:
    """A process with a shared folder, and the process that removes the folder after it."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with killed_at_end(subprocess.Popen([sys.executable, "-c", OWNER], cwd=PROJECT, **pipes)) as process:
        folder = Path(process.stdout.readline().strip())
        (remover,) = children(process.pid)
        yield SimpleNamespace(process=process, folder=folder, remover=int(remover))


@pytest.mark.parametrize("killed", ["nobody", "owner", "remover"])
def test_it_is_there_while_its_owner_lives_and_gone_afterwards_whoever_is_killed(tmp_path, killed):
    with owner() as one:
        assert one.folder.parent == tmp_path and (one.folder / "file").exists()
        assert not children(one.remover), "the end of a helper would look like the owner's"
        if killed != "nobody":
            os.kill({"owner": one.process.pid, "remover": one.remover}[killed], signal.SIGKILL)
        if killed == "owner":
            wait_until(lambda: not any(tmp_path.iterdir()), "the folder to go", 30)
        else:
            one.process.communicate("\n", timeout=30)  # its normal end
        assert not any(tmp_path.iterdir())


def test_the_next_owner_removes_those_of_owners_that_were_killed_and_no_others(tmp_path):
    with owner() as lives, owner() as dies:
        os.kill(dies.remover, signal.SIGKILL)
        dies.process.kill()
        dies.process.wait()
        assert dies.folder.exists()
        with shared_folder() as folder:
            assert {*tmp_path.iterdir()} == {lives.folder, folder}
        assert {*tmp_path.iterdir()} == {lives.folder}


def test_guests_that_run_at_once_have_processors_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(processors, "_FOLDERS", tmp_path)
    monkeypatch.setattr(processors, "idlest_first", lambda: [3, 1])
    for number in (1, 3):
        (tmp_path / f"cpu{number}").mkdir()
    with processors.taken() as first:
        with processors.taken() as second, processors.taken() as third, processors.taken(1) as wanted:
            assert (first, second, third, wanted) == (3, 1, 3, 1), "the third has to share one"
        with processors.taken() as next_one:
            assert next_one == 1
    monkeypatch.setattr(processors, "_FOLDERS", tmp_path / "none")
    with processors.taken() as without_sys:
        assert without_sys == 3


LIMIT_S = 10.0


class Uml:
    """Stands for a virtual-time kernel: what the watch reads of it, set by the test."""

    def __init__(self) -> None:
        self.real_s = self.computed_s = self.virtual_s = 0.0
        self.task = Task(1, "thread2", "spin", is_idle=False)
        self.virtual_ns = lambda: round(self.virtual_s * 1e9)
        self.running_task = lambda: self.task
        self.processor_s = lambda: {1: 50.0 + self.computed_s / 5, 2: 4 * self.computed_s / 5}
        self.position = {1: "in the kernel", 2: "in its own code"}.__getitem__


@pytest.fixture
def uml(monkeypatch) -> Uml:
    found = Uml()
    monkeypatch.setattr(inspection.time, "monotonic", lambda: found.real_s)
    return found


def pass_time(uml: Uml, watch: StandstillWatch, real_s: float, share: float, virtual_rate: float = 0.0) -> None:
    """Real time, of which the virtual-time kernel gets a share of a processor."""
    for _ in range(round(real_s * 4)):
        uml.real_s, uml.computed_s = uml.real_s + 0.25, uml.computed_s + 0.25 * share
        uml.virtual_s += 0.25 * share * virtual_rate
        watch.check()


def test_a_program_that_computes_for_longer_than_the_limit_is_named_and_has_more_time_on_a_busy_machine(uml):
    watch = StandstillWatch(uml, LIMIT_S)
    pass_time(uml, watch, 9 * LIMIT_S, share=0.1)
    said = r"'spin' computed for 10 s \(thread 'thread2', 8 s in its own code, 2 s in the kernel\)"
    with pytest.raises(MeasurementFailed, match=said):
        pass_time(uml, watch, 3 * LIMIT_S, share=0.1)


def test_a_clock_that_moves_and_a_kernel_without_work_are_left_alone(uml):
    watch = StandstillWatch(uml, LIMIT_S)
    pass_time(uml, watch, 5 * LIMIT_S, share=1.0, virtual_rate=0.2)
    uml.task = Task(0, "swapper", "swapper", is_idle=True)
    pass_time(uml, watch, 5 * LIMIT_S, share=1.0)


def test_a_copy_of_a_function_that_the_compiler_made_has_the_name_in_the_source(tmp_path):
    symbols = tmp_path / "System.map"
    symbols.write_text("10 T first\n20 t second.isra.0\n28 d data\n30 t third.part.0.cold\n40 T last\n")
    assert inspection._functions_at(symbols, [0x34, 0x21, 0x22, 0x5, 0x50]) == ["third", "second"]
