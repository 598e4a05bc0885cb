"""What students hand in, and what of it is copied: nothing in it can be trusted."""

import json
import os
import zipfile
from pathlib import Path

import pytest

from flightpath.errors import UsageError
from labs.grading.submissions import MAX_BYTES, MAX_FILES, HandedIn, copy, find

IDENTITY = json.dumps({"lab": 2, "student": "anna", "course": ""})


def submission(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "lab.json").write_text(IDENTITY)
    return folder


def archive(file: Path, members: dict[str, str]) -> Path:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, text in members.items():
            opened.writestr(name, text)
    return file


def copied(path: Path, tmp_path: Path) -> dict[str, str]:
    target = tmp_path / "copy"
    copy(HandedIn("x", path), target)
    return {str(file.relative_to(target)): file.read_text() for file in target.rglob("*") if file.is_file()}


def test_folders_and_archives_are_found_and_other_files_are_not(tmp_path):
    submission(tmp_path / "in/anna")
    archive(tmp_path / "in/ben.zip", {"lab.json": IDENTITY})
    (tmp_path / "in/notes.txt").write_text("x")
    (tmp_path / "in/link").symlink_to(tmp_path / "in/anna")
    assert [each.name for each in find([tmp_path / "in"])] == ["anna", "ben"]
    assert [each.name for each in find([tmp_path / "in/ben.zip", tmp_path / "in/anna"])] == ["anna", "ben"]


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()], ids=["missing", "empty"])
def test_nothing_to_grade_is_an_error(tmp_path, make):
    make(tmp_path / "in")
    with pytest.raises(UsageError, match=r"does not exist|no submissions"):
        find([tmp_path / "in"])


def test_only_ordinary_files_are_copied(tmp_path):
    folder = submission(tmp_path / "anna")
    (folder / "passwords").symlink_to("/etc/passwd")
    (folder / "everything").symlink_to("/")
    os.mkfifo(folder / "pipe")
    assert copied(folder, tmp_path) == {"lab.json": IDENTITY}


def test_an_archive_cannot_write_outside(tmp_path):
    members = {"anna/lab.json": IDENTITY, "anna/../evil": "x", "/tmp/evil": "x", "anna/a/b.py": "y"}
    assert copied(archive(tmp_path / "x.zip", members), tmp_path) == {"lab.json": IDENTITY, "a/b.py": "y"}
    assert not (tmp_path / "evil").exists() and not Path("/tmp/evil").exists()


@pytest.mark.parametrize(
    "members",
    [
        {"bomb": "0" * (MAX_BYTES + 1)},
        {f"part{number}": "0" * (MAX_BYTES // 4) for number in range(5)},
        {f"file{number}": "" for number in range(MAX_FILES)},
    ],
    ids=["one large file", "several", "too many"],
)
def test_too_much_is_refused(tmp_path, members):
    file = archive(tmp_path / "x.zip", {"lab.json": IDENTITY, **members})
    assert file.stat().st_size < 100_000
    with pytest.raises(UsageError, match="more than 200 files or 10 MiB"):
        copied(file, tmp_path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no archive", b"\0" * 100])
def test_a_damaged_archive_is_refused(tmp_path, content):
    (tmp_path / "x.zip").write_bytes(content)
    with pytest.raises(UsageError, match="cannot be read"):
        copied(tmp_path / "x.zip", tmp_path)


def test_a_folder_without_identity_is_refused(tmp_path):
    (tmp_path / "anna").mkdir()
    with pytest.raises(UsageError, match=r"no lab\.json"):
        copied(tmp_path / "anna", tmp_path)
