"""A cluster's parts that need no network: turns on a machine, refusals, and cells that are tried elsewhere."""

import threading
import time
from dataclasses import replace

import pytest

from flightpath.errors import MeasurementFailed, UsageError
from flightpath.identity import identity
from results.records import Cell, CellResult, Certificate, Measurement, Verdict
from scenarios.framework.cluster import turns
from scenarios.framework.cluster.about import difference
from scenarios.framework.cluster.cluster import Cluster
from scenarios.framework.cluster.key import make_key, require_encrypted, security
from scenarios.framework.cluster.sending import SentCell, keep
from scenarios.framework.cluster.task import Outcome
from scenarios.framework.cluster.workers import Workers
from scenarios.framework.cluster.workers import turns as turns_of_plan
from scenarios.framework.guest_exchange import answer_with_result
from scenarios.framework.machine import PlannedCell
from scenarios.framework.plan import Plan

PLANNED = PlannedCell(0, Cell({"x": 1}, 1))


@pytest.fixture(autouse=True)
def own_turns(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def never() -> None:
    """Nothing is cancelled."""


def test_a_cell_of_the_real_clock_has_the_machine_alone():
    inside, most, entered = [], {"virtual": 0, "real": 0}, []

    def measure(kind: str) -> None:
        with turns.turn(alone=kind == "real", check=never):
            inside.append(kind)
            entered.append(kind)
            assert kind != "real" or len(inside) == 1, inside
            assert kind == "real" or "real" not in inside, inside
            most[kind] = max(most[kind], inside.count(kind))
            time.sleep(0.3)
            inside.remove(kind)

    threads = [threading.Thread(target=measure, args=(kind,)) for kind in ("virtual", "virtual", "real", "virtual")]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    assert len(entered) == 4, "all were measured, and no assertion failed"
    assert most == {"virtual": 2, "real": 1}
    assert entered == ["virtual", "virtual", "real", "virtual"], "who waits to be alone is not overtaken"


def test_who_waits_for_a_turn_can_be_cancelled():
    def cancelled() -> None:
        raise MeasurementFailed("nobody waits")

    waiting = turns.turn(alone=False, check=cancelled)
    with turns.turn(alone=True, check=never), pytest.raises(MeasurementFailed, match="nobody waits"), waiting:
        pass


def test_cells_share_processors_only_if_there_are_more_of_them():
    with turns.processor([3, 5]) as first, turns.processor([3, 5]) as second, turns.processor([3, 5]) as third:
        assert (first, second, third) == (3, 5, 3)
    with turns.processor([3, 5]) as again:
        assert again == 3


def test_a_worker_of_another_commit_is_refused_in_a_sentence():
    ours = identity()
    assert difference({"host": "b", "identity": ours}) == ""
    other = difference({"host": "b", "identity": {**ours, "commit": "123456789abc"}})
    assert other.startswith("b has Flightpath") and "at commit 123456789abc instead of" in other


def test_a_key_is_made_once_and_only_its_owner_may_read_it(tmp_path):
    key = tmp_path / "x/key.pem"
    make_key(key)
    assert key.stat().st_mode & 0o777 == 0o600
    assert security(key).require_encryption
    with pytest.raises(UsageError, match="exists"):
        make_key(key)
    with pytest.raises(UsageError, match="there is no key"):
        security(tmp_path / "other")
    with pytest.raises(UsageError, match="with TLS"):
        require_encrypted("tcp://127.0.0.1:1")


def answered(host: str, verdict: Verdict) -> Outcome:
    """What a worker there sends; this test has only one machine."""
    reasons = () if verdict is Verdict.FAITHFUL else ("it was busy",)
    result = CellResult(PLANNED.cell, Measurement(), Certificate(verdict, reasons))
    return Outcome(worker={"host": host, "machine": f"boot of {host}"}, answer=answer_with_result(result))


class Run:
    """The part of a run that a cluster tells of its cells."""

    def __init__(self, artifacts) -> None:
        self.artifacts, self.progress, self.said = artifacts, self, []

    def postponed(self, _label: str, why: str) -> None:
        self.said.append(why)


def test_an_unusable_cell_is_tried_on_other_machines_and_all_attempts_are_kept(tmp_path):
    cluster, cell, run = Cluster("tls://x", tmp_path), SentCell(PLANNED, 0), Run(tmp_path)
    cluster.workers = workers("a", "b", "c", "d")
    assert cluster._judged(run, cell, lambda: answered("a", Verdict.UNUSABLE)) is None
    assert cluster._judged(run, cell, lambda: answered("b", Verdict.UNUSABLE)) is None
    found = cluster._judged(run, cell, lambda: answered("c", Verdict.UNUSABLE)).certificate.found
    assert [attempt["worker"]["host"] for attempt in found["earlier_attempts"]] == ["a", "b"]
    assert found["worker"]["host"] == "c" and found["earlier_attempts"][0]["reasons"] == ["it was busy"]
    assert run.said == ["unusable on a", "unusable on b"]


def test_where_no_other_machine_is_an_unusable_cell_counts(tmp_path):
    cluster, run = Cluster("tls://x", tmp_path), Run(tmp_path)
    cluster.workers = Workers({each: workers("a").seen["a"] for each in "12"}, {"1": 1, "2": 1})
    result = cluster._judged(run, SentCell(PLANNED, 0), lambda: answered("a", Verdict.UNUSABLE))
    assert result.certificate.verdict is Verdict.UNUSABLE and "earlier_attempts" not in result.certificate.found


def workers(*hosts: str) -> Workers:
    seen = {host: {"host": host, "machine": f"boot of {host}", "identity": identity()} for host in hosts}
    return Workers(seen, dict.fromkeys(hosts, 1))


def test_repetitions_of_each_point_go_round_the_machines_on_the_real_clock():
    plan = Plan("quick", {"x": (1, 2, 3)}, {"clock": "real"}, repeat=3)
    three, hosts = workers("a", "b", "c"), {}
    for cell, turn in zip(plan.cells(), turns_of_plan(plan), strict=True):
        where = three.where(plan, turn)
        (host,) = where["workers"]
        assert where["resources"] == {"exclusive": 1}
        hosts.setdefault(("point", cell.parameters["x"]), set()).add(host)
        hosts.setdefault(("repetition", cell.repetition), set()).add(host)
    assert len(hosts) == 6 and all(of == {"a", "b", "c"} for of in hosts.values()), hosts
    assert three.where(plan, 0, tried={"boot of a", "boot of c"})["workers"] == ["b"]
    assert workers("a", "c").where(plan, 0, tried={"boot of a", "boot of c"})["workers"] == ["a", "c"], "no other"
    virtual = replace(plan, settings={"clock": "virtual"})
    assert workers("a", "b").where(virtual, turns_of_plan(virtual)[1])["workers"] == ["a", "b"]


def test_files_of_a_worker_stay_in_the_folder_of_the_run(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    keep({"captures/a.pcap": b"x"}, folder)
    assert (folder / "captures/a.pcap").read_bytes() == b"x"
    with pytest.raises(MeasurementFailed, match="not in the run's folder"):
        keep({"../evil": b"x"}, folder)
    assert not (tmp_path / "evil").exists()
