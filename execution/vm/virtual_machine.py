"""A virtual machine with a stock kernel, whose root is a copy-on-write view of this machine's own."""

import functools
import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from execution.guests.guest import Guest
from execution.vm.kernels import SETUP_HINT, Kernel
from flightpath.commands import search_path
from flightpath.errors import MissingCapability
from flightpath.overrides import override
from flightpath.project import PROJECT
from flightpath.waiting import SLOW_MACHINE

_GUEST = Path(__file__).with_name("guest.sh")
_BOOT_LIMIT_S = {"kvm": 20.0, "tcg": 180.0}
_ROOT_TAG = "machine"
_GRACE_S = 10


@dataclass(frozen=True)
class VirtualMachine:
    """A VM in which commands run as root, started by any user; this machine is not changed by it.

    A command sees all files of this machine. What it writes vanishes with the VM, except in the shared folder. The VM
    has no network to the outside.

    Attributes:
        kernel: to boot.
        memory_mib, processors: of the VM.
        results: a folder in which the command's files are kept.
    """

    kernel: Kernel
    memory_mib: int = 3072
    processors: int = 2
    results: Path | None = None

    def run(self, argv: Sequence[str], *, time_limit_s: float) -> int:
        """Runs a command in the current folder to its end; passes on its input, and what it prints.

        It uses KVM if a VM boots with it (tried: /dev/kvm alone proves nothing). Without, it is at least ten times
        slower, and the environment variable SLOW_MACHINE tells the command so.

        Returns:
            The command's exit code.

        Raises:
            MissingCapability: a program is not installed.
            MeasurementFailed: the VM does not boot, ends early, or runs out of time.
        """
        return self.guest(argv, time_limit_s=time_limit_s).run(time_limit_s)

    def guest(self, argv: Sequence[str], *, time_limit_s: float) -> Guest:
        """Returns a VM that runs one command, to be entered; arguments and what else is raised as for `run`."""
        return _QemuGuest(self, argv, _accelerator(self), time_limit_s)


@functools.cache
def _accelerator(machine: VirtualMachine) -> str:
    """Returns `kvm` if a VM boots with it, else `tcg`."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    with _QemuGuest(machine, ["true"], "kvm", _BOOT_LIMIT_S["kvm"]) as guest:
        return "kvm" if guest.booted() else "tcg"


class _QemuGuest(Guest):
    kind = "VM"

    def __init__(self, machine: VirtualMachine, argv: Sequence[str], accelerator: str, time_limit_s: float) -> None:
        self._machine, self._accelerator = machine, accelerator
        self._program = _program("virtme-run")
        _program("qemu-system-x86_64" if os.uname().machine == "x86_64" else f"qemu-system-{os.uname().machine}")
        for tool in ("busybox", "modprobe"):
            _program(tool)
        # If this process is killed and cannot end the VM, the VM ends itself.
        limited = ["timeout", str(round(time_limit_s) + _GRACE_S), *argv]
        super().__init__(limited, {SLOW_MACHINE: "1"} if accelerator == "tcg" else {}, _BOOT_LIMIT_S[accelerator])

    @override
    def kernel_command(self) -> tuple[list[str], Mapping[str, str]]:
        machine, shared = self._machine, str(self.shared)
        results = [str(machine.results.resolve())] if machine.results else []
        arguments = [
            *("--kimg", str(machine.kernel.image), "--mods", "auto"),
            *(("--disable-kvm",) if self._accelerator == "tcg" else ()),
            *("--memory", f"{machine.memory_mib}M", "--cpus", str(machine.processors)),
            *(word for folder in (shared, *results) for word in ("--rwdir", folder)),
            *("--script-sh", shlex.join(["sh", str(_GUEST), shared, str(machine.kernel.modules), _ROOT_TAG, *results])),
            # The root once more, for the guest to mount with a cache: virtme-ng's has none, and each import of a Python
            # module would take a dozen requests. `remap`: inode numbers of file systems mounted below may be the same.
            "--qemu-opts",
            *("-fsdev", "local,id=cached,path=/,security_model=none,readonly=on,multidevs=remap"),
            *("-device", f"virtio-9p-pci,fsdev=cached,mount_tag={_ROOT_TAG}"),
        ]
        # TMPDIR: files that it leaves there when it is killed are removed with the shared folder.
        return [self._program, *arguments], {**os.environ, "PATH": _search_path(), "TMPDIR": shared}


def _search_path() -> str:
    return os.pathsep.join([str(PROJECT / ".venv" / "bin"), search_path()])


def _program(name: str) -> str:
    found = shutil.which(name, path=_search_path())
    if found is None:
        raise MissingCapability(f"the program {name!r} is not installed", SETUP_HINT)
    return found
