"""The command `flightpath`: one name for all commands, from any folder, with completion of its words."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flightpath.cli import main
from results.store.store import Store
from tests.support.finished import finished

FLIGHTPATH = Path(sys.executable).with_name("flightpath")
SCENARIO = "mptcp_load"
FULL = b"error: cannot use the output, or a file: No space left on device\n"


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return finished([FLIGHTPATH, *words], cwd=folder, env={**os.environ, **environment})


def completed(line: str, **environment: str) -> list[str]:
    """Words that a shell would offer after the line, as argcomplete's own shell code asks."""
    asking = {"_ARGCOMPLETE": "1", "COMP_LINE": line, "COMP_POINT": str(len(line)), "_ARGCOMPLETE_IFS": " "}
    script = f"exec 8>&1 9>&2 >/dev/null; exec {FLIGHTPATH}"
    told = finished(["bash", "-c", script], env={**os.environ, **environment, **asking})
    assert told.returncode == 0, told.stderr
    return told.stdout.split()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["rnu"], "did you mean 'run'?"),
        (["run", "mptcp_laod"], f"did you mean '{SCENARIO}'?"),
        (["run", SCENARIO, "--dry-run", "--only", "load=7"], "load"),
        ([], "usage: flightpath"),
    ],
)
def test_what_is_wrong_is_told_with_exit_code_2(capsys, words, said):
    try:
        code = main(words)
    except SystemExit as ended:
        code = ended.code
    told = capsys.readouterr()
    assert (code, told.out) == (2, "")
    assert said in told.err


def test_what_stdout_cannot_encode_is_escaped(tmp_path):
    told = run(tmp_path, "run", SCENARIO, "--help", PYTHONIOENCODING="latin-1")
    assert told.returncode == 0 and "\\u2026" in told.stdout, told.stderr
    started = run(tmp_path, "lab", "start", "9", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert started.returncode == 0 and "══" in (tmp_path / "lab09_load/README.md").read_text("utf-8"), started.stderr


@pytest.mark.parametrize(("where", "code", "said"), [("<&- >&-", 0, b""), ("> /dev/full", 1, FULL)])
def test_a_stdout_that_is_closed_or_full_ends_in_no_traceback(tmp_path, where, code, said):
    argv = ["sh", "-c", f'exec "$0" lab list {where}', FLIGHTPATH]
    done = subprocess.run(argv, cwd=tmp_path, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (code, said)


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("flightpath res", "results"),
        ("flightpath run mptcp_l", SCENARIO),
        (f"flightpath run {SCENARIO} --clock vir", "virtual"),
        ("flightpath results comp", "compare"),
    ],
)
def test_a_shell_completes_commands_scenarios_options_and_values(line, offered, tmp_path):
    """The second time from memory: no module of the command is loaded."""
    for _ in range(2):
        assert completed(line, XDG_CACHE_HOME=str(tmp_path)) == [offered]


def test_a_shell_completes_runs_labs_and_topologies_and_loads_no_command_for_it(tmp_path):
    runs = [Store.open(tmp_path / "runs").begin_run("s", {}, {}, "x") for _ in range(2)]
    asking = {"XDG_CACHE_HOME": str(tmp_path)}
    assert completed(f"flightpath results show --results {tmp_path / 'runs'} 2", **asking) == runs[::-1]
    assert completed("flightpath lab start cont", **asking) == ["control"]
    assert completed("flightpath mn --topo fab", **asking) == ["fabric"]
    assert completed("flightpath preflight check --target-t", **asking) == ["--target-time"]
    kept = sorted(file.stem for file in tmp_path.glob("flightpath/completion/*.json"))
    assert kept == ["lab", "preflight-check", "results"]
    for file in tmp_path.glob("flightpath/completion/*.json"):  # what it offers is what it remembers
        file.write_text(file.read_text().replace('"--metrics"', '"--remembered"'))
    assert completed("flightpath results show --rem", **asking) == ["--remembered"]


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_the_code_for_a_shell_names_the_command(tmp_path, shell):
    assert "flightpath" in run(tmp_path, "completion", shell).stdout
