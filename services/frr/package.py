"""Location of FRRouting: installed, or unpacked from the distribution's package by `make frr`.

Installing the package would start a routing daemon on the machine itself, and so it is only unpacked.
"""

import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from flightpath.commands import require, run
from flightpath.errors import MissingCapability
from services.running.making import make_once

_DAEMONS, _LIBRARIES = "usr/lib/frr", "usr/lib"
_DOWNLOAD_LIMIT_S = 600
_REMEDY = "make frr"


@dataclass(frozen=True)
class Frr:
    """FRRouting below a folder, which is `/` if it is installed."""

    root: Path

    @classmethod
    def find(cls) -> "Frr":
        """Returns the FRRouting of this machine.

        Raises:
            MissingCapability: it has none.
        """
        for root in (Path("/"), home()):
            if (root / _DAEMONS / "zebra").is_file():
                return cls(root)
        raise MissingCapability("FRRouting is not here", _REMEDY)

    def daemon(self, name: str) -> str:
        """Returns the path of a daemon.

        Raises:
            MissingCapability: this package was made without it.
        """
        path = self.root / _DAEMONS / name
        if not path.is_file():
            raise MissingCapability(f"FRRouting has no {name} in {path.parent}", _REMEDY)
        return str(path)

    def environment(self) -> dict[str, str]:
        """Returns the variables that its daemons need to find their libraries."""
        libraries = self.root / _LIBRARIES
        folders = [folder for folder in libraries.glob("*-linux-gnu*") if folder.is_dir()]
        return {"LD_LIBRARY_PATH": ":".join(str(path) for each in folders for path in (each, each / "frr"))}

    @property
    def version(self) -> str:
        """Version, as its daemons tell it."""
        return run([self.daemon("zebra"), "--version"], env={**os.environ, **self.environment()}).split()[2]


def home() -> Path:
    """Returns the folder into which `make frr` unpacks; like QUIC's, it does not depend on XDG_CACHE_HOME."""
    return Path.home() / ".cache" / "flightpath" / "frr"


def fetch() -> None:
    """Unpacks the distribution's package, and the libraries that are missing here, unless that was done.

    Raises:
        MissingCapability: this machine has no apt.
        CommandFailed: the download failed, with apt's last words.
    """
    try:
        frr = Frr.find()
    except MissingCapability:
        make_once(home(), _unpack, "frr.lock")
        frr = Frr.find()
    print(f"FRRouting {frr.version} in {frr.root}", file=sys.stderr)


def _unpack(root: Path) -> None:
    with tempfile.TemporaryDirectory(prefix=".packages-", dir=home().parent) as archives:
        (Path(archives) / "partial").mkdir()
        options = [f"-oDir::Cache::archives={archives}", "-oDebug::NoLocking=1", "-oAPT::Sandbox::User=root"]
        wanted = ["install", "--download-only", "--no-install-recommends", "--yes", "frr"]
        run([require("apt-get"), "-qq", *options, *wanted], timeout_s=_DOWNLOAD_LIMIT_S)
        for package in Path(archives).glob("*.deb"):
            run([require("dpkg-deb"), "--extract", str(package), str(root)])
