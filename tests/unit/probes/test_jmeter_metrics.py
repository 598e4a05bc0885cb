"""Figures from JMeter's result file: a verbatim one, and small ones worked out by hand."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from flightpath.errors import MeasurementFailed
from flightpath.project import PROJECT
from probes.jmeter.jtl import ENGINE_THREADS, ErrorKind, error_kind, parse_jtl, read_jtl
from probes.jmeter.metrics import LoadRun, lateness_ms

# As JMeter 5.6.3 wrote it, two of five students: a server that misbehaved on six of eight questions.
VERBATIM = PROJECT / "tests" / "data" / "jmeter_errors.jtl"
HEADING = (
    "timeStamp,elapsed,label,responseCode,responseMessage,threadName,success,failureMessage,bytes,sentBytes,Latency,"
    'Connect,"account","question","choice","due_ms"\n'
)
ZERO = 1_700_000_000_000


def line(thread: int, due: int, sent: int, elapsed: int, *, ok=True, code="200", connect=0) -> str:
    """A sample; times in ms from the schedule's zero."""
    return (
        f"{ZERO + sent},{elapsed},question,{code},OK,students 1-{thread},{str(ok).lower()},,100,50,{elapsed},{connect},"
        f"s{thread},1,A,{ZERO + due}\n"
    )


def load_of(*lines: str, threads: int = 1, ramp_s: float = 0.0) -> LoadRun:
    samples = parse_jtl(HEADING + "".join(lines))
    return LoadRun(samples, threads, ramp_s, 0.05, len(samples) // threads)


def test_a_verbatim_file_is_read():
    samples = read_jtl(VERBATIM)
    assert len(samples) == 40
    assert (samples.sent_ms[0], samples.elapsed_ms[0], samples.due_ms[0]) == (1795259671672, 20, 1795259671638)
    assert (samples.thread[0], samples.connect_ms[0]) == (1, 17)
    assert (samples.received_bytes[0], samples.sent_bytes[0]) == (119, 229)
    assert Counter(samples.thread.tolist()) == dict.fromkeys((1, 2), 20)
    kinds = {"wrong_content": 2, "http_status": 4}
    kinds |= dict.fromkeys(("response_timeout", "connection_reset", "connection_closed"), 2)
    assert Counter(failure.kind for failure in samples.failures) == kinds
    lost = [failure.index for failure in samples.failures if not failure.code.isdigit()]
    assert len(lost) == 6 and (samples.received_bytes[lost] == 0).all(), "a stack trace is no traffic"
    assert samples.received_bytes.max() < 200
    assert len(samples.acknowledged) == 16
    assert samples.acknowledged[0] == ("student0", 1, "D")


def test_the_figures_of_a_verbatim_file():
    measurement = LoadRun(read_jtl(VERBATIM), 2, 0.2, 0.05, cpu_s=1.5).measurement()
    values = {name: metric.value for name, metric in measurement.metrics.items()}
    assert values["requests"] == 40 and values["errors"] == 12 and values["error_rate"] == 30
    assert values["errors_http_status"] == 4 and values["errors_other"] == 0
    assert sum(values[f"errors_{kind}"] for kind in ErrorKind) == values["errors"]
    assert values["schedule"] == pytest.approx(0.2 / 2 + 19 * 0.05) and values["cpu_jmeter"] == 1.5
    assert values["requests_per_s"] == pytest.approx(28 / values["run_time"]), "only right answers count as throughput"
    assert sum(measurement.series["requests_per_s"].values) == 28
    assert sum(measurement.series["errors_per_s"].values) == 12
    assert sum(measurement.metadata["errors"].values()) == 12
    assert any("Read timed out" in text for text in measurement.metadata["errors"])


def test_a_stall_counts_for_every_request_that_it_held_up():
    # Due every 50 ms; the second takes 200 ms, so the next three are sent late, one after the other.
    late = [line(1, due, sent, 10) for due, sent in ((100, 250), (150, 260), (200, 270), (250, 280), (300, 300))]
    run = load_of(line(1, 0, 0, 10, connect=3), line(1, 50, 50, 200), *late)
    metrics = {name: metric.value for name, metric in run.measurement().metrics.items()}
    assert metrics["latency_service_p50"] == 10 and metrics["latency_service_max"] == 200
    # Intended: 10, 200, 160, 120, 80, 40, 10.
    assert metrics["latency_intended_p50"] == 80 and metrics["latency_intended_mean"] == pytest.approx(620 / 7)
    assert metrics["latency_intended_p95"] == pytest.approx(160 + 0.7 * 40)
    assert metrics["latency_intended_max"] == 200
    # None of it is JMeter's fault: each was sent as soon as the one before was answered.
    assert metrics["jmeter_lateness_max"] == 0


def test_lateness_of_jmeter_itself_is_told_from_lateness_of_the_server():
    sent = [(2, 25, 32, 5), (1, 0, 0, 100), (1, 50, 103, 10), (2, 75, 74, 5), (1, 100, 113, 1)]
    samples = parse_jtl(HEADING + "".join(line(*each) for each in sent))
    # Thread 2: sent 7 ms after it was due, then 1 ms early. Thread 1: 3 ms after the response that it waited for.
    assert lateness_ms(samples).tolist() == [7, 0, 3, 0, 0]


def test_run_time_counts_from_the_first_intended_request_to_the_last_response():
    sent = [(1, 0, 30, 20), (2, 1000, 1000, 10), (1, 50, 50, 1950), (2, 1050, 1050, 10)]
    run = load_of(*(line(*each) for each in sent), threads=2, ramp_s=2.0)
    assert run.started_at_s == ZERO / 1000 and run.ended_at_s == pytest.approx(ZERO / 1000 + 2.0)
    metrics = {name: (metric.value, metric.unit) for name, metric in run.measurement().metrics.items()}
    assert metrics["run_time"] == (pytest.approx(2.0), "s")
    assert metrics["schedule"] == (pytest.approx(1.05), "s") and metrics["ramp"] == (2.0, "s")
    assert metrics["run_time_over_schedule"] == (pytest.approx(2.0 / 1.05), "1")
    assert metrics["requests_per_s"] == (pytest.approx(2.0), "1/s")
    run = replace(run, epoch_offset_s=ZERO / 1000 - 50.0)  # to the clock that nobody sets
    assert (run.started_at_s, run.ended_at_s) == (pytest.approx(50.0), pytest.approx(52.0))


@pytest.mark.parametrize("years", [-56, 56])
def test_a_date_that_is_set_during_a_load_does_not_fill_the_memory(years):
    series = load_of(line(1, 0, 0, 100), line(1, 50, round(years * 365.25 * 86_400_000), 100)).measurement().series
    assert all(len(of_kind.times_s) < 100_000 for of_kind in series.values())


def test_series_in_bins_of_a_second():
    second = [line(2, sent, sent, elapsed) for sent, elapsed in ((3500, 30), (3550, 40), (3600, 500))]
    lost = line(1, 100, 100, 2900, ok=False, code="503")
    series = load_of(line(1, 0, 0, 10), line(1, 50, 50, 20), lost, *second, threads=2).measurement().series
    assert series["requests_per_s"].values == (2, 0, 0, 2, 1)
    assert series["requests_per_s"].times_s == (0, 1, 2, 3, 4)
    assert series["errors_per_s"].values == (0, 0, 0, 1, 0)
    # No response, no response time: seconds 1 and 2 have none.
    assert series["latency_service_p95_ms"].times_s == (0, 3, 4)
    assert series["latency_service_p95_ms"].values == pytest.approx((19.5, np.percentile([2900, 30, 40], 95), 500))
    # The first student has a request outstanding until second 3; the second arrives in it.
    assert series["active_students"].values == (1, 1, 1, 2, 1)


def test_connect_time_is_of_the_requests_that_connected():
    first = [line(1, 0, 0, 10, connect=9), line(1, 50, 50, 10)]
    run = load_of(*first, line(2, 0, 0, 10, connect=0), line(2, 50, 50, 30, connect=19), threads=2)
    # Thread 2 connected in less than a millisecond, and once more later.
    assert run.measurement().metrics["connect_p95"].value == pytest.approx(np.percentile([9, 0, 19], 95))


@pytest.mark.parametrize(
    ("exception", "message", "kind"),
    [
        ("org.apache.http.conn.ConnectTimeoutException", "", "connect_timeout"),
        ("org.apache.http.conn.HttpHostConnectException", "Connect to [/10.0.0.2] failed: Connection refused",
         "connection_refused"),
        ("org.apache.http.conn.HttpHostConnectException", "Connect to [/10.0.0.2] failed: Connection timed out",
         "connect_timeout"),
        ("java.net.ConnectException", "Network is unreachable (connect failed)", "unreachable"),
        ("java.net.NoRouteToHostException", "", "unreachable"),
        ("java.net.BindException", "", "other"),
        ("", "", "other"),
    ],
)  # fmt: skip
def test_kinds_of_exception_that_are_not_in_the_verbatim_file(exception, message, kind):
    message = f"Non HTTP response message: {message}" if message else ""
    assert error_kind(f"Non HTTP response code: {exception}", message) == kind


TEXT = VERBATIM.read_text()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (TEXT[:-1], "cut off"),
        (TEXT[: TEXT.index("****** received")], "cut off"),
        (TEXT.replace("due_ms", "due", 1), "due_ms"),
        (TEXT.replace("1795259671638", "null", 1), "column due_ms"),
        (TEXT.replace(",20,log in", ",log in", 1), "15 fields"),
        (TEXT.replace("student0,1,D", "student0,null,D", 1), "question 'null'"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path, text, says):
    with pytest.raises(MeasurementFailed, match=says):
        parse_jtl(text)
    with pytest.raises(MeasurementFailed, match=r"nothing\.jtl"):
        read_jtl(tmp_path / "nothing.jtl")


def test_every_way_to_cut_a_file_off_is_noticed_and_can_be_allowed():
    whole = parse_jtl(TEXT)
    for end in range(TEXT.index("\n") + 1, len(TEXT), 7):
        cut = TEXT[:end]
        try:
            samples = parse_jtl(cut)
        except MeasurementFailed:
            samples = parse_jtl(cut, allow_truncated=True) if len(cut) > len(HEADING) else None
        # What is read without complaint is what is there, as far as it goes.
        if samples is not None:
            assert samples.sent_ms.tolist() == whole.sent_ms.tolist()[: len(samples)]
            assert abs(len(samples) - TEXT[:end].count(",students 1-")) <= 1


def test_students_of_several_engines_are_told_apart():
    lines = [line(1, 0, 0, 5), line(1, 50, 50, 5)]
    engines = [text.replace("students 1-1", f"10.0.3.{n}:1099-students 1-1") for n in (1, 4) for text in lines]
    assert parse_jtl(HEADING + "".join(engines)).thread.tolist() == [1, 1, 1 + ENGINE_THREADS, 1 + ENGINE_THREADS]
