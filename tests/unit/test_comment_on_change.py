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


@pytest.fixture
def comments(monkeypatch) -> list[dict]:
    """The comments that GitHub keeps, which answers as its API does, with 100 a page."""
    comments: list[dict] = []

    def urlopen(request: urllib.request.Request, timeout: float) -> io.BytesIO:
        token = request.get_header("Authorization").removeprefix("Bearer ")
        path, _, query = request.full_url.removeprefix(API).partition("?")
        if token not in ACCOUNTS or (path == "/user" and token == "secret"):
            raise HTTPError(request.full_url, 403, "Forbidden", {}, io.BytesIO())
        user, content = {"login": ACCOUNTS[token]}, json.loads(request.data or b"null")
        if request.method == "PATCH":
            number = int(path.removeprefix("/repos/us/flightpath/issues/comments/"))
            assert comments[number]["user"] == user
            comments[number] |= content
        elif request.method == "POST":
            assert path == ISSUE
            comments.append({"id": len(comments), "user": user, **content})
        elif path == ISSUE:
            page = int(query.rpartition("page=")[2])
            content = comments[100 * (page - 1) : 100 * page]
        return io.BytesIO(json.dumps(user if path == "/user" else content).encode())

    monkeypatch.setenv("GITHUB_API_URL", API)
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setattr(urllib.request, "urlopen", urlopen)
    return comments


def comment(tmp_path, text: str) -> int:
    file = tmp_path / "c.md"
    file.write_text(text)
    return script.main("us/flightpath", "7", str(file))


@pytest.mark.parametrize("token", ACCOUNTS)
def test_the_second_comment_replaces_the_first_and_nobody_else_s(comments, tmp_path, monkeypatch, token):
    monkeypatch.setenv("GITHUB_TOKEN", token)
    theirs = {"body": "<!-- flightpath -->\nof somebody else"}
    comments += [{"id": number, "user": {"login": "eve"}, **theirs} for number in range(130)]
    comments[0]["user"] = None  # the account is gone
    for text in ("slower", "faster"):
        assert comment(tmp_path, text) == 0
    assert [each["body"] for each in comments[129:]] == [theirs["body"], "<!-- flightpath -->\nfaster"]


def test_a_long_comparison_is_cut_to_what_github_takes(comments, tmp_path):
    assert comment(tmp_path, "x" * 100_000) == 0
    assert 60_000 < len(comments[0]["body"]) < 65_536


@pytest.mark.usefixtures("comments")
def test_a_missing_permission_is_named_and_so_is_a_github_that_is_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GITHUB_TOKEN", "other")
    assert comment(tmp_path, "x") == 0
    said = capsys.readouterr().err
    assert "403" in said and "pull-requests: write" in said
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: (_ for _ in ()).throw(URLError("no route")))
    assert comment(tmp_path, "x") == 1
    assert "cannot be reached" in capsys.readouterr().err
