"""Commands in a User-Mode Linux, on a virtual or a real clock."""

import compileall
import contextlib
import os
import signal
import sys
import termios
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from execution.guests.guest import Guest
from execution.uml import processors
from execution.uml.clock_controller import SOCKET, AtOnce, ClockController, Pace, RealPace
from execution.uml.inspection import STANDSTILL_S, KernelMemory, StandstillWatch
from execution.uml.kernel import UmlKernel
from flightpath.clock import Clock
from flightpath.errors import MeasurementFailed, MissingCapability, UsageError
from flightpath.overrides import override
from flightpath.project import IS_CHECKOUT, PROJECT
from native import preloading

GUEST_SCRIPT = Path(__file__).with_name("guest.sh")
_BOOT_LIMIT_S = 120.0  # real seconds; one is usual
_MEMORY_FOLDER = "/dev/shm"
_LEAST_MIB = 128
"""Memory with which a guest boots, and hardly more."""
_MORE_ROOM = (
    "enlarge it (docker run --shm-size=8g; mount -o remount,size=8g /dev/shm), or set TMPDIR to a larger folder"
)
_OWN_OF_GUEST = [Path(name) for name in ("/dev", "/proc", "/run", "/sys")]
_FOLDERS_OF_GUEST = [Path("/"), Path("/dev/shm"), Path("/mnt"), *_OWN_OF_GUEST]
"""Folders that a guest has of its own, or that contain one of these."""
_SEEDED_START_NS = 1_767_225_600 * 10**9  # 2026-01-01 00:00 UTC


@dataclass(frozen=True)
class UserModeLinux:
    """A guest in which commands run as root, started by any user; nothing on this machine changes.

    A command sees all files of this machine. What it writes vanishes, except in `writable`, and with `keeps_folder` in
    the current folder. The guest has one processor and no network to the outside.

    Attributes:
        kernel: kernel that is started.
        clock: virtual: it stands still while programs compute, and jumps ahead when all of them wait.
        memory_mib: memory of the guest.
        writable: folder in which the command's files are kept.
        writable_at: path of that folder in the guest; by default the same.
        keeps_folder: keep what the command writes in the current folder.
        processor: processor of this machine on which it runs; by default the idlest that no other guest has.
        standstill_s: seconds of processor time for which a program may busy-wait, so that virtual time cannot advance.
        seed: seed of all random numbers in the guest. A seeded guest also starts at the same date each time; in virtual
            time the same command then does the same to the last bit. None: random numbers and date of this machine.
        pace: how fast virtual time may pass; by default at once, or with `interactive` no faster than real time.
        holds: programs may stop the clock (`clock_controller.HOLD`), until `clock.release()` of the guest.
        jitter_ns: each system call takes up to so long, at random, so that programs and threads take turns otherwise.
        clock_reading_ns: so long takes each reading of the clock; 0: some ns.
        host_cpu: programs see this machine's processor, for example its AVX, and not the one that is the same on each
            machine. The kernel follows them with ptrace(2), which is slower.
        interactive: the command has this process's terminal, and virtual time passes no faster than real time.
        untrusted: programs of others run in it. With `seccomp=on`, which is faster, any program can read and write the
            kernel's memory, so it can become root in the guest (Linux, arch/um/kernel/skas/stub.c, "Known security
            issues"); for these the kernel follows each program with ptrace(2) instead.
    """

    kernel: UmlKernel
    clock: Clock = Clock.VIRTUAL
    memory_mib: int = 4096
    writable: Path | None = None
    writable_at: Path | None = None
    keeps_folder: bool = False
    processor: int | None = None
    standstill_s: float = STANDSTILL_S
    seed: int | None = None
    pace: Pace | None = None
    holds: bool = False
    jitter_ns: int = 0
    clock_reading_ns: int = 0
    host_cpu: bool = False
    interactive: bool = False
    untrusted: bool = False

    def run(self, argv: Sequence[str], *, time_limit_s: float) -> int:
        """Runs a command in the current folder to its end; passes on its input, and what it prints.

        Args:
            argv: the command.
            time_limit_s: on this machine's clock.

        Returns:
            The command's exit code.

        Raises:
            MeasurementFailed: the guest does not boot, ends early, or runs out of time.
        """
        return self.guest(argv).run(time_limit_s)

    def guest(self, argv: Sequence[str]) -> "UmlGuest":
        """Returns a guest that runs one command, to be entered."""
        return UmlGuest(self, argv)


class UmlGuest(Guest):
    """A User-Mode Linux.

    Attributes:
        clock: in virtual time, its clock.
    """

    kind = "virtual-time kernel"
    shared_in_guest = Path("/mnt/shared")

    def __init__(self, machine: UserModeLinux, argv: Sequence[str]) -> None:
        environment = {"HOME": str(Path.home())}
        if machine.interactive:
            environment["TERM"] = os.environ.get("TERM", "linux")
        super().__init__(argv, environment, _BOOT_LIMIT_S, interactive=machine.interactive)
        self._machine = machine

    @override
    def __enter__(self) -> Self:
        if self._machine.interactive:
            self._stack.callback(termios.tcsetattr, sys.stdin, termios.TCSAFLUSH, termios.tcgetattr(sys.stdin))
        if self._machine.clock is Clock.VIRTUAL:
            folder = os.open(self.shared, os.O_PATH)  # the path of a socket is short, and TMPDIR's may be long
            self._stack.callback(os.close, folder)
            usual = RealPace(self.has_booted) if self._machine.interactive else AtOnce()
            pace = self._machine.pace or usual
            self.clock = ClockController(Path(f"/proc/self/fd/{folder}"), pace, holds=self._machine.holds)
            self._stack.enter_context(self.clock)
        super().__enter__()
        processor = self._stack.enter_context(processors.taken(self._machine.processor))
        with contextlib.suppress(OSError):  # it has ended already
            os.sched_setaffinity(self._process.pid, {processor})
        self._watch: StandstillWatch | None = None
        return self

    @override
    def exit_code(self) -> int | None:
        code = super().exit_code()
        watched = self._machine.clock is Clock.VIRTUAL and not self._machine.interactive
        if code is None and watched and self.has_booted():
            with contextlib.suppress(OSError):  # it ends just now, or this machine lets nobody read a process's memory
                if self._watch is None:
                    memory = self._stack.enter_context(KernelMemory(self._process.pid, self._machine.kernel.symbols))
                    self._watch = StandstillWatch(memory, self._machine.standstill_s)
                self._watch.check()
        return code

    @override
    def kernel_command(self) -> tuple[list[str], Mapping[str, str]]:
        machine = self._machine
        (self.shared / "init").symlink_to(GUEST_SCRIPT)
        # The kernel's arguments become part of its random numbers, so they are the same wherever this checkout lies. By
        # default the kernel makes its folder in HOME, which there may not be.
        arguments = [
            *("uml_dir=.", "umid=umid", f"mem={machine.memory_mib}M", "rootfstype=hostfs", "rootflags=/", "ro"),
            "init=/proc/self/cwd/init",
            *("con=null", "con0=fd:0,fd:1", "loglevel=0" if machine.interactive else "quiet"),
            f"seccomp={'off' if machine.untrusted or machine.host_cpu else 'on'}",
            *self._clock_arguments(),
            *([f"syscall-jitter={machine.jitter_ns}"] if machine.jitter_ns else []),
            *([f"clock-reading={machine.clock_reading_ns}"] if machine.clock_reading_ns else []),
        ]
        (self.shared / "variables").write_text("TERMINAL=yes\n" if machine.interactive else "")
        self._share_writable_folders()
        environment = {**os.environ, "TMPDIR": self._memory_folder()}
        if machine.seed is not None:
            _compile_sources()
            environment |= {**preloading("seeded_random.so"), "FLIGHTPATH_SEED": str(machine.seed)}
        return [str(machine.kernel.image), *arguments], environment

    def _share_writable_folders(self) -> None:
        current = Path.cwd()
        if not self._machine.keeps_folder and (own := [path for path in current.parents if path in _OWN_OF_GUEST]):
            raise UsageError(
                f"{current} does not exist in the {self.kind}, which has {own[0]} of its own", "work in another folder"
            )
        # Always two: each mount changes the random numbers, which are to be the same whatever is kept.
        paths = [
            self._share(0, current if self._machine.keeps_folder else None),
            self._share(1, self._machine.writable, self._machine.writable_at),
        ]
        (self.shared / "writable").write_bytes(b"".join(os.fsencode(path) + b"\n" for path in paths))

    def _share(self, number: int, folder: Path | None, at: Path | None = None) -> Path:
        """Makes a folder of this machine one that the guest can mount, an empty one if None; returns its path there."""
        name = f"writable-{number}"
        if not folder:
            (self.shared / name).mkdir()
            return self.shared_in_guest / name
        folder = folder.resolve()
        (self.shared / name).symlink_to(folder)
        return at or folder

    @override
    def failure(self, what: str) -> MeasurementFailed:
        # The kernel aborts without a word when the file of its memory cannot grow.
        if self._process.poll() == -signal.SIGABRT and (lack := self._lack_of_room(self._memory_folder())):
            return MeasurementFailed(f"the {self.kind} {what}: {lack}", _MORE_ROOM)
        return super().failure(what)

    def _memory_folder(self) -> str:
        """Returns the folder for the guest's memory, which is a file without a name there.

        Raises:
            MissingCapability: there is hardly room for any memory.
        """
        usable = [folder for folder in (_MEMORY_FOLDER, str(self.shared)) if _room_mib(folder)]
        roomy = [folder for folder in usable if _room_mib(folder) >= self._machine.memory_mib]
        folder = next(iter(roomy), max(usable, key=_room_mib, default=_MEMORY_FOLDER))
        if _room_mib(folder) < _LEAST_MIB:
            raise MissingCapability(f"the {self.kind} cannot start: {self._lack_of_room(folder)}", _MORE_ROOM)
        return folder

    def _lack_of_room(self, folder: str) -> str:
        room, wanted = _room_mib(folder), self._machine.memory_mib
        return (
            f"its memory of {wanted} MiB is a file in {folder}, which has room for {room} MiB" if room < wanted else ""
        )

    def _clock_arguments(self) -> list[str]:
        if self._machine.clock is Clock.REAL:
            return []
        seeded = [f"time-travel-start={_SEEDED_START_NS}"] if self._machine.seed is not None else []
        if self._machine.interactive:
            # Keys are noticed at the next timer tick, so there are always ticks.
            return [f"time-travel=ext:{SOCKET}", "nohz=off", *seeded]
        return [f"time-travel=ext:{SOCKET}", *seeded]


def keeps_current_folder(remedy: str) -> bool:
    """Returns whether the current folder can be the guest's too; if not, says that what is written there vanishes."""
    folder = Path.cwd()
    if folder not in _FOLDERS_OF_GUEST and os.access(folder, os.W_OK):
        return True
    print(f"note: what the command writes in {folder} vanishes with the guest ({remedy})", file=sys.stderr)
    return False


def _compile_sources() -> None:
    """Compiles Flightpath's modules, so that a guest finds the same files whatever has run on this machine before."""
    if IS_CHECKOUT:
        for file in PROJECT.glob("*/__init__.py"):
            compileall.compile_dir(str(file.parent), quiet=2)


def _room_mib(folder: str) -> int:
    """Returns for how much of a guest's memory a folder has room; a container's is often small, or mounted noexec."""
    if not os.access(folder, os.W_OK):
        return 0
    found = os.statvfs(folder)
    return 0 if found.f_flag & os.ST_NOEXEC else found.f_bavail * found.f_frsize >> 20
