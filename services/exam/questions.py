"""The questions of the examination: generated case studies about networks, long enough to be realistic pages.

A question describes a campus network and its measurements, and its answer follows from the numbers in the text. The
same question number gives the same text on every machine.
"""

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COUNT = 8
BODY_BYTES = 6081
"""Default mean size of a question's text, in bytes."""

_ROW_BYTES = 52
_TOWNS = ("Ashbourne", "Bellingham", "Corbridge", "Dunkeld", "Elsdon", "Felling", "Giggleswick", "Hexham")

_TEXTS = Path(__file__).with_name("questions.toml")


@dataclass(frozen=True)
class Question:
    """One question: paragraphs of text (separated by empty lines), four choices, and the letter of the right one."""

    number: int
    title: str
    body: str
    choices: tuple[str, ...]
    correct: str


@dataclass(frozen=True)
class _Campus:
    """The numbers of one case study."""

    town: str
    students: int
    rate_mbps: int
    rtt_ms: int
    page_kb: int

    @property
    def saturation(self) -> float:
        """Pages per second that fill a link."""
        return self.rate_mbps * 1000 / (8 * self.page_kb)

    def fill(self, *texts: str) -> list[str]:
        """Fills in the numbers of a text of `questions.toml`."""
        from jinja2 import StrictUndefined, Template  # slow to load, and each process of a cell imports this file

        answered = self.students // 10
        derived = {
            "saturation": self.saturation,
            "window_kb": self.rate_mbps * self.rtt_ms / 8,
            "answered": answered,
            "under_way": answered * self.rtt_ms * 4 / 1000,
        }
        return [Template(text, undefined=StrictUndefined).render(vars(self), **derived) for text in texts]


def paper(body_bytes: int = BODY_BYTES) -> list[Question]:
    """Returns the eight questions of the examination, each with about `body_bytes` of text.

    A longer text has a longer record of measurements; the shortest has neither record nor story.
    """
    texts = tomllib.loads(_TEXTS.read_text(encoding="utf-8"))
    return [_question(number, task, texts["story"], body_bytes) for number, task in enumerate(texts["tasks"], start=1)]


def _question(number: int, task: Mapping[str, Any], story: Sequence[str], body_bytes: int) -> Question:
    source = random.Random(f"question {number}")
    campus = _Campus(
        town=_TOWNS[number - 1],
        students=source.randrange(18, 60) * 100,
        rate_mbps=source.choice((20, 50, 100, 200)),
        rtt_ms=source.choice((10, 20, 30, 40)),
        page_kb=source.choice((8, 10, 12, 16)),
    )
    asks, *choices = campus.fill(task["question"], *task["choices"])
    right = choices[0]
    source.shuffle(choices)
    exhibits = _exhibits(campus, campus.fill(*story), source, body_bytes - len(asks))
    return Question(number, task["topic"], "\n\n".join([*exhibits, asks]), tuple(choices), "ABCD"[choices.index(right)])


def _exhibits(campus: _Campus, story: Sequence[str], source: random.Random, max_bytes: int) -> Iterator[str]:
    """Yields the paragraphs of the story that fit, and a record of measurements that fills the rest."""
    for paragraph in story:
        if (max_bytes := max_bytes - len(paragraph) - 2) < 0:
            return
        yield paragraph
    if (rows := round(max_bytes / _ROW_BYTES) - 1) > 0:
        yield _log(campus, source, rows)


def _log(campus: _Campus, source: random.Random, count: int) -> str:
    capacity = campus.saturation
    rows = ["   time   offered/s  answered/s   median ms   drops"]
    for row in range(count):
        offered = capacity * (0.3 + 1.1 * row / count) * source.uniform(0.97, 1.03)
        answered = min(offered, capacity * source.uniform(0.93, 0.99))
        median = campus.rtt_ms * 1.4 + max(0.0, offered / capacity - 0.9) * 900 * source.uniform(0.8, 1.2)
        drops = max(0, round((offered - answered) * source.uniform(0.1, 0.3)))
        rows.append(f"{row * 10:5d} s {offered:11.0f} {answered:11.0f} {median:11.0f} {drops:7d}")
    return "\n".join(rows)
