"""Which kernel modules could be loaded: without it "missing" and "not loaded yet" would look the same."""

import platform
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

_LOADED = Path("/proc/modules")
_LIBRARY = Path("/lib/modules")


def loaded() -> frozenset[str]:
    """The modules that the kernel has loaded; none where it is built without modules."""
    if not _LOADED.exists():
        return frozenset()
    return frozenset(line.split()[0] for line in _LOADED.read_text(encoding="ascii").splitlines())


def waiting(module: str) -> bool:
    """Whether this kernel has the module on disk and has not loaded it; asks modprobe, which loads nothing for that."""
    modprobe = shutil.which("modprobe", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if modprobe is None or module in loaded():
        return False
    told = subprocess.run([modprobe, "--show-depends", module], capture_output=True, text=True, check=False)
    return told.returncode == 0 and any(line.startswith("insmod ") for line in told.stdout.splitlines())


def remedy(module: str) -> str:
    """What gets a kernel feature that this kernel does not have, by the name of its module."""
    release = platform.release()
    return remedy_for(
        module,
        loadable=waiting(module),
        stock=(_LIBRARY / release / "modules.dep").exists(),
        distribution=distribution(),
        release=release,
        architecture=platform.machine(),
    )


def remedy_for(
    module: str, *, loadable: bool, stock: bool, distribution: Mapping[str, str], release: str, architecture: str
) -> str:
    """The command, from what is known of the machine.

    Args:
        module: its name, for example `sch_netem`.
        loadable: this kernel has it on disk.
        stock: this kernel has modules on disk at all.
        distribution: as in os-release.
        release: of the kernel.
        architecture: as `uname -m` prints it.
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
    """The distribution's own description; empty where it has none."""
    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}
