"""The loop of the fuzz targets in Python: makes an input, reads it within limits, and keeps one that fails.

    python -m tests.fuzz.loop TARGET SECONDS FILE      prints the number of inputs; FILE is where a failing one is kept
    python -m tests.fuzz.loop TARGET --input FILE      reads this one

A target is a module of `tests.fuzz.python` with two functions: `made` makes an input of random numbers, `read` gives it
to the code under test and raises an exception, of whatever class, if a claim does not hold.
"""

import importlib
import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path
from types import ModuleType

TARGETS = tuple(sorted(path.stem for path in Path(__file__).with_name("python").glob("*.py")))
CPU_LIMIT_S, LIMIT_S = 20, 120
"""Limits of one input, of processor time and by the clock: a file must not keep a machine busy as long as it likes."""

MEMORY_BYTES = 4 * 2**30


class TooSlow(BaseException):
    """An input took too long; code under test that catches every Exception does not catch this."""


def target_named(name: str) -> ModuleType:
    return importlib.import_module(f"tests.fuzz.python.{name}")


def main(name: str, seconds: str, file: str) -> int:
    """Returns 1 if an input failed, which is then in the file."""
    target = target_named(name)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGALRM, _give_up)
    signal.signal(signal.SIGPROF, _give_up)
    if seconds == "--input":
        _read(target, Path(file).read_bytes())
        return 0
    seed = random.SystemRandom().randrange(2**32)
    deadline, count = time.monotonic() + float(seconds), 0
    while time.monotonic() < deadline or not count:
        data = target.made(random.Random(f"{seed} {count}"))
        count += 1
        try:
            _read(target, data)
        except BaseException:
            traceback.print_exc()
            Path(file).write_bytes(data)
            print(count)
            return 1
    print(count)
    return 0


def _read(target: ModuleType, data: bytes) -> None:
    signal.setitimer(signal.ITIMER_PROF, CPU_LIMIT_S)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    target.read(data)
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _give_up(*_: object) -> None:
    raise TooSlow(f"reading took more than {CPU_LIMIT_S} s of processor time, or {LIMIT_S} s")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
