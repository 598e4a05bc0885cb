"""A real sshd on loopback, and the command that measures the way to it."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from flightpath.processes import descendants, family
from flightpath.project import PROJECT
from probes.preflight.__main__ import main
from services.sshd import Sshd
from tests.support.ports import ADDRESS, free_port
from tests.support.terminal import Terminal


class LocalHost:
    """This machine as a host of services."""

    name = "local"

    def popen(self, *args, **kwargs):
        return subprocess.Popen(*args, **{**kwargs, "start_new_session": True})


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    printed: str
    said: str

    @property
    def found(self):
        """The measurement, whether the path or this machine (exit code 4), which may be busy, was its limit."""
        assert self.code in (0, 4), self.said
        return json.loads(self.printed)["measurement"]

    def error(self, code=1):
        """Error output of a failed command: it says what is wrong, and has no traceback."""
        assert (self.code, self.printed) == (code, ""), self.said
        assert re.match(r"error: \S", self.said) and "Traceback" not in self.said, self.said
        return self.said


class ServerAndCommand:
    """A server with its files, and the command that measures the way to it, which a subclass runs."""

    def __init__(self, server, folder):
        self.server, self.folder = server, folder
        self.files, self.memory = server.files, folder / "memory"

    def make(self, name, size):
        """A file to be transferred, which takes no space."""
        path = self.files / name
        path.touch()
        os.truncate(path, size)
        return self.server.give(path)

    def measured(self, *arguments, **named):
        """The measurement of a command that succeeds, in this process."""
        return self.run(*arguments, **named).found

    def refused(self, *arguments, code=1, **named):
        """Error output of a command that fails in this process."""
        return self.run(*arguments, **named).error(code)


class FarEnd(ServerAndCommand):
    """An sshd with its files, and the command that measures the way to it."""

    @property
    def sshd(self):
        return self.server

    def left(self):
        """Files that probes left at the far end."""
        return sorted(path.name for path in self.files.iterdir() if path.name.startswith(".flightpath"))

    def sessions(self):
        """The server's processes besides the one that listens."""
        return [each for each in family(self.sshd.pid) if each.pid != self.sshd.pid]

    def _words(self, *arguments, target="dtn", files=()):
        where = ["-F", str(self.sshd.client_configuration), "--no-route", "--json", "--batch"]
        kept = [] if "--forget" in arguments else ["--results", str(self.memory)]
        return [*where, *kept, *arguments, "--", target, *files]

    def start(self, *arguments, environment=None, prefix=(), **named):
        """Starts the command in a process of its own, as argument of another command if there is a prefix."""
        argv = [*prefix, sys.executable, "-m", "probes.preflight", *self._words(*arguments, **named)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        env = {**os.environ, **(environment or {})}
        return subprocess.Popen(argv, cwd=PROJECT, env=env, start_new_session=True, **streams)

    def run(self, *arguments, file=None, **named):
        """Runs the command in this process; not in a sandbox, since the processes of its streams would be outside."""
        return in_this_process(self._words(*arguments, files=() if file is None else (file,), **named))

    def configured(self, folder, *changes):
        """Options that name a client's configuration with other texts."""
        text = self.sshd.client_configuration.read_text()
        for before, after in changes:
            assert str(before) in text
            text = text.replace(str(before), str(after))
        file = folder / "config"
        file.write_text(text)
        return ["-F", str(file), "--size", "1MB"]

    def stored(self):
        """Number of stored measurements."""
        done = in_this_process(["history", "dtn", "--json", "--results", str(self.memory)])
        if done.code == 2 and "no measurement" in done.said:
            return 0
        assert done.code == 0, done.said
        return len(json.loads(done.printed)["measurements"])


def in_this_process(words):
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        code = main(words)
    return Done(code, printed.getvalue(), said.getvalue())


def finish(process, limit_s=60):
    """Waits for a command; one that hangs is ended, and fails."""
    try:
        printed, said = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Done(process.returncode, printed, said)


def on_terminal(argv, question, *answers):
    """Runs a command on a terminal, and answers the question each time; returns its exit code, and all it showed."""
    shown = ""
    with Terminal(argv) as terminal:
        for answer in answers:
            shown += terminal.read_until(question)
            terminal.type(f"{answer}\n")
        shown += terminal.read_to_end()
        return terminal.exit_code(), shown


@contextmanager
def far_end(address=ADDRESS, **settings) -> Iterator[FarEnd]:
    with tempfile.TemporaryDirectory(prefix="preflight-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the server's user must pass
        with Sshd(LocalHost(), address, folder / "ssh", port=free_port(), settings=settings) as sshd:
            yield FarEnd(sshd, folder)


def transferring(end):
    """The server's processes with a file open for transfer: none of the first connection, which only makes the file."""
    connections = [each for each in end.sessions() if each.parent == end.sshd.pid]
    if len(connections) < 2:
        return []
    first = min(connections, key=lambda each: (each.started, each.pid))
    making = {each.pid for each in descendants(first.pid)}
    others = [each for each in end.sessions() if each.pid not in making]
    return [each for each in others if any(str(end.files) in held for held in _open_files(each.pid))]


def _open_files(pid):
    with contextlib.suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                yield str(entry.readlink())


@contextmanager
def stopped(processes):
    """These processes do not run during the block."""
    for each in processes:
        os.kill(each.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for each in processes:
            if each.is_alive():
                os.kill(each.pid, signal.SIGCONT)
