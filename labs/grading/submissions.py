"""Finds what students handed in, folders and archives, and copies it, because nothing in it can be trusted."""

import os
import stat
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, count
from pathlib import Path

from flightpath.errors import UsageError
from labs.framework.work import IDENTITY, PAGE

MAX_FILES, MAX_BYTES, MAX_DEPTH = 200, 10 << 20, 6
"""Limits of one submission: number of files, their total size, and depth of folders."""

_HINT = "hand in the lab's folder, or a .zip of it"
_MAX_REASON, _MAX_ARCHIVE_BYTES = 200, MAX_BYTES + (1 << 20)
_OTHER_ARCHIVES = (".tar", ".gz", ".tgz", ".bz2", ".xz", ".zst", ".7z", ".rar")
"""Suffixes of archives that are not read: whoever handed one in gets a line that says so."""


@dataclass(frozen=True)
class HandedIn:
    """A submission's location, and the name of its folder or archive, by which a teacher knows it."""

    name: str
    path: Path


def find(paths: Sequence[Path]) -> list[HandedIn]:
    """Returns the submissions in folders, sorted by name; a path may also be a submission."""
    try:
        submissions = sorted((each for path in paths for each in _in(path)), key=lambda each: each.name)
    except OSError as error:
        raise UsageError(f"cannot read {error.filename}: {error.strerror}", "name folders that you may read") from error
    if not submissions:
        raise UsageError(
            "there are no submissions", f"each is a folder or a .zip with the {IDENTITY} of a lab's folder"
        )
    return list(_with_own_names(submissions))


def _with_own_names(submissions: Sequence[HandedIn]) -> Iterator[HandedIn]:
    """Numbers submissions of one name, such as `anna` and `anna.zip`: marks are kept by name."""
    taken: set[str] = set()
    for each in submissions:
        names = chain([each.name], (f"{each.name} ({number})" for number in count(2)))
        taken.add(name := next(name for name in names if name not in taken))
        yield replace(each, name=name)


def copy(handed_in: HandedIn, target: Path) -> None:
    """Copies the files of a submission into a new folder; the one with `lab.json` becomes its top."""
    try:
        _copy(handed_in, target)
    except UsageError:
        raise
    # What damaged archives raise is not documented: zlib.error, LZMAError, UnicodeDecodeError, struct.error and others.
    except Exception as error:
        what = str(error) or type(error).__name__
        raise UsageError(f"{handed_in.name} cannot be read: {what[:_MAX_REASON]}", _HINT) from error


def _copy(handed_in: HandedIn, target: Path) -> None:
    target.mkdir()
    path = handed_in.path
    if path.suffix.lower() in _OTHER_ARCHIVES and path.is_file():
        raise UsageError(f"{path.name} is neither a folder nor a .zip", _HINT)
    found = _files_of_archive(path) if path.is_file() else _files_of_folder(path)
    files = dict(_bounded(each for each in found if each[0].name != PAGE))
    tops = sorted({name.parent for name in files if name.name == IDENTITY}, key=lambda folder: len(folder.parts))
    if not tops:
        raise UsageError(
            f"{handed_in.name} has no {IDENTITY}", "it comes with `flightpath lab start`, and is handed in too"
        )
    for name, content in files.items():
        if name.is_relative_to(tops[0]):
            file = target / name.relative_to(tops[0])
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)


def _in(path: Path) -> Iterator[HandedIn]:
    if not path.exists():
        raise UsageError(f"{path} does not exist")
    if path.is_file() or (path / IDENTITY).exists():
        yield _handed_in(path)
        return
    for each in sorted(path.iterdir()):
        if each.is_symlink() or each.name.startswith("."):
            continue
        if each.is_dir() or (each.is_file() and each.suffix.lower() in (".zip", *_OTHER_ARCHIVES)):
            yield _handed_in(each)


def _handed_in(path: Path) -> HandedIn:
    """Names a submission; a name that is no UTF-8 could not be printed."""
    name = path.stem if path.is_file() else path.absolute().name
    return HandedIn(os.fsencode(name).decode(errors="replace"), path)


def _files_of_folder(folder: Path) -> Iterator[tuple[Path, int, bytes]]:
    """Yields the regular files: no links, devices or pipes."""
    for at, folders, names in os.walk(folder):
        if len(Path(at).relative_to(folder).parts) >= MAX_DEPTH:
            folders.clear()
        for name in sorted(names):
            file = Path(at) / name
            status = file.lstat()
            if stat.S_ISREG(status.st_mode):
                content = file.read_bytes() if status.st_size <= MAX_BYTES else b""
                yield file.relative_to(folder), status.st_size, content


def _files_of_archive(archive: Path) -> Iterator[tuple[Path, int, bytes]]:
    if (size := archive.stat().st_size) > _MAX_ARCHIVE_BYTES:  # its list of members would fill the memory
        yield archive, size, b""
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            name = Path(member.filename)
            is_link = stat.S_ISLNK(member.external_attr >> 16)
            is_outside = name.is_absolute() or ".." in name.parts
            if member.is_dir() or is_link or is_outside or len(name.parts) > MAX_DEPTH + 1:
                continue
            with opened.open(member) as stream:
                content = stream.read(MAX_BYTES + 1)  # the archive's own figure may be wrong
            yield name, len(content), content


def _bounded(files: Iterator[tuple[Path, int, bytes]]) -> Iterator[tuple[Path, bytes]]:
    total = 0
    for number, (name, size, content) in enumerate(files, start=1):
        total += size
        if number > MAX_FILES or total > MAX_BYTES:
            raise UsageError(
                f"the submission has more than {MAX_FILES} files or {MAX_BYTES >> 20} MiB",
                _HINT,
            )
        yield name, content
