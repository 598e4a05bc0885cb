"""Compilation of congestion controls: C files to BPF objects, with a cache.

An object is built on first use, not by `make setup`, so no compiler runs where the kernel has the algorithm. It is
built again when its file, an included file or the compiler changes.
"""

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from flightpath.commands import require
from flightpath.errors import MissingCapability, UsageError
from flightpath.project import build_folder

SUFFIX = ".bpf.c"
_ALGORITHMS = Path(__file__).resolve().parent / "algorithms"
_CACHE = build_folder() / "congestion"
_HELPERS = Path("/usr/include/bpf/bpf_helpers.h")
_FLAGS = (
    *("-target", "bpf", "-O2", "-g"),  # the verifier takes source lines from what -g adds
    *("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"),
    f"-I{_ALGORITHMS}",
)


def shipped() -> tuple[str, ...]:
    """Lists the algorithms that come with Flightpath as BPF programs."""
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in _ALGORITHMS.glob(f"*{SUFFIX}")))


def is_file(algorithm: str) -> bool:
    return algorithm.endswith(SUFFIX) or "/" in algorithm


def source_of(algorithm: str) -> Path | None:
    """Returns the C file of an algorithm that is given by name or as a file; None if Flightpath has no such name."""
    if not is_file(algorithm):
        return _ALGORITHMS / f"{algorithm}{SUFFIX}" if algorithm in shipped() else None
    path = Path(algorithm)
    if not algorithm.endswith(SUFFIX):
        raise UsageError(f"congestion control {algorithm!r}: not a C file for BPF", f"its name must end in {SUFFIX}")
    if not path.is_file():
        raise UsageError(f"congestion control {algorithm!r}: there is no such file")
    return path.resolve()


def build(source: Path, *, name_prefix: str = "") -> Path:
    """Returns the BPF object of a C file; compiles it unless the cache has it."""
    clang = require("clang")
    if not _HELPERS.exists():
        raise MissingCapability(f"{_HELPERS}, which BPF programs include, is missing", "sudo make setup")
    flags = [*_FLAGS, *([f'-DNAME_PREFIX="{name_prefix}"'] if name_prefix else [])]
    preprocessed = _compile([clang, *flags, "-E", str(source)], source)
    compiler = str(Path(clang).resolve().stat().st_mtime_ns)
    digest = hashlib.sha256("\0".join([*flags, compiler, preprocessed]).encode()).hexdigest()[:16]
    built = _CACHE / f"{source.name.removesuffix(SUFFIX)}-{digest}.o"
    if not built.exists():
        for folder in (_CACHE.parent, _CACHE):
            if not folder.exists():
                folder.mkdir(parents=True, exist_ok=True)
                give_to_owner(folder)
        with tempfile.TemporaryDirectory(dir=_CACHE) as name:  # two runs may compile it at once
            new = Path(name) / built.name
            _compile([clang, *flags, "-c", str(source), "-o", str(new)], source)
            give_to_owner(new)
            new.rename(built)
    return built


def give_to_owner(path: Path) -> None:
    """Gives a file that root made to the owner of the project's folder, so that `make clean` can remove it."""
    owner = _ALGORITHMS.stat()
    if os.geteuid() == 0:
        os.chown(path, owner.st_uid, owner.st_gid)


def _compile(argv: list[str], source: Path) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout
    if "unknown target" in done.stderr or "No available targets" in done.stderr:
        raise MissingCapability("this clang does not compile for BPF", "sudo make setup")
    raise UsageError(f"congestion control {source.name}: it does not compile:\n{done.stderr.strip()}")
