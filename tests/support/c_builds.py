"""C code for tests, built once for each state of its sources, whichever process asks first."""

import ctypes
import fcntl
import hashlib
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import native
from flightpath.commands import run
from flightpath.project import PROJECT

NATIVE = Path(native.__file__).parent
_FOLDER = PROJECT / "build" / "tests"
_FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-O1", f"-I{NATIVE}"]
_FUNCTION = re.compile(r"^(?!static)(\w[\w ]* \**)(\w+)\(([^()]*)\)\s*\{", re.MULTILINE)
_NUMBERS = {
    "void": None,
    "bool": ctypes.c_bool,
    "int": ctypes.c_int,
    "enum": ctypes.c_int,
    "unsigned": ctypes.c_uint,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "double": ctypes.c_double,
}


@cache
def pure_sources(program: str) -> list[Path]:
    """Sources of the modules without I/O of a program, `RELAY` or `TUNNEL`, from the Makefile."""
    names = run(["make", "--silent", "--no-print-directory", "-C", str(NATIVE), f"print-{program}_PURE"]).split()
    return [NATIVE / f"{name}.c" for name in names]


def make(*goals: str) -> None:
    """Brings parts of native/build up to date; parallel test processes take turns."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / "native.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run(["make", "--silent", "-C", str(NATIVE), *goals], check=True, stdout=sys.stderr)


def built(name: str, sources: Sequence[Path], flags: Sequence[str], *, compiler: str = "cc") -> Path:
    """A program or library of these sources and objects; `flags` are those for the compiler beside the usual ones."""
    argv = [compiler, *_FLAGS, *map(str, sources), *flags]
    target = _FOLDER / f"{name}-{_state(argv, sources)}"
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            unfinished = target.with_suffix(".part")
            run([*argv, "-o", str(unfinished)], timeout_s=600)
            unfinished.rename(target)
    return target


@cache
def library(name: str, *sources: Path, libraries: tuple[str, ...] = ()) -> ctypes.CDLL:
    """A library whose functions take and give what their C definitions say."""
    c = ctypes.CDLL(str(built(name, sources, ["-shared", "-fPIC", *libraries])))
    for source in sources:
        for given, function, parameters in _FUNCTION.findall(source.read_text()):
            with suppress(StopIteration):  # a structure by value: Python calls no such function
                types = [_type(each) for each in parameters.split(",") if each != "void"]
                declared = getattr(c, function)
                declared.restype, declared.argtypes = _type(given), types
    return c


def _type(declaration: str) -> type | None:
    if "*" in declaration or "[" in declaration:
        return ctypes.c_void_p
    return next(_NUMBERS[word] for word in declaration.split() if word in _NUMBERS)


def _state(argv: Sequence[str], sources: Sequence[Path]) -> str:
    """Changes with the command, with the sources, and with every header that they may include."""
    headers = [file for folder in {NATIVE, *(source.parent for source in sources)} for file in folder.rglob("*.h")]
    state = hashlib.sha256(repr(argv).encode())
    for file in sorted({*sources, *headers}):
        state.update(file.read_bytes())
    return state.hexdigest()[:16]
