"""The newest kernel source that this machine's Debian or Ubuntu mirrors offer, through a private apt configuration.

Nothing is installed, and the system's own apt is not changed. apt checks signatures with the distribution's keys.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flightpath.commands import CommandFailed, require, run
from flightpath.errors import MissingCapability

OLDEST = (6, 16)
"""The first version with `seccomp=on`; before 6.13 User-Mode Linux ends at once on processors with AMX."""

_NEWER = {
    "bookworm": ("bookworm-backports", "trixie", "trixie-backports"),
    "trixie": ("trixie-backports", "forky"),
    "forky": ("sid",),
}
"""Debian's suites with newer kernels, by suite. One that is not released has no backports: apt would refuse all."""
_DOWNLOAD_LIMIT_S = 1800
_HINT = "or build one from a kernel's source: flightpath machines uml-kernel --source linux-7.3.tar.xz"


@dataclass(frozen=True)
class SourcePackage:
    """A package `linux-source-X.Y` of a mirror.

    Attributes:
        name: of the package.
        version: of the package, for example `7.3.4-1~bpo13+1`.
    """

    name: str
    version: str

    @property
    def release(self) -> tuple[int, ...]:
        """The kernel's version as numbers, for example (7, 3, 4)."""
        return tuple(int(number) for number in re.findall(r"\d+", self.version.partition("-")[0]))


class PrivateApt:
    """apt with a configuration and lists of its own, for the suites of this machine's mirrors.

    Args:
        folder: of its files; made if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("lists/partial", "archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "status").touch()
        (folder / "sources.list").write_text("".join(f"{line}\n" for line in _source_lines()))

    def newest_source(self) -> SourcePackage:
        """Returns the newest suitable source after an update of the lists.

        Raises:
            MissingCapability: the mirrors cannot be reached, or have only older ones.
        """
        try:
            self._apt("apt-get", "-qq", "update")
        except CommandFailed as error:
            raise MissingCapability(f"the package mirrors cannot be read: {error}", _HINT) from error
        names = self._apt("apt-cache", "pkgnames", "linux-source-").split()
        lines = self._apt("apt-cache", "madison", *names).splitlines()
        packages = [SourcePackage(*map(str.strip, line.split("|")[:2])) for line in lines]
        suitable = [package for package in packages if package.release >= OLDEST]
        if not suitable:
            oldest = ".".join(map(str, OLDEST))
            raise MissingCapability(f"the package mirrors have no kernel source of version {oldest} or newer", _HINT)
        return max(suitable, key=lambda package: package.release)

    def download(self, package: SourcePackage, folder: Path) -> Path:
        """Downloads a package, checked against the mirror's signature, and returns its file.

        Raises:
            CommandFailed: the download failed.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._apt("apt-get", "-qq", "download", f"{package.name}={package.version}", cwd=folder)
        return next(folder.glob(f"{package.name}_*.deb"))

    def _apt(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        folders = {
            "Etc::sourcelist": "sources.list",
            "Etc::sourceparts": "/dev/null",
            "State::lists": "lists",
            "State::status": "status",
            "Cache": ".",
        }
        options = [f"-oDir::{name}={self._folder / path}" for name, path in folders.items()]
        options.append("-oAPT::Sandbox::User=root")  # root's apt would become a user who may not read this folder
        return run([require(program), *options, *arguments], timeout_s=_DOWNLOAD_LIMIT_S, cwd=cwd)


def _source_lines() -> Iterator[str]:
    """Yields a line of sources.list for each suite in which a newer kernel may be."""
    form = "$(REPO_URI) $(CODENAME) $(COMPONENT) $(ORIGIN)"
    targets = run([require("apt-get"), "indextargets", "--format", form, "Created-By: Packages"])
    for target in targets.splitlines():
        uri, codename, component, origin = target.split(" ", 3)
        keyring = Path(f"/usr/share/keyrings/{origin.lower()}-archive-keyring.gpg")
        if component == "main" and keyring.is_file():
            for suite in _NEWER.get(codename, ()) if origin == "Debian" else [codename]:
                yield f"deb [signed-by={keyring}] {uri} {suite} main"
