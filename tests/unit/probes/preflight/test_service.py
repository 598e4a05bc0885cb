"""Preflight as a service: units, limits, alerts, and what other programs read of it."""

import getpass
import json
import os
import re
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from prometheus_client.parser import text_string_to_metric_families

from flightpath.errors import UntrustworthyResult, UsageError
from probes.preflight.history.health import Health, condition
from probes.preflight.history.profiles import Profile, add_profile, load_profile
from probes.preflight.history.recording import Recording
from probes.preflight.records import LimitedBy
from probes.preflight.service import units
from probes.preflight.service.grafana import dashboard
from probes.preflight.service.measuring import Report, alone, beyond_limit, tell
from probes.preflight.service.metrics import TEXTFILE, write_textfile
from probes.preflight.service.units import Installation, Schedule, uninstall
from probes.preflight.spec import TransferSpec
from probes.preflight.target import Target
from results.dashboard.app import application
from results.records import RunStatus
from results.store.store import Store
from tests.support.asking_pages import asked
from tests.support.finished import finished
from tests.support.preflight_made_up import HOST, day, measurement, noisy, store_daily, store_result, upload

SIX_HOURS = Schedule(360, 30)
COMMAND = ["env", "PYTHONPATH=/a b", "python", "-m", "x", "--alert", 'echo "$FLIGHTPATH_REASON" 100% \\']


@pytest.fixture
def nightly(steady: Path) -> Profile:
    """A profile whose history begins with twelve good days."""
    return add_profile(Store.open(steady), "nightly", TransferSpec(), host=HOST, since=day(11.5))


def store_failure(folder: Path, number: float, reason: str = "connection refused") -> None:
    """Stores that a measurement of the profile `nightly` failed."""
    recording = Recording(folder, Target(HOST, "me", HOST), TransferSpec(), profile="nightly")
    recording.begin(day(number).isoformat())
    recording.abort(RunStatus.FAILED, reason)


def report(folder: Path, profile: Profile) -> Report:
    return Report.of(Store.open(folder), profile)


@pytest.mark.parametrize(
    ("minutes", "calendar", "cron"),
    [
        (10, "*-*-* *:00/10:00", r"[0-2]-59/10 \* \* \* \*"),
        (60, "*-*-* 00/1:00:00", r"\d+ 0-23/1 \* \* \*"),
        (360, "*-*-* 00/6:00:00", r"\d+ 0-23/6 \* \* \*"),
        (1440, "*-*-* 00:00:00", r"\d+ 0 \* \* \*"),
    ],
)
def test_a_schedule_is_the_same_for_systemd_and_cron(minutes, calendar, cron):
    schedule = Schedule.parse(minutes * 60, None)
    assert schedule.calendar == calendar and schedule.per_day == 1440 // minutes
    fields = {schedule.cron(f"host{number}") for number in range(40)}
    assert all(re.fullmatch(cron, each) for each in fields) and len(fields) > 1, "machines are spread"
    assert schedule.cron("a") == schedule.cron("a")
    if units.has_systemd():
        subprocess.run(["systemd-analyze", "calendar", calendar], check=True, capture_output=True)


@pytest.mark.parametrize(("every", "spread"), [(30, None), (7 * 3600, None), (25 * 60, None), (3600, 3600), (90, 0)])
def test_a_schedule_that_no_clock_has_is_refused(every, spread):
    with pytest.raises(UsageError, match=r"--every|--spread"):
        Schedule.parse(every, spread)


def test_words_of_a_unit_reach_the_program_as_they_are():
    service = Installation("nightly", SIX_HOURS, COMMAND).units()["flightpath-preflight-nightly.service"]
    (line,) = re.findall("^ExecStart=(.*)$", service, re.MULTILINE)
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    assert [re.sub(r"\\(.)", r"\1", word).replace("%%", "%").replace("$$", "$") for word in words] == COMMAND
    assert "$$FLIGHTPATH_REASON" in line and "100%%" in line, "systemd expands neither"
    assert "User=" not in service and "network-online" not in service, "a user's manager has neither"
    system = Installation("nightly", SIX_HOURS, COMMAND, "me").units()["flightpath-preflight-nightly.service"]
    assert "\nUser=me\n" in system and "After=network-online.target" in system


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")
@pytest.mark.parametrize("words", [(), ("--system", "--run-as", getpass.getuser())])
def test_systemd_accepts_the_units(steady, nightly, tmp_path, told, words):
    shown = told("service", "show", "nightly", "--alert", COMMAND[-1], *words)
    for name, text in shown.items():
        (tmp_path / name).write_text(text)
    manager, files = "--system" if words else "--user", [tmp_path / name for name in shown]
    verify = ["systemd-analyze", "verify", manager, "--man=no", "--generators=no", *files]
    done = finished(verify, env={**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), "it also warns of what it would ignore"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """systemctl and crontab, which need daemons that tests do not have: they keep what they are told, in files."""
    folder = tmp_path / "bin"
    folder.mkdir()
    scripts = {
        "systemctl": f'echo "$*" >> {tmp_path}/told',
        "crontab": f'[ "$1" = - ] && exec cat > {tmp_path}/tab; [ -e {tmp_path}/tab ] && exec cat {tmp_path}/tab; '
        f"[ -e {tmp_path}/broken ] && echo no access >&2 || echo no crontab for me >&2; exit 1",
    }
    for name, script in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def test_units_are_installed_started_and_removed(steady, nightly, programs, ask, monkeypatch):
    monkeypatch.setattr(units, "_SYSTEMD", programs)
    installed = ask("service", "install", "nightly", "--every", "6h", "-F", "config", "--json")
    folder = programs / ".config/systemd/user"
    assert "enable-linger" in installed.err
    assert json.loads(installed.out)["installed"] == [str(file) for file in sorted(folder.iterdir())]
    unit = "flightpath-preflight-nightly"
    text = (folder / f"{unit}.service").read_text()
    assert f'"--ssh-config" "{Path.cwd()}/config"' in text and f'"--results" "{steady}"' in text
    assert "OnCalendar=*-*-* 00/6:00:00" in (folder / f"{unit}.timer").read_text()
    asked_for = ("daemon-reload", f"enable {unit}.timer", f"restart {unit}.timer")
    assert (programs / "told").read_text() == "".join(f"--user {each}\n" for each in asked_for)
    ask("service", "uninstall", "nightly")
    assert not list(folder.iterdir())
    assert f"--user disable --now {unit}.timer" in (programs / "told").read_text()
    assert "nothing is installed" in ask("service", "uninstall", "nightly", code=2).err


def test_a_crontab_keeps_the_lines_of_others_and_is_not_replaced_unread(nightly, programs, ask):
    (programs / "broken").touch()
    assert "no access" in ask("service", "install", "nightly", "--cron", code=1).err and not (programs / "tab").exists()
    (programs / "tab").write_text("0 4 * * * backup # flightpath preflight: nightly-2\n")
    for _ in range(2):
        ask("service", "install", "nightly", "--cron", "--alert", "logger 100%")
    theirs, ours = (programs / "tab").read_text().splitlines()
    assert theirs.startswith("0 4 * * * backup") and ours.endswith("# flightpath preflight: nightly")
    assert r"'logger 100\%'" in ours and re.match(r"\d+ 0-23/6 \* \* \* env ", ours)
    assert uninstall("nightly", system=False) == [ours] and (programs / "tab").read_text() == f"{theirs}\n"


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["install", "nightly", "--every", "7h"], "--every"),
        (["install", "nightly", "--run-as", "me"], "--run-as"),
        (["install", "large", "--every", "1h"], "24 measurements a day of 6 GB are more than --daily-limit (100 GB)"),
        (["install", "tar"], "name it"),
    ],
)
def test_what_cannot_be_installed_is_a_usage_error(steady, nightly, programs, ask, words, complaint):
    store = Store.open(steady)
    add_profile(store, "large", TransferSpec(size_bytes=2 * 10**9, iterations=3), host=HOST)
    add_profile(store, "tar", TransferSpec(remote_file="run7.tar"), host=HOST)
    refused = ask("service", *words, code=2)
    assert not refused.out and complaint in refused.err and not (programs / "told").exists()


def test_a_days_traffic_is_bounded(steady):
    """A measurement of the made-up rate moves 1.125 GB."""
    store, now = Store.open(steady), datetime.now(UTC)
    by_time = add_profile(store, "nightly", TransferSpec(), host=HOST)
    assert not beyond_limit(store, by_time, 10**9), "nothing is known yet"
    for hours in (30, 20, 10):
        store_result(measurement([9e8], at=now - timedelta(hours=hours)), steady, profile="nightly")
    assert beyond_limit(store, by_time, 3 * 10**9) and not beyond_limit(store, by_time, 4 * 10**9)
    sized = add_profile(store, "sized", TransferSpec(size_bytes=10**9, iterations=2), host=HOST)
    assert beyond_limit(store, sized, 10**9) and not beyond_limit(store, sized, 2 * 10**9)


def test_two_measurements_never_overlap(tmp_path):
    with alone(tmp_path, 0) as first, alone(tmp_path, 0) as second:
        assert (first, second) == (True, False)
    with alone(tmp_path, 0) as again:
        assert again


def test_failures_and_this_machines_limits_are_alerts_too(steady, nightly):
    store_failure(steady, 12)
    limited = measurement([5e8], at=day(13), verdict=LimitedBy.CLIENT_LIMITED, reason="busy")
    store_result(limited, steady, profile="nightly")
    (now,) = report(steady, nightly).now
    assert (now.health, now.reason, now.is_alert) == (Health.UNTRUSTWORTHY, "client-limited: busy", True)
    store_failure(steady, 14)
    told = report(steady, nightly)
    assert (told.worst.health, told.worst.reason, told.exit_code) == (Health.FAILED, "connection refused", 4)
    assert not told.changed, "the alert goes on"


def test_a_path_that_is_busy_every_morning_is_not_worse_in_the_morning(tmp_path):
    """Without the time of day, each morning is below what the other three quarters of a day give."""
    rates = [rate * (0.6 if number % 4 == 0 else 1.0) for number, rate in enumerate(noisy(60))]
    profile = add_profile(Store.open(tmp_path), "nightly", TransferSpec(), host=HOST)
    for number, rate in enumerate([*rates, 0.6 * 900e6]):
        store_daily(tmp_path, [rate], first_day=number / 4, profile="nightly")
    pasts = load_profile(Store.open(tmp_path), profile, HOST)
    assert condition(HOST, pasts).health is Health.HEALTHY
    assert condition(HOST, pasts[:-1]).health is Health.HEALTHY
    store_daily(tmp_path, [0.6 * 900e6], first_day=15.25, profile="nightly")
    at_noon = condition(HOST, load_profile(Store.open(tmp_path), profile, HOST))
    assert at_noon.health is Health.WORSE and at_noon.reason.startswith("540 Mbit/s, -40% against the usual 9")


def test_the_alert_command_gets_verdict_and_reason_once_and_may_not_fail(steady, nightly, tmp_path):
    told = '"$FLIGHTPATH_STATE" "$FLIGHTPATH_VERDICT" "$FLIGHTPATH_REASON"'
    script = f'cat > {tmp_path}/json; printf "%s|" {told} >> {tmp_path}/told'
    for number in (12, 13, 14):
        store_failure(steady, number, "refused\x1b[31m")
        tell(script, report(steady, nightly))
    store_daily(steady, [900e6], first_day=15, profile="nightly")
    tell(script, report(steady, nightly))
    alert, recovered = (tmp_path / "told").read_text().split("recovered|")
    assert alert == rf"alert|failed|{HOST}: refused\x1b[31m|"
    assert recovered.startswith(f"healthy|{HOST}: 900 Mbit/s, ")
    assert json.loads((tmp_path / "json").read_text())["paths"][0]["verdict"] == "healthy"
    with pytest.raises(UntrustworthyResult, match="the alert command ended with exit code 3"):
        tell("exit 3", report(steady, nightly))


def exposed(text: str) -> dict[str, list]:
    return {family.name: family.samples for family in text_string_to_metric_families(text)}


def test_prometheus_reads_profiles_from_the_command_the_dashboard_and_the_textfile(steady, nightly, ask):
    store_daily(steady, [500e6], first_day=12, profile="nightly", rtt_ms=20.0)
    store_failure(steady, 13)
    text = ask("export", "prometheus").out
    status, body = asked(application(Store.open(steady, create=False), lambda *_: [], lambda *_: []), "/metrics")
    assert (status, body.decode().strip()) == (200, text.strip())
    write_textfile(Store.open(steady), steady)
    assert (steady / TEXTFILE).read_text().strip() == text.strip()
    assert (steady / TEXTFILE).stat().st_mode & 0o777 == 0o644, "another user reads it"
    with pytest.raises(OSError, match="No such file"):
        write_textfile(Store.open(steady), steady / "missing")
    found = exposed(text)
    labels = {"profile": "nightly", "path": HOST}
    assert all(sample.labels.items() >= labels.items() for samples in found.values() for sample in samples)
    verdicts = {each.labels["verdict"]: each.value for each in found["flightpath_preflight_verdict"]}
    assert verdicts == {**dict.fromkeys(map(str, Health), 0.0), "failed": 1.0}
    ends = {each.labels["end"]: each.value for each in found["flightpath_preflight_measurements"]}
    assert ends == {"done": 13, "failed": 1}
    (at,) = found["flightpath_preflight_last_measurement_timestamp_seconds"]
    assert at.value == day(13).timestamp()
    for name, total in (("throughput_bytes_per_second", 12 * 900e6 / 8), ("round_trip_seconds", 12 * 0.03 + 0.02)):
        samples = found[f"flightpath_preflight_{name}"]
        buckets = [each.value for each in samples if each.name.endswith("_bucket")]
        (sum_,) = [each.value for each in samples if each.name.endswith("_sum")]
        assert buckets == sorted(buckets) and buckets[-1] == 13 and sum_ == pytest.approx(total, rel=0.1)


def leaves(node: object, at: str = "") -> set[tuple[str, object]]:
    """The values in a JSON object with their places; of what is empty, the place alone."""
    if not isinstance(node, (dict, list)):
        return {(at, node)}
    inner = node.items() if isinstance(node, dict) else enumerate(node)
    return {(at, "")}.union(*(leaves(value, f"{at}.{key}") for key, value in inner))


def test_grafana_draws_what_is_exposed(steady, nightly, ask):
    text = ask("export", "grafana").out
    drawn = json.loads(text)
    assert drawn == dashboard()
    kept = json.loads(json.dumps(Dashboard.from_json(drawn), cls=JSONEncoder))
    assert leaves(drawn) - leaves(kept) == set(), "Grafana's schema keeps all of it"
    names = {sample.name for samples in exposed(ask("export", "prometheus").out).values() for sample in samples}
    used = set(re.findall(r"flightpath_preflight_\w+", text))
    assert used <= names and len(used) > 6
    taken = [
        {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        for at in (panel["gridPos"] for panel in drawn["panels"])
    ]
    assert sum(map(len, taken)) == len(set().union(*taken)) and all(x < 24 for x, _ in set().union(*taken))


DATA = {
    *("throughput-bits", "throughput-bytes", "receiver-throughput-bits", "sent", "lost", "jitter", "stream-id"),
    *("start", "end", "rtt", "tcp-window-size", "retransmits", "omitted"),
}
"""Fields that pScheduler's schema of a throughput result allows for a stream, an interval, and their sum."""


@pytest.mark.parametrize(("spec", "ends"), [(upload(), ("here", HOST)), (TransferSpec(), (HOST, "here"))])
def test_perfsonar_gets_what_its_archive_reads(tmp_path, ask, spec, ends):
    result = replace(measurement([9e8, 8e8], spec=spec), environment={"host": "here", "flightpath": "0.1.0"})
    store_result(result, tmp_path)
    exported = ask("export", "perfsonar", HOST).out
    first, second = (json.loads(line) for line in exported.splitlines())
    test, told = first["test"], first["result"]
    assert test["type"] == "throughput"
    assert (test["spec"]["source"], test["spec"]["dest"]) == tuple(first["participants"]) == ends
    assert set(test["spec"]) <= {"schema", "source", "dest", "duration", "parallel", "ip-version"}
    assert set(told) <= {"schema", "succeeded", "error", "diags", "mss", "mtu", "intervals", "summary"}
    assert told["summary"]["summary"]["throughput-bits"] == 9e8 and told["summary"]["summary"]["rtt"] == 30_000
    each = [told["summary"]["summary"], *told["summary"]["streams"], *(one["summary"] for one in told["intervals"])]
    assert len(each) > 2 and all(set(one) <= DATA for one in each)
    begun = datetime.fromisoformat(first["run"]["start-time"])
    assert begun == datetime.fromisoformat(result.iterations[0].started_at)
    assert first["task"]["href"] == second["task"]["href"] and first["run"]["href"] != second["run"]["href"]
    assert exported == ask("export", "perfsonar", HOST).out, "exported again, it is the same measurement"


def test_nothing_is_exported_where_nothing_is(tmp_path, ask):
    Store.open(tmp_path)
    assert not any(exposed(ask("export", "prometheus").out).values())
