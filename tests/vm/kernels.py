"""Stock kernels for the VM: without one only what this machine's own kernel has could be tested.

`python -m tests.vm.kernels` fetches the distribution's kernel package and unpacks it in `build/kernels`. It is not
installed: no boot loader, no initramfs and no module of the machine changes.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flightpath.commands import CommandFailed, require, run
from flightpath.errors import FlightpathError, MissingCapability
from flightpath.project import PROJECT

SETUP_HINT = "run `make vm-setup` in the project's folder"
UNPACKED = PROJECT / "build" / "kernels"
_KERNEL_PACKAGE = re.compile(r"Depends: (linux-(?:image|modules)(?:-extra|-unsigned)?-[0-9]\S*)")


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be booted: its version as `uname -r` says it, its image, and the folder of its modules."""

    version: str
    image: Path
    modules: Path


def find(asked: str | None = None) -> Kernel:
    """The kernel of this version; or else the newest that was unpacked here, or else the newest installed.

    Raises:
        MissingCapability: there is none, or this user may not read it.
    """
    known = {kernel.version: kernel for kernel in (*_kernels_in(Path("/")), *_unpacked())}
    if asked is not None and asked not in known:
        raise MissingCapability(
            f"there is no kernel {asked!r} here", f"known: {', '.join(known) or 'none'}; {SETUP_HINT}"
        )
    if not known:
        raise MissingCapability("there is no kernel to boot a VM with", SETUP_HINT)
    return known[asked] if asked else list(known.values())[-1]


def fetch() -> Kernel:
    """Downloads and unpacks the distribution's kernel, unless it is there already.

    Raises:
        MissingCapability: apt or dpkg is missing, or knows no such package.
    """
    packages = sorted(_packages(_meta_package()))
    version = packages[0].split("-", 2)[2]
    target = UNPACKED / version
    if not target.exists():
        UNPACKED.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=UNPACKED, prefix=".unpacking-") as folder:
            print(f"unpacking {' '.join(packages)} into {target}", file=sys.stderr)
            run([require("apt-get"), "-qq", "download", *packages], cwd=folder, timeout_s=600)
            for package in Path(folder).glob("*.deb"):
                run([require("dpkg-deb"), "-x", str(package), f"{folder}/root"], timeout_s=600)
            run([require("depmod"), "-b", f"{folder}/root", version])
            (Path(folder) / "root").rename(target)
    return find(version)


def _kernels_in(root: Path) -> Iterator[Kernel]:
    """Those of one file system, oldest first."""
    for image in sorted((root / "boot").glob("vmlinuz-*"), key=_age):
        version = image.name.removeprefix("vmlinuz-")
        for folder in ("lib/modules", "usr/lib/modules"):
            if (modules := root / folder / version).is_dir() and _readable(image):
                yield Kernel(version, image, modules)
                break


def _unpacked() -> Iterator[Kernel]:
    for root in sorted(UNPACKED.glob("[0-9]*"), key=_age):
        yield from _kernels_in(root)


def _age(path: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", path.name)]


def _readable(image: Path) -> bool:
    try:
        image.open("rb").close()
    except OSError:
        return False
    return True


def _meta_package() -> str:
    """The package that always depends on the newest kernel."""
    ubuntu = "ID=ubuntu" in Path("/etc/os-release").read_text().splitlines()
    architecture = run([require("dpkg"), "--print-architecture"]).strip()
    return "linux-image-generic" if ubuntu else f"linux-image-{architecture}"


def _packages(name: str) -> set[str]:
    """The packages, found from `name` by their dependencies, that hold an image or modules."""
    try:
        told = run([require("apt-cache"), "depends", "--important", name])
    except CommandFailed as error:
        raise MissingCapability(f"apt knows no package {name}: {error}", "as root: apt-get update") from error
    found = set(_KERNEL_PACKAGE.findall(told))
    return found.union(*(_packages(package) for package in found))


if __name__ == "__main__":
    try:
        print(fetch().version)
    except FlightpathError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
