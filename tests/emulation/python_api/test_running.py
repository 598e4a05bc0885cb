"""Scenarios from Python: the run that comes back, errors, warnings, Ctrl-C, and the end of the user's process."""

import os
import platform
import shutil
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path

import pytest

import flightpath
from experiments import catalogue
from experiments.plan import Plan
from flightpath.errors import MissingCapability, UntrustworthyWarning, UsageError
from flightpath.processes import descendants
from flightpath.project import PROJECT
from flightpath.waiting import wait_until
from python_api.options import words_for
from results.records import CellResult, Certificate, Measurement, Metric, RunStatus, Verdict
from results.store.store import Store
from scenarios.command import runner
from scenarios.command.options import request_from

CHOSEN = {"repeat": 1, "seconds": 2, "only": {"transport": "mptcp", "paths": "equal"}}


def stored_cells(folder, *verdicts: Verdict) -> str:
    """A run whose cells have been measured already, with these verdicts."""
    scenario = catalogue.find("multipath_unequal")
    words = words_for(scenario, {**CHOSEN, "repeat": len(verdicts), "clock": "real"})
    plan: Plan = runner.requested_plan(scenario, request_from(scenario, words))
    store = Store.open(folder)
    run_id = store.begin_run(scenario.name, plan.as_json(), {"host": platform.node()}, ["x"])
    for order, (cell, verdict) in enumerate(zip(plan.cells(), verdicts, strict=True)):
        measured = Measurement({"goodput": Metric(9e7, "bit/s")})
        store.record(run_id, CellResult(cell, measured, Certificate(verdict, ("as made up",))), order)
    store.finish_run(run_id, RunStatus.INTERRUPTED)
    return run_id


@pytest.mark.starts_kernels
def test_a_scenario_is_measured_and_comes_back_with_its_frames(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results.py").write_text("raise ImportError('the folder of the user came first')")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as the kernel of a notebook does
    run = flightpath.run("multipath_unequal", clock="virtual", **CHOSEN)
    assert run.folder.parent == tmp_path / "results" / "runs"
    assert list(run.cells.transport) == ["mptcp"] and run.cells.goodput[1] > 50e6 and run.verdict is Verdict.FAITHFUL
    assert run.series.query("name == 'goodput'").value.max() > 50e6
    assert set(run.claims.verdict) == {"not tested here"}
    assert run.figures() and flightpath.load().run_id == run.run_id
    progress = capfd.readouterr().err
    assert "[1/1] transport=mptcp paths=equal #1: done" in progress and "\x1b" not in progress


def test_an_experiment_file_is_measured_too(tmp_path):
    file = Path(shutil.copy(PROJECT / "tests/data/one_ping.toml", tmp_path / "one ping.toml"))
    run = flightpath.run(file, clock="real", repeat=1, results=tmp_path)
    assert list(run.cells.packets) == [1]
    with pytest.raises(UsageError, match=r"nowhere\.toml"):
        flightpath.run(tmp_path / "nowhere.toml", results=tmp_path)


def test_unusable_cells_are_a_warning_and_good_ones_none_and_the_run_comes_back(tmp_path):
    run_id = stored_cells(tmp_path, Verdict.UNUSABLE)
    with pytest.warns(UntrustworthyWarning, match="some cells are unusable") as caught:
        run = flightpath.run("multipath_unequal", resume="latest", results=tmp_path, progress=False)
    ours = [each.filename for each in caught if each.category is UntrustworthyWarning]  # eventlet warns of each fork
    assert ours == [__file__]
    assert (run.run_id, run.verdict, run.cells.reasons[1]) == (run_id, Verdict.UNUSABLE, "as made up")

    run_id = stored_cells(tmp_path / "good", Verdict.FAITHFUL, Verdict.DEGRADED)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UntrustworthyWarning)
        run = flightpath.run("multipath_unequal", resume=run_id[:20], results=tmp_path / "good")
    assert (run.verdict, len(run.cells), run.status) == (Verdict.DEGRADED, 2, RunStatus.DONE)


def test_what_the_command_says_is_the_error(tmp_path):
    with pytest.raises(UsageError, match=r"there is no store|has no runs|no run") as error:
        flightpath.run("multipath_unequal", resume="yesterday", results=tmp_path / "none")
    assert "error:" not in str(error.value)
    with pytest.raises(MissingCapability) as missing:
        flightpath.run("multipath_unequal", store="postgresql://nobody@127.0.0.1:1/x", results=tmp_path, clock="real")
    assert missing.value.args[0] and "Traceback" not in str(missing.value)


USER = """
    import flightpath
    try:
        flightpath.run("multipath_unequal", clock="real", form="full", results="runs")
    except KeyboardInterrupt:
        print(flightpath.load(results="runs").status, flush=True)
"""


@pytest.mark.parametrize(("number", "printed"), [(signal.SIGINT, "interrupted\n"), (signal.SIGKILL, "")])
def test_ctrl_c_and_the_end_of_the_users_process_end_the_scenario(tmp_path, number, printed):
    script = tmp_path / "user.py"
    script.write_text(textwrap.dedent(USER))
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True, "start_new_session": True}
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    user = subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, env=environment, **pipes)
    wait_until(lambda: any("relay" in it.command_line for it in descendants(user.pid)), "the first cell", 60)
    processes = descendants(user.pid)
    user.send_signal(number)
    assert user.communicate(timeout=40)[0] == printed
    wait_until(lambda: not any(it.is_alive() for it in processes), "the end of all processes", 40)
    assert flightpath.load(results=tmp_path / "runs").status is RunStatus.INTERRUPTED
