"""The processes of an iteration's streams, when the process that starts them is gone."""

import os
import signal
import threading
from multiprocessing.forkserver import _forkserver, ensure_running

import pytest

from flightpath.errors import MeasurementFailed
from probes.preflight.transfer.pool import WorkerPool


def test_the_process_that_starts_streams_is_killed_while_it_starts_one():
    ensure_running()
    starter = _forkserver._forkserver_pid
    os.kill(starter, signal.SIGSTOP)
    threading.Timer(0.5, os.kill, [starter, signal.SIGKILL]).start()

    with (
        pytest.raises(MeasurementFailed, match="the process that starts the streams has ended"),
        WorkerPool(["a job that never begins"]) as pool,
    ):
        pool.connect()
