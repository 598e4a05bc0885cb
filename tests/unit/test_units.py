import pytest
from hypothesis import given
from hypothesis import strategies as st

from flightpath.errors import UsageError
from flightpath.units import (
    format_bandwidth,
    format_duration,
    parse_bandwidth,
    parse_bytes,
    parse_duration,
    parse_probability,
)


@pytest.mark.parametrize(
    ("text", "bits_per_second"),
    [("10Gbit", 10**10), ("50Mbit", 50 * 10**6), ("2.5kbit", 2500), ("1000bit", 1000), (" 1 mbit ", 10**6)],
)
def test_bandwidth(text, bits_per_second):
    assert parse_bandwidth(text) == bits_per_second


@pytest.mark.parametrize("text", ["", "50", "50MB/s/s", "50MB", "-1Mbit", "0Mbit", "1e3Mbit", "Mbit", "5 0Mbit"])
def test_what_is_no_bandwidth_is_named(text):
    with pytest.raises(UsageError, match="--bandwidth: ") as refused:
        parse_bandwidth(text, "--bandwidth")
    assert "50Mbit" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "seconds"), [("15ms", 0.015), ("200us", 2e-4), ("0", 0.0), ("1.5s", 1.5), ("2min", 120)]
)
def test_duration(text, seconds):
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["15", "ms", "-1ms", "1h", "nan"])
def test_what_is_no_duration(text):
    with pytest.raises(UsageError):
        parse_duration(text)


def test_probability():
    assert parse_probability("0.1%") == pytest.approx(0.001)
    assert parse_probability("100%") == 1
    for wrong in ("0.1", "101%", "-1%"):
        with pytest.raises(UsageError):
            parse_probability(wrong)


def test_bytes():
    assert parse_bytes("64KiB") == 65536
    assert parse_bytes("9kB") == 9000


@given(st.integers(min_value=1, max_value=9999), st.sampled_from([1, 10**3, 10**6, 10**9]))
def test_bandwidth_survives_being_written_and_read(number, scale):
    assert parse_bandwidth(format_bandwidth(number * scale)) == number * scale


@given(st.integers(min_value=0, max_value=9999), st.sampled_from([1e-6, 1e-3, 1.0]))
def test_duration_survives_being_written_and_read(number, scale):
    assert parse_duration(format_duration(number * scale)) == pytest.approx(number * scale)
