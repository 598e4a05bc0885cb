"""A student's folder: made with the instructions of a variant, and read again when it is checked."""

import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from flightpath.errors import UsageError
from labs.framework.catalogue import find, folder_of
from labs.framework.lab import Lab, Variant, Work
from results.store.ownership import give_to_caller, make_folder

ANSWERS, IDENTITY = "answers.toml", "lab.json"
PAGE = "check.html"
"""Page of a check, in the same folder: the packets, which may be many."""
MAX_BYTES = 1 << 20
"""Maximum size of a file that is read from a student's folder."""


@dataclass(frozen=True)
class Submission:
    """A student's folder as it was handed in: lab, variant and work."""

    lab: Lab
    variant: Variant
    work: Work


def start(lab: Lab, variant: Variant, folder: Path) -> Path:
    """Makes a student's folder with the instructions, the questions and the files to complete; returns it."""
    if folder.exists():
        raise UsageError(f"{folder} exists", "choose another folder with --folder, or remove this one")
    identity = json.dumps({"lab": lab.number, "student": variant.student, "course": variant.course}) + "\n"
    for file, text in {**_given(lab, variant), IDENTITY: identity}.items():
        target = folder / file
        make_folder(target.parent)
        target.write_text(text, encoding="utf-8")
        give_to_caller(target)
    return folder


def read(folder: Path) -> Submission:
    try:
        identity = json.loads(_text(folder / IDENTITY))
        lab, student, course = find(identity["lab"]), identity["student"], identity["course"]
        if not (isinstance(student, str) and isinstance(course, str)):
            raise TypeError("student and course are texts")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(f"{folder / IDENTITY} is not as `flightpath lab start` made it: {error}") from error
    return Submission(lab, Variant(student, course), Work(folder, answers(lab, folder)))


def answers(lab: Lab, folder: Path) -> Mapping[str, float]:
    """Reads the answers to the questions of a lab; empty ones are left out."""
    if not lab.questions:
        return {}
    try:
        return dict(_numbers(lab, tomllib.loads(_text(folder / ANSWERS)), folder / ANSWERS))
    except (ValueError, OverflowError, RecursionError) as error:
        raise UsageError(f"{folder / ANSWERS}: {error}", "write each answer as KEY = NUMBER") from error


def _numbers(lab: Lab, given: Mapping[str, object], file: Path) -> Iterator[tuple[str, float]]:
    for question in lab.questions:
        answer = given.get(question.key, "")
        if answer == "":
            continue
        number = _number(answer)
        if not math.isfinite(number):
            hint = f"write the number alone, without a unit: {question.key} = 12.5"
            raise UsageError(f"{file}: {question.key} = {json.dumps(answer, default=str)} is not a number", hint)
        yield question.key, number


def _number(answer: object) -> float:
    """Returns an answer as a number, also one between the quotation marks of the template; otherwise NaN."""
    if isinstance(answer, bool) or not isinstance(answer, (int, float, str)):
        return math.nan
    try:
        return float(answer)
    except ValueError:
        return math.nan


def _given(lab: Lab, variant: Variant) -> dict[str, str]:
    """Returns the files of a variant, by name."""
    folder, jinja = folder_of(lab), Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    sources = {"README.md": folder / "README.md"}
    sources |= {
        str(file.relative_to(folder / "work")): file
        for file in sorted((folder / "work").rglob("*"))
        if file.is_file() and file.parent.name != "__pycache__"
    }
    parameters = variant.parameters(lab)
    texts = {
        name: jinja.from_string(file.read_text(encoding="utf-8")).render(parameters) for name, file in sources.items()
    }
    if lab.questions:
        questions = (f'# {question.text}\n{question.key} = ""\n' for question in lab.questions)
        texts[ANSWERS] = "\n".join(['# Write each number in place of "", without its unit: 12.5\n', *questions])
    return texts


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_BYTES:
            raise UsageError(f"{file} is larger than 1 MiB")
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {file}: {error}", "make a folder with `flightpath lab start`") from error
