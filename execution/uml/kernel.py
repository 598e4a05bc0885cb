"""Builds the virtual-time kernel: a User-Mode Linux, once per machine, version and configuration."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from execution.uml.kernel_source import PrivateApt
from flightpath.commands import CommandFailed, require, run
from flightpath.errors import FlightpathError, MissingCapability, UsageError
from flightpath.project import cache_folder

CONFIGURATION = Path(__file__).with_name("kernel.config")
CHANGES = Path(__file__).with_name("kernel.patch")
"""Changes of the source; docs/virtual-time.md explains them."""
SCHEDULERS = Path(__file__).with_name("schedulers")
"""Folder of MPTCP packet schedulers, which become part of the source."""
IDENTITY = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 2026",
    "KBUILD_BUILD_USER": "flightpath",
    "KBUILD_BUILD_HOST": "flightpath",
    "KBUILD_BUILD_VERSION": "1",
}
"""What a kernel says of its build (`uname -v`). It becomes part of its random numbers: the same on all machines."""
_PROGRAMS = ("make", "gcc", "flex", "bison", "bc", "xz", "patch")
_STEPS = 1740
"""Lines that a whole build prints, roughly: the scale of the progress."""
_UNUSED = (
    *("*.dts", "*.dtsi", "*.rst", "*.json", "*/tools/testing/*", "*/tools/perf/*"),
    *(f"*/arch/{name}/*.[chS]" for name in ("a*", "c*", "h*", "l*", "m*", "n*", "o*", "p*", "r*", "s*", "xtensa")),
    *(
        "*/drivers/gpu/*.[ch]",
        "*/drivers/net/ethernet/*.[ch]",
        "*/drivers/net/wireless/*.[ch]",
        "*/drivers/media/*.[ch]",
    ),
)
"""Files of the source that a build for User-Mode Linux never reads, as tar's patterns; it reads all Kconfig files."""

Progress = Callable[[float, str], None]
"""Called with the fraction that is done (0 to 1), and what is going on in a few words."""


@dataclass(frozen=True)
class UmlKernel:
    """A kernel that has been built.

    Attributes:
        version: for example `7.3.4`.
        image: the program that is started.
    """

    version: str
    image: Path

    @property
    def symbols(self) -> Path:
        """The addresses in its memory: its System.map."""
        return self.image.with_name("System.map")

    @property
    def is_complete(self) -> bool:
        """Whether it was built to the end; what an earlier version built lacks its symbols."""
        return self.image.exists() and self.symbols.exists()


def kernels_folder() -> Path:
    """Returns the folder of kernels: in `FLIGHTPATH_CACHE`, or `~/.cache/flightpath`; never in the checkout."""
    cache = Path(os.environ.get("FLIGHTPATH_CACHE") or cache_folder())
    folder, earlier = cache / "uml", cache / "lab"  # its name in version 0.1.0
    return earlier if earlier.exists() and not folder.exists() else folder


def find() -> UmlKernel:
    """Returns the newest virtual-time kernel with the present configuration.

    Raises:
        MissingCapability: there is none, or this machine cannot run one.
    """
    _require_architecture()
    if (newest := _newest()) is None:
        raise MissingCapability("there is no virtual-time kernel", "make uml-kernel")
    return newest


def build(progress: Progress, *, source: Path | None = None, jobs: int | None = None) -> UmlKernel:
    """Builds the virtual-time kernel, unless one has this configuration; continues an interrupted build.

    Args:
        progress: shown while it takes minutes.
        source: builds this source (`linux-7.3.tar.xz`), whichever kernels there are; by default the newest suitable
            package of the mirrors.
        jobs: compilers at once; by default one per processor.

    Raises:
        UsageError: the source is no archive of a kernel.
        MissingCapability: a program is missing, the mirrors have no suitable source, or the processor is another.
        FlightpathError: the build failed; with the compiler's last words.
    """
    _require_architecture()
    folder = kernels_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        if source is None and (newest := _newest()) is not None:
            return newest
        version, archive = (
            _from_mirrors(folder, progress) if source is None else (_version_of(source), lambda _: source)
        )
        target = folder / f"{version}-{_fingerprint()}"
        built = UmlKernel(version, target / "linux")
        if not built.is_complete:
            _build_in(target, version, archive, progress, jobs or os.cpu_count() or 1)
    return built


def _require_architecture() -> None:
    if os.uname().machine != "x86_64":
        raise MissingCapability(f"User-Mode Linux needs an x86-64 processor; this one is {os.uname().machine}")


def _newest() -> UmlKernel | None:
    images = kernels_folder().glob(f"*-{_fingerprint()}/linux")
    kernels = [UmlKernel(image.parent.name.partition("-")[0], image) for image in images]
    complete = [kernel for kernel in kernels if kernel.is_complete]
    return max(complete, key=lambda kernel: [int(number) for number in kernel.version.split(".")], default=None)


def _from_mirrors(folder: Path, progress: Progress) -> tuple[str, Callable[[Path], Path]]:
    """Returns the version of the newest suitable package, and a function that gets its archive into a folder."""
    progress(0.0, "asking the package mirrors for the newest kernel source")
    apt = PrivateApt(folder / "apt")
    package = apt.newest_source()

    def archive(target: Path) -> Path:
        progress(0.01, f"downloading {package.name} {package.version} (about 150 MB)")
        return _archive_in(apt.download(package, target), target)

    return ".".join(map(str, package.release)), archive


def _build_in(target: Path, version: str, archive: Callable[[Path], Path], progress: Progress, jobs: int) -> None:
    for program in _PROGRAMS:
        require(program)
    tree = target / "source"
    if not (tree / ".unpacked").exists():
        file = archive(target)
        progress(0.03, f"unpacking Linux {version}")
        _unpack(file, tree)
    _compile(tree, progress, jobs, version)
    shutil.copy(tree / "System.map", target)
    (tree / "linux").rename(target / "linux")
    for leftover in filter(Path.is_dir, target.iterdir()):
        shutil.rmtree(leftover)


def _scheduler_files() -> list[Path]:
    return sorted(SCHEDULERS.glob("*.[ch]"))


def _fingerprint() -> str:
    made_from = CONFIGURATION.read_bytes() + CHANGES.read_bytes() + repr(IDENTITY).encode()
    for file in _scheduler_files():
        made_from += file.name.encode() + file.read_bytes()
    return hashlib.sha256(made_from).hexdigest()[:12]


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another build of the virtual-time kernel", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _version_of(source: Path) -> str:
    """Returns the version in the Makefile of a kernel's source."""
    if not source.is_file():
        raise UsageError(f"--source: there is no file {source}")
    try:
        text = run(
            ["tar", "-xOf", str(source), "--wildcards", "--no-wildcards-match-slash", "--occurrence=1", "*/Makefile"]
        )
    except FlightpathError as error:
        raise UsageError(f"--source: {source} is no archive of a kernel's source: {error}") from error
    numbers = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", text, re.MULTILINE))
    if len(numbers) != 3:
        raise UsageError(f"--source: {source} is no archive of a kernel's source")
    return ".".join(numbers[name] for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL"))


def _archive_in(package: Path, folder: Path) -> Path:
    """Returns the archive of the source in a Debian package."""
    run([require("dpkg-deb"), "-x", str(package), str(folder / "package")], timeout_s=600)
    package.unlink()
    return next((folder / "package/usr/src").glob("linux-source-*.tar.*"))


def _unpack(source: Path, tree: Path) -> None:
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir(parents=True)
    unused = [f"--exclude={pattern}" for pattern in _UNUSED]
    run(["tar", "-xf", str(source), "-C", str(tree), "--strip-components=1", *unused], timeout_s=1200)
    try:
        run([require("patch"), "--strip=1", "--batch", f"--input={CHANGES}"], cwd=tree)
    except CommandFailed as error:
        advice = "build another version: flightpath machines uml-kernel --source linux-7.3.tar.xz"
        raise FlightpathError(f"{CHANGES.name} does not fit this kernel's source: {error}", advice) from error
    for file in _scheduler_files():
        shutil.copy(file, tree / "net/mptcp")
    (tree / ".unpacked").touch()


def _compile(tree: Path, progress: Progress, jobs: int, version: str) -> None:
    make = [require("make"), "-C", str(tree), "ARCH=um", f"-j{jobs}", *map("=".join, IDENTITY.items())]
    progress(0.08, "configuring")
    run([*make, "allnoconfig"], timeout_s=300)
    merge = [str(tree / "scripts/kconfig/merge_config.sh"), "-m", ".config", str(CONFIGURATION)]
    run(["sh", *merge], cwd=tree, env={"ARCH": "um"})
    run([*make, "olddefconfig"], timeout_s=300)
    _check_configuration(tree / ".config")
    output: list[str] = []
    with subprocess.Popen([*make, "linux"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as building:
        for line in building.stdout or ():
            output.append(line)
            progress(min(0.99, 0.1 + 0.9 * len(output) / _STEPS), f"compiling Linux {version}")
    if building.returncode:
        raise FlightpathError(f"the virtual-time kernel cannot be built: {''.join(output[-15:])}")


def _check_configuration(result: Path) -> None:
    """Checks that the kernel's own rules left everything that we want in the configuration."""
    wanted = {line for line in CONFIGURATION.read_text().splitlines() if re.fullmatch(r"CONFIG_\w+=y", line)}
    missing = sorted(wanted - set(result.read_text().splitlines()))
    if missing:
        print(f"warning: this kernel version does not have {', '.join(missing)}", file=sys.stderr)
