"""`make fuzz`: looks for inputs that crash what reads bytes from outside, each target in turn: C with libFuzzer."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from flightpath.commands import run
from flightpath.errors import FlightpathError, MissingCapability
from tests.fuzz import frames
from tests.fuzz.targets import TARGETS, build, write_seeds

IN_PYTHON = {"frames": frames.fuzz}


def main() -> int:
    """The exit code is that of the first target that failed; its input is kept beside the message that names it."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    known = (*IN_PYTHON, *TARGETS)
    parser.add_argument("targets", nargs="*", choices=[*known, []], metavar="TARGET", help=f"of {', '.join(known)}")
    parser.add_argument("--seconds", type=int, default=60, metavar="N", help="for each target (default 60)")
    options = parser.parse_args()
    targets = options.targets or known
    try:
        if set(targets) & set(TARGETS):
            require_libfuzzer()
    except MissingCapability as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    with tempfile.TemporaryDirectory(prefix="flightpath-fuzz-") as folder:
        for target in targets:
            print(f"{target}: {options.seconds} s", flush=True)
            fuzz = IN_PYTHON.get(target)
            code = fuzz(options.seconds) if fuzz else _fuzz(target, Path(folder) / target, options.seconds)
            if code:
                return code
    return 0


def require_libfuzzer() -> None:
    """Raises MissingCapability if an empty target cannot be built."""
    with tempfile.TemporaryDirectory(prefix="flightpath-fuzz-") as folder:
        source = Path(folder) / "empty.c"
        source.write_text("int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return d == 0 && n > 0; }\n")
        argv = ["clang", "-fsanitize=fuzzer,address,undefined", str(source), "-o", str(source.with_suffix(""))]
        try:
            run(argv)
        except FlightpathError as error:
            raise MissingCapability(
                f"clang cannot build with libFuzzer here: {error}", "as root: apt install clang libclang-rt-dev"
            ) from error


def _fuzz(target: str, folder: Path, seconds: int) -> int:
    write_seeds(target, folder / "corpus")
    build(target, folder / "program", libfuzzer=True)
    argv = [
        folder / "program",
        f"-max_total_time={seconds}",
        "-max_len=8192",
        "-rss_limit_mb=8192",
        "-print_final_stats=1",
    ]
    return subprocess.run([*argv, folder / "corpus"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
