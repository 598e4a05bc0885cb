"""Makes BPF objects of C files: without it every student would need clang's flags, and each run would compile anew.

Objects are made on first use, not by `make setup`: a student's own file goes the same way, so there is one way only;
and where the kernel has all algorithms no compiler runs. One is made again when the file, anything that it includes,
or the compiler has changed.
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
    *("-target", "bpf", "-O2", "-g"),  # -g is also what the verifier's messages take source lines from
    *("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"),
    f"-I{_ALGORITHMS}",
)


def shipped() -> tuple[str, ...]:
    """The algorithms that come with Flightpath as BPF programs."""
    return tuple(sorted(path.name.removesuffix(SUFFIX) for path in _ALGORITHMS.glob(f"*{SUFFIX}")))


def is_file(algorithm: str) -> bool:
    """Whether an algorithm is given as a file of one's own, and not by its name."""
    return algorithm.endswith(SUFFIX) or "/" in algorithm


def source_of(algorithm: str) -> Path | None:
    """The C file of an algorithm, given by name or as a file; None: Flightpath has none of that name.

    Raises:
        UsageError: there is no such file.
    """
    if not is_file(algorithm):
        return _ALGORITHMS / f"{algorithm}{SUFFIX}" if algorithm in shipped() else None
    path = Path(algorithm)
    if not algorithm.endswith(SUFFIX):
        raise UsageError(f"congestion control {algorithm!r}: not a C file for BPF", f"its name must end in {SUFFIX}")
    if not path.is_file():
        raise UsageError(f"congestion control {algorithm!r}: there is no such file")
    return path.resolve()


def build(source: Path, *, name_prefix: str = "") -> Path:
    """The BPF object of a C file, made if it is not there yet.

    Args:
        source: the C file.
        name_prefix: put before the algorithm's name, to have it beside the kernel's own.

    Raises:
        UsageError: it does not compile; with the compiler's messages.
        MissingCapability: there is no compiler, or none that makes BPF.
    """
    clang = require("clang")
    if not _HELPERS.exists():
        raise MissingCapability(f"there is no {_HELPERS}, which BPF programs include", "sudo make setup")
    flags = [*_FLAGS, *([f'-DNAME_PREFIX="{name_prefix}"'] if name_prefix else [])]
    preprocessed = _compile([clang, *flags, "-E", str(source)], source)
    age = str(Path(clang).resolve().stat().st_mtime_ns)
    digest = hashlib.sha256("\0".join([*flags, age, preprocessed]).encode()).hexdigest()[:16]
    made = _CACHE / f"{source.name.removesuffix(SUFFIX)}-{digest}.o"
    if not made.exists():
        _make_cache()
        with tempfile.TemporaryDirectory(dir=_CACHE) as folder:  # two runs may compile it at once
            fresh = Path(folder) / made.name
            _compile([clang, *flags, "-c", str(source), "-o", str(fresh)], source)
            give_to_owner(fresh)
            fresh.rename(made)
    return made


def give_to_owner(path: Path) -> None:
    """Hands a file to whom the project's folder belongs: what root made, `make clean` could not remove."""
    owner = _ALGORITHMS.stat()
    if os.geteuid() == 0:
        os.chown(path, owner.st_uid, owner.st_gid)


def _make_cache() -> None:
    for folder in (_CACHE.parent, _CACHE):
        if not folder.exists():
            folder.mkdir(parents=True, exist_ok=True)
            give_to_owner(folder)


def _compile(argv: list[str], source: Path) -> str:
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return done.stdout
    if "unknown target" in done.stderr or "No available targets" in done.stderr:
        raise MissingCapability("this clang does not compile for BPF", "sudo make setup")
    raise UsageError(f"congestion control {source.name}: it does not compile:\n{done.stderr.strip()}")
