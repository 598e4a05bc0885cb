"""Every measurement is stored without loss, whatever happens to the process, the file, or the names in it."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from flightpath.errors import UsageError
from probes.preflight.history.past import changes, comparable, describe, load, parse_range
from probes.preflight.history.recording import Recording, load_result, parameters_of, route_changed
from probes.preflight.records import LimitedBy
from probes.preflight.spec import Connections, TransferSpec
from probes.preflight.target import Target
from results.records import RunStatus
from results.records import Verdict as Fidelity
from results.store.backend import StoreFailed
from results.store.query import RunQuery
from results.store.sqlite import DATABASE_NAME
from results.store.store import Store
from tests.support.preflight_made_up import HOST, day, measurement, noisy, store_daily, store_result, upload


def reading(folder: Path) -> Store:
    return Store.open(folder, create=False)


@pytest.mark.parametrize("kept_early", [0, 1])
def test_a_measurement_comes_back_whole(tmp_path, kept_early):
    whole = measurement([9e8, None, 8e8], spec=upload(streams=4, connections=Connections.ONE, iterations=3))
    recording = Recording(tmp_path, whole.target, whole.spec)
    for each in whole.iterations[:kept_early]:
        recording.add(each)
    recording.finish(whole)
    assert load_result(reading(tmp_path), recording.run_id) == whole
    assert len(reading(tmp_path).cells(recording.run_id)) == 3
    run = store_result(whole, tmp_path)
    assert load_result(reading(tmp_path), run) == whole
    assert reading(tmp_path).run(run).command == tuple(sys.orig_argv)


def test_iterations_that_measured_this_machine_do_not_count(tmp_path):
    whole = measurement([9e8, 2e8, 8e8])
    spoilt = replace(whole.iterations[1], verdict=LimitedBy.CIPHER_LIMITED, reason="busy")
    store_result(replace(whole, iterations=(whole.iterations[0], spoilt, whole.iterations[2])), tmp_path)
    (past,) = load(reading(tmp_path), HOST)
    assert past.goodputs_bps == (9e8, 8e8) and past.measures_path and past.verdict is LimitedBy.CIPHER_LIMITED
    verdicts = [cell.certificate.verdict for cell in reading(tmp_path).cells(past.run_id)]
    assert verdicts == [Fidelity.FAITHFUL, Fidelity.UNUSABLE, Fidelity.FAITHFUL]


def test_an_iteration_is_kept_before_the_next_begins(tmp_path):
    recording = Recording(tmp_path, Target(HOST, "me", HOST), TransferSpec(iterations=3))
    for number, iteration in enumerate(measurement([1e9, 2e9]).iterations, start=1):
        recording.add(iteration)
        (past,) = load(reading(tmp_path), HOST)
        assert past.goodputs_bps == (1e9, 2e9)[:number] and past.status is RunStatus.RUNNING
    recording.abort(RunStatus.INTERRUPTED)
    (past,) = load(reading(tmp_path), HOST)
    assert past.status is RunStatus.INTERRUPTED and load_result(reading(tmp_path), past.run_id) is None


def test_only_equal_conditions_are_comparable(tmp_path):
    store_daily(tmp_path, noisy(3))
    store_result(measurement([9e8], at=day(3), spec=TransferSpec(streams=4)), tmp_path)
    store_result(measurement([9e8], at=day(4), verdict=LimitedBy.DISK_LIMITED), tmp_path)
    alike = TransferSpec(iterations=3, interval_s=0.1, route=False)
    store_result(measurement([9e8] * 3, at=day(5), spec=alike), tmp_path)
    pasts = load(reading(tmp_path), HOST)
    assert [past.at for past in comparable(pasts, pasts[-1])] == [day(0), day(1), day(2), day(5)]
    assert changes(pasts[2], pasts[3]) == ["streams: 1 became 4"]


def test_a_configuration_in_short():
    assert describe({"direction": "download", "streams": 1}) == "download, 1 stream"
    told = {"direction": "upload", "streams": 8, "send_buffer_bytes": 2**20, "time_limit_s": 5.0, "mptcp": True}
    assert describe(told) == "upload, 8 streams, send buffer 1 MiB, time limit 5 s, mptcp"
    parameters = parameters_of(Target("h", "me", "h"), TransferSpec(mss_bytes=9000, iterations=5))
    assert parameters == {"host": "h", "direction": "download", "streams": 1, "mss_bytes": 9000}


def test_a_silent_router_is_no_change():
    assert not route_changed("a > * > c", "a > b > c")
    assert not route_changed("a > b > c", "a > b")
    assert route_changed("a > b > c", "a > x > c")


@pytest.mark.parametrize("host", ["x' OR '1'='1", '"; DROP TABLE runs; --', "%", "_", "dtn.exampl_", "DTN.EXAMPLE"])
def test_a_name_matches_itself_only(tmp_path, host):
    store_result(measurement([9e8]), tmp_path)
    with pytest.raises(UsageError, match=rf"(?s)no measurement of.*measured were: {HOST}$"):
        load(reading(tmp_path), host)
    store_result(measurement([1e8], host=host), tmp_path)
    assert [past.goodput_bps for past in load(reading(tmp_path), host)] == [1e8]


def test_a_name_that_is_not_text_is_refused(tmp_path):
    with pytest.raises(UsageError, match="not UTF-8"):
        load(Store.open(tmp_path), os.fsdecode(b"dtn\xff"))


def test_damage_to_a_large_store_is_found_where_it_is_read(tmp_path, monkeypatch):
    store_result(measurement(noisy(15)), tmp_path)
    monkeypatch.setattr("results.store.sqlite.READ_WHOLE_BYTES", 0)
    database = tmp_path / DATABASE_NAME
    whole = database.read_bytes()
    found = 0
    for page in range(1, len(whole) // 4096, 3):
        database.write_bytes(whole[: page * 4096] + b"\xa5" * 4096 + whole[(page + 1) * 4096 :])
        try:
            store = reading(tmp_path)
            for past in load(store, HOST):
                load_result(store, past.run_id)
        except (UsageError, StoreFailed) as error:
            assert "damaged" in str(error)
            found += 1
    assert found >= 3, "many pages are not read by a history, but some are"
    database.write_bytes(whole[: 4096 * 9])
    with pytest.raises(UsageError, match="damaged"):
        reading(tmp_path)


def test_time_ranges(tmp_path):
    store_daily(tmp_path, noisy(10))

    def days(text: str) -> list[int]:
        since, until = parse_range(text, day(10))
        found = reading(tmp_path).history(RunQuery("preflight", HOST, since=since, until=until), ())
        return [(past.record.started_at - day(0)).days for past in found]

    assert days("..") == list(range(10))
    assert days("2026-11-03T00:00+00:00..2026-11-05T12:00+00:00") == [2, 3, 4]
    assert days("3d..") == [7, 8, 9]
    assert days("..7d12h") == [0, 1, 2]
    assert days("2026-11-04..2026-11-04") in ([3], [2], [4])  # a day of this machine's zone
    for wrong in ("yesterday..", "..99999999999d"):
        with pytest.raises(UsageError, match="accepted forms"):
            days(wrong)
