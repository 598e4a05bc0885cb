"""A virtual machine with a stock kernel, whose root is a copy-on-write view of this machine's own."""

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TextIO

from flightpath.errors import MeasurementFailed, MissingCapability
from flightpath.project import PROJECT
from flightpath.waiting import SLOW_MACHINE
from tests.vm.kernels import SETUP_HINT, Kernel

_GUEST = Path(__file__).with_name("guest.sh")
_BOOT_LIMIT_S = {"kvm": 20.0, "tcg": 180.0}
_ROOT_TAG = "machine"
_POLL_S = 0.05
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
        """Runs a command in the current folder to its end; passes on what it prints to stdout and stderr.

        It uses KVM if a VM boots with it (tried: /dev/kvm alone proves nothing). Without, it is at least ten times
        slower, and the environment variable SLOW_MACHINE tells the command so.

        Returns:
            The command's exit code.

        Raises:
            MissingCapability: a program is not installed.
            MeasurementFailed: the VM does not boot, ends early, or runs out of time.
        """
        console = ""
        for accelerator in ("kvm", "tcg") if os.access("/dev/kvm", os.R_OK | os.W_OK) else ("tcg",):
            with _Running(self, argv, accelerator, time_limit_s) as running:
                if running.booted():
                    return running.wait(time_limit_s)
                console = running.console()
        raise MeasurementFailed(f"the VM does not boot: {console}")


class _Running:
    """One VM from its start to its end, as a context manager."""

    def __init__(self, machine: VirtualMachine, argv: Sequence[str], accelerator: str, time_limit_s: float) -> None:
        self._boot_limit_s = _BOOT_LIMIT_S[accelerator]
        self._program = _program("virtme-run")
        _program("qemu-system-x86_64" if os.uname().machine == "x86_64" else f"qemu-system-{os.uname().machine}")
        for tool in ("busybox", "modprobe"):
            _program(tool)
        self._stack = contextlib.ExitStack()
        self._shared = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="flightpath-vm-")))
        environment = {SLOW_MACHINE: "1"} if accelerator == "tcg" else {}
        # If this process is killed and cannot end the VM, the VM ends itself.
        limited = ["timeout", str(round(time_limit_s) + _GRACE_S), *argv]
        (self._shared / "command").write_text(_script(limited, environment))
        results = [str(machine.results.resolve())] if machine.results else []
        self._arguments = [
            *("--kimg", str(machine.kernel.image), "--mods", "auto"),
            *(("--disable-kvm",) if accelerator == "tcg" else ()),
            *("--memory", f"{machine.memory_mib}M", "--cpus", str(machine.processors)),
            *(word for folder in (str(self._shared), *results) for word in ("--rwdir", folder)),
            *(
                "--script-sh",
                shlex.join(["sh", str(_GUEST), str(self._shared), str(machine.kernel.modules), _ROOT_TAG, *results]),
            ),
            # The root once more, for the guest to mount with a cache: virtme-ng's has none, and each import of a Python
            # module would take a dozen requests. `remap`: inode numbers of file systems mounted below may be the same.
            "--qemu-opts",
            *("-fsdev", "local,id=cached,path=/,security_model=none,readonly=on,multidevs=remap"),
            *("-device", f"virtio-9p-pci,fsdev=cached,mount_tag={_ROOT_TAG}"),
        ]

    def __enter__(self) -> Self:
        console = self._stack.enter_context((self._shared / "console").open("wb"))
        self._process = subprocess.Popen(
            [self._program, *self._arguments],
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            # So that files that it leaves in /tmp when it is killed are removed with the shared folder.
            env={**os.environ, "PATH": _search_path(), "TMPDIR": str(self._shared)},
            start_new_session=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._stack.close()

    def booted(self) -> bool:
        """Waits for the VM to boot; returns whether it did."""
        deadline = time.monotonic() + self._boot_limit_s
        while not (up := (self._shared / "booted").exists()) and self._process.poll() is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(_POLL_S)
        return up

    def wait(self, time_limit_s: float) -> int:
        """Passes on what the command prints until it ends, and returns its exit code."""
        deadline = time.monotonic() + time_limit_s
        status = self._shared / "status"
        with (self._shared / "stdout").open() as out, (self._shared / "stderr").open() as err:
            while not status.exists():
                ended = self._process.poll() is not None
                _pass_on(out, sys.stdout)
                _pass_on(err, sys.stderr)
                if ended and not status.exists():
                    raise MeasurementFailed(f"the VM has ended before the command: {self.console()}")
                if time.monotonic() > deadline:
                    raise MeasurementFailed(f"the command had not ended after {time_limit_s:g} s in the VM")
                time.sleep(_POLL_S)
            _pass_on(out, sys.stdout)
            _pass_on(err, sys.stderr)
        return int(status.read_text())

    def console(self) -> str:
        """The end of the output of the VM, its kernel and its programs."""
        files = [self._shared / name for name in ("console", "stderr")]
        output = "\n".join(file.read_text(errors="replace").strip()[-2000:] for file in files if file.exists())
        return output.strip() or "no output"


def _script(argv: Sequence[str], environment: Mapping[str, str]) -> str:
    variables = [f"{name}={value}" for name, value in environment.items()]
    return f"cd {shlex.quote(str(Path.cwd()))} && exec {shlex.join(['env', *variables, *argv])}\n"


def _pass_on(source: TextIO, target: TextIO) -> None:
    if text := source.read():
        target.write(text)
        target.flush()


def _search_path() -> str:
    return os.pathsep.join([str(PROJECT / ".venv" / "bin"), os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin"])


def _program(name: str) -> str:
    found = shutil.which(name, path=_search_path())
    if found is None:
        raise MissingCapability(f"the program {name!r} is not installed", SETUP_HINT)
    return found
