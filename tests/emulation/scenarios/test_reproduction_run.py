"""A part of the reproduction record, really measured: interrupted, resumed, and written."""

import signal
import subprocess
import sys

import pytest

from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from results.records import RunStatus, Verdict
from results.store.run_lock import RunLock
from results.store.store import Store
from scenarios.reproduction import writing
from scenarios.reproduction.measuring import measure
from scenarios.reproduction.progress import Next, state_of
from scenarios.reproduction.record import newest_evidence
from tests.support.reproduction_runs import CHEAPEST
from tests.support.rings import nightly
from tests.support.uml import uml_kernels

pytestmark = pytest.mark.starts_kernels

MEASURE = """
import sys
from pathlib import Path
from flightpath.command_line import sigterm_as_interrupt, exit_code_of
from scenarios.reproduction.measuring import measure
from scenarios.reproduction.progress import state_of
from tests.support.reproduction_runs import CHEAPEST
sigterm_as_interrupt()
sys.exit(exit_code_of(lambda: measure([state_of(CHEAPEST, None)], Path(sys.argv[1]), 1)))
"""


@pytest.mark.parametrize("ended_by", [signal.SIGTERM, nightly(signal.SIGKILL)])
def test_a_part_that_was_ended_goes_on_where_it_was(tmp_path, ended_by):
    folder = tmp_path / "store"
    store = Store.open(folder)
    measuring = [sys.executable, "-c", MEASURE, str(folder)]
    # A shell lets what it starts with `&` ignore Ctrl-C, and all below it inherits that.
    process = subprocess.Popen(measuring, cwd=PROJECT, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))

    def is_first_kept() -> bool:
        assert process.poll() is None
        return any(sum(counts.values()) for counts in store.cell_counts().values())

    wait_until(is_first_kept, "the first cell", 400)  # of a kernel that computes, on a machine with other work
    process.send_signal(ended_by)
    assert process.wait(60) == (130 if ended_by is signal.SIGTERM else -signal.SIGKILL)
    wait_until(lambda: not uml_kernels(folder), "the end of the virtual-time kernels", 60)
    (interrupted,) = store.runs()
    # After SIGKILL what measures ends by itself, a little later than its kernels; until then it holds the run.
    wait_until(lambda: not RunLock.is_held(folder / interrupted.run_id), "the end of what measured", 60)
    assert state_of(CHEAPEST, store).next is Next.RESUME
    before = store.cells(interrupted.run_id)
    assert len(before) == 1

    assert measure([state_of(CHEAPEST, store)], folder, 2) == 0
    state = state_of(CHEAPEST, store)
    assert (state.next, state.cells, state.record.run_id) == (Next.NOTHING, 2, interrupted.run_id)
    assert [record.status for record in store.runs()] == [RunStatus.DONE]
    after = store.cells(interrupted.run_id)
    assert after[:1] == before
    assert {cell.certificate.verdict for cell in after} == {Verdict.FAITHFUL}

    files = writing.write(newest_evidence([CHEAPEST], store), store, folder, [CHEAPEST.name])
    assert all(file.stat().st_size > 500 for file in files)
    assert "2 of 2 cells; faithful (2 cells); virtual time" in files[1].read_text()
