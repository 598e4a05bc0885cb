"""Certificates as tables, from whatever facts a store holds."""

import io
from dataclasses import replace

from rich.console import Console

from results.pages.terminal import print_certificates
from results.records import Certificate, Verdict
from results.summary import certificates
from results.summary.facts import read_facts
from tests.support.made_up_runs import cell

BEFORE = {
    "link": "h1_a",
    "direction": "a_to_b",
    "asked": "50Mbit, 5ms, queue 1000p",
    "delay_ms": 5.04,
    "expected_delay_ms": 5.0,
    "rate_bps": 49_900_000.0,
    "expected_rate_bps": 50_000_000.0,
    "max_frame_bytes": 6250,
    "unchecked": ["rate: <b>busy</b>"],
    "not_judged": [],
}
DURING = {
    "packets": 1000,
    "drops": {"queue": 7, "aqm": 0, "loss": 2},
    "lateness_us": {"p50": 20.0, "p99": 1500.0, "max": 9000.0},
    "lateness_histogram": [0] * 13 + [75] + [0] * 6 + [25],
    "max_frame_bytes": 6250,
    "cpu_percent": 4.0,
}
FACTS = {
    "idle_cpu_percent": [80.0, 40.0],
    "steal_percent": [0.0, 1.0],
    "links_before_load": [BEFORE, {**BEFORE, "direction": "b_to_a", "rate_bps": 50_000_000.0}],
    "links_during_load": {"h1_a": {"a_to_b": DURING, "b_to_a": {**DURING, "cpu_percent": 0.0}}},
    "paths_before_load": [{"source": "h1", "target": "h2", "port": 0, "rtt_ms": 20.4, "expected_rtt_ms": 20.0}],
}


def test_printed_it_is_one_paragraph_and_the_evidence_is_there_on_request():
    found = {**FACTS, "links": dict.fromkeys("ab"), "load_s": 4.17, "clock": "virtual"}
    degraded = Certificate(Verdict.DEGRADED, ("too little idle time", "a link was late"), found)
    assert str(degraded) == "degraded: too little idle time; a link was late (virtual clock, 2 links, 4.2 s of load)"
    assert len(repr(degraded)) < 150 and degraded.found["links_before_load"]
    assert str(Certificate(Verdict.FAITHFUL)) == "faithful: links and machine did what was asked (real clock)"


def certified(facts, *reasons):
    return replace(cell("tcp", 500.0), certificate=Certificate(Verdict.DEGRADED, reasons, facts))


def rows(facts):
    """Verdicts of the links, and that of the cell."""
    result = certified(facts)
    read, _ = read_facts(result.certificate)
    return certificates.link_rows(read), certificates.certificate_row(result, read)


def test_a_link_shows_what_was_found_beside_what_was_asked_for():
    (row, _back), _ = rows(FACTS)
    assert (row.name, row.requested) == ("h1_a a to b", "50Mbit, 5ms, queue 1000p")
    assert row.rate == "49.9Mbit (-0.20%)"
    assert row.delay == "5.04 ms (5 requested)"
    assert row.rtt == "10.08 ms (10 requested)"
    assert row.drops == "7 queue, 2 loss"
    assert row.lateness == "0.02 / 1.50 / 9.00 ms"
    assert row.late_bins == (0.75, 0.0, 0.0, 0.0, 0.25, 0.0)
    assert (row.gso_packets, row.cpu) == ("6250 B", "4 %")


def test_a_cell_shows_the_worst_of_its_links():
    _, row = rows(FACTS)
    assert (row.rate, row.rtt, row.late) == ("-0.20%", "+0.08 ms", "1.50 ms")
    assert (row.drops, row.idle, row.steal) == ("14 queue, 4 loss", "60 % (least 40 %)", "0.5 %")


def test_a_store_that_knows_less_shows_less():
    links, row = rows({"emulator": "relay"})
    assert {row.rate, row.rtt, row.late, row.drops, row.idle, row.steal} == {"-"} and links == []
    (row,), _ = rows({"links_during_load": {"h1_a": {"a_to_b": {"packets": 3, "drops": {"queue": 1}}}}})
    assert (row.packets, row.drops, row.rate, row.lateness, row.late_bins) == ("3", "1 queue", "-", "-", ())
    blind = {**DURING, "lateness_us": None, "lateness_histogram": None, "cpu_percent": None, "max_frame_bytes": None}
    (row,), _ = rows({"links_during_load": {"h1_a": {"a_to_b": blind}}})
    assert (row.lateness, row.gso_packets, row.cpu) == ("-", "-", "-")


def test_a_sparkline_is_short_and_a_bin_that_is_not_empty_is_seen():
    assert certificates.sparkline([0, 50, 100]) == "▁▅█"
    assert len(certificates.sparkline([50.0] * 1000)) <= 60
    assert certificates.histogram((0.99, 0.0, 0.001)) == "█ ▁"


def test_certificates_are_printed_with_their_reasons_and_on_request_with_every_link():
    for links in (False, True):
        out = io.StringIO()
        print_certificates(Console(file=out, width=120), [certified(FACTS, "[red]late[/]")], links=links)
        said = out.getvalue()
        assert "[red]late[/]" in said and "60 % (least 40 %)" in said
        assert ("h1_a a to b" in said, "<b>busy</b>" in said) == (links, links)
