"""Quantities as people write them: read, refused and written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flightpath import units
from flightpath.errors import UsageError


@pytest.mark.parametrize(
    ("parse", "values"),
    [
        (units.parse_bandwidth, {"10Gbit": 1e10, "50Mbit": 5e7, "2.5kbit": 2500, "1000bit": 1000, " 1 mbit ": 1e6}),
        (units.parse_duration, {"15ms": 0.015, "200us": 2e-4, "0": 0, "1.5s": 1.5, "2min": 120, "8m": 480, "2h": 7200}),
        (units.parse_probability, {"0.1%": 0.001, "100%": 1}),
        (units.parse_bytes, {"64KiB": 65536, "9kB": 9000, "2TB": 2e12, "1.5PiB": 3 * 2**49}),
        (units.parse_span, {"3h20m": 12_000, "90min": 5400, "2d12h": 216_000, "1h 30m 1.5s": 5401.5, "2H": 7200}),
    ],
)
def test_a_quantity_is_read_in_its_units(parse, values):
    assert {text: parse(text) for text in values} == pytest.approx(values, rel=1e-12)


@pytest.mark.parametrize(
    ("parse", "texts", "example"),
    [
        (units.parse_bandwidth, ["", "50", "50MB/s", "-1Mbit", "0Mbit", "1e3Mbit", "Mbit", "5 0Mbit"], "50Mbit"),
        (units.parse_duration, ["15", "ms", "-1ms", "1w", "nan"], "15ms"),
        (units.parse_probability, ["0.1", "101%", "-1%"], "0.1%"),
        (units.parse_span, ["", " ", "3", "20m3h", "-1h", "1.5h", "0s", "1h1h", "3 hours"], "3h20m"),
    ],
)
def test_what_is_no_quantity_is_named_with_an_example(parse, texts, example):
    for text in texts:
        with pytest.raises(UsageError, match=f"--option: (?s:.*){example}"):
            parse(text, "--option")


def test_bytes_are_written_short():
    assert [units.format_bytes(size) for size in (2 * 10**12, 1500, 12)] == ["2 TB", "1.5 kB", "12 B"]


@given(st.floats(min_value=0.01, max_value=10**7))
def test_a_time_to_wait_is_written_short_and_reads_back_nearly_the_same(seconds):
    written = units.format_span(seconds)
    assert len(written) <= 11
    assert units.parse_span(written) == pytest.approx(seconds, rel=0.06)


@given(st.integers(min_value=1, max_value=9999), st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_bandwidth_survives_being_written_and_read(number, scale):
    assert units.parse_bandwidth(units.format_bandwidth(number * scale)) == number * scale


@given(st.integers(min_value=0, max_value=9999), st.sampled_from([1e-6, 1e-3, 1.0, 60.0, 86_400.0]))
def test_duration_survives_being_written_and_read(number, scale):
    assert units.parse_duration(units.format_duration(number * scale)) == pytest.approx(number * scale)


def test_a_long_duration_is_written_in_a_unit_that_divides_it():
    written = {59: "59s", 60: "1min", 90: "90s", 480: "8min", 432_000: "5d", 3661.5: "3661.5s"}
    assert {seconds: units.format_duration(seconds) for seconds in written} == written
