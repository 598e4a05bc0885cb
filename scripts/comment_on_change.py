"""Puts a file as a comment on a pull request on GitHub, in place of the one that the same account wrote before.

    GITHUB_TOKEN=... python3 scripts/comment_on_change.py OWNER/REPOSITORY NUMBER FILE

It uses the standard library alone, and `GITHUB_API_URL`, which GitHub's runners set. A token that may not comment, as
for a pull request from a fork, is no failure: the comparison is in the job's summary too.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

_MARK = "<!-- flightpath -->"
_ACTIONS = "github-actions[bot]"
"""Account of the token that a workflow has by itself; such a token cannot ask whose it is."""
_REFUSED = (403, 404)
_MAX_LENGTH = 65_000
"""Maximum length of a comment, in characters; GitHub takes 65,536."""


def main(repository: str, number: str, file: str) -> int:
    """Writes the comment; returns the exit code."""
    text = f"{_MARK}\n{Path(file).read_text(encoding='utf-8')[:_MAX_LENGTH]}"
    comments = f"/repos/{repository}/issues/{number}/comments"
    try:
        page, mine, account = 1, None, _account()
        while mine is None and (listed := _ask("GET", f"{comments}?per_page=100&page={page}")):
            mine = next((each for each in listed if _is_ours(each, account)), None)
            page += 1
        if mine is None:
            _ask("POST", comments, {"body": text})
        else:
            _ask("PATCH", f"/repos/{repository}/issues/comments/{mine['id']}", {"body": text})
    except urllib.error.HTTPError as error:
        if error.code in _REFUSED:
            print(f"warning: no comment: GitHub answers {error.code} {error.reason}", file=sys.stderr)
            print("  the job needs the permission `pull-requests: write`", file=sys.stderr)
            return 0
        print(f"error: GitHub answers {error.code} {error.reason}: {error.read(500).decode()}", file=sys.stderr)
        return 1
    except urllib.error.URLError as error:
        print(f"error: GitHub cannot be reached: {error.reason}", file=sys.stderr)
        return 1
    return 0


def _account() -> str:
    """Returns the name of the account whose token this is."""
    try:
        return _ask("GET", "/user")["login"]
    except urllib.error.HTTPError as error:
        if error.code in _REFUSED:
            return _ACTIONS
        raise


def _is_ours(comment: dict, account: str) -> bool:
    """Returns whether a comment is this account's; anybody can write our mark."""
    return comment["body"].startswith(_MARK) and (comment["user"] or {}).get("login") == account


def _ask(method: str, path: str, content: object = None) -> Any:
    request = urllib.request.Request(
        os.environ.get("GITHUB_API_URL", "https://api.github.com") + path,
        data=None if content is None else json.dumps(content).encode(),
        method=method,
        headers={
            "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    sys.exit(main(*sys.argv[1:]))
