"""Comparisons as Markdown, for code reviews."""

from collections.abc import Sequence

from results.comparison.compare import Change, Compared, Comparison
from results.comparison.differences import Difference

_SIGNS = {Change.FASTER: "🟢", Change.SLOWER: "🔴", Change.MORE: "🔵", Change.LESS: "🔵"}
_MAX_DIFFERENCES = 20


def comparison_markdown(comparisons: Sequence[Compared], differences: Sequence[Difference]) -> str:
    """Returns comparisons as a sentence and a table of changes each; the rest is folded."""
    parts = [_compared(each) for each in comparisons]
    if differences:
        rows = [f"| {each.kind} | {_cell(each.name)} | {' | '.join(map(_cell, each.values))} |" for each in differences]
        head = "| | | " + " | ".join(f"run {number}" for number, _ in enumerate(differences[0].values, start=1)) + " |"
        lines = [head, "|" + " --- |" * (2 + len(differences[0].values)), *rows[:_MAX_DIFFERENCES]]
        parts.append(_folded(f"What else differs between the runs ({len(differences)})", lines))
    return "\n\n".join(parts) + "\n"


def _compared(compared: Compared) -> str:
    changed = [each for each in compared.comparisons if each.change in _SIGNS]
    same = [each for each in compared.comparisons if each.change not in _SIGNS]
    parts = [f"**{_text(compared.sentence)}**", *(_text(note) for note in compared.notes)]
    if changed:
        parts.append("\n".join(_table(changed)))
    if same:
        parts.append(_folded(f"No difference shown ({len(same)})", _table(same)))
    return "\n\n".join(parts)


def _table(comparisons: Sequence[Comparison]) -> list[str]:
    rows = [
        f"| {_cell(each.metric)} | {_cell(each.point)} | {_cell(each.means_text[0])} | {_cell(each.means_text[1])} "
        f"| {_cell(each.change_text)} | {_SIGNS.get(each.change, '')} {each.change} | {each.verdict} |"
        for each in comparisons
    ]
    head = "| metric | at | before | after | change (95 % interval) | shows | certificate |"
    return [head, "| --- | --- | ---: | ---: | ---: | --- | --- |", *rows]


def _folded(summary: str, lines: Sequence[str]) -> str:
    return "\n".join([f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"])


def _cell(text: object) -> str:
    return _text(text).replace("|", "\\|").replace("\n", " ")


def _text(text: object) -> str:
    """Escapes all markup: the text may come from an untrusted export."""
    escaped = str(text).replace("\\", "\\\\")
    for mark in "`*_<>[]&@#":
        escaped = escaped.replace(mark, f"\\{mark}" if mark not in "<>&@#" else f"&#{ord(mark)};")
    return escaped
