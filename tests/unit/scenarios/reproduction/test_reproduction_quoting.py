"""Documents that quote the record: they say what it says, and refuse what it does not have."""

import re

import pytest

from flightpath.errors import UsageError
from scenarios.reproduction.quoting import DOCUMENTS, with_figures
from scenarios.reproduction.record import FORMAT, MeasuredFigure, Record, read
from scenarios.reproduction.writing import COMMITTED

RECORD = Record(FORMAT, (), (), (MeasuredFigure("part", "Figure 1", (("rate, low", "4", "5 Gbit/s (4 to 6)"),)),))


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.name)
def test_the_documents_say_what_the_record_says(file):
    text = file.read_text(encoding="utf-8")
    assert not re.search(r"^\s*<!--=", text, re.MULTILINE), "there a comment would end the paragraph"
    assert "<!--=" in text and with_figures(text, read(COMMITTED)) == text, "make reproduce-record"


def test_a_value_is_replaced_with_or_without_its_interval():
    with_interval = "a <!--=part, Figure 1: rate,\nlow-->{}<!--=-->"
    without = "b <!--=~part, Figure 1: rate, low-->{}<!--=--> c"
    text = with_figures(f"{with_interval.format('old')} {without.format('old' + chr(10))}", RECORD)
    assert text == f"{with_interval.format('5 Gbit/s (4 to 6)')} {without.format('5 Gbit/s')}"
    with pytest.raises(UsageError, match="the record has no 'part, Figure 1: rates'"):
        with_figures("<!--=part, Figure 1: rates-->1<!--=-->", RECORD)
