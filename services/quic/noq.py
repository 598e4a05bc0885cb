"""noq, a QUIC library in Rust with multipath, a fork of quinn; `noq_program` is a server and a client of ours."""

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from flightpath.commands import require, run
from flightpath.errors import MissingCapability
from flightpath.overrides import override
from services.quic.implementation import Implementation, source

OLDEST_RUST = (1, 88)
_MANIFEST = "noq_program/Cargo.toml"
_HINT = (
    f"install Rust {'.'.join(map(str, OLDEST_RUST))} or newer: https://rustup.rs; on Debian 13 and Ubuntu 24.04 "
    "apt-get install rustup && rustup default stable"
)
_TIMEOUT_S = 3600.0


class Noq(Implementation):
    """noq, from crates.io."""

    name = "noq"
    version = re.findall(
        r'^noq = \{ version = "=([^"]+)"', source(_MANIFEST).read_text(encoding="utf-8"), re.MULTILINE
    )[0]
    multipath_draft = "draft-ietf-quic-multipath-21"
    sources = (_MANIFEST, "noq_program/Cargo.lock", "noq_program/src/main.rs")
    algorithms: ClassVar[Mapping[str, tuple[str, str]]] = {
        "bbr3": ("bbr3", "Bbr3"),
        "cubic": ("cubic", "Cubic"),
        "reno": ("reno", "NewReno"),
    }

    @override
    def build(self, folder: Path) -> None:
        cargo = _cargo()
        try:
            require("gcc")
        except MissingCapability as error:
            raise MissingCapability(error.args[0], "apt-get install gcc") from error
        print(f"QUIC: building {self.name} {self.version} (a minute or two) ...", file=sys.stderr)
        target = folder.parent / "target"
        options = ["--locked", "--quiet", "--no-track", "--root", str(folder), "--target-dir", str(target)]
        run([cargo, "install", *options, "--path", str(source(_MANIFEST).parent)], timeout_s=_TIMEOUT_S)
        shutil.rmtree(target, ignore_errors=True)

    @override
    def program(self) -> list[str]:
        return [str(self.home / "bin" / "quic_noq")]


def _cargo() -> str:
    try:
        cargo = require("cargo")
    except MissingCapability as error:
        raise MissingCapability("Rust, from which the QUIC implementation noq is built, is missing", _HINT) from error
    text = run([cargo, "--version"])
    if tuple(map(int, re.findall(r"\d+", text)[:2])) < OLDEST_RUST:
        raise MissingCapability(f"{text.strip()} is too old for the QUIC implementation noq", _HINT)
    return cargo
