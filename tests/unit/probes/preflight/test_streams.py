"""Streams of an iteration: their processes, when the one that starts them is gone, and the file that they fill."""

import os
import resource
import signal
import sys
import threading
from multiprocessing.forkserver import _forkserver, ensure_running
from pathlib import Path

import pytest

from flightpath.errors import MeasurementFailed
from flightpath.waiting import wait_until
from probes.preflight.transfer.pool import WorkerPool
from probes.preflight.transfer.sinks import FileSink, local_file
from tests.support.finished import finished


def test_the_process_that_starts_streams_is_killed_while_it_starts_one():
    ensure_running()
    starter = _forkserver._forkserver_pid
    os.kill(starter, signal.SIGSTOP)
    asking = Path(f"/proc/self/task/{threading.get_native_id()}/wchan")

    def kill_when_asked() -> None:
        wait_until(lambda: "pipe_read" in asking.read_text(), "the pool to wait for what it has asked for", 30)
        os.kill(starter, signal.SIGKILL)

    threading.Thread(target=kill_when_asked).start()
    with pytest.raises(MeasurementFailed, match="starts the streams has ended"), WorkerPool(["never begins"]) as pool:
        pool.connect()


CONNECT = """
from flightpath.command_line import exit_code_of
from probes.preflight.transfer.pool import WorkerPool
if __name__ == "__main__":
    with WorkerPool([None] * int(__import__("sys").argv[1])) as pool:
        raise SystemExit(exit_code_of(pool.connect))
"""


@pytest.mark.parametrize(
    ("streams", "files", "code", "said"),
    [
        (0, (1024, 1024), 0, ""),
        (64, (128, 1024), 1, "a stream failed unexpectedly: AttributeError"),  # the made-up job, which was started
        (64, (128, 128), 3, "so many streams need 232 open files, and this user may open 128"),
    ],
)
def test_a_long_tmpdir_and_a_low_limit_of_open_files_are_coped_with_or_explained(tmp_path, streams, files, code, said):
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    (tmp_path / "connect.py").write_text(CONNECT)
    argv, environment = [sys.executable, tmp_path / "connect.py", str(streams)], {**os.environ, "TMPDIR": str(folder)}
    done = finished(argv, env=environment, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, files))
    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert "Traceback" not in done.stderr and list(folder.iterdir()) == []


@pytest.mark.parametrize("nameless", [True, False], ids=["without a name until then", "with another name"])
def test_a_file_gets_its_name_when_it_is_whole(tmp_path, monkeypatch, nameless):
    if not nameless:
        monkeypatch.setattr(os, "O_TMPFILE", 0)  # then open(2) fails as on a file system without such files
    target = tmp_path / "copy"
    with local_file(str(target), 6) as name:
        sink = FileSink(name)
        sink.write(memoryview(b"def"), 3)
        sink.write(memoryview(b"abc"), 0)
        sink.close()
        assert len(list(tmp_path.iterdir())) == (0 if nameless else 1)
    assert target.read_bytes() == b"abcdef"
    with pytest.raises(KeyboardInterrupt), local_file(str(target), 9):
        raise KeyboardInterrupt
    assert target.read_bytes() == b"abcdef"
    assert list(tmp_path.iterdir()) == [target]
