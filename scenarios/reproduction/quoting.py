"""Figures of the record in other documents: each stands between two comments, of which the first names it.

    <!--=mptcp_load, Figure 4: TCP, highest load-->19.31 % (18.07 to 20.55)<!--=-->

The name is a part, the number of a figure and one of its rows, or a part and a claim. `~` before it leaves the interval
out.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from flightpath.errors import UsageError
from flightpath.project import PROJECT
from flightpath.suggestions import did_you_mean
from scenarios.reproduction.record import Record

DOCUMENTS = (PROJECT / "README.md", PROJECT / "docs" / "findings.md")
_QUOTED = re.compile(r"(?P<name><!--=(?P<short>~?)(?P<quantity>[^>]+?)-->)(?P<value>.*?)(?P<end><!--=-->)", re.DOTALL)
_INTERVAL = re.compile(r" \([^()]* to [^()]*\)")


def with_figures(text: str, record: Record) -> str:
    """Returns a document with the values that the record has now.

    Raises:
        UsageError: it quotes what the record does not have.
    """
    values = dict(_values(record))

    def quoted(match: re.Match[str]) -> str:
        quantity = " ".join(match["quantity"].split())
        if quantity not in values:
            raise UsageError(f"the record has no {quantity!r}", did_you_mean(quantity, values))
        value = values[quantity]
        return f"{match['name']}{_INTERVAL.sub('', value) if match['short'] else value}{match['end']}"

    return _QUOTED.sub(quoted, text)


def update(record: Record) -> list[Path]:
    """Writes the values of the record into all documents that quote it; returns their files.

    Raises:
        UsageError: one of them quotes what the record does not have; none is changed.
    """
    texts = {file: with_figures(file.read_text(encoding="utf-8"), record) for file in DOCUMENTS}
    for file, text in texts.items():
        file.write_text(text, encoding="utf-8")
    return list(texts)


def _values(record: Record) -> Iterator[tuple[str, str]]:
    for claim in record.claims:
        yield f"{claim.part}: {claim.claim}", claim.measured
    for figure in record.figures:
        for quantity, _, measured in figure.rows:
            yield f"{figure.part}, {figure.number}: {quantity}", measured
