"""Tables in Markdown."""

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Formats a table; vertical bars are escaped, because they would end a cell."""
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(str(text).replace("|", "\\|") for text in line) + " |" for line in lines]
