"""The archive of JMeter's classes (`python -m probes.jmeter.classes PLAN`): with it Java starts in half the time.

What it holds is part of what happens in virtual time, where `make setup` therefore makes it, the same on each machine.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from flightpath.command_line import exit_code_of
from flightpath.commands import CommandFailed, run
from flightpath.errors import MissingCapability
from probes.jmeter.install import CLASSES, HOME, java_command
from topologies.sandbox.sandbox import call_inside

_TIMEOUT_S = 900.0


def is_usable(home: Path = HOME) -> bool:
    """Returns whether Java starts with an archive; not with one of another version, or of other jars."""
    return (home / CLASSES).is_file() and call_inside(lambda: _starts_with_it(home))


def _starts_with_it(home: Path) -> bool:
    try:
        *java, _main = java_command(home, "-Xshare:on")
        run([*java, "-version"], timeout_s=_TIMEOUT_S)
    except CommandFailed:
        return False
    return True


def archive(plan: Path, home: Path = HOME) -> None:
    """Archives the classes that a test plan uses: one student finds a closed port."""
    (home / CLASSES).unlink(missing_ok=True)
    call_inside(lambda: _archive(plan.absolute(), home))  # where the jars lie when JMeter runs


def _archive(plan: Path, home: Path) -> None:
    from probes.jmeter.probe import STUDENTS_HEADER, JMeterLoad  # loads NumPy, which takes longer than to look

    with tempfile.TemporaryDirectory() as folder:
        classes, students, new = (Path(folder) / name for name in ("classes.list", "students.csv", CLASSES))
        students.write_text(f"{STUDENTS_HEADER}\nstudent,code\n")
        load = JMeterLoad(
            plan,
            students,
            threads=1,
            ramp_s=1,
            port=1,
            pace_s=0.001,
            connect_timeout_s=0.1,
            response_timeout_s=0.1,
            home=home,
        )
        listing = ("-Xshare:off", f"-XX:DumpLoadedClassList={classes}")
        run(load.command("127.0.0.1", Path(folder), Path(folder), *listing, students_header=True), timeout_s=_TIMEOUT_S)
        # Java 17 crashes at lambdas of classes that it cannot archive, as those of signed jars.
        lines = classes.read_text(encoding="utf-8").splitlines(keepends=True)
        classes.write_text("".join(line for line in lines if not line.startswith("@lambda-proxy")), encoding="utf-8")
        listed = f"-XX:SharedClassListFile={classes}"
        run(java_command(home, "-Xshare:dump", listed, f"-XX:SharedArchiveFile={new}"), timeout_s=_TIMEOUT_S)
        shutil.copyfile(new, partial := home / f"{CLASSES}.part")
        partial.replace(home / CLASSES)


def main(plan: str) -> int:
    """Archives the classes of a test plan, or with `--check` tells whether that was done; returns the exit code."""
    if plan == "--check":
        return exit_code_of(lambda: 0 if is_usable() else 1)

    def archive_if_possible() -> None:
        try:
            archive(Path(plan))
        except (CommandFailed, MissingCapability) as error:
            print(f"JMeter will start more slowly, because its classes cannot be archived: {error}", file=sys.stderr)

    return exit_code_of(archive_if_possible)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
