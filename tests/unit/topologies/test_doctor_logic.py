"""The doctor's logic: findings from the results of probes, the summary of the machine, and the report."""

import io
import json
from collections import Counter
from collections.abc import Callable
from unittest.mock import Mock

import pytest
from rich.console import Console

from flightpath.errors import MissingCapability
from flightpath.project import PROJECT
from topologies import __main__ as command
from topologies.doctor import check as checking
from topologies.doctor import kernel_modules, report
from topologies.doctor.check import Check, CheckResult, Finding, State, examine, missing, ok, try_commands, unknown
from topologies.doctor.checks import machine, privileges, tools, transport
from topologies.doctor.examination import CHECKS, Examination, examine_machine
from topologies.sandbox import sandbox

MACHINE = {
    "distribution": "Debian GNU/Linux 12 (bookworm)",
    "kernel": "6.1.0-31-amd64",
    "architecture": "x86_64",
    "cores": 4,
    "memory_bytes": 8 << 30,
    "user": "root",
}
ALL_CHECKS = [*CHECKS, privileges.sandbox_check(lambda: 0)]


def a_check(probe: Callable[[], Finding] = lambda: ok("1.0"), **fields: object) -> Check:
    usual = {"area": "area", "name": "thing", "costs": "It costs.", "remedy": "sudo apt-get install thing"}
    return Check(probe=probe, **{**usual, **fields})


def a_result(state: State = State.OK, *, name: str = "thing", required: bool = False, **fields: str) -> CheckResult:
    defaults = {"area": "area", "found": "1.0", "costs": "It costs.", "remedy": "mend it", **fields}
    return CheckResult(name=name, state=state, required=required, **defaults)


def an_examination(*results: CheckResult, loaded: tuple[str, ...] = ()) -> Examination:
    return Examination(MACHINE, results, loaded)


@pytest.fixture
def no_namespaces(monkeypatch):
    """Runs sandboxed checks in this process."""
    monkeypatch.setattr(sandbox, "run_inside", lambda body: body())


def test_every_check_has_a_name_of_its_own_and_says_what_its_absence_costs_and_what_mends_it():
    assert [name for name, count in Counter(check.name for check in ALL_CHECKS).items() if count > 1] == []
    assert [check.name for check in ALL_CHECKS if not (check.costs.endswith(".") and check.remedy and check.area)] == []


@pytest.mark.parametrize(
    ("error", "state", "found", "remedy"),
    [
        (ValueError("no\nsuch number"), State.UNKNOWN, "ValueError: no such number", "apt-get install thing"),
        (MissingCapability("there is no tun", "modprobe tun"), State.MISSING, "there is no tun", "modprobe tun"),
        (PermissionError(13, "Permission denied", "tun"), State.UNKNOWN, "not try it: tun: Permission denied", "root"),
    ],
)
def test_what_a_probe_raises_is_told_as_missing_only_if_it_says_so(error, state, found, remedy):
    result = examine(a_check(Mock(side_effect=error)))

    assert result.state is state
    assert found in result.found and remedy in result.remedy


@pytest.mark.parametrize("is_root", [True, False])
def test_a_probe_s_own_remedy_comes_before_the_check_s_and_root_is_not_told_to_use_sudo(monkeypatch, is_root):
    monkeypatch.setattr(checking, "is_machine_root", lambda: is_root)

    assert examine(a_check(lambda: missing("gone", "do this"))).remedy == "do this"
    assert examine(a_check(lambda: missing("gone"))).remedy == f"{'' if is_root else 'sudo '}apt-get install thing"


@pytest.mark.parametrize(
    ("script", "state", "found"),
    [
        ("exit 0", State.OK, "works"),
        ("echo Error: Specified qdisc kind is unknown. >&2; exit 2", State.MISSING, "qdisc kind is unknown"),
        ("echo RTNETLINK answers: Operation not permitted >&2; exit 2", State.UNKNOWN, "not permitted"),
    ],
)
def test_commands_that_fail_tell_missing_from_not_permitted(script, state, found):
    finding = try_commands(["true"], ["sh", "-c", script], found="works")

    assert finding.state is state
    assert found in finding.found
    assert "exit code" not in finding.found


def test_one_bad_probe_does_not_spoil_the_others_and_areas_stay_together(no_namespaces):
    checks = [
        a_check(Mock(side_effect=RuntimeError("broken")), name="bad outside"),
        a_check(name="good outside", area="another"),
        a_check(Mock(side_effect=RuntimeError("broken")), name="bad inside", sandboxed=True),
        a_check(name="good inside", area="a third", sandboxed=True),
    ]

    results = examine_machine(checks).results
    assert ", ".join(result.name for result in results) == "bad outside, bad inside, good outside, good inside, sandbox"
    assert [result.state for result in results] == [State.UNKNOWN] * 2 + [State.OK] * 3


def test_what_was_tried_before_a_sandbox_was_killed_is_kept(monkeypatch):
    fatal = Mock(side_effect=SystemExit(137))
    checks = [a_check(name="first", sandboxed=True), a_check(fatal, name="fatal", sandboxed=True)]

    def killed(body: Callable[[], int]) -> int:
        with pytest.raises(SystemExit):
            body()
        return 137

    monkeypatch.setattr(sandbox, "run_inside", killed)
    by_name = {result.name: result for result in examine_machine(checks).results}

    assert by_name["first"].state is State.OK
    assert by_name["fatal"].state is State.UNKNOWN
    assert "137" in by_name["sandbox"].found


def test_modules_that_the_kernel_loads_meanwhile_are_named(no_namespaces, monkeypatch):
    lists = iter([frozenset({"tun"}), frozenset({"tun", "sch_netem"})])
    monkeypatch.setattr(kernel_modules, "loaded", lambda: next(lists))

    assert examine_machine([a_check()]).loaded_modules == ("sch_netem",)


@pytest.mark.parametrize(("state", "required"), [(State.MISSING, False), (State.UNKNOWN, True), (State.LIMITED, True)])
def test_what_is_not_needed_or_may_be_there_does_not_fail(state, required):
    assert an_examination(a_result(state, required=required)).exit_code == 0


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([a_result(), a_result(required=True)], "can run everything."),
        ([a_result(State.UNKNOWN, name=it, required=True) for it in ("relay", "nginx")], "not known: relay, nginx "),
        ([a_result(it, name=it) for it in State], "it lacks missing; it is limited in limited; not tried: unknown."),
    ],
)
def test_the_summary_says_what_the_machine_cannot_do(results, expected):
    assert expected in report.summary(an_examination(*results))


def test_the_table_tells_what_is_missing_once_for_neighbours_that_lack_the_same():
    bad = {"found": "[Errno 1] [bold]no[/bold]", "costs": "Told.", "remedy": "mend me"}
    examination = an_examination(
        a_result(name="good", costs="Not told.", remedy="not needed"),
        a_result(State.MISSING, name="bad", required=True, **bad),
        *(a_result(State.MISSING, name=name, area="links") for name in ("bic", "htcp")),
        a_result(State.LIMITED, name="timers", area="links"),
        loaded=("tun", "sch_netem"),
    )

    console = Console(width=100, record=True, file=io.StringIO())
    report.print_table(console, examination)

    golden = (PROJECT / "tests/data/golden/doctor.txt").read_text()
    assert [line.rstrip() for line in console.export_text().splitlines()] == golden.splitlines()


@pytest.mark.parametrize(("state", "code"), [(State.OK, 0), (State.MISSING, 3)])
def test_the_command_prints_one_object_of_the_promised_form_and_returns_the_exit_code(monkeypatch, capsys, state, code):
    examination = an_examination(a_result(state, name="tun", required=True), loaded=("tun",))
    monkeypatch.setattr(command, "examine_machine", lambda: examination)

    assert command.main(["doctor", "--json"]) == code
    check = {"area": "area", "name": "tun", "state": state, "found": "1.0", "costs": "It costs.", "remedy": "mend it"}
    assert json.loads(capsys.readouterr().out) == {
        "machine": {**MACHINE, "loaded_modules": ["tun"]},
        "checks": [{**check, "required": True}],
        "summary": report.summary(examination),
    }


def test_the_command_says_why_it_refuses(monkeypatch, capsys):
    monkeypatch.setattr(sandbox, "is_inside", lambda: True)

    assert command.main(["doctor"]) == 2
    assert "within a run" in capsys.readouterr().err


def test_timers_are_judged_by_the_99th_percentile():
    assert machine.judge_timer([50.0] * 99 + [9000.0]).state is State.OK
    assert machine.judge_timer([50.0] * 98 + [9000.0] * 2).state is State.LIMITED
    assert "60 us late (median), 98 us (p99 of 100)" in machine.judge_timer([60.0] * 98 + [98.0] * 2).found


def test_too_little_memory_or_one_processor_is_a_limit():
    assert [machine.judge_memory(16 << 30, gib << 30).state for gib in (1, 4)] == [State.LIMITED, State.OK]
    assert [machine.judge_cores(cores).state for cores in (1, 2)] == [State.LIMITED, State.OK]


APPARMOR, LARGEST = "kernel.apparmor_restrict_unprivileged_userns", "user.max_user_namespaces"


@pytest.mark.parametrize(
    ("settings", "remedy"),
    [
        ({"kernel.unprivileged_userns_clone": "0"}, "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        ({APPARMOR: "1", LARGEST: "0"}, f"sudo sysctl -w {APPARMOR}=0 {LARGEST}=10000"),
        ({APPARMOR: "0", LARGEST: "63000"}, "as root"),
    ],
)
def test_the_setting_that_forbids_user_namespaces_is_named_or_else_root(settings, remedy):
    assert remedy in privileges.namespace_remedy(settings)


OWN_KERNEL = "boot the distribution's own kernel: sudo apt-get install linux-image-"


@pytest.mark.parametrize(
    ("distribution", "loadable", "stock", "remedy"),
    [
        ("debian", True, True, "sudo modprobe sch_netem"),
        ("debian", False, False, f"{OWN_KERNEL}amd64"),
        ("ubuntu", False, True, "sudo apt-get install linux-modules-extra-6.8.0-31 && sudo modprobe sch_netem"),
        ("ubuntu", False, False, f"{OWN_KERNEL}generic"),
    ],
)
def test_what_gets_a_module_depends_on_kernel_and_distribution(distribution, loadable, stock, remedy):
    given = {"distribution": {"ID": distribution}, "loadable": loadable, "stock": stock}

    assert kernel_modules.remedy_for("sch_netem", **given, release="6.8.0-31", architecture="x86_64") == remedy


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ("ip utility, iproute2-6.1.0, libbpf 1.1.2\n", "6.1.0"),
        ("ping from iputils 20221126\n", "20221126"),
        ("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\n", "12.2.0-14+deb12u1"),
        ("\x1b[1mApache Maven 3.8.7\x1b[m\n", "3.8.7"),
        ("no version at all\n", None),
    ],
)
def test_the_version_is_found_in_what_a_program_says_verbatim(output, version):
    assert tools.version_in(output) == version


@pytest.mark.parametrize(
    ("loadable", "program", "is_root", "state"),
    [
        (False, missing("no struct_ops"), True, State.MISSING),
        (True, missing("no struct_ops"), True, State.OK),
        (True, missing("no struct_ops"), False, State.LIMITED),
        (False, ok("struct_ops"), True, State.OK),
        (False, unknown("only root may try"), False, State.LIMITED),
    ],
)
def test_a_congestion_control_on_disk_or_as_bpf_is_loaded_by_root_only(monkeypatch, loadable, program, is_root, state):
    monkeypatch.setattr(kernel_modules, "is_loadable", lambda _module: loadable)
    monkeypatch.setattr(transport, "_probe_struct_ops", lambda: program)
    monkeypatch.setattr(transport, "is_machine_root", lambda: is_root)
    monkeypatch.setattr(transport.congestion, "available", lambda: ("reno", "cubic"))
    bic = next(check for check in CHECKS if check.name == "bic")

    assert examine(bic).state is state
