"""Programs that probes run in hosts, with this machine as the host."""

import subprocess

import pytest

from flightpath.errors import MeasurementFailed
from flightpath.hosts import await_end, running


class ThisMachine:
    name = "here"

    def popen(self, *args, **kwargs):
        return subprocess.Popen(*args, **kwargs)


def nothing() -> None:
    pass


def test_both_outputs_are_kept():
    with running(ThisMachine(), ["sh", "-c", "echo out; echo err >&2"]) as process:
        assert await_end(process, 10, nothing, "too late") == ("out\n", "err\n")


def test_what_takes_too_long_is_an_error_and_ends():
    with pytest.raises(MeasurementFailed, match="too late"), running(ThisMachine(), ["sleep", "600"]) as process:
        await_end(process, 0.3, nothing, "too late")

    assert process.returncode == -9


def test_what_the_watch_raises_ends_the_program():
    def watch() -> None:
        raise MeasurementFailed("a link is gone")

    with pytest.raises(MeasurementFailed, match="a link is gone"), running(ThisMachine(), ["sleep", "600"]) as process:
        await_end(process, 10, watch, "too late")

    assert process.returncode == -9
