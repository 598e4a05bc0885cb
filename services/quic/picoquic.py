"""picoquic, a QUIC library in C with multipath and Prague; `picoquic_program` is a server and a client of ours.

No registry has picoquic itself. PyPI has its source, with that of picotls, in the source distribution of aiopquic.
"""

import hashlib
import re
import shutil
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from flightpath.commands import CommandFailed, require, run
from flightpath.errors import MissingCapability
from flightpath.overrides import override
from services.quic.implementation import Implementation, source

_SOURCE = "picoquic_program/source.txt"
_FILES = ("client.c", "connection.c", "main.c", "program.h", "server.c", "sockets.c", "tools.c")
_PROGRAMS = ("cmake", "cc", "c++", "make", "pkg-config")
_HINT = "apt-get install cmake g++ make pkg-config libssl-dev"
_TIMEOUT_S = 3600.0


class Picoquic(Implementation):
    """picoquic, in the version of our list of one line: version, address and SHA-256 of the source."""

    name = "picoquic"
    version, _url, _sha256 = source(_SOURCE).read_text(encoding="utf-8").replace("sha256:", "").split()
    multipath_draft = "draft-ietf-quic-multipath-20"
    sources = (_SOURCE, "picoquic_program/CMakeLists.txt", *(f"picoquic_program/{name}" for name in _FILES))
    algorithms: ClassVar[Mapping[str, tuple[str, str]]] = {
        "bbr3": ("bbr", "bbr"),
        "bbr": ("bbr1", "bbr1"),
        "cubic": ("cubic", "cubic"),
        "prague": ("prague", "prague"),
        "reno": ("newreno", "newreno"),
    }

    @override
    def build(self, folder: Path) -> None:
        _require_packages()
        print(f"QUIC: building {self.name} {self.version} (less than a minute) ...", file=sys.stderr)
        work = folder.parent / "work"
        work.mkdir(parents=True)
        sources = self._unpacked_sources(work)
        made = work / "build"
        settings = [f"-DSOURCES={sources}", "-DCMAKE_BUILD_TYPE=Release"]
        run(["cmake", "-S", str(source(_SOURCE).parent), "-B", str(made), *settings], timeout_s=_TIMEOUT_S)
        run(["cmake", "--build", str(made), "--parallel", "2", "--target", "quic_picoquic"], timeout_s=_TIMEOUT_S)
        folder.mkdir()
        shutil.copy2(made / "quic_picoquic", folder)
        shutil.rmtree(work)

    @override
    def program(self) -> list[str]:
        return [str(self.home / "quic_picoquic")]

    def _unpacked_sources(self, work: Path) -> Path:
        """Downloads the source, and returns the folder with that of picoquic and picotls.

        Raises:
            CommandFailed: it cannot be had, is another file than the pinned one, or holds another version.
        """
        try:
            with urllib.request.urlopen(self._url, timeout=60) as answer:
                packed = answer.read()
        except OSError as error:
            raise CommandFailed(f"{self._url}: {error}") from error
        if (found := hashlib.sha256(packed).hexdigest()) != self._sha256:
            raise CommandFailed(f"{self._url} has the SHA-256 {found}, not {self._sha256}")
        archive = work / "source.tar.gz"
        archive.write_bytes(packed)
        run(["tar", "-xzf", str(archive), "-C", str(work)])
        (sources,) = work.glob("*/third_party")
        header = (sources / "picoquic" / "picoquic" / "picoquic.h").read_text(encoding="utf-8")
        if f'PICOQUIC_VERSION "{self.version}"' not in header:
            version = re.findall(r'PICOQUIC_VERSION "([^"]+)"', header)
            raise CommandFailed(f"{self._url} holds picoquic {', '.join(version)}, not {self.version}")
        return sources


def _require_packages() -> None:
    """Raises MissingCapability if a program or a library that the build needs is missing."""
    try:
        for program in _PROGRAMS:
            require(program)
        run(["pkg-config", "--exists", "openssl"])
    except MissingCapability as error:
        raise MissingCapability(f"the build of picoquic: {error.args[0]}", _HINT) from error
    except CommandFailed as error:
        raise MissingCapability("the build of picoquic needs OpenSSL's header files", _HINT) from error
