"""Loading and unloading of algorithms: for each kind of use, shared by runs, and after a kill."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import congestion
from congestion import loader, provision, registry, sources
from flightpath.errors import MissingCapability, UsageError
from flightpath.processes import is_machine_root
from flightpath.waiting import wait_until
from probes.transfers.tcp_flow import LOSS, RECOVERY, FlowTrace, TcpFlow
from services.stream import StreamSink
from tests.support import congestion_links, own_algorithm
from tests.support.congestion_links import hosts, link
from tests.support.finished import finished
from tests.support.killed import killed_at_end
from tests.support.ordinary_user import dropped, require_ordinary_user
from tests.support.own_algorithm import RENO
from topologies.sandbox import sandbox

PREFIX = "bpf_"
NAME = "bpf_vegas"
HOLD = """
import sys
from congestion import provision
algorithm = provision.provision("vegas", name_prefix="bpf_")
print(algorithm.origin, flush=True)
sys.stdin.read()
"""
LOSSY = replace(link(12, 20, 30), loss=0.01)  # loses the same segments in each run, by their number
pytestmark = [
    pytest.mark.together,
    pytest.mark.skipif(not is_machine_root(), reason="only root may load BPF programs"),
]


@contextlib.contextmanager
def running() -> Iterator[subprocess.Popen[str]]:
    """Another process that uses NAME."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with killed_at_end(subprocess.Popen([sys.executable, "-c", HOLD], **pipes)) as process:
        assert process.stdout.readline() == "bpf\n"
        yield process


@contextlib.contextmanager
def provided(name: str = "vegas") -> Iterator[str]:
    """Has one of ours in the kernel, also if the kernel has its own."""
    algorithm = provision.provision(name, name_prefix=PREFIX)
    try:
        yield algorithm.name
    finally:
        algorithm.release()


def is_there(name: str = NAME) -> bool:
    return name in congestion.available()


def wait_gone(name: str = NAME) -> None:
    wait_until(lambda: not is_there(name), f"{name} to go", 30)
    wait_until(lambda: registry.read_record(name) is None, f"the record of {name} to go", 30)


def gives_way_and_grows(flow: FlowTrace) -> bool:
    """Whether a loss has left less than the window before it, and the window has grown after it."""
    window, is_reduced = 0, False
    for state, cwnd, ssthresh in zip(*(flow.columns[name] for name in ("ca_state", "cwnd", "ssthresh")), strict=True):
        if state in (RECOVERY, LOSS):
            is_reduced = ssthresh < window
        elif is_reduced and cwnd > window:
            return True
        else:
            window = cwnd
    return False


def mine(folder: Path, **variant: str) -> str:
    return str(own_algorithm.write(folder, **variant))


def test_the_verifier_accepts_each_and_a_flow_of_each_gives_way_at_a_loss_and_grows_again(sandboxed):
    names = [PREFIX + name for name in congestion.shipped()]

    def body() -> None:
        flows = congestion_links.run(names, LOSSY, seconds=4, seed=1)
        assert list(flows) == names  # as their sockets call them
        for name, flow in flows.items():
            assert flow.columns["acked_bytes"][-1] > 100_000, name
            assert gives_way_and_grows(flow), name

    with contextlib.ExitStack() as stack:
        for name in congestion.shipped():
            assert congestion.origin(stack.enter_context(provided(name))) is congestion.Origin.BPF
        sandboxed(body)
    for name in names:
        wait_gone(name)


# Sharing, and the end


def test_it_stays_until_the_last_of_several_runs_has_ended():
    with running() as first, running() as second:
        first.communicate("")
        assert is_there()
        with provided():
            second.communicate("")
            assert is_there()
    wait_gone()


def test_a_sandboxed_run_keeps_it_to_its_end_although_its_first_process_is_killed(sandboxed):
    """Its connection was opened before the sandbox, so that every process of the run has it."""
    read, write = os.pipe()
    outer = os.fork()
    if outer == 0:
        algorithm = provision.provision("vegas", name_prefix=PREFIX)
        os.close(read)

        def body() -> int:
            os.write(write, b"x")
            signal.pause()
            return 0

        sandbox.run_inside(body)
        algorithm.release()
        os._exit(0)
    os.close(write)
    assert os.read(read, 1) == b"x"
    assert is_there()
    os.kill(outer, signal.SIGKILL)
    os.waitpid(outer, 0)
    wait_gone()
    os.close(read)


def test_a_daemon_that_is_killed_leaves_nothing_but_a_record_which_clean_removes():
    with running():
        record = registry.read_record(NAME)
        os.kill(record.pid, signal.SIGKILL)
        wait_until(lambda: not record.is_alive(), "the daemon to end", 30)
        if record.linked:
            wait_until(lambda: not is_there(), f"{NAME} to go", 30)
        orphans = congestion.clean()
        assert [(orphan.name, orphan.was_registered) for orphan in orphans] == [(NAME, not record.linked)]
    wait_gone()
    assert congestion.clean() == []


def test_after_its_daemon_was_killed_it_can_be_loaded_again():
    with running():
        os.kill(registry.read_record(NAME).pid, signal.SIGKILL)
        with provided():
            assert is_there()
    wait_gone()


def test_clean_lets_be_what_is_in_use_and_what_is_another_s(tmp_path):
    source = sources.source_of("veno")
    theirs = sources.build(source, name_prefix="their_")
    with loader.register(theirs, source, tmp_path), running():
        assert congestion.clean() == []
        assert is_there() and is_there("their_veno")
        assert congestion.origin("their_veno") is congestion.Origin.BPF
        assert congestion.ensure("their_veno") is congestion.Origin.BPF  # used as it is, without a daemon of ours
    wait_gone()
    wait_until(lambda: not is_there("their_veno"), "their program to go", 30)


def test_kept_by_load_until_unload():
    command = [sys.executable, "-m", "congestion"]
    source = str(sources.source_of("westwood"))
    name = congestion.name_of(source)
    if name in congestion.available():
        pytest.skip(f"this kernel has {name} by itself")
    subprocess.run([*command, "load", source], check=True, capture_output=True)
    assert is_there(name)
    told = json.loads(subprocess.run([*command, "list", "--json"], check=True, capture_output=True).stdout)
    assert {(row["name"], row["origin"]) for row in told["algorithms"]} >= {(name, "bpf"), ("reno", "built-in")}
    subprocess.run([*command, "unload", source], check=True, capture_output=True)
    wait_gone(name)


# One's own


def test_a_file_that_was_changed_while_it_is_in_use_is_refused(tmp_path):
    with (
        congestion.provided(mine(tmp_path)),
        pytest.raises(UsageError, match=f"another version of 'mine' is loaded and in use .by: {os.getpid()}"),
        congestion.provided(mine(tmp_path, body=f"if (acked) {RENO}")),
    ):
        pass
    wait_gone("mine")


def test_the_kernel_s_own_names_are_taken(tmp_path):
    with pytest.raises(UsageError, match="the kernel has another 'reno' already"):
        congestion.ensure(mine(tmp_path, name="reno"))


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("tcp_sk(sk)->srtt_us = 0;", "snd_cwnd, snd_cwnd_cnt, snd_ssthresh"),
        ("__u32 *beyond = private_of(sk) + 100; beyond[acked & 7] = 0;", ""),
        ("volatile __u32 *flag = private_of(sk); while (!*flag);", "loop"),
    ],
)
def test_a_program_that_the_verifier_rejects_is_explained_with_its_line(tmp_path, body, reason):
    with pytest.raises(UsageError, match=r"mine\.bpf\.c:5: the kernel refuses this program: \w+") as error:
        congestion.ensure(mine(tmp_path, body=body))
    assert reason in str(error.value)
    assert not is_there("mine")


# Who may, and where it can be used


def test_without_root_it_can_be_used_but_not_loaded():
    script = "import congestion; print(congestion.ensure('{}'))"
    python = dropped([sys.executable, "-c"])
    require_ordinary_user()
    with provided():
        done = finished([*python, script.format(NAME)])
        assert (done.stdout, done.stderr) == ("bpf\n", "")
    refused = finished([*python, script.format("westwood")])
    assert "only root may load it" in refused.stderr
    assert "sudo flightpath congestion load westwood" in refused.stderr


def test_in_a_user_namespace_root_is_told_that_it_is_not_enough():
    command = ["unshare", "--user", "--map-root-user", sys.executable, "-m", "congestion", "check", "vegas"]
    done = finished(command)
    if "unshare" in done.stderr:
        pytest.skip(done.stderr)
    assert done.returncode == MissingCapability.exit_code
    assert "user namespace's root is not enough" in done.stderr


def test_in_nested_namespaces_per_connection_and_per_host(sandboxed):
    def body() -> None:
        with hosts([link(20, 10, 50)]) as (source, target, _), StreamSink(target, sandbox.TEMPORARY):
            started = TcpFlow(seconds=0.2, congestion_control=NAME).start(source, target.address(0))
            assert started.algorithm == NAME
            started.finish()
            # The host's default: no route names another.
            interface = source.addresses[0][0]
            route = [str(interface.network), "dev", source.intfs[0].name, "src", str(interface.ip)]
            for table in ("main", "101"):
                source.run(["ip", "route", "replace", *route, "table", table])
            source.run(["sysctl", "-q", "-w", f"net.ipv4.tcp_congestion_control={NAME}"])
            started = TcpFlow(seconds=0.2).start(source, target.address(0))
            assert started.algorithm == NAME
            started.finish()

    with provided():
        sandboxed(body)
    wait_gone()
