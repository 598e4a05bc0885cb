"""Submissions of students, and what of them is copied: nothing in them can be trusted."""

import json
import os
import tempfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flightpath.errors import UsageError
from labs.grading.submissions import MAX_BYTES, MAX_FILES, HandedIn, copy, find

IDENTITY = json.dumps({"lab": 2, "student": "anna", "course": ""})


def submission(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "lab.json").write_text(IDENTITY)
    return folder


def archive(file: Path, members: dict[str, str], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(file, "w", method) as opened:
        for name, text in members.items():
            opened.writestr(name, text)
    return file


def damaged(file: Path, method: int, old: bytes, new: bytes) -> None:
    """Makes an archive in which some bytes are others."""
    content = archive(file, {"lab.json": IDENTITY, "\xe9.txt": IDENTITY}, method).read_bytes()
    assert old in content
    file.write_bytes(content.replace(old, new))


def copied(path: Path, tmp_path: Path) -> dict[str, str]:
    target = tmp_path / "copy"
    copy(HandedIn("x", path), target)
    return {str(file.relative_to(target)): file.read_text() for file in target.rglob("*") if file.is_file()}


def test_folders_and_archives_are_found_and_other_files_are_not(tmp_path):
    submission(tmp_path / "in/anna")
    for name in ("anna", "ben"):
        archive(tmp_path / f"in/{name}.zip", {"lab.json": IDENTITY})
    (tmp_path / "in/notes.txt").write_text("x")
    (tmp_path / "in/link").symlink_to(tmp_path / "in/anna")
    assert [each.name for each in find([tmp_path / "in"])] == ["anna", "anna (2)", "ben"], "marks are kept by name"
    assert [each.name for each in find([tmp_path / "in/ben.zip", tmp_path / "in/anna"])] == ["anna", "ben"]


@pytest.mark.parametrize(("name", "said"), [("in", "does not exist"), ("", "no submissions"), ("x" * 300, "too long")])
def test_nothing_to_grade_is_an_error(tmp_path, name, said):
    with pytest.raises(UsageError, match=said):
        find([tmp_path / name])


def test_only_ordinary_files_are_copied(tmp_path):
    folder = submission(tmp_path / "anna")
    (folder / "passwords").symlink_to("/etc/passwd")
    (folder / "everything").symlink_to("/")
    os.mkfifo(folder / "pipe")
    (folder / "check.html").write_bytes(bytes(MAX_BYTES))  # a check's own page does not count
    assert copied(folder, tmp_path) == {"lab.json": IDENTITY}


def test_an_archive_writes_neither_outside_nor_too_deep(tmp_path):
    members = {"anna/lab.json": IDENTITY, "anna/../evil": "x", "/tmp/evil": "x", "anna/" + "d/" * 2100 + "x": ""}
    deep = archive(tmp_path / "x.zip", {**members, "anna/1/2/3/4/5/b.py": "y"})
    assert copied(deep, tmp_path) == {"lab.json": IDENTITY, "1/2/3/4/5/b.py": "y"}
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


@pytest.mark.parametrize(
    "make",
    [
        *(lambda file, content=content: file.write_bytes(content) for content in (b"", b"PK\x03\x04 no archive")),
        lambda file: archive(file, {"lab.json": IDENTITY, "a": "", "a/b": ""}),
        lambda file: archive(file, {"lab.json": IDENTITY, "x" * 300: ""}),
        lambda file: damaged(file, zipfile.ZIP_DEFLATED, b"\xabV\xcaI", b"\xff\xff\xff\xff"),
        lambda file: damaged(file, zipfile.ZIP_LZMA, b"\x05\x00\x5d", b"\x05\x00\xff"),
        lambda file: damaged(file, zipfile.ZIP_STORED, b"\xc3\xa9", b"\xff\xff"),
    ],
    ids=["empty", "no archive", "a file and folder", "long name", "deflate", "LZMA", "no UTF-8"],
)
def test_a_damaged_archive_is_refused(tmp_path, make):
    make(tmp_path / "x.zip")
    with pytest.raises(UsageError, match=r"cannot be read: .+\n  hand in"):
        copied(tmp_path / "x.zip", tmp_path)


@pytest.mark.parametrize("name", ["anna.tar", "anna.tar.gz", "anna.7z", "anna.ZIP", os.fsdecode(b"ann\xff.zip")])
def test_what_cannot_be_read_is_found_and_has_a_name_to_print(tmp_path, name):
    """Else it would get no mark, and nobody would notice."""
    (tmp_path / name).write_bytes(b"")
    (found,) = find([tmp_path])
    assert found.name.encode() and found.name.startswith("ann")
    with pytest.raises(UsageError, match=r"cannot be read|neither a folder nor a \.zip"):
        copy(found, tmp_path / "copy")


NAMES = st.sampled_from(
    ("lab.json", "a", "a/b", "a/lab.json", "b/a/lab.json", "x" * 300, "d/" * 2100 + "x", "../e", "/e", "a/", "é/b")
) | st.text(min_size=1, max_size=20)


@settings(max_examples=80)
@given(
    st.lists(st.tuples(NAMES, st.just(IDENTITY.encode()) | st.binary(max_size=99)), max_size=8),
    st.sampled_from((0, 8, 12, 14)),
    st.lists(st.tuples(st.integers(-400, 400), st.integers(0, 255)), max_size=8),
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_whatever_an_archive_is_it_is_copied_or_refused_and_nothing_else_is_written(members, method, damage):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        named = {name: content for name, content in members if name.partition("\0")[0]}
        file = archive(folder / "x.zip", named, method)
        content = bytearray(file.read_bytes())
        for at, byte in damage:
            content[at % len(content)] = byte
        file.write_bytes(content)
        try:
            copy(HandedIn("x", file), folder / "copy")
            assert (folder / "copy/lab.json").is_file()
        except UsageError:
            pass
        assert {path.name for path in folder.iterdir()} <= {"x.zip", "copy"}
        assert all(path.is_dir() or path.is_file() for path in folder.rglob("*"))
