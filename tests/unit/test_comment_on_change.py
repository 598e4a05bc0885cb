"""The comment on a pull request, with a server that answers as GitHub's API does."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from flightpath.project import PROJECT

COMMENTS = "/repos/us/flightpath/issues/7/comments"


class GitHub(BaseHTTPRequestHandler):
    """Keeps comments, 100 a page; the token is `secret`, of a workflow; `personal` is another account's."""

    def do_GET(self):
        if self.path == "/user":
            self.answer(*((200, {"login": "me"}) if self.account() == "me" else (403, {})))
            return
        path, _, query = self.path.partition("?")
        assert path == COMMENTS
        page = int(query.rpartition("page=")[2])
        self.answer(200, self.server.comments[100 * (page - 1) : 100 * page])

    def do_POST(self):
        own = {"id": len(self.server.comments), "user": {"login": self.account()}}
        self.server.comments.append({**own, **self.content()})
        self.answer(201, {})

    def do_PATCH(self):
        number = int(self.path.rpartition("/")[2])
        assert self.path == f"/repos/us/flightpath/issues/comments/{number}"
        assert self.server.comments[number]["user"] == {"login": self.account()}
        self.server.comments[number] |= self.content()
        self.answer(200, {})

    def account(self) -> str:
        return "me" if self.headers["Authorization"] == "Bearer personal" else "github-actions[bot]"

    def content(self) -> dict:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, status: int, content: object) -> None:
        if self.headers["Authorization"] not in ("Bearer secret", "Bearer personal"):
            status, content = 403, {"message": "Resource not accessible by integration"}
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def github():
    server = ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    server.comments = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def comment(server, tmp_path, text: str, token: str = "secret") -> subprocess.CompletedProcess[str]:
    file = tmp_path / "c.md"
    file.write_text(text)
    return subprocess.run(
        [sys.executable, PROJECT / "scripts/comment_on_change.py", "us/flightpath", "7", file],
        env={**os.environ, "GITHUB_TOKEN": token, "GITHUB_API_URL": f"http://127.0.0.1:{server.server_port}"},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("token", ["secret", "personal"])
def test_the_second_comment_replaces_the_first_and_nobody_else_s(github, tmp_path, token):
    theirs = {"body": "<!-- flightpath -->\nof somebody else"}
    github.comments += [{"id": number, "user": {"login": "eve"}, **theirs} for number in range(130)]
    github.comments[0]["user"] = None  # the account is gone
    for text in ("slower", "faster"):
        done = comment(github, tmp_path, text, token)
        assert done.returncode == 0, done.stderr
    assert [each["body"] for each in github.comments[129:]] == [theirs["body"], "<!-- flightpath -->\nfaster"]


def test_a_long_comparison_is_cut_to_what_github_takes(github, tmp_path):
    assert comment(github, tmp_path, "x" * 100_000).returncode == 0
    assert 60_000 < len(github.comments[0]["body"]) < 65_536


def test_without_the_permission_it_says_which_is_missing(github, tmp_path):
    done = comment(github, tmp_path, "x", token="other")
    assert done.returncode == 0 and "403" in done.stderr and "pull-requests: write" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_github_it_says_so(tmp_path):
    class Nothing:
        server_port = 9

    done = comment(Nothing, tmp_path, "x")
    assert done.returncode == 1 and "cannot be reached" in done.stderr
