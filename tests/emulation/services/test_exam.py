"""The examination with its real daemons, in a network namespace of its own."""

import html
import http.client
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest

from flightpath.errors import MeasurementFailed, StartFailed
from flightpath.hosts import run_in
from services.exam.credentials import students
from services.exam.service import ExamApplication, ExamService, SavedAnswer
from services.postgres import Postgres
from tests.support.namespace_host import NamespaceHost
from tests.support.process_list import mentioning

ADDRESS = "127.0.0.1"
QUESTIONS = range(1, 9)
STUDENTS = 1500
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


class Browser:
    """One student's browser: a connection that stays open, a cookie, and how much came over the wire."""

    def __init__(self, host, port=80):
        self.socket = host.socket()
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1460)
        self.socket.connect((ADDRESS, port))
        self._http = http.client.HTTPConnection(ADDRESS, port)
        self._http.sock = self.socket
        self.cookie = ""

    def ask(self, method, path, **form):
        """Status and text of a page."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if form else {}
        headers |= {"Cookie": self.cookie} if self.cookie else {}
        self._http.request(method, path, urlencode(form) if form else None, headers)
        answer = self._http.getresponse()
        text = answer.read().decode()
        self.cookie = (answer.getheader("Set-Cookie") or self.cookie).split(";")[0]
        self.answer = answer
        return answer.status, text

    def log_in(self, student):
        return self.ask("POST", "/login", account=student.account, code=student.code)

    def wire_bytes(self):
        """Bytes of all Ethernet frames that came in, computed from the kernel's counts for this connection."""
        info = self.socket.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        received, segments = struct.unpack_from("=Q4xI", info, 128)
        ethernet_ip_tcp = 14 + 20 + 20 + 12
        return received + segments * ethernet_ip_tcp


@contextmanager
def short_folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="flightpath-test-"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="module")
def host() -> Iterator[NamespaceHost]:
    with NamespaceHost() as host:
        yield host


@pytest.fixture
def spare() -> Iterator[NamespaceHost]:
    """A namespace in which nothing runs yet."""
    with NamespaceHost() as host:
        yield host


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that no process uses any more when the test has ended."""
    with short_folder() as path:
        yield path
        assert mentioning(str(path)) == []


@pytest.fixture(scope="module")
def exam(host) -> Iterator[ExamService]:
    with short_folder() as path, ExamService(host, host, ADDRESS, ADDRESS, path / "exam", students=STUDENTS) as service:
        yield service


@pytest.fixture(scope="module")
def fresh_students():
    """Students of the module's service that no other test has used."""
    return iter(students(STUDENTS, seed=1))


def take_the_examination(browser, student, choice):
    """The 20 requests of one student in the load test."""
    pages = [browser.log_in(student), browser.ask("GET", "/questions")]
    for number in QUESTIONS:
        pages.append(browser.ask("GET", f"/questions/{number}"))
        pages.append(browser.ask("POST", f"/questions/{number}/answer", choice=choice))
    return [*pages, browser.ask("POST", "/submit", submit=""), browser.ask("GET", "/result")]


def test_a_whole_session_shows_every_page_and_moves_about_11_kb_a_request(host, exam, fresh_students):
    browsers = [Browser(host) for _ in range(5)]
    answered = [marker for number in QUESTIONS for marker in (f"Question {number} of 8", "Answer saved")]
    for browser in browsers:
        student = next(fresh_students)
        pages = take_the_examination(browser, student, choice="A")
        first = [f"Welcome, {student.account}", "List of questions"]
        markers = [*first, *answered, "Examination submitted", "Your result"]
        assert [status for status, _ in pages] == [200] * 20
        assert [marker for marker, (_, text) in zip(markers, pages, strict=True) if marker not in text] == []
    mean = sum(browser.wire_bytes() for browser in browsers) / (20 * len(browsers))
    assert mean == pytest.approx(11_000, rel=0.05)
    result = pages[-1][1]
    right = len(re.findall(r'<td class="good">A</td><td>A</td>', result))
    assert 0 < right < 8
    assert f"<strong>{right}</strong> of 8 points" in result
    # After the submission answers are final.
    assert browser.ask("POST", "/questions/1/answer", choice="C")[0] == 409
    assert browser.ask("POST", "/submit", submit="")[0] == 200
    assert {saved.choice for saved in exam.saved_answers() if saved.account == student.account} == {"A"}


def test_an_acknowledged_answer_is_in_the_database_once_with_the_last_choice(host, exam, fresh_students):
    browser, student = Browser(host), next(fresh_students)
    browser.log_in(student)
    for choice in "ADC":
        status, text = browser.ask("POST", "/questions/3/answer", choice=choice)
        assert status == 200 and "Answer saved" in text
        assert [saved for saved in exam.saved_answers() if saved.account == student.account] == [
            SavedAnswer(student.account, 3, choice)
        ]
    assert "C, saved" in browser.ask("GET", "/questions")[1]
    assert 'value="C" required checked' in browser.ask("GET", "/questions/3")[1]


@pytest.mark.parametrize(
    ("account", "code"),
    [("student00001", "0" * 32), ("nobody", "0" * 32), ("", ""), ("a\0", "x"), ("<script>alert(1)</script>", "x")],
)
def test_wrong_credentials_are_refused(host, exam, account, code):
    browser = Browser(host)
    status, text = browser.ask("POST", "/login", account=account, code=code)
    assert status == 401 and "Unauthorized" in text and not browser.cookie
    assert f"There is no account {account!r}" in html.unescape(text) and "<script>" not in text


def test_without_a_session_of_its_own_a_browser_is_shown_nothing(host, exam, fresh_students):
    browser = Browser(host)
    assert {browser.ask("GET", path)[0] for path in ("/questions", "/questions/1", "/result")} == {401}
    browser.log_in(next(fresh_students))
    rules = browser.answer.getheader("Set-Cookie")
    assert "HttpOnly" in rules and "SameSite=Strict" in rules
    name, _, value = browser.cookie.partition("=")
    student, rest = value.split(".", 1)
    browser.cookie = f"{name}={int(student) + 1}.{rest}"
    assert browser.ask("GET", "/questions")[0] == 401


@pytest.mark.parametrize(
    ("method", "path", "form", "status"),
    [
        ("GET", "/questions/9", {}, 404),
        ("GET", "/questions/99999999999", {}, 404),
        ("GET", "/questions/one", {}, 404),
        ("GET", "/elsewhere", {}, 404),
        ("POST", "/questions/9/answer", {"choice": "A"}, 404),
        ("POST", "/questions/1/answer", {"choice": "E"}, 422),
        ("POST", "/questions/1/answer", {"other": "A"}, 422),
        ("POST", "/questions/1/answer", {"choice": "A" * 5000}, 413),
        ("POST", "/questions/1/answer", {f"field{n}": "A" for n in range(20)}, 400),
        ("GET", "/questions/1/answer", {}, 405),
        ("GET", "/result", {}, 409),
    ],
)
def test_what_makes_no_sense_gets_an_error_page(host, exam, method, path, form, status):
    browser = Browser(host)
    browser.log_in(list(students(60, seed=1))[-1])
    got, text = browser.ask(method, path, **form)
    assert got == status
    assert "<h1" in text and "Back to the questions" in text


def test_no_answer_is_saved_after_a_submission_that_came_at_the_same_time(host, exam, fresh_students):
    student = next(fresh_students)
    browsers = [Browser(host) for _ in range(9)]
    for browser in browsers:
        browser.log_in(student)

    def act(number):
        path = f"/questions/{number}/answer" if number in QUESTIONS else "/submit"
        return browsers[number].ask("POST", path, choice="D")

    with ThreadPoolExecutor(9) as pool:
        acknowledged = {
            number for number, (status, _) in enumerate(pool.map(act, range(9))) if number and status == 200
        }
    assert {saved.question for saved in exam.saved_answers() if saved.account == student.account} == acknowledged


def test_cpu_time_is_known_per_component_and_none_runs_as_root(exam):
    used = exam.cpu_seconds()
    assert set(used) == {"postgresql", "application", "nginx"}
    assert used["application"] > 0
    pids = mentioning(str(exam.folder))
    assert pids
    for pid in pids:
        assert Path(f"/proc/{pid}/status").read_text().split("Uid:")[1].split()[0] != "0"


def test_many_students_at_once_wait_but_none_is_lost(host, exam):
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    browsers = [Browser(host) for _ in range(STUDENTS)]
    for browser, student in zip(browsers, students(STUDENTS, seed=1), strict=True):
        body = urlencode({"account": student.account, "code": student.code}).encode()
        browser.socket.sendall(b"POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    statuses = [browser.socket.recv(12) for browser in browsers]
    exam.check()
    assert statuses == [b"HTTP/1.1 200"] * STUDENTS


def kill(service, daemon):
    """Kills a part of the examination, which notices it."""
    os.kill(daemon.pid, signal.SIGKILL)
    daemon._process.wait()
    with pytest.raises(MeasurementFailed, match=r"host ended by SIGKILL: .*; its log ends:"):
        service.check()


def test_without_the_database_no_answer_is_acknowledged_and_nothing_stays_behind(spare, folder):
    with ExamService(spare, spare, ADDRESS, ADDRESS, folder / "exam", students=1) as service:
        browser = Browser(spare)
        browser.log_in(next(students(1, seed=1)))
        service.check()
        kill(service, service._postgres)
        status, text = browser.ask("POST", "/questions/1/answer", choice="A")
        assert status == 503 and "Answer saved" not in text
        assert browser.ask("GET", "/healthz")[0] == 503


@pytest.mark.parametrize("component", ["_application", "_nginx"])
def test_the_database_is_asked_over_mptcp_and_a_killed_daemon_is_noticed(spare, folder, component):
    options = {"students": 2, "port": 8081, "mptcp": True}
    with ExamService(spare, spare, ADDRESS, ADDRESS, folder / "exam", **options) as service:
        take_the_examination(Browser(spare, 8081), next(students(2, seed=1)), choice="B")
        counters = run_in(spare, ["nstat", "-asz"])
        kill(service, getattr(service, component))
    value = {name: int(count) for name, count in re.findall(r"^(MPTcp\w+)\s+(\d+)", counters, re.MULTILINE)}
    connections = 6
    assert value["MPTcpExtMPCapableSYNTX"] >= connections
    assert value["MPTcpExtMPCapableSYNACKRX"] >= connections
    assert {name: count for name, count in value.items() if "Fallback" in name and count} == {}


def test_an_application_that_cannot_reach_the_database_says_so_in_a_sentence(spare, folder):
    application = ExamApplication(spare, folder / "application", [f"postgresql://exam@{ADDRESS}/exam?sslmode=disable"])
    with pytest.raises(StartFailed, match=r"cannot connect to the database: .*Connection refused") as caught:
        application.__enter__()
    assert "Traceback" not in str(caught.value)


def test_a_taken_port_is_a_clear_error_and_leaves_nothing(host, exam, folder):
    with pytest.raises(StartFailed, match=r"(?s)PostgreSQL on host .*Address already in use.*port may be taken"):
        ExamService(host, host, ADDRESS, ADDRESS, folder / "exam", students=2, port=8081).__enter__()
    assert not (folder / "exam" / "postgres" / "cluster").exists()


def test_when_nginx_cannot_start_the_others_are_stopped(spare, folder):
    with spare.socket() as taken:
        taken.bind((ADDRESS, 8082))
        taken.listen()
        with pytest.raises(StartFailed, match=r"nginx on host ended with exit code 1"):
            ExamService(spare, spare, ADDRESS, ADDRESS, folder / "exam", students=2, port=8082).__enter__()


def test_a_folder_that_cannot_be_written_is_a_clear_error(spare, folder):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=711", "tmpfs", folder], check=True)
    try:
        with pytest.raises(StartFailed, match=r"(?s)cannot make a PostgreSQL cluster.*No space left"):
            Postgres(spare, ADDRESS, folder / "postgres").__enter__()
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.alone
def test_nothing_of_it_stays_in_system_v_shared_memory(spare):
    with short_folder() as folder, Postgres(spare, ADDRESS, folder / "postgres") as postgres:
        server = postgres.pid
        assert not _segments_of(server)
        os.kill(server, signal.SIGKILL)
    assert not _segments_of(server)


def _segments_of(creator: int) -> list[str]:
    rows = [line.split() for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]]
    return [row[1] for row in rows if int(row[4]) == creator]
