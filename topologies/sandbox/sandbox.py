"""Namespaces of its own for every run: without them a killed run would leave daemons, bridges and interfaces behind.

A run lives in its own PID, network, mount and IPC namespaces, with a private /run. The processes are

    supervisor   the user's own process: waits, hands signals on
      keeper     makes the namespaces (it has one thread, as the kernel demands)
        init     PID 1 inside: mounts, reaps; when it ends, the kernel ends everything in the sandbox
          main   the run itself

Whichever of them is killed, all the others and everything they started go at once: upward by exit, downward by
PR_SET_PDEATHSIG, sideways by the end of the PID namespace. No clean-up code is needed for that, and there is none.

Without root the same is done in a user namespace in which the user is mapped to root.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path

from flightpath import libc
from flightpath.errors import FlightpathError, MissingCapability
from flightpath.project import PROJECT
from topologies.sandbox.kernel_settings import bring_up, write_sysctls

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 8, 4096, 16384, 1 << 18
PR_SET_PDEATHSIG = 1
INTERRUPTED = 130
TEMPORARY = Path("/run/flightpath")
_MARK = "FLIGHTPATH_SANDBOX"
_HINT = (
    "run it as root (sudo), or let users make namespaces: `sysctl -w user.max_user_namespaces=10000`, and on "
    "Ubuntu 24.04 also `sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`"
)


def inside() -> bool:
    """Whether this process is in a sandbox already."""
    return os.environ.get(_MARK) == "1"


def require() -> None:
    """Raises MissingCapability if this user cannot make a sandbox here: tried in a child that ends at once."""
    if inside():
        return
    child = os.fork()
    if child == 0:
        try:
            _make_namespaces()
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    number = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if number:
        raise MissingCapability(_refused(number), _HINT)


def run_inside(main: Callable[[], int], *, keep: Iterable[Path] = ()) -> int:
    """Runs `main` in a sandbox of its own and returns its exit code.

    Args:
        main: the run; called in a child process. A FlightpathError that leaves it is printed and becomes its exit
            code; KeyboardInterrupt becomes 130.
        keep: folders of the user's that must stay visible even if they lie under /run (results, the project).

    Raises:
        MissingCapability: this machine does not let this user make namespaces.
    """
    if inside():
        return _exit_code_of(main)
    alive, alive_end = os.pipe()
    problem, problem_end = os.pipe()
    keep = [path.resolve() for path in (*keep, Path.cwd(), PROJECT)]
    sys.stdout.flush()
    sys.stderr.flush()
    keeper = os.fork()
    if keeper == 0:
        os.close(alive_end)
        os.close(problem)
        os._exit(_keep_sandbox(main, keep, alive, problem_end))
    os.close(alive)
    os.close(problem_end)
    status = _wait_handing_on_signals(keeper)
    with os.fdopen(problem, encoding="utf-8") as stream:
        said = stream.read()
    os.close(alive_end)
    if said:
        raise MissingCapability(said, _HINT)
    return status


def prepare_network() -> None:
    """Makes this sandbox's own network ready for switches and links to be made in it.

    The switches' ends of links must not speak for themselves: no router solicitations on the links.
    """
    write_sysctls({f"net.ipv6.conf.{which}.disable_ipv6": 1 for which in ("all", "default")})
    bring_up("lo")


def _keep_sandbox(main: Callable[[], int], keep: list[Path], alive: int, problem: int) -> int:
    """The keeper: makes the namespaces, starts init in them and waits for it."""
    try:
        _make_namespaces()
    except OSError as error:
        os.write(problem, _refused(error.errno).encode())
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
    return _wait_handing_on_signals(init)


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
    """PID 1 of the sandbox: prepares the file systems, runs `main` in a child, reaps whatever is orphaned."""
    try:
        _mount_private(keep)
    except OSError as error:
        os.write(problem, f"the sandbox cannot mount its file systems: {error}".encode())
        return MissingCapability.exit_code
    os.close(problem)
    child = os.fork()
    if child == 0:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupt_once)
        code = _exit_code_of(main)
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return _wait_handing_on_signals(child, reap_all=True)


def _mount_private(keep: list[Path]) -> None:
    """A /proc of this PID namespace, and a /run of its own in which only the kept folders of the old one are seen."""
    _mount(None, "/", None, MS_REC | MS_PRIVATE)
    _mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    run = Path("/run").resolve()
    kept = [(path, os.open(path, os.O_PATH)) for path in keep if path.is_relative_to(run) and path.exists()]
    _mount("tmpfs", str(run), "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755")
    for path, handle in kept:
        path.mkdir(parents=True, exist_ok=True)
        _mount(f"/proc/self/fd/{handle}", str(path), None, MS_BIND | MS_REC)
        os.close(handle)
    TEMPORARY.mkdir()
    os.environ.update({_MARK: "1", "TMPDIR": str(TEMPORARY), "OVS_RUNDIR": "/run/openvswitch"})


def _exit_code_of(main: Callable[[], int]) -> int:
    try:
        return main()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except FlightpathError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        return 1


def _interrupt_once(_number: int, _frame: object) -> None:
    """Interrupts the run; a second Ctrl-C must not interrupt its clean ending (kill -9 always may)."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _wait_handing_on_signals(child: int, *, reap_all: bool = False) -> int:
    """Waits for a child and returns its exit code; SIGINT and SIGTERM go on to it (a second one does no harm)."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _frame: _kill_if_there(child, number)) for number in numbers]
    try:
        while True:
            pid, status = os.waitpid(-1 if reap_all else child, 0)
            if pid == child:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _kill_if_there(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _die_with_parent(alive: int) -> None:
    """SIGKILL for this process when its parent ends; `alive` is the read end of a pipe that the parent holds open.

    The pipe closes the gap between the fork and the prctl. Set after unshare(2), which resets it.
    """
    libc.call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL)
    poll = select.poll()
    poll.register(alive, select.POLLHUP)
    if poll.poll(0):
        os._exit(1)


def _mount(source: str | None, target: str, kind: str | None, flags: int, data: str | None = None) -> None:
    encoded = [value.encode() if value is not None else None for value in (source, target, kind)]
    libc.call("mount", *encoded, ctypes.c_ulong(flags), data.encode() if data else None, what=f"mount {target}")


def _refused(number: int) -> str:
    who = "root" if os.getuid() == 0 else "an ordinary user"
    return f"this machine does not let {who} make namespaces: {os.strerror(number)}"
