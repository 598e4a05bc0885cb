"""The lab: commands in a User-Mode Linux, on a virtual or a real clock."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from flightpath.errors import MeasurementFailed
from flightpath.overrides import override
from machines.guest import Guest
from machines.lab.kernel import LabKernel

GUEST_SCRIPT = Path(__file__).with_name("guest.sh")
_BOOT_LIMIT_S = 120.0  # real seconds; one is usual
_MEMORY_FOLDER = "/dev/shm"


class Clock(StrEnum):
    """The clock that a guest's programs see."""

    REAL = "real"
    VIRTUAL = "virtual"


@dataclass(frozen=True)
class Lab:
    """A lab in which commands run as root, started by any user; nothing on this machine changes.

    A command sees all files of this machine. What it writes vanishes, except in `writable`. The lab has one processor
    and no network to the outside.

    Attributes:
        kernel: the lab kernel.
        clock: virtual: it stands still while programs compute, and jumps ahead when all of them wait.
        memory_mib: of the lab.
        writable: a folder in which the command's files are kept.
    """

    kernel: LabKernel
    clock: Clock = Clock.VIRTUAL
    memory_mib: int = 4096
    writable: Path | None = None

    def run(self, argv: Sequence[str], *, time_limit_s: float) -> int:
        """Runs a command in the current folder to its end; passes on what it prints.

        Args:
            argv: the command.
            time_limit_s: on this machine's clock.

        Returns:
            The command's exit code.

        Raises:
            MeasurementFailed: the lab does not boot, ends early, or runs out of time.
        """
        with _LabGuest(self, argv) as guest:
            if not guest.booted():
                raise MeasurementFailed(f"the lab kernel does not boot: {guest.console()}")
            return guest.wait(time_limit_s)


class _LabGuest(Guest):
    def __init__(self, lab: Lab, argv: Sequence[str]) -> None:
        super().__init__(argv, {"HOME": str(Path.home())}, _BOOT_LIMIT_S)
        self._lab = lab

    @override
    def kernel_command(self) -> tuple[list[str], Mapping[str, str]]:
        lab = self._lab
        clock = ["time-travel=inf-cpu"] if lab.clock is Clock.VIRTUAL else []
        writable = [f"LAB_WRITABLE={lab.writable.resolve()}"] if lab.writable else []
        arguments = [
            *(f"mem={lab.memory_mib}M", "rootfstype=hostfs", "rootflags=/", "ro", f"init={GUEST_SCRIPT}"),
            *("con=null", "con0=fd:0,fd:1", "quiet", "seccomp=on", *clock),
            *(f"LAB_SHARED={self.shared}", *writable),  # words with = become variables of init
        ]
        # The guest's memory is a file without a name in TMPDIR.
        memory = _MEMORY_FOLDER if os.access(_MEMORY_FOLDER, os.W_OK) else str(self.shared)
        return [str(lab.kernel.image), *arguments], {**os.environ, "TMPDIR": memory}
