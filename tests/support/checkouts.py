"""Git repositories that tests make."""

from pathlib import Path

from tests.support.finished import finished


def git(folder: Path, *words: str) -> str:
    """Output of git, whatever the user's own settings are."""
    alone = ["-c", "user.name=x", "-c", "user.email=x@x", "-c", "commit.gpgsign=false"]
    return finished(["git", *alone, *words], cwd=folder, check=True).stdout.strip()


def commit_all(folder: Path) -> str:
    """Commits all files of a folder, which may be no repository yet, and returns the beginning of the commit's hash."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "x")
    return git(folder, "rev-parse", "HEAD")[:12]
