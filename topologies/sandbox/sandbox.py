"""The sandbox of a run: its own PID, network, mount and IPC namespaces, with a private /run and /dev/shm.

Four processes maintain it:

    supervisor   the user's own process: waits, and forwards signals
      keeper     makes the namespaces (it has one thread, as the kernel demands)
        init     PID 1 inside: mounts, reaps; when it ends, the kernel ends everything in the sandbox
          main   the run itself

If any of them is killed, the others and all their descendants end at once: parents see their child exit, children get
SIGKILL (PR_SET_PDEATHSIG), and the rest ends with the PID namespace. Nothing is left behind, and no clean-up code is
needed.

Without root, the same happens in a user namespace in which the user is mapped to root.
"""

import contextlib
import ctypes
import os
import pickle
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from flightpath import libc
from flightpath.command_line import INTERRUPTED, exit_code_of
from flightpath.errors import FlightpathError, MeasurementFailed, MissingCapability
from flightpath.project import PROJECT, build_folder
from topologies.sandbox.kernel_settings import CLONE_NEWNET, bring_up, write_sysctls

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
TEMPORARY = Path("/run/flightpath")
"""Folder for a run's temporary files; it vanishes with the sandbox."""

_BUILT = TEMPORARY / "built"
"""`build_folder()`, in a sandbox."""

_POLL_S = 1
_KILLED = 128
"""Offset of the exit codes of processes that a signal ended, as in shells."""

_FORWARDED = {signal.SIGINT, signal.SIGTERM}
_SENT_BY_A_PROCESS = 0
"""Largest `si_code` (sigaction(2)) of a signal from a process; those from the kernel are greater."""

_Value = TypeVar("_Value")
_MARK = "FLIGHTPATH_SANDBOX"
_HINT = (
    "run it as root (sudo), or let users make namespaces: `sysctl -w user.max_user_namespaces=10000`, and on "
    "Ubuntu 24.04 also `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
)


def is_inside() -> bool:
    """Returns whether this process runs in a sandbox."""
    return os.environ.get(_MARK) == "1"


def same_path_everywhere(path: Path) -> Path:
    """Returns a path in `build_folder()` as it is in each sandbox, wherever this copy lies; outside one, unchanged.

    A program keeps its paths in memory, and in virtual time a longer one may give it other random numbers.
    """
    folder = build_folder()
    return _BUILT / path.relative_to(folder) if is_inside() and path.is_relative_to(folder) else path


def require() -> None:
    """Raises MissingCapability if this user cannot make a sandbox with a network; makes one that ends at once."""
    try:
        call_inside(lambda: bring_up("lo"))
    except MissingCapability:
        raise
    except FlightpathError as error:
        raise MissingCapability(f"this user cannot set up the network of a sandbox: {error}", _HINT) from error


def run_inside(main: Callable[[], int], *, keep: Iterable[Path] = ()) -> int:
    """Runs a function in a new sandbox and returns its exit code; inside a sandbox, calls it directly.

    Args:
        main: function to call in a child process. Its errors become exit codes, see `exit_code_of`.
        keep: folders that must stay visible even if they are under /run (results; the project always does).

    Raises:
        MissingCapability: this machine does not let this user make namespaces.
        MeasurementFailed: a signal ended the sandbox, or the function's process.
    """
    if is_inside():
        return _exit_code_of(main)
    # Until the run takes them, signals wait: PID 1 ignores them, and other processes would end without the others.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _FORWARDED)

    def interruptible_main() -> int:
        for number in _FORWARDED:
            signal.signal(number, _interrupt_once)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return main()

    try:
        status, message = _supervise(interruptible_main, [path.resolve() for path in (*keep, Path.cwd(), PROJECT)])
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if message:
        raise MissingCapability(message, _HINT)
    if status > _KILLED and status != INTERRUPTED:
        raise _ended_by(signal.Signals(status - _KILLED))
    return status


def call_inside(function: Callable[[], _Value], *, keep: Iterable[Path] = ()) -> _Value:
    """Calls a function in a new sandbox, and returns what it returns; in a sandbox already, calls it directly.

    Args:
        function: called in a child process; its return value or FlightpathError is pickled.
        keep: as for `run_inside`.

    Raises:
        FlightpathError: what the function raised.
        MissingCapability, MeasurementFailed: as for `run_inside`.
    """
    if is_inside():
        return function()
    with os.fdopen(os.memfd_create("outcome"), "w+b") as shared:

        def main() -> int:
            try:
                outcome: tuple[_Value | None, FlightpathError | None] = (function(), None)
            except FlightpathError as error:
                outcome = (None, error)
            pickle.dump(outcome, shared)
            shared.flush()
            return 0

        code = run_inside(main, keep=keep)
        if code == INTERRUPTED:
            raise KeyboardInterrupt
        if code:
            raise MeasurementFailed(f"the sandbox ended with exit code {code}, and without an answer")
        shared.seek(0)
        value, error = pickle.load(shared)
    if error is not None:
        raise error
    return value


def prepare_network() -> None:
    """Prepares the sandbox's own network namespace, in which switches and their ends of links are made.

    IPv6 is turned off there, so that the switches' ends send nothing of their own, such as router solicitations.
    """
    write_sysctls({f"net.ipv6.conf.{which}.disable_ipv6": 1 for which in ("all", "default")})
    bring_up("lo")


def _supervise(main: Callable[[], int], keep: list[Path]) -> tuple[int, str]:
    """Runs `main` in a new sandbox; returns its exit code, and why the sandbox could not be made ("" if it was)."""
    alive, alive_end = os.pipe()
    problem, problem_end = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    keeper = os.fork()
    if keeper == 0:
        os.close(alive_end)
        os.close(problem)
        os._exit(_keep_sandbox(main, keep, alive, problem_end))
    os.close(alive)
    os.close(problem_end)
    status = _wait_forwarding_signals(keeper)
    with os.fdopen(problem, encoding="utf-8") as stream:
        message = stream.read()
    os.close(alive_end)
    return status, message


def _keep_sandbox(main: Callable[[], int], keep: list[Path], alive: int, problem: int) -> int:
    """Runs as the keeper: makes the namespaces, starts init in them and waits for it."""
    try:
        _make_namespaces()
    except OSError as error:
        os.write(problem, _refused(error.strerror or str(error)).encode())
        return MissingCapability.exit_code
    _die_with_parent(alive)
    init_alive, init_alive_end = os.pipe()
    init = os.fork()
    if init == 0:
        os.close(init_alive_end)
        _die_with_parent(init_alive)
        os._exit(_be_init(main, keep, problem))
    os.close(problem)
    os.close(init_alive)
    return _wait_forwarding_signals(init)


def _make_namespaces() -> None:
    flags = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC
    uid, gid = os.getuid(), os.getgid()
    if uid == 0:
        libc.call("unshare", flags)
        return
    libc.call("unshare", flags | CLONE_NEWUSER)
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
    Path("/proc/self/gid_map").write_text(f"0 {gid} 1")


def _be_init(main: Callable[[], int], keep: list[Path], problem: int) -> int:
    """Runs as PID 1 of the sandbox: mounts the file systems, runs `main` in a child, and reaps orphans."""
    try:
        _mount_private(keep)
    except OSError as error:
        os.write(problem, f"the sandbox cannot mount its file systems: {error}".encode())
        return MissingCapability.exit_code
    os.close(problem)
    child = os.fork()
    if child == 0:
        code = _exit_code_of(main)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return _wait_forwarding_signals(child, reap_all=True)


def _mount_private(keep: list[Path]) -> None:
    """Mounts this PID namespace's /proc, and a /dev/shm and a /run with only the kept folders of the old ones."""
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    _mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    if (shared := Path("/dev/shm")).is_dir():  # PostgreSQL's shared memory would outlive a kill
        _mount_empty(shared, "1777", keep)
    _mount_empty(Path("/run").resolve(), "0755", keep)
    TEMPORARY.mkdir(exist_ok=True)  # it exists if a kept folder is in it, as in a guest
    if (built := build_folder()).is_dir():
        _BUILT.mkdir()
        _mount(str(built), str(_BUILT), None, MS_BIND)
    os.environ.update({_MARK: "1", "TMPDIR": str(TEMPORARY), "OVS_RUNDIR": "/run/openvswitch"})


def _mount_empty(folder: Path, mode: str, keep: list[Path]) -> None:
    """Mounts an empty file system over a folder, and in it again this project and kept folders that were in it."""
    wanted = [path for path in (PROJECT, *keep) if path.is_relative_to(folder) and path.exists()]
    kept = [(path, os.open(path, os.O_PATH)) for path in wanted]
    _mount("tmpfs", str(folder), "tmpfs", MS_NOSUID | MS_NODEV, f"mode={mode}")
    for path, handle in kept:
        path.mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{handle}", str(path), None, MS_BIND | MS_REC)
        os.close(handle)


def _exit_code_of(main: Callable[[], int]) -> int:
    try:
        return exit_code_of(main)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        return 1


def _interrupt_once(_number: int, _frame: object) -> None:
    """Interrupts the run; ignores a second Ctrl-C, which would interrupt the clean-up."""
    for number in _FORWARDED:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _wait_forwarding_signals(child: int, *, reap_all: bool = False) -> int:
    """Waits for a child and returns its exit code; forwards SIGINT and SIGTERM, which must be blocked, to it.

    A Ctrl-C at a terminal is not forwarded: the kernel sends it to the whole process group, including the child. It is
    if it came before this call, when perhaps there was no child yet.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    early = signal.sigpending()
    try:
        while (code := _ended(child, reap_all=reap_all)) is None:
            # With a timeout, because another thread may have taken the signal.
            received = signal.sigtimedwait(_FORWARDED | {signal.SIGCHLD}, _POLL_S)
            if not received or received.si_signo not in _FORWARDED:
                continue
            if received.si_signo in early or received.si_code <= _SENT_BY_A_PROCESS:
                early.discard(received.si_signo)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child, received.si_signo)
        return code
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ended(child: int, *, reap_all: bool) -> int | None:
    """Returns the exit code of a child, or None while it runs."""
    while True:
        pid, status = os.waitpid(-1 if reap_all else child, os.WNOHANG)
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else _KILLED - code
        if pid == 0:
            return None


def _die_with_parent(alive: int) -> None:
    """Has the kernel kill this process when its parent ends; to be called after unshare(2), which resets the request.

    The parent holds the other end of the pipe `alive` open, which shows whether it ended between fork and prctl.
    """
    libc.request_signal_at_parents_end(signal.SIGKILL)
    poll = select.poll()
    poll.register(alive, select.POLLHUP)
    if poll.poll(0):
        os._exit(1)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [value.encode() if value is not None else None for value in (source, target, kind)]
    libc.call("mount", *encoded, ctypes.c_ulong(flags), data.encode() if data else None, what=f"mount {target}")


def _ended_by(number: signal.Signals) -> MeasurementFailed:
    out_of_memory = "this machine had no memory left: `dmesg` says so"
    why = out_of_memory if number is signal.SIGKILL else "a program crashed: run it again"
    return MeasurementFailed(f"the run was ended by {number.name}", f"if nobody did that, {why}")


def _refused(reason: str) -> str:
    who = "root" if os.getuid() == 0 else "an ordinary user"
    return f"this machine does not let {who} make namespaces: {reason}"
