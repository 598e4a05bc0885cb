"""The commands that read stored measurements: what they print, what they leave alone, and their exit codes."""

import sys
from pathlib import Path

import pytest

from probes.preflight.records import LimitedBy
from probes.preflight.spec import TransferSpec
from results.records import Cell, CellResult, Certificate, Measurement, Metric, Verdict
from results.store.sqlite import DATABASE_NAME
from results.store.store import Store
from tests.support.finished import finished
from tests.support.preflight_made_up import HOST, day, measurement, noisy, route, store_daily, store_result

ESCAPES = "\x1b[31m[red]\x07\r\u202e"


def test_history_shows_what_each_measurement_was_to_people_and_to_programs(tmp_path, ask, told):
    store_result(measurement([5e8], at=day(1), verdict=LimitedBy.CLIENT_LIMITED, reason="busy"), tmp_path)
    run = store_result(measurement([9e8, 8e8, 7e8], at=day(0)), tmp_path)
    store_result(measurement([2e9], at=day(2), spec=TransferSpec(streams=4), way=route("10.9.9.9")), tmp_path)
    first, second, third = (line for line in ask("history", f"me@{HOST}").out.splitlines() if "-preflight-" in line)
    assert "800 Mbit/s" in first and "700 Mbit/s to 900 Mbit/s" in first and "ok" in first and "3 hops" in first
    assert "client-limited" in second and "same" in second
    assert "4 streams" in third and "2 Gbit/s" in third and "changed" in third
    found, limited, last = told("history", HOST)["measurements"]
    assert (limited["reasons"], limited["route"]) == (["client-limited: busy"], "10.0.0.254 > * > 192.0.2.1")
    assert (found["run"], found["verdict"], found["route_changed"], last["route_changed"]) == (run, "ok", False, True)
    assert found["goodput"] == {"value": 8e8, "unit": "bit/s", "low": 7e8, "high": 9e8}
    assert (found["configuration"]["streams"], last["configuration"]["streams"]) == (1, 4)


def test_history_shows_the_newest_and_counts_the_rest(steady, ask):
    shown = ask("history", HOST, "--last", "5").out
    assert shown.count("-preflight-") == 5
    assert "2026-11-12" in shown and "2026-11-07" not in shown
    assert "the newest 5 measurements of 12" in shown
    for count in ("0", "many"):
        with pytest.raises(SystemExit, match="2"):
            ask("history", HOST, "--last", count)


@pytest.mark.parametrize(
    ("configuration", "code"), [("text", 2), ({"direction": "download", "streams": [1], "size_bytes": "much"}, 4)]
)
def test_a_foreign_record_with_other_types_is_shown(tmp_path, ask, configuration, code):
    store = Store.open(tmp_path)
    run = store.begin_run("preflight", {"host": HOST, "configuration": configuration}, {}, ["x"])
    certificate = Certificate(Verdict.UNUSABLE, ("the moon was full",))
    store.record(run, CellResult(Cell({}), Measurement({"goodput": Metric(1e9, "bit/s")}), certificate), 1)
    assert run in ask("history", HOST).out
    ask("check", HOST, code=code)


def test_names_do_nothing_to_a_terminal(tmp_path, ask, told):
    spec = TransferSpec(remote_file=f"/data/{ESCAPES}")
    store_result(measurement([9e8], host=ESCAPES, spec=spec, way=route(ESCAPES)), tmp_path)
    for words in (("history", ESCAPES), ("check", ESCAPES, "--transfer", "1TB"), ("compare", ESCAPES, ESCAPES)):
        shown = ask(*words)
        assert r"\x1b[31m[red]\x07\r\u202e" in shown.out
        assert not set(shown.out + shown.err) & set("\x1b\x07\r\u202e")
    refused = ask("history", f"no{ESCAPES}", code=2)
    assert not set(refused.out + refused.err) & set("\x1b\x07\r\u202e")
    assert told("history", ESCAPES)["host"] == ESCAPES


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["history", "nobody"], "no measurement of 'nobody' is stored"),
        (["compare", HOST, "nobody"], "there is no run 'nobody'"),
        (["compare", HOST, f"{HOST}@2031-01-01.."], "no measurement there measured the path"),
        (["predict", HOST, "--transfer", "much"], "--transfer: cannot read 'much'"),
        (["predict", HOST, "--max-age", "old"], "old"),
        (["plot", HOST, "--output", "/proc/no/figure.png"], "cannot write"),
        (["check", HOST, "--transfer", "2TB", "--target-time", "soon"], "--target-time: cannot read 'soon'"),
        (["check", HOST, "--target-time", "3h"], "--target-time: of what?"),
        (["check", HOST, "--upload", "--transfer", "2TB"], "no upload of dtn.example"),
        (["check", HOST, "file", "--no-measure"], "--no-measure"),
        (["check", HOST, "--to", "/nowhere/x"], "--measure"),
        (["check", HOST, "--measure", "--stall", "0"], "--stall: 0 is not between"),
        (["--from", "a"], "no path"),
        (["--from", "a,,b"], "is no list of hosts"),
        (["--from", "a,-oProxyCommand=x"], "is no list of hosts"),
        (["--from=a", "--to=b", "--time", "soon"], "--time"),
    ],
)
def test_what_cannot_be_answered_is_a_usage_error(steady, ask, words, complaint):
    before = (steady / DATABASE_NAME).read_bytes()
    refused = ask(*words, code=2)
    assert not refused.out and complaint in refused.err
    assert (steady / DATABASE_NAME).read_bytes() == before


def test_reading_where_no_store_is_makes_none(tmp_path, ask):
    for words in ("history", "check", "plot", "predict", "export perfsonar", f"compare {HOST}"):
        assert f"no measurement is stored yet: there is no store in {tmp_path}" in ask(*words.split(), HOST, code=2).err
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_store_is_no_answer_of_a_check(steady, ask, monkeypatch):
    database = steady / DATABASE_NAME
    whole = database.read_bytes()
    database.write_bytes(whole[:4096] + b"\xa5" * (len(whole) - 4096))
    ask("check", HOST, code=2)
    monkeypatch.setattr("results.store.sqlite.READ_WHOLE_BYTES", 0)
    checked = ask("check", HOST, code=4)
    assert not checked.out and "is damaged" in checked.err
    ask("history", HOST, code=1)


def test_two_times_are_compared(steady, ask, told):
    store_daily(steady, noisy(12, usual_bps=720e6, seed=2), first_day=12)
    words = ("compare", f"{HOST}@..2026-11-12", f"{HOST}@2026-11-14..")
    found = told(*words)
    assert found["change"]["low"] < -0.2 < found["change"]["high"] < 0 and len(found["first"]["runs"]) == 12
    assert "is slower" in found["sentence"] and "is slower" in ask(*words).out


def test_goodputs_too_small_to_compute_with_are_an_error(tmp_path, ask):
    for at in (day(0), day(1)):
        store_result(measurement([1e-300, 3e-300, 2e-310], at=at), tmp_path)
    assert "cannot be compared" in ask("compare", f"{HOST}@..2026-11-01", f"{HOST}@2026-11-02..", "--json", code=1).err


def test_two_measurements_are_compared_by_their_iterations(tmp_path, ask):
    first = store_result(measurement(noisy(5), at=day(0)), tmp_path)
    second = store_result(measurement(noisy(5, usual_bps=2e9), at=day(1), spec=TransferSpec(streams=4)), tmp_path)
    compared = ask("compare", first, second).out
    for words in ("differs: streams: 1 became 4", "is faster", "these two moments only"):
        assert words in compared


def test_a_plot_has_every_kind_of_measurement(steady, ask, tmp_path):
    store_daily(steady, noisy(3, seed=2), first_day=12, verdict=LimitedBy.DISK_LIMITED, reason="slow")
    other = {"spec": TransferSpec(streams=4), "way": route("10.8.8.8")}
    store_daily(steady, noisy(3, usual_bps=2e9, seed=3), first_day=15, **other)
    target = tmp_path / "figures" / "path.png"
    printed = ask("plot", HOST, "--output", str(target)).out
    assert printed.splitlines() == [str(target), str(target.with_suffix(".svg"))]
    assert target.read_bytes().startswith(b"\x89PNG")
    drawn = target.with_suffix(".svg").read_text()
    for what in ("measures the path", "limited by this machine", "configuration changed", "route changed", "4 streams"):
        assert what in drawn
    assert "18 measurements, 15 of the path" in drawn


def test_a_plot_of_one_measurement(tmp_path, ask):
    store_result(measurement([9e8], host="[odd]/../name"), tmp_path)
    assert Path(ask("plot", "[[odd]/../name]").out.splitlines()[0]).parent == tmp_path


@pytest.mark.parametrize(
    ("today_bps", "words", "code", "says"),
    [
        ([], [], 0, "within what this path used to give|2 TB will take 4 h 5|limit     bottleneck"),
        ([600e6], [], 1, "below what this path used to give|2 TB will take 7 h 24 min"),
        ([1.5e9], [], 0, "above what"),
        ([], ["--target-time", "3h"], 1, "3 h would need 1.481 Gbit/s: surely too late"),
        ([], ["--target-time", "8h"], 0, "surely enough"),
    ],
    ids=["healthy", "worse than before", "better", "too late", "in time"],
)
def test_a_path_that_is_worse_or_too_slow_is_not_healthy(steady, ask, today_bps, words, code, says):
    store_daily(steady, today_bps, first_day=12)
    checked = ask("check", HOST, "--transfer", "2TB", *words, code=code).out
    assert all(each in checked for each in says.split("|")), checked


def test_what_measured_this_machine_is_not_to_be_trusted(steady, told):
    store_result(measurement([600e6], at=day(12), verdict=LimitedBy.CLIENT_LIMITED, reason="a core was busy"), steady)
    found = told("check", HOST, "--transfer", "2TB", code=4)
    assert (found["verdict"], found["exit_code"]) == ("untrustworthy", 4)
    assert found["limit"]["limit"] == "client" and "a core was busy" in found["limit"]["why"]
    assert found["transfer"]["rate_bps"] == pytest.approx(900e6, rel=0.05), "the past still tells what to expect"


def test_a_check_for_programs(steady, told):
    store_daily(steady, noisy(3, usual_bps=2e9), first_day=12, spec=TransferSpec(streams=4))
    store_daily(steady, [600e6], first_day=15)
    found = told("check", HOST, "--transfer", "2TB", "--target-time", "4h", code=1)
    assert (found["verdict"], found["exit_code"], found["history"]["count"]) == ("below", 1, 12)
    assert found["target"] == {"seconds": 14_400, "in_time": False}
    assert found["limit"]["figures"]["best"] == pytest.approx(2e9, rel=0.1), "four streams showed what is possible"


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        ([], "numpy scipy matplotlib paramiko cryptography"),
        # How long a transfer takes needs Student's t, which SciPy's smallest part has.
        (["--transfer", "2TB"], "scipy.stats matplotlib pandas paramiko cryptography"),
    ],
)
def test_nothing_heavy_is_imported_to_ask(steady, words, heavy):
    arguments = ["check", HOST, *words, "--results", str(steady)]
    code = f"import sys\nfrom probes.preflight.__main__ import main\nmain({arguments!r})\nprint(*sys.modules)"
    imported = finished([sys.executable, "-c", code], check=True).stdout.split()
    assert "sqlalchemy" in imported
    assert not set(imported) & set(heavy.split()), "it takes longer to import than the answer may"
