"""Stock kernels for the VM, which have features that this machine's own kernel may lack.

`flightpath machines vm-kernel` downloads the distribution's kernel package and unpacks it in `build/kernels`. It is not
installed: boot loader, initramfs and modules of the machine stay as they are.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flightpath.commands import CommandFailed, require, run
from flightpath.errors import MissingCapability
from flightpath.project import PROJECT, build_folder

SETUP_HINT = f"run `make vm-setup` in {PROJECT}"
UNPACKED = build_folder() / "kernels"
_KERNEL_PACKAGE = re.compile(r"Depends: (linux-(?:image|modules)(?:-extra|-unsigned)?-[0-9]\S*)")


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be booted: its version as `uname -r` prints it, its image, and the folder of its modules."""

    version: str
    image: Path
    modules: Path


def find(version: str | None = None) -> Kernel:
    """Returns the kernel of this version; by default the newest unpacked one, or else the newest installed one.

    Raises:
        MissingCapability: there is none, or this user may not read it.
    """
    kernels = {kernel.version: kernel for kernel in (*_kernels_in(Path("/")), *_unpacked())}
    if version is not None and version not in kernels:
        raise MissingCapability(
            f"there is no kernel {version!r} here", f"known: {', '.join(kernels) or 'none'}; {SETUP_HINT}"
        )
    if not kernels:
        raise MissingCapability("there is no kernel to boot a VM with", SETUP_HINT)
    return kernels[version] if version else list(kernels.values())[-1]


def fetch() -> Kernel:
    """Downloads and unpacks the distribution's kernel, unless that has been done.

    Raises:
        MissingCapability: apt or dpkg is not installed, or does not know the package.
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
    """Yields the kernels of one file system, oldest first."""
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
    """Returns the package that depends on the distribution's newest kernel."""
    ubuntu = "ID=ubuntu" in Path("/etc/os-release").read_text().splitlines()
    architecture = run([require("dpkg"), "--print-architecture"]).strip()
    return "linux-image-generic" if ubuntu else f"linux-image-{architecture}"


def _packages(name: str) -> set[str]:
    """Returns the packages with an image or modules that a package depends on, directly or indirectly."""
    try:
        output = run([require("apt-cache"), "depends", "--important", name])
    except CommandFailed as error:
        raise MissingCapability(f"apt does not know the package {name}: {error}", "as root: apt-get update") from error
    packages = set(_KERNEL_PACKAGE.findall(output))
    return packages.union(*(_packages(package) for package in packages))
