"""Programs that probes run in hosts, with this machine as the host."""

import pytest

from flightpath.errors import MeasurementFailed
from flightpath.hosts import await_end, running
from tests.support.ssh_far_end import LocalHost


def nothing() -> None:
    pass


def test_both_outputs_are_kept():
    with running(LocalHost(), ["sh", "-c", "echo out; echo err >&2"]) as process:
        assert await_end(process, 10, nothing, "too late") == ("out\n", "err\n")


def gone() -> None:
    raise MeasurementFailed("a link is gone")


@pytest.mark.parametrize(("limit_s", "watch", "said"), [(0.3, nothing, "too late"), (10, gone, "a link is gone")])
def test_what_takes_too_long_or_is_watched_to_fail_is_an_error_and_ends(limit_s, watch, said):
    with pytest.raises(MeasurementFailed, match=said), running(LocalHost(), ["sleep", "600"]) as process:
        await_end(process, limit_s, watch, "too late")
    assert process.returncode == -9
