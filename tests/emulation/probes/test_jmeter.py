"""A real JMeter against a small real web server, both in a network namespace of their own."""

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from flightpath.errors import MeasurementFailed
from flightpath.project import PROJECT
from flightpath.tcp_info import subflows
from probes.jmeter.classes import is_usable
from probes.jmeter.install import CLASSES, HOME, is_installed, java_command
from probes.jmeter.probe import JMeterLoad, LoadProgress, LoadRun
from tests.support.namespace_host import NamespaceHost
from tests.support.process_list import mentioning

PLAN = PROJECT / "scenarios" / "web_load" / "load.jmx"
STUDENTS = 20
LOCAL = "127.0.0.1"
REQUESTS = ("log in", "list of questions", *("question", "save answer") * 8, "submit", "result")
IPPROTO_MPTCP = 262


pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a network namespace"),
    pytest.mark.skipif(
        not is_installed() or shutil.which("mptcpize") is None, reason="needs JMeter and mptcpize: run `make setup`"
    ),
]


class WebServer:
    """Answers as the examination does, except on paths where it is told to misbehave; and counts."""

    def __init__(self, misbehaviour: dict[str, str]) -> None:
        self.misbehaviour = misbehaviour
        self.connections = self.mptcp_connections = 0
        self.requests: list[tuple[str, str, float]] = []
        self.saved: list[tuple[str, int, str]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.mptcp_connections += subflows(writer.get_extra_info("socket")) > 0
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                await self._answer(reader, writer)
        writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        arrived_ms = time.time() * 1000
        method, path, _ = head.split(" ", 2)
        headers = dict(line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if line)
        body = (await reader.readexactly(int(headers.get("content-length", 0)))).decode()
        fields = dict(field.split("=", 1) for field in body.split("&") if field)
        account = fields.get("account") or headers.get("cookie", "").rpartition("student=")[2]
        self.requests.append((method, path, arrived_ms))
        how = self.misbehaviour.get(path, "")
        if how == "silent":
            await asyncio.Event().wait()
        if how in ("reset", "close"):
            if how == "reset":
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            raise ConnectionResetError
        if how == "slow":
            await asyncio.sleep(0.4)
        status = "503 Service Unavailable" if how == "503" else "302 Found" if how == "redirect" else "200 OK"
        page = "Sorry, an error page" if how in ("wrong", "redirect") else self._page(path, account, fields)
        cookie = f"Set-Cookie: student={account}; Path=/\r\n" if path == "/login" else ""
        location = "Location: /\r\n" if how == "redirect" else ""
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\n{cookie}{location}"
            f"Content-Length: {len(page)}\r\n\r\n{page}".encode()
        )
        await writer.drain()

    def _page(self, path: str, account: str, fields: dict[str, str]) -> str:
        if path.endswith("/answer"):
            self.saved.append((account, int(path.split("/")[2]), fields["choice"]))
            return "Answer saved"
        if path.startswith("/questions/"):
            return f"Question {path.split('/')[2]} of 8"
        if path == "/login":
            return f"Welcome, {account}"
        return {"/questions": "List of questions", "/submit": "Examination submitted", "/result": "Your result"}[path]


async def _serve(mptcp: bool, misbehaviour: dict[str, str]) -> None:
    """Serves until stdin ends, then prints what it saw."""
    server = WebServer(misbehaviour)
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP if mptcp else 0)
    listener.bind(("127.0.0.1", 80))
    await asyncio.start_server(server.serve, sock=listener, backlog=1000)
    print("listening", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    print(json.dumps(vars(server)), flush=True)
    os._exit(0)


class Namespace(NamespaceHost):
    """A network namespace with a web server in it; a host as the probe wants one."""

    def __init__(self, misbehaviour: dict[str, str] | None = None, *, mptcp: bool = False) -> None:
        super().__init__()
        serve = [sys.executable, __file__, json.dumps(misbehaviour or {}), *(["--mptcp"] if mptcp else [])]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._server = self.popen(serve, env={**os.environ, "PYTHONPATH": str(PROJECT)}, **pipes)
        assert self._server.stdout.readline() == "listening\n"

    def __exit__(self, *_: object) -> None:
        self._server.kill()
        self._server.communicate()
        super().__exit__()

    def seen(self) -> SimpleNamespace:
        """Ends the server; what it saw: the attributes of `WebServer`."""
        printed, _ = self._server.communicate("")
        return SimpleNamespace(**json.loads(printed))


@pytest.fixture
def load(tmp_path):
    """Makes a load of so many students on the server in the namespace."""

    def make(students: int = STUDENTS, *, heading: bool = False, **changes) -> JMeterLoad:
        accounts = tmp_path / "students.csv"
        lines = [f"student{n},code{n}" for n in range(students)]
        accounts.write_text("\n".join([*(["account,code"] if heading else []), *lines]) + "\n")
        settings = {"threads": students, "ramp_s": 2.0, "pace_s": 0.05, "response_timeout_s": 5.0, **changes}
        return JMeterLoad(plan=PLAN, students_csv=accounts, **settings)

    return make


def due_ms(run: LoadRun) -> list[int]:
    """Times at which all students' requests are due if the first of them arrives when the run says so."""
    zero_ms = int(run.samples.due_ms.min())
    return sorted(zero_ms + student * 100 + k * 50 for student in range(STUDENTS) for k in range(len(REQUESTS)))


def test_every_student_does_twenty_requests_on_one_connection_at_the_pace(load, tmp_path):
    progress: list[LoadProgress] = []
    with Namespace() as host:
        run = load().run(host, LOCAL, folder=tmp_path / "run", watch=progress.append)
        seen = host.seen()

    assert run.samples.ok.all() and len(run.samples) == STUDENTS * len(REQUESTS)
    assert seen.connections == STUDENTS and seen.mptcp_connections == 0
    assert Counter((method, path) for method, path, _ in seen.requests) == {
        ("POST", "/login"): STUDENTS,
        ("GET", "/questions"): STUDENTS,
        **{("GET", f"/questions/{n}"): STUDENTS for n in range(1, 9)},
        **{("POST", f"/questions/{n}/answer"): STUDENTS for n in range(1, 9)},
        ("POST", "/submit"): STUDENTS,
        ("GET", "/result"): STUDENTS,
    }
    assert sorted(run.acknowledged_saves()) == sorted(map(tuple, seen.saved))
    assert {choice for *_, choice in seen.saved} == set("ABCD")

    assert sorted(run.samples.due_ms.tolist()) == due_ms(run)
    # If no request arrives before it is due, then neither does the n-th arrival come before the n-th due time.
    arrived_ms = sorted(arrived for _, _, arrived in seen.requests)
    assert all(arrived >= due - 1 for arrived, due in zip(arrived_ms, due_ms(run), strict=True))

    metrics = run.measurement().metrics
    assert metrics["errors"].value == 0 and metrics["requests"].value == 400 and metrics["cpu_jmeter"].value > 0
    counts = [step.requests for step in progress]
    assert counts == sorted(counts) and 0 < counts[-1] <= 400 and progress[-1].total == 400
    assert any(0 < step.fraction < 1 for step in progress)
    assert (tmp_path / "run" / "jmeter.log").is_file()


def test_a_heading_is_no_student_and_connections_are_of_the_protocol_asked_for(load, tmp_path):
    if not Path("/proc/sys/net/mptcp/enabled").exists():
        pytest.skip("this kernel has no MPTCP")
    with Namespace(mptcp=True) as host:
        run = load(3, heading=True, ramp_s=0.1, mptcp=True).run(host, LOCAL, folder=tmp_path / "run")
        seen = host.seen()
    assert {account for account, _, _ in run.acknowledged_saves()} == {"student0", "student1", "student2"}
    assert run.samples.ok.all() and seen.connections == seen.mptcp_connections == 3


def test_each_kind_of_page_is_checked_and_each_failure_is_an_error_of_its_kind_and_the_student_goes_on(load, tmp_path):
    students = 5
    pages = ("/login", "/questions", "/questions/1", "/questions/1/answer", "/submit", "/result")
    ways = ("silent", "503", "redirect", "reset", "close")
    failing = {f"/questions/{number}": how for number, how in enumerate(ways, start=2)}
    with Namespace(dict.fromkeys(pages, "wrong") | failing) as host:
        # A busy machine answers other requests late, but not that late.
        run = load(students, ramp_s=0.5, response_timeout_s=4.0).run(host, LOCAL, folder=tmp_path / "run")
        seen = host.seen()

    assert len(run.samples) == students * len(REQUESTS) == len(seen.requests)
    kinds = Counter(failure.kind for failure in run.samples.failures)
    assert kinds == {
        "wrong_content": len(pages) * students,
        "response_timeout": students,
        "http_status": 2 * students,
        "connection_reset": students,
        "connection_closed": students,
    }
    assert seen.connections == 4 * students  # a new one after each failure of the connection
    assert run.measurement().metrics["error_rate"].value == pytest.approx(55)
    timeouts = [run.samples.elapsed_ms[f.index] for f in run.samples.failures if f.kind == "response_timeout"]
    assert min(timeouts) >= 4000


def test_a_slow_page_does_not_move_the_schedule(load, tmp_path):
    with Namespace({"/questions/1": "slow"}) as host:
        samples = load(3, ramp_s=0.3).run(host, LOCAL, folder=tmp_path / "run").samples
    of_students = np.lexsort((samples.due_ms, samples.thread)).reshape(3, len(REQUESTS))
    assert (np.diff(samples.due_ms[of_students]) == 50).all()
    # The answer after the slow page was due long before that page had come.
    after_it = of_students[:, REQUESTS.index("question") + 1]
    assert (samples.ended_ms - samples.due_ms)[after_it].min() >= 350


@pytest.mark.virtual
def test_the_schedule_holds_although_somebody_sets_the_time_of_day_all_the_time(load, tmp_path):
    """Before JMeter starts, while it starts, during the load and at its end: an hour back, and forward again."""
    is_over, epoch_s = threading.Event(), time.time() - time.monotonic()

    def set_time() -> None:
        by_s = -3600
        while not is_over.wait(0.1):
            time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + epoch_s + by_s)
            by_s = -3600 - by_s
        time.clock_settime(time.CLOCK_REALTIME, time.monotonic() + epoch_s)

    setting = threading.Thread(target=set_time)
    with Namespace(mptcp=True) as host:
        one = load(mptcp=True)
        began_s = time.monotonic()
        setting.start()
        try:
            time.sleep(0.15)
            run = one.run(host, LOCAL, folder=tmp_path / "run", time_limit_s=60)
        finally:
            is_over.set()
            setting.join()
        assert host.seen().connections == STUDENTS
    assert run.samples.ok.all() and began_s < run.started_at_s < run.ended_at_s < time.monotonic()
    assert sorted(run.samples.due_ms.tolist()) == due_ms(run)
    assert (abs(run.samples.sent_ms - run.samples.due_ms) < 20).all()


def test_nothing_is_left_running_when_the_caller_is_interrupted(load, tmp_path):
    def interrupt(progress: LoadProgress) -> None:
        if progress.requests:
            raise KeyboardInterrupt

    with Namespace() as host:
        with pytest.raises(KeyboardInterrupt):
            load(600, ramp_s=60.0).run(host, LOCAL, folder=tmp_path / "run", watch=interrupt)
        assert mentioning(str(tmp_path / "run")) == []
    assert not list((tmp_path / "run").glob("java-*"))


def test_a_jmeter_that_dies_takes_too_long_or_cannot_read_its_plan_is_a_failure(load, tmp_path):
    broken = tmp_path / "broken.jmx"
    broken.write_text("<jmeterTestPlan")
    with Namespace() as host:

        def kill(progress: LoadProgress) -> None:
            if progress.requests:
                (java,) = mentioning(str(tmp_path / "died"))
                os.kill(java, signal.SIGKILL)

        with pytest.raises(MeasurementFailed, match="ended by SIGKILL"):
            load().run(host, LOCAL, folder=tmp_path / "died", watch=kill)
        with pytest.raises(MeasurementFailed, match="no end after"):
            load().run(host, LOCAL, folder=tmp_path / "late", time_limit_s=0.5)
        assert mentioning(str(tmp_path / "late")) == []
        with pytest.raises(MeasurementFailed, match="expected the opening tag"):
            replace(load(1), plan=broken).run(host, LOCAL, folder=tmp_path / "run")


def test_java_starts_with_the_archived_classes_at_a_path_that_is_the_same_on_every_machine(sandboxed):
    assert is_usable()

    def in_sandbox():
        command = java_command(HOME)
        assert f"-XX:SharedArchiveFile=/run/flightpath/built/jmeter/{CLASSES}" in command
        assert str(PROJECT) not in " ".join(command)

    sandboxed(in_sandbox)


if __name__ == "__main__":
    asyncio.run(_serve("--mptcp" in sys.argv, json.loads(sys.argv[1])))
