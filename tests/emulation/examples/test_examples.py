"""The scripts and the notebook in examples/ run as they stand there."""

import os
import sys

import nbformat
import pytest
from nbclient import NotebookClient

from flightpath.project import PROJECT
from tests.support.finished import finished
from tests.support.rings import nightly

EXAMPLES = PROJECT / "examples"
IN_VIRTUAL_TIME = [pytest.mark.nightly, pytest.mark.starts_kernels]
SCRIPTS = [
    pytest.param("measure_a_network.py", ("round trip", "Mbit/s", "the testbed")),
    pytest.param("compare_tcp_and_mptcp.py", ("goodput in bit/s", "MPTCP is 1.9"), marks=IN_VIRTUAL_TIME),
    nightly("your_own_topology.py", ("Mbit/s alone", "10Mbit, 10ms, queue 100p")),
]
pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize(("name", "printed"), SCRIPTS)
def test_a_script_runs_and_prints_what_it_found(name, printed, tmp_path):
    done = finished([sys.executable, EXAMPLES / name], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(PROJECT)})
    assert done.returncode == 0, done.stderr
    assert all(words in done.stdout for words in printed), done.stdout


def test_each_example_is_tested():
    """The file of containerlab is one of unit/scenarios/test_importing.py, the networks those of test_networks.py."""
    others = ("first_steps.ipynb", "routers.clab.yml", "networks", "__pycache__")
    assert {file.name for file in EXAMPLES.iterdir()} <= {*others, *(script.values[0] for script in SCRIPTS)}


@pytest.mark.nightly
@pytest.mark.starts_kernels
def test_the_notebook_runs_from_its_first_cell_to_its_last(tmp_path, monkeypatch):
    file = EXAMPLES / "first_steps.ipynb"
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("JUPYTER_PATH", f"{sys.prefix}/share/jupyter")
    notebook = nbformat.read(file, as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "commit it without outputs"
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": tmp_path}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    kinds = [kind for output in outputs for kind in output.get("data", ())]
    assert kinds.count("image/png") == 2 and kinds.count("text/html") >= 3
    texts = [output.get("text", "") for output in outputs]
    assert not any("\x1b" in text or "Traceback" in text for text in texts)
    assert any("3 received" in text for text in texts)
    assert "'faithful'" in str(outputs[-1]) or "'degraded'" in str(outputs[-1]) or "'unusable'" in str(outputs[-1])
