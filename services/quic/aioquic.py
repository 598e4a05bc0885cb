"""aioquic, a QUIC library in Python without multipath; `aioquic_program.py` is a server and a client of ours."""

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from flightpath.commands import run
from flightpath.overrides import override
from services.quic.implementation import Implementation, source

_PACKAGES, _PROGRAM = "aioquic.txt", "aioquic_program.py"
_TIMEOUT_S = 600.0


class Aioquic(Implementation):
    """aioquic, from PyPI. It needs no compiler."""

    name = "aioquic"
    version = re.findall(r"^aioquic==([\w.]+)", source(_PACKAGES).read_text(encoding="utf-8"), re.MULTILINE)[0]
    sources = (_PACKAGES,)
    algorithms: ClassVar[Mapping[str, tuple[str, str]]] = {
        "cubic": ("cubic", "CubicCongestionControl"),
        "reno": ("reno", "RenoCongestionControl"),
    }

    @override
    def build(self, folder: Path) -> None:
        pip = [sys.executable, "-P", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        packages = ["--require-hashes", "--requirement", str(source(_PACKAGES))]
        run([*pip, "--target", str(folder), *packages], timeout_s=_TIMEOUT_S)

    @override
    def program(self) -> list[str]:
        return ["env", f"PYTHONPATH={self.home}", sys.executable, "-P", str(source(_PROGRAM))]
