"""The fuzz targets in C: how each is built, and how many variations tests try of each."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from flightpath.errors import FlightpathError, MissingCapability
from tests.support.c_builds import NATIVE, built, make, pure_sources

FOLDER = Path(__file__).parent
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
MAX_BYTES = 8192  # of an input
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
_FLAGS = ["-g", "-fno-sanitize-recover=all", "-pthread"]
_SANITIZERS = "address,undefined"


def build(target: str, *, libfuzzer: bool) -> Path:
    """A target with AddressSanitizer and UndefinedBehaviorSanitizer.

    Without libFuzzer it has our own main(), and the objects of `make sanitize`.
    """
    own = FOLDER / f"fuzz_{target}.c"
    if target in _OF_THE_LOADER:
        product, libraries = [NATIVE / f"{name}.c" for name in _OF_THE_LOADER[target]], ["-lbpf", "-lelf"]
    else:
        pure = pure_sources("TUNNEL" if target in _OF_THE_TUNNEL else "RELAY")
        product = [*pure, *(NATIVE / f"{name}.c" for name in _BESIDES_PURE.get(target, ()))]
        libraries = ["-lm", "-lcrypto"]
    if libfuzzer:
        flags = [f"-fsanitize=fuzzer,{_SANITIZERS}", *_FLAGS, *libraries]
        try:
            return built(f"fuzz_{target}", [own, *product], flags, compiler="clang")
        except FlightpathError as error:
            if "clang_rt" in str(error) or not shutil.which("clang"):
                hint = "as root: apt install clang libclang-rt-dev"
                raise MissingCapability("clang cannot build with libFuzzer here", hint) from error
            raise
    objects = [f"build/sanitized/{source.relative_to(NATIVE).with_suffix('.o')}" for source in product]
    make(*objects)
    parts = [own, FOLDER / "fuzz_main.c", *(NATIVE / name for name in objects)]
    return built(f"fuzz_{target}", parts, [f"-fsanitize={_SANITIZERS}", *_FLAGS, *libraries])
