"""The comment on a pull request, with a GitHub that is made up."""

import importlib.util
import io
import json
import urllib.request
from urllib.error import HTTPError, URLError

import pytest

from flightpath.project import PROJECT

API, ISSUE = "http://github.test", "/repos/us/flightpath/issues/7/comments"
ACCOUNTS = {"secret": "github-actions[bot]", "personal": "me"}
"""By token; that of a workflow cannot ask whose it is."""

_spec = importlib.util.spec_from_file_location("comment_on_change", PROJECT / "scripts/comment_on_change.py")
script = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(script)


class GitHub:
    """Keeps comments, 100 a page, and answers as GitHub's API does."""

    def __init__(self) -> None:
        self.comments = []

    def urlopen(self, request: urllib.request.Request, timeout: float) -> io.BytesIO:
        token = request.get_header("Authorization").removeprefix("Bearer ")
        path, _, query = request.full_url.removeprefix(API).partition("?")
        if token not in ACCOUNTS or (path == "/user" and token == "secret"):
            raise HTTPError(request.full_url, 403, "Forbidden", {}, io.BytesIO())
        user, content = {"login": ACCOUNTS[token]}, json.loads(request.data or b"null")
        if request.method == "PATCH":
            number = int(path.removeprefix("/repos/us/flightpath/issues/comments/"))
            assert self.comments[number]["user"] == user
            self.comments[number] |= content
        elif request.method == "POST":
            assert path == ISSUE
            self.comments.append({"id": len(self.comments), "user": user, **content})
        elif path == ISSUE:
            page = int(query.rpartition("page=")[2])
            content = self.comments[100 * (page - 1) : 100 * page]
        return io.BytesIO(json.dumps(user if path == "/user" else content).encode())


@pytest.fixture
def github(monkeypatch) -> GitHub:
    made = GitHub()
    monkeypatch.setenv("GITHUB_API_URL", API)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setattr(urllib.request, "urlopen", made.urlopen)
    return made


def comment(tmp_path, text: str) -> int:
    file = tmp_path / "c.md"
    file.write_text(text)
    return script.main("us/flightpath", "7", str(file))


@pytest.mark.parametrize("token", ACCOUNTS)
def test_the_second_comment_replaces_the_first_and_nobody_else_s(github, tmp_path, monkeypatch, token):
    monkeypatch.setenv("GITHUB_TOKEN", token)
    theirs = {"body": "<!-- flightpath -->\nof somebody else"}
    github.comments += [{"id": number, "user": {"login": "eve"}, **theirs} for number in range(130)]
    github.comments[0]["user"] = None  # the account is gone
    for text in ("slower", "faster"):
        assert comment(tmp_path, text) == 0
    assert [each["body"] for each in github.comments[129:]] == [theirs["body"], "<!-- flightpath -->\nfaster"]


def test_a_long_comparison_is_cut_to_what_github_takes(github, tmp_path):
    assert comment(tmp_path, "x" * 100_000) == 0
    assert 60_000 < len(github.comments[0]["body"]) < 65_536


def test_without_the_permission_it_says_which_is_missing_and_without_github_that_it_is_not_there(
    github, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("GITHUB_TOKEN", "other")
    assert comment(tmp_path, "x") == 0
    said = capsys.readouterr().err
    assert "403" in said and "pull-requests: write" in said
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: (_ for _ in ()).throw(URLError("no route")))
    assert comment(tmp_path, "x") == 1
    assert "cannot be reached" in capsys.readouterr().err
