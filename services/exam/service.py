"""The examination system of the paper: PostgreSQL, the application and nginx, started together."""

import csv
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from flightpath.commands import over_mptcp
from flightpath.hosts import Host, endpoint
from flightpath.launcher import python_module
from flightpath.overrides import override
from services.exam import DATABASES, SESSION_KEY
from services.exam.credentials import Student, code_hash, students
from services.exam.questions import Question, paper
from services.exam.weight import PAGE_BYTES, weight_of
from services.nginx import Nginx
from services.postgres import PORT, Postgres
from services.running.daemon import DaemonService
from services.running.http_check import has_page
from services.running.privileges import Privileges, Situation

_SCHEMA = Path(__file__).with_name("schema.sql")
_Host = TypeVar("_Host", bound=Host)
_ROLE = "exam"
_COPY_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})
_ARRAY_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})


@dataclass(frozen=True)
class SavedAnswer:
    """One answer as the database holds it."""

    account: str
    question: int
    choice: str


class ExamApplication(DaemonService):
    """The application (`python -m services.exam`); ready when its health page, which asks the database, can be fetched.

    Args:
        folder: folder for its socket and log; made if it does not exist, and closed to others.
        databases: `postgresql://` URLs with user and password; if there are several, they are addresses of the same
            database, to which connections go in turn.
        mptcp: connect to the database over MPTCP.
        plain: send pages without style sheet, navigation and rules.
    """

    daemon_name, log_name = "the exam application", "exam.log"
    hint = "it needs the database, and the Python packages that `make setup` installs"

    def __init__(
        self, host: Host, folder: Path, databases: Sequence[str], *, mptcp: bool = False, plain: bool = False
    ) -> None:
        super().__init__(host, folder, mptcp=mptcp, privileges=Privileges.detect())
        self._databases, self._plain, self.socket = databases, plain, self.folder / "exam.sock"

    @override
    def _prepare(self) -> None:
        self._privileges.prepare_folder(self.folder)
        self.socket.unlink(missing_ok=True)

    @override
    def _environment(self) -> Mapping[str, str]:
        secret = {DATABASES: " ".join(self._databases), SESSION_KEY: secrets.token_hex(32)}
        return {**secret, "PYTHONDONTWRITEBYTECODE": "1"}

    @override
    def _argv(self) -> list[str]:
        command = python_module("services.exam", "--socket", str(self.socket))
        command += ["--plain"] if self._plain else []
        if self._privileges.situation is Situation.ROOT:
            # It drops root's privileges when all is imported: the project may lie in a home folder closed to others.
            user = ["--uid", str(self._privileges.uid), "--gid", str(self._privileges.gid)]
            return [*over_mptcp(self._mptcp), *command, *user]
        return self._wrapped(*command)

    @override
    def _is_ready(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(5)
                connection.connect(str(self.socket))
                return has_page(connection, "/healthz")
        except OSError:
            return False


class ExamService:
    """PostgreSQL on one host, the application and nginx on another; ready when a page comes through all three.

    Args:
        web_host, database_host: host of nginx and the application (H2), and of PostgreSQL (H3).
        web_address, database_address: H2's address for students, and H3's for the application.
        folder: folder for all files; on a tmpfs, and closed to others than root and the daemons' user.
        more_database_addresses: H3's other addresses; the application's connections go to each in turn, because MPTCP
            sends an answer that fits into one write over the first path of an idle connection.
        students: number of accounts.
        page_bytes: mean size of a response, with all headers (`services.exam.weight`).
        buffering: whether nginx waits for a whole page before it sends it.
        on_listening: callback with the host of each server when it listens and before clients connect, for example to
            set options that accepted connections inherit.
    """

    def __init__(
        self,
        web_host: _Host,
        database_host: _Host,
        web_address: str,
        database_address: str,
        folder: Path,
        *,
        more_database_addresses: Sequence[str] = (),
        students: int = 4000,
        page_bytes: int = PAGE_BYTES,
        buffering: bool = False,
        mptcp: bool = False,
        port: int = 80,
        on_listening: Callable[[_Host], object] = lambda _host: None,
    ) -> None:
        self._web_listens, self._database_listens = (
            partial(on_listening, web_host),
            partial(on_listening, database_host),
        )
        self.folder, self._students, self._password = Path(folder), students, secrets.token_hex(16)
        self._weight = weight_of(page_bytes)
        urls = [
            f"postgresql://{_ROLE}:{self._password}@{endpoint(address, PORT)}/{_ROLE}?sslmode=disable"
            for address in (database_address, *more_database_addresses)
        ]
        self._postgres = Postgres(database_host, database_address, self.folder / "postgres", mptcp=mptcp)
        self._application = ExamApplication(
            web_host, self.folder / "application", urls, mptcp=mptcp, plain=self._weight.plain
        )
        self._nginx = Nginx(
            web_host,
            web_address,
            self.folder / "nginx",
            self._application.socket,
            buffering=buffering,
            port=port,
            mptcp=mptcp,
        )
        self._running = ExitStack()
        self.students_csv = self.folder / "students.csv"
        """File with a line `account,code` per student, and no header."""

    @property
    def url(self) -> str:
        return self._nginx.url

    def __enter__(self) -> Self:
        """Starts the components in the order of their dependencies; if one does not start, stops the others."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o711)  # daemons may pass through to their own folders, but not list it
        with ExitStack() as started:
            started.enter_context(self._postgres)
            self._database_listens()
            self._load()
            started.enter_context(self._application)
            started.enter_context(self._nginx)
            self._web_listens()
            self._running = started.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._running.close()

    def check(self) -> None:
        """Raises MeasurementFailed if a component has ended."""
        for service in (self._postgres, self._application, self._nginx):
            service.check()

    def cpu_seconds(self) -> dict[str, float]:
        """Returns the CPU time per component since the start, in seconds: `postgresql`, `application`, `nginx`."""
        services = {"postgresql": self._postgres, "application": self._application, "nginx": self._nginx}
        return {name: service.cpu_seconds() for name, service in services.items()}

    def saved_answers(self) -> list[SavedAnswer]:
        """Reads all answers from the database, past the network, to compare them with students' confirmations."""
        lines = self._postgres.sql(
            "SELECT s.account, a.question, a.choice FROM answers a JOIN students s ON s.id = a.student"
            " ORDER BY a.student, a.question;",
            database=_ROLE,
        )
        fields = (line.split("|") for line in lines.splitlines())
        return [SavedAnswer(account, int(question), choice) for account, question, choice in fields]

    def _load(self) -> None:
        accounts = list(students(self._students, seed=1))
        self.students_csv.touch(mode=0o600)
        with self.students_csv.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows((student.account, student.code) for student in accounts)
        self._postgres.sql(f"CREATE ROLE {_ROLE} LOGIN PASSWORD '{self._password}';\nCREATE DATABASE {_ROLE};\n")
        self._postgres.sql(
            load_script(_SCHEMA.read_text(), accounts, paper(self._weight.question_bytes)), database=_ROLE
        )


def load_script(schema: str, accounts: list[Student], questions: list[Question]) -> Iterator[str]:
    """Yields the script for psql that fills the database: tables, their rows by COPY, and the application's rights."""
    yield schema
    yield "COPY students FROM STDIN;\n"
    yield from (f"{student.number}\t{student.account}\t\\\\x{code_hash(student.code).hex()}\n" for student in accounts)
    yield "\\.\nCOPY questions FROM STDIN;\n"
    yield from (_question_row(question) for question in questions)
    yield "\\.\n"
    yield f"GRANT SELECT ON students, questions, answers, submissions TO {_ROLE};\n"
    yield f"GRANT INSERT, UPDATE ON answers, submissions TO {_ROLE};\n"
    yield f"GRANT UPDATE (id) ON students TO {_ROLE};  -- needed to lock a row\n"
    yield "ANALYZE;\n"


def _question_row(question: Question) -> str:
    choices = ",".join(f'"{choice.translate(_ARRAY_ESCAPES)}"' for choice in question.choices)
    fields = (str(question.number), question.title, question.body, f"{{{choices}}}", question.correct)
    return "\t".join(field.translate(_COPY_ESCAPES) for field in fields) + "\n"
