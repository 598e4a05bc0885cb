"""Examples in the documents run as they stand there: Python, and command blocks that are marked `<!-- run -->`."""

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from execution.placement import has_uml_kernel
from flightpath.project import PROJECT
from tests.support.finished import finished


def python_in(document: str) -> list[str]:
    """The blocks of Python in a document."""
    return re.findall(r"```python\n(.*?)```", (PROJECT / document).read_text(), re.DOTALL)


def commands_in(document: Path) -> list[str]:
    """The commands of the marked blocks of a document, without comments."""
    blocks = re.findall(r"<!-- run -->\n```sh\n(.*?)```", document.read_text(), re.DOTALL)
    return [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]


MARKED = sorted(file for file in [*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md")] if commands_in(file))


def printed(code: str, folder: Path) -> str:
    file = folder / "measure.py"
    file.write_text(code)
    done = finished([sys.executable, str(file)], cwd=folder, env={**os.environ, "PYTHONPATH": str(PROJECT)})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.nightly
@pytest.mark.starts_kernels
@pytest.mark.parametrize("document", MARKED, ids=lambda file: file.name)
def test_marked_commands_run_in_their_order(document, tmp_path):
    if any("--clock virtual" in command for command in commands_in(document)) and not has_uml_kernel():
        pytest.skip("needs the virtual-time kernel: make uml-kernel")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for command in commands_in(document):
        done = finished(shlex.split(command), cwd=tmp_path, env={**os.environ, "PATH": path})
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        assert done.stdout


@pytest.mark.nightly
@pytest.mark.starts_kernels
@pytest.mark.timeout(300)
def test_the_scripts_of_the_document_on_python_run(tmp_path):
    measured, loaded, network, inner_parts = python_in("docs/python.md")
    (large,) = python_in("docs/large-networks.md")
    if has_uml_kernel():
        assert printed(measured, tmp_path).startswith("faithful\n")
        assert "16 hosts, 48 links" in (text := printed(large, tmp_path)) and " 0% packet loss" in text
        assert "multipath_unequal" in (text := printed(loaded, tmp_path)) and "share_of_sum.png" in text
    assert "3 received" in (text := printed(network, tmp_path)) and "<!DOCTYPE HTML>" in text
    assert "3 received" in (text := printed(inner_parts, tmp_path)) and "'rate_bps': 10000000" in text


def test_the_example_in_the_readme_is_one_of_the_examples():
    (example,) = python_in("README.md")
    assert example == (PROJECT / "examples" / "measure_a_network.py").read_text()
