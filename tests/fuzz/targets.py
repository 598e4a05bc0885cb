"""The fuzz targets in C: how each is built, and how many variations tests try of each."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import native
from tests.support.relay_line import pure_sources, tunnel_sources

FOLDER = Path(__file__).parent
NATIVE = Path(native.__file__).parent
VARIATIONS: Mapping[str, int] = {
    "line": 3000,
    "trace": 20_000,
    "commands": 3000,
    "tunnel": 6000,
    "configuration": 20_000,
    "requests": 6000,
    "key": 10_000,
    "loader": 500,
    "object": 3000,
}
"""The targets, and how many variations of their seeds tests try of each."""

MAX_BYTES = 8192
"""Size of an input, as in fuzz_main.c."""

_OF_THE_TUNNEL = ("tunnel", "configuration", "requests", "key")
_OF_THE_LOADER: Mapping[str, Sequence[str]] = {
    "loader": ("bpf/registration", "common/control", "common/lifecycle", "common/text"),
    "object": ("bpf/struct_ops",),
}
_COMMON = ("common/control", "common/device", "common/lifecycle")
_BESIDES_PURE: Mapping[str, Sequence[str]] = {
    "commands": (*_COMMON, "relay/commands", "relay/direction", "relay/tap", "relay/worker"),
    "requests": (*_COMMON, "tunnel/management", "tunnel/path_socket", "tunnel/requests", "tunnel/tunnel"),
}
_FLAGS = ["-std=c11", "-D_GNU_SOURCE", "-g", "-O1", "-fno-sanitize-recover=all", f"-I{NATIVE}"]
_SANITIZERS = "address,undefined"


def build(target: str, program: Path, *, libfuzzer: bool) -> None:
    """Builds a target, with AddressSanitizer and UndefinedBehaviorSanitizer; without libFuzzer with our own main()."""
    sources = [str(FOLDER / f"fuzz_{target}.c"), *_product_sources(target)]
    if libfuzzer:
        compiler = ["clang", f"-fsanitize=fuzzer,{_SANITIZERS}"]
    else:
        compiler = ["cc", f"-fsanitize={_SANITIZERS}"]
        sources.append(str(FOLDER / "fuzz_main.c"))
    libraries = ["-lbpf", "-lelf"] if target in _OF_THE_LOADER else ["-lm", "-lcrypto"]
    subprocess.run([*compiler, *_FLAGS, "-o", program, *sources, "-pthread", *libraries], check=True)


def _product_sources(target: str) -> list[str]:
    if target in _OF_THE_LOADER:
        return [str(NATIVE / f"{name}.c") for name in _OF_THE_LOADER[target]]
    pure = tunnel_sources() if target in _OF_THE_TUNNEL else pure_sources()
    return [*pure, *(str(NATIVE / f"{name}.c") for name in _BESIDES_PURE.get(target, ()))]
