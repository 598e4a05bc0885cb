"""The progress of a part: complete, to be resumed, or to be measured."""

import ast
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from experiments import catalogue
from flightpath.clock import Clock
from flightpath.errors import UsageError
from flightpath.identity import identity
from flightpath.project import PROJECT
from results.metrics import metric_kind
from results.records import ClaimVerdict, RunStatus
from scenarios.reproduction import check, measuring_code, writing
from scenarios.reproduction.__main__ import main
from scenarios.reproduction.measuring import command, measure, remaining_s
from scenarios.reproduction.measuring_code import is_same_program
from scenarios.reproduction.papers import papers, reason
from scenarios.reproduction.part import Part
from scenarios.reproduction.parts import FULL_SIZE, PARTS, chosen
from scenarios.reproduction.progress import Next, State, state_of
from scenarios.reproduction.record import MeasuredPart, read
from tests.support.checkouts import commit_all, git
from tests.support.reproduction_runs import HERE, SMALL, stored_run


@pytest.mark.parametrize("status", [RunStatus.INTERRUPTED, RunStatus.FAILED, None], ids=str)
def test_a_run_that_did_not_end_is_resumed(store, status, tmp_path):
    run_id = stored_run(store, cells=9, status=status)
    state = state_of(SMALL, store)
    assert (state.next, state.cells, state.planned) == (Next.RESUME, 9, 12)
    assert command(state, tmp_path, 2)[-4:] == ["--resume", run_id, "--jobs", "2"]
    assert remaining_s(state, 2) == pytest.approx(3 * SMALL.cell_s / 2)


def test_congestion_controls_that_this_machine_lacks_do_not_count(store):
    part = Part("dtn_congestion", "netpreflight", "--repeat 3", cell_s=7)
    plan = part.plan()
    fewer = replace(plan, axes={**plan.axes, "congestion_control": ("reno", "cubic")})
    stored_run(store, part, plan=fewer.as_json())
    assert state_of(part, store).next is Next.NOTHING
    other = replace(plan, axes={**plan.axes, "congestion_control": ("reno", "bbr")})
    stored_run(store, part, plan=other.as_json())
    assert state_of(part, store).planned == len(fewer.cells())


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([{"part": replace(SMALL, options="--repeat 5 --only loss=0")}], Next.MEASURE),
        ([{"plan": {"form": 3}}], Next.MEASURE),  # which is none
        ([{}, {"cells": 1, "status": RunStatus.INTERRUPTED}], Next.RESUME),
    ],
)
def test_the_newest_run_of_the_same_plan_counts(store, runs, expected):
    for run in runs:
        stored_run(store, **run)
    assert state_of(SMALL, store).next is expected


def test_a_run_of_another_program_is_not_gone_on_with(store):
    stored_run(store, environment={**HERE, "commit": "0000000"})
    assert state_of(SMALL, store).next is Next.MEASURE
    assert state_of(SMALL, store, same_program=False).next is Next.NOTHING


def commit_with(folder: Path, file: str) -> str:
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text("x\n")
    return commit_all(folder)


DTN, MULTIPATH = "dtn_mss", "multipath_unequal"
AFFECTED = {
    "scenarios/reproduction/content.py scenarios/reproduction/papers/netpreflight.toml": (),
    "experiments/judging.py scenarios/multipath/quadpath_claims.py scenarios/web_load/figures.py": (),
    "scenarios/mptcp_load.py scenarios/steering/__init__.py": (),
    "scenarios/command/runner.py execution/cluster/task.py execution/replay/prompt.py native/recorder/ring.c": (),
    "probes/preflight/commands/measure.py topologies/capture/recorder.py congestion/README.md": (),
    "flightpath/completion.py experiments/files/tables.py": (),
    "experiments/plan.py native/relay/relay.c execution/uml/kernel.patch controllers/app.py": (DTN, MULTIPATH),
    "scenarios/dtn_mss.py scenarios/dtn/transfer.py probes/preflight/transfer/stream.py": (DTN,),
    "scenarios/multipath/transfers.py native/tunnel/uplink.c topologies/testbed/tunnel.py": (MULTIPATH,),
}


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """A checkout of the code that measures, and its commit."""
    folder = tmp_path_factory.mktemp("checkout")
    for floor in measuring_code.FLOORS:
        shutil.copytree(PROJECT / floor, folder / floor, ignore=shutil.ignore_patterns("__pycache__", "build"))
    return folder, commit_all(folder)


@pytest.fixture
def measured(committed):
    yield committed  # to be changed by a test
    git(committed[0], "checkout", "--", ".")


@pytest.mark.parametrize(("file", "due"), [(file, due) for files, due in AFFECTED.items() for file in files.split()])
def test_a_change_affects_experiments_that_depend_on_the_file(measured, file, due):
    folder, commit = measured
    with (folder / file).open("a") as changed:
        changed.write("\nCHANGED = True\n")
    assert due == tuple(name for name in (DTN, MULTIPATH) if not is_same_program({"commit": commit}, name, folder))


def test_docstrings_comments_and_layout_of_python_measure_nothing(measured):
    folder, commit = measured
    file = folder / "experiments/plan.py"
    before = file.read_text()
    file.write_text(f'"""Other words."""\n# a comment\n\n{before.replace("(", "(  ")}')
    assert ast.dump(ast.parse(file.read_text())) != ast.dump(ast.parse(before))
    assert is_same_program({"commit": commit}, DTN, folder)
    file.write_text(before.replace("return ", "return not ", 1))
    assert not is_same_program({"commit": commit}, DTN, folder)


def test_a_record_is_of_one_commit_that_others_can_check_out_and_says_which_parts_are_old(tmp_path):
    def parts(*commits: str) -> list[MeasuredPart]:
        return [replace(committed.parts[0], name=f"part{number}", commit=of) for number, of in enumerate(commits)]

    committed, first = read(writing.COMMITTED), commit_with(tmp_path, "scenarios/x.py")
    check.require_one_commit(parts(first, first), tmp_path)
    second = commit_with(tmp_path, "native/relay/main.c")
    check.require_one_commit(parts(first), tmp_path)
    for wrong, said in [
        ((first, f"{first}, modified 12345678"), "part1 was measured by a changed checkout"),
        (("",), "without a commit"),
        (("0" * 12,), "is not in this history"),
        ((first, second), "by 2 commits"),
    ]:
        with pytest.raises(UsageError, match=said):
            check.require_one_commit(parts(*wrong), tmp_path)
    assert check.stale(parts(first, second), tmp_path) == ["part0"]


def test_what_a_modified_checkout_was_is_unknown_unless_it_still_is(tmp_path):
    commit = commit_with(tmp_path, "scenarios/x.py")
    assert not is_same_program({"commit": f"{commit}, modified"}, "x", tmp_path)
    (tmp_path / "scenarios/x.py").write_text("changed\n")
    modified = identity(tmp_path)
    assert is_same_program(modified, "x", tmp_path)
    (tmp_path / "scenarios/x.py").write_text("changed, again\n")
    for other in (modified, {"commit": commit}, {}):
        assert not is_same_program(other, "x", tmp_path)


def test_a_commit_of_an_imported_run_is_no_option_of_git(tmp_path):
    commit_with(tmp_path, "scenarios/x.py")
    assert not is_same_program({"commit": f"--output={tmp_path}/written"}, "x", tmp_path)
    assert not (tmp_path / "written").exists()


def test_a_part_that_cannot_be_measured_does_not_keep_the_others_from_it(store, capfd):
    refused = State(Part("dtn_mss", "netpreflight", "--congestion-control no_such", clock=Clock.REAL), planned=12)
    stored_run(store)
    assert measure([refused, state_of(SMALL, store)], store.folder, None) == 3
    assert "dtn_mss could not be measured (exit code 3)" in (output := capfd.readouterr().err)
    assert output.endswith("[2/2] dtn_mss: complete already; about 0 s left in all\n")


def test_the_papers_own_sizes_are_a_run_of_their_own(tmp_path, capsys):
    assert main(["--full", "--dry-run", "dtn_mss", "--results", str(tmp_path), "--cluster", "tcp://there:1"]) == 0
    printed = capsys.readouterr().out
    assert "scenarios.dtn_mss --full --seconds 20" in printed and printed.count("--cluster tcp://there:1") == 1
    assert main(["--full", "--record", "--results", str(tmp_path)]) == 2
    assert "the record in docs/ has smaller sizes" in capsys.readouterr().err


def test_a_dry_run_prints_what_is_missing_and_changes_nothing(tmp_path, capsys):
    folder = tmp_path / "none"
    words = ["dtn_window", "multipath_10gbe", "--results", str(folder), "--jobs", "3"]
    assert main(["--dry-run", *words]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("multipath_10gbe"), "what needs a quiet machine comes first"
    assert f" --clock real --scale 1 --results {folder}\n" in printed, "on the real clock there are no parallel cells"
    assert "dtn_window" in printed and "0 of 30 cells" in printed and f"--results {folder} --jobs 3" in printed
    assert printed.endswith(" on 3 cores\n")
    assert not folder.exists()


@pytest.mark.parametrize(("words", "message"), [(["--page"], "no"), (["--check", "/none.json"], "cannot read /none")])
def test_a_wrong_command_line_is_an_error_in_one_line(words, message, tmp_path, capsys):
    assert main([*words, "--results", str(tmp_path / "none")]) == 2
    assert message in capsys.readouterr().err


BY_NAME = {part.name: part for part in PARTS}


def test_all_parts_take_two_hours_and_a_quarter_roughly():
    assert sum(part.estimate_s(jobs=2) for part in PARTS) <= 8400


@pytest.mark.parametrize("part", [*PARTS, *FULL_SIZE], ids=lambda part: f"{part.name} {part.options[:6]}")
def test_a_part_can_be_typed_as_it_is_shown(part):
    plan = part.plan()
    assert plan.cells() and plan.repeat >= 2  # one repetition decides nothing
    assert plan.clock is part.clock
    assert (part.cell_s > 0) is (part.clock is Clock.VIRTUAL)


def test_each_part_has_the_papers_size_too():
    in_others = {"vegas_thresholds_slow", *(part.name for part in PARTS if part.adds_to)}
    assert set(BY_NAME) - {part.name for part in FULL_SIZE} == in_others, "their cells are in other parts"
    assert {part.plan().repeat for part in FULL_SIZE} == {10, 30}


def settings(part):
    return {name: value for name, value in part.plan().settings.items() if name != "mptcp_size_mb"}


@pytest.mark.parametrize("part", [part for part in PARTS if part.adds_to], ids=lambda part: part.name)
def test_what_adds_to_a_part_is_the_same_experiment(part):
    main = BY_NAME[part.adds_to]
    assert part.scenario.name == main.scenario.name and settings(part) == settings(main)
    assert part.clock is main.clock


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_each_claim_that_is_not_reproduced_has_a_reason_and_no_reason_is_left_over(paper):
    scenarios = {part.scenario.name for part in (*PARTS, *FULL_SIZE) if part.paper == paper.name}
    sentences = {claim.claim for name in scenarios for claim in catalogue.find(name).claims}
    assert not set(paper.reasons) - sentences
    still_open = (ClaimVerdict.NOT_REPRODUCED, ClaimVerdict.NOT_DECIDED)
    own = [claim for claim in read(writing.COMMITTED).claims if claim.paper == paper.name and claim.claim in sentences]
    assert not [each.claim for each in own if each.verdict in still_open and not reason(paper, each.claim)]
    assert len(paper.differences) > 5


def test_every_scenario_of_a_paper_is_a_part():
    summaries = {name: catalogue.find(name).summary for name in catalogue.names()}
    of_papers = {name for name, text in summaries.items() if "(paper: " in text or "(netpreflight" in text}
    assert len(of_papers) >= 9
    assert {part.scenario.name for part in PARTS} >= of_papers
    assert {part.paper for part in PARTS} == {paper.name for paper in papers()}


@pytest.mark.parametrize("scenario", sorted({part.scenario.name for part in PARTS}))
def test_each_claim_is_about_a_clock_that_a_part_has(scenario):
    clocks = {part.clock for part in PARTS if part.scenario.name == scenario}
    needed = {Clock.REAL for claim in catalogue.find(scenario).claims if claim.needs_real_clock}
    assert needed <= clocks


def test_parts_are_chosen_by_name_in_their_own_order():
    assert chosen(()) == list(PARTS)
    assert [part.name for part in chosen(["dtn_tools", "dtn_buffers"])] == ["dtn_buffers", "dtn_tools"]
    suffixes = "", "_mptcp", "_tunnels", "_scalable"
    together = [f"congestion_quadpath{suffix}" for suffix in suffixes]
    for name in together:
        assert [part.name for part in chosen([name])] == together, "they are judged together"
    with pytest.raises(UsageError, match=r"'dtn_windows'(?s:.*)'dtn_window'"):
        chosen(["dtn_windows"])


@pytest.mark.parametrize("paper", papers(), ids=lambda paper: paper.name)
def test_a_paper_names_figures_metrics_and_points_that_its_parts_measure(paper):
    for figure in paper.figures:
        part = BY_NAME[figure.part]
        assert set(figure.ours) <= set(part.scenario.figures)
        assert all(metric_kind(value.metric or figure.metric) for value in figure.values)
        assert part.paper == paper.name
        judged = [part, *(other for other in PARTS if other.adds_to == part.name)]
        measured = [cell.parameters.items() for each in judged for cell in each.plan().cells()]
        for point in (point for value in figure.values for point in (value.where, value.against) if point is not None):
            assert any(point.items() <= parameters for parameters in measured), (figure, point)
