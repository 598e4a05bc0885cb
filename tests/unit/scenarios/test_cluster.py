"""A cluster's parts that need no network: turns on a machine, refusals, and cells that are tried elsewhere."""

import os
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given

from execution.cluster import seeds, task, turns
from execution.cluster.cluster import ClusterExecutor
from execution.cluster.key import make_key, scheduler_address, security
from execution.cluster.machine import LinkProof, Proof, prove
from execution.cluster.sending import SentCell, keep
from execution.cluster.task import Outcome
from execution.cluster.workers import Workers
from execution.cluster.workers import turns as turns_of_plan
from execution.executor import PlannedCell
from execution.guest_side import PlanCheck, measure_cell
from experiments.plan import Plan
from flightpath.calls import Answer, Failure, Returns
from flightpath.clock import Clock
from flightpath.errors import MeasurementFailed, MissingCapability, UsageError
from flightpath.identity import identity
from results.records import Cell, CellResult, Certificate, Measurement, Verdict
from tests.support.stored_runs import cell_results

PLANNED = PlannedCell(0, Cell({"x": 1}, 1))
ANOTHER = {**identity(), "commit": "123456789abc"}
REAL = Plan("quick", {"x": (1, 2, 3)}, repeat=3)
VIRTUAL = replace(REAL, executor="uml", clock=Clock.VIRTUAL)


@pytest.fixture(autouse=True)
def own_turns(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)


def never() -> None:
    raise AssertionError("it has to wait, and would wait for ever")


def test_a_cell_of_the_real_clock_has_the_machine_alone_and_is_not_overtaken():
    waits, entered = {"real": threading.Event(), "virtual": threading.Event()}, []

    def measure(kind: str) -> None:
        with turns.turn(alone=kind == "real", check=waits[kind].set):
            entered.append(kind)

    threads = [threading.Thread(target=measure, args=(kind,)) for kind in waits]
    with turns.turn(alone=False, check=never), turns.turn(alone=False, check=never):
        for thread, waiting in zip(threads, waits.values(), strict=True):
            thread.start()
            assert waiting.wait(30) and not entered
    for thread in threads:
        thread.join()
    assert entered == ["real", "virtual"]


def test_who_waits_for_a_turn_can_be_cancelled():
    def cancelled() -> None:
        raise MeasurementFailed("nobody waits")

    waiting = turns.turn(alone=False, check=cancelled)
    with turns.turn(alone=True, check=never), pytest.raises(MeasurementFailed, match="nobody waits"), waiting:
        pass


def test_what_another_user_has_put_in_the_place_of_the_locks_is_not_used(tmp_path, monkeypatch):
    other = os.geteuid() + 1
    (tmp_path / f"flightpath-turns-{other}").mkdir()
    monkeypatch.setattr("os.geteuid", lambda: other)
    with pytest.raises(MissingCapability, match=r"another user\n.*rm -r"):
        turns.folder()


def test_a_cell_has_a_processor_of_its_own_and_waits_for_one():
    def measure() -> None:
        with turns.processor([3, 5], waits.set) as number:
            given.append(number)

    waits, given = threading.Event(), []
    third = threading.Thread(target=measure)
    with turns.processor([3, 5], never) as first:
        with turns.processor([3, 5], never) as second:
            third.start()
            assert waits.wait(30) and not given
        third.join()
    assert (first, second, given) == (3, 5, [5])


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
        scheduler_address("tcp://127.0.0.1:1")


@given(cell_results)
def test_a_result_comes_back_as_it_was(result):
    returns = Returns.of(measure_cell)
    assert returns.value(returns.answer(lambda: result).model_dump_json().encode()) == result


def about(host: str) -> dict[str, Any]:
    """Identity that a worker there reports; this test has only one machine."""
    return {"host": host, "machine": f"boot of {host}", "identity": identity(), "clocks": list(Clock)}


def unusable(host: str) -> Outcome:
    result = CellResult(PLANNED.cell, Measurement(), Certificate(Verdict.UNUSABLE, ("it was busy",)))
    return Outcome(worker=about(host), answer=Returns.of(measure_cell).answer(lambda: result))


def workers(*hosts: str) -> Workers:
    return Workers({host: about(host) for host in hosts}, dict.fromkeys(hosts, 1))


def judge_on(on: Workers, progress: Mock | None = None):
    """Judgement and display of one cell's results by a cluster of these workers."""
    cluster, cell, run = ClusterExecutor("tls://x", Path("no key")), SentCell(PLANNED, 0), Mock(plan=REAL)
    cluster.workers, run.progress = on, progress
    return lambda outcome: cluster._judged(run, cell, lambda: outcome)


def test_an_unusable_cell_is_tried_on_other_machines_and_all_attempts_are_kept():
    judge = judge_on(workers("a", "b", "c", "d"), progress := Mock())
    assert judge(unusable("a")) is judge(unusable("b")) is None
    found = judge(unusable("c")).certificate.found
    assert [attempt["worker"]["host"] for attempt in found["earlier_attempts"]] == ["a", "b"]
    assert found["worker"]["host"] == "c" and found["earlier_attempts"][0]["reasons"] == ["it was busy"]
    assert [why for (_, why), _ in progress.postponed.call_args_list] == ["unusable on a", "unusable on b"]


def test_where_no_other_machine_is_an_unusable_cell_counts():
    one_machine = Workers(dict.fromkeys("12", about("a")), {"1": 1, "2": 1})
    certificate = judge_on(one_machine)(unusable("a")).certificate
    assert certificate.verdict is Verdict.UNUSABLE and "earlier_attempts" not in certificate.found


def test_repetitions_of_each_point_go_round_the_machines_on_the_real_clock():
    plan, three, hosts = REAL, workers("a", "b", "c"), {}
    for cell, turn in zip(plan.cells(), turns_of_plan(plan), strict=True):
        where = three.where(plan, turn)
        (host,) = where["workers"]
        assert where["resources"] == {"exclusive": 1}
        hosts.setdefault(("point", cell.parameters["x"]), set()).add(host)
        hosts.setdefault(("repetition", cell.repetition), set()).add(host)
    assert len(hosts) == 6 and all(of == {"a", "b", "c"} for of in hosts.values()), hosts
    assert three.where(plan, 0, tried={"boot of a", "boot of c"})["workers"] == ["b"]
    assert "workers" not in workers("a", "c").where(plan, 0, tried={"boot of a", "boot of c"}), "there is no other"
    assert workers("a", "b").where(VIRTUAL, turns_of_plan(VIRTUAL)[1]) == {}, "any will do"


def test_a_worker_that_joins_later_refuses_what_another_commit_wants_and_says_why(tmp_path, monkeypatch):
    """It is asked for cells before anybody has looked at it; an answer without a reason would be a failed cell."""
    monkeypatch.setattr(task, "DaskProgress", Mock())
    for module in (task, seeds):
        monkeypatch.setattr(module, "this_machine", lambda: about("b"))
    wanted = PlanCheck(scenario="x", file=tmp_path / "nowhere.py", plan={})
    outcome = Outcome.model_validate(task.check(wanted.model_dump_json(), ANOTHER, ""))
    assert re.fullmatch("b has Flightpath .* instead of .* at commit 123456789abc", outcome.refused)
    assert outcome.answer is None
    with pytest.raises(MissingCapability, match=r"instead of .* 123456789abc"):
        seeds.run_on_worker("", ANOTHER)


def test_a_worker_measures_only_what_its_proof_says():
    both = workers("a", "b")
    both.seen["a"] = {**about("a"), "clocks": [Clock.REAL]}
    assert both.usable(REAL) == ["a", "b"] and both.usable(VIRTUAL) == ["b"]
    assert both.where(VIRTUAL)["workers"] == ["b"] and both.places(VIRTUAL) == 1


def test_a_machine_that_lacks_something_is_left_out_until_none_is_left(capsys):
    both = workers("a", "b")
    judge = judge_on(both)
    error = Answer(failure=Failure.of(MissingCapability("JMeter is not installed", "make setup")))
    assert judge(Outcome(worker=about("a"), answer=error)) is None
    assert both.usable(REAL) == ["b"]
    assert "a worker is not used: a: JMeter is not installed" in capsys.readouterr().err
    with pytest.raises(MissingCapability, match="JMeter"):
        judge(Outcome(worker=about("b"), answer=error))


def test_a_proof_is_found_out_once_for_all_workers_of_a_machine(monkeypatch):
    proof, tell = Proof(missing=["veth"], clocks={Clock.REAL: LinkProof(why_not="no root")}), Mock()
    monkeypatch.setattr("execution.cluster.machine._found", examine := Mock(return_value=proof))
    assert prove({"commit": "a"}, tell) == prove({"commit": "a"}, tell) == proof
    assert examine.call_count == tell.call_count == 1
    prove({"commit": "b"}, tell)
    assert examine.call_count == 2, "another commit needs another proof"
    (turns.folder() / "proof.json").write_text("{damaged")
    prove({"commit": "b"}, tell)
    assert examine.call_count == 3


def test_the_scheduler_s_address_may_come_from_its_file(tmp_path):
    file = tmp_path / "scheduler.json"
    with pytest.raises(UsageError, match="there is no scheduler file"):
        scheduler_address(str(file))
    for text in ("{}", "{"):
        file.write_text(text)
        with pytest.raises(UsageError, match="is no scheduler file"):
            scheduler_address(str(file))
    file.write_text('{"address": "tls://10.0.0.1:8786"}')
    assert scheduler_address(str(file)) == "tls://10.0.0.1:8786"


def test_files_of_a_worker_stay_in_the_folder_of_the_run(tmp_path):
    keep({"captures/a.pcap": b"x"}, tmp_path / "run")
    assert (tmp_path / "run/captures/a.pcap").read_bytes() == b"x"
    with pytest.raises(MeasurementFailed, match="not in the run's folder"):
        keep({"../evil": b"x"}, tmp_path / "run")
    assert not (tmp_path / "evil").exists()
