"""Kernel modules: those that are loaded, those that can be loaded, and remedies for missing ones."""

import platform
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from flightpath.commands import search_path

STOCK_KERNEL = "boot the distribution's own kernel (Debian: sudo apt-get install linux-image-amd64)"
"""Remedy for features that a custom kernel lacks, and that are not modules."""

_LOADED = Path("/proc/modules")


def loaded() -> frozenset[str]:
    """Returns the loaded modules; none if the kernel is built without modules."""
    if not _LOADED.exists():
        return frozenset()
    return frozenset(line.split()[0] for line in _LOADED.read_text(encoding="ascii").splitlines())


def is_loadable(module: str) -> bool:
    """Returns whether a module is on disk but not loaded; asks modprobe, which loads nothing."""
    modprobe = shutil.which("modprobe", path=search_path())
    if modprobe is None or module in loaded():
        return False
    done = subprocess.run([modprobe, "--show-depends", module], capture_output=True, text=True, check=False)
    return done.returncode == 0 and any(line.startswith("insmod ") for line in done.stdout.splitlines())


def remedy(module: str) -> str:
    """Returns the way to get a feature that this kernel lacks, given the name of its module."""
    release = platform.release()
    return remedy_for(
        module,
        loadable=is_loadable(module),
        stock=Path("/lib/modules", release, "modules.dep").exists(),
        distribution=distribution(),
        release=release,
        architecture=platform.machine(),
    )


def remedy_for(
    module: str, *, loadable: bool, stock: bool, distribution: Mapping[str, str], release: str, architecture: str
) -> str:
    """Returns the command that gets a module, for example `sch_netem`.

    It depends on whether the module is on disk (`loadable`), whether any modules are (`stock`), and on the machine.
    """
    if loadable:
        return f"sudo modprobe {module}"
    if distribution.get("ID") == "ubuntu":
        package = f"linux-modules-extra-{release}" if stock else "linux-image-generic"
    else:
        package = f"linux-image-{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(architecture, architecture) }"
    install = f"sudo apt-get install {package}"
    if distribution.get("ID") == "ubuntu" and stock:
        return f"{install} && sudo modprobe {module}"
    return f"boot the distribution's own kernel: {install}"


def distribution() -> Mapping[str, str]:
    """Returns the fields of os-release; none if the distribution has no such file."""
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}
