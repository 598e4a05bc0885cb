"""Submissions that attack whoever grades them: programs, settings, commands, files and archives."""

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

from labs.framework import catalogue, work
from labs.framework.lab import Variant

OUTSIDE = Path("/var/tmp/flightpath-hostile-submission-was-here")
"""What the programs try to write, on whichever machine they run."""

_PROGRAMS = {
    "forks": "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n",
    "spins": "while True: pass\n",
    "takes_memory": "kept = []\nwhile True: kept.append(bytearray(1 << 26))\n",
    "prints": "while True: print('x' * 100000)\n",
    "kills": "import os, signal\nos.kill(-1, signal.SIGKILL)\nos.kill(os.getppid(), signal.SIGKILL)\n",
    "writes": f"import pathlib\npathlib.Path('{OUTSIDE}').write_text('x')\npathlib.Path('answers.toml').unlink()\n",
    "reads": "import pathlib\nprint(pathlib.Path('/etc/shadow').read_text())\nimport labs.solutions.lab12_measuring\n",
    "stops_the_machine": "import os\nopen('/proc/sysrq-trigger', 'w').write('o')\nos.system('poweroff -f')\n",
    "does_not_end": "import signal, time\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 60))\ntime.sleep(10**6)\n",
    "fills_the_disk": "f = open('/tmp/full', 'wb')\nwhile True: f.write(bytes(1 << 20))\n",
}
_WITH_PROGRAMS = {6: "control.py", 7: "switch.py", 12: "measure.py"}
_COMMANDS = {
    1: ("routes.mn", ["h1 ip route; rm -rf /", "h1 ip route add $(reboot)", f"h1 touch {OUTSIDE}", "sh touch /x"]),
    8: ("mptcp.mn", ["h1 ip mptcp monitor", "h9 ip mptcp limits", "h1 ip mptcp\x00limits", "h1 ip -batch /etc/shadow"]),
}
_SETTINGS = {
    "deep": "a = " + "[" * 100_000,
    "long": "packets = " + "9" * 100_000 + "\n",
    "binary": "\x00\x01\x02",
    "other_types": "packets = {a = 1}\ndiscipline = [[]]\necn = 'yes'\n",
    "escapes": 'discipline = "droptail delay=0; bw=1000"\npackets = -1\n',
}


def write_all(folder: Path, *, short: bool) -> list[str]:
    """Writes hostile submissions into a folder, with programs for one lab or for all that run some; returns names."""
    for number, file in list(_WITH_PROGRAMS.items())[-1 if short else 0 :]:
        for name, program in _PROGRAMS.items():
            (_started(folder, f"{name}_{number}", number) / file).write_text(program)
    for number, (file, lines) in _COMMANDS.items():
        for index, line in enumerate(lines):
            (_started(folder, f"command{index}_{number}", number) / file).write_text(f"{line}\n")
    for name, text in _SETTINGS.items():
        (_started(folder, f"settings_{name}", 3) / "queue.toml").write_text(text)
    for name, damage in _FILES.items():
        damage(_started(folder, f"file_{name}", 2))
    for name, write in _ARCHIVES.items():
        with zipfile.ZipFile(folder / f"archive_{name}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            write(archive)
    return sorted({path.stem for path in folder.iterdir()})


def _started(folder: Path, name: str, number: int) -> Path:
    return work.start(catalogue.find(number), Variant(name), folder / name)


def _identity(**words: object) -> Callable[[Path], object]:
    return lambda folder: (folder / work.IDENTITY).write_text(json.dumps(words))


def _in_place_of_answers(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def damage(folder: Path) -> None:
        (folder / work.ANSWERS).unlink()
        make(folder / work.ANSWERS)

    return damage


_FILES: dict[str, Callable[[Path], object]] = {
    "link": _in_place_of_answers(lambda file: file.symlink_to("/etc/shadow")),
    "pipe": _in_place_of_answers(os.mkfifo),
    "many": lambda folder: [(folder / f"file{number}").touch() for number in range(1000)],
    "large": lambda folder: os.truncate(folder / work.ANSWERS, 1 << 40),
    "no_such_lab": _identity(lab=99, student="x", course=""),
    "names": _identity(lab=2, student="../../../../x\n=cmd()", course="\x1b[2J"),
    "types": _identity(lab=[2], student={}, course=None),
}


def _outside(archive: zipfile.ZipFile) -> None:
    for name in (f"../../../..{OUTSIDE}", str(OUTSIDE), work.IDENTITY):
        archive.writestr(name, "{}")


_ARCHIVES: dict[str, Callable[[zipfile.ZipFile], None]] = {
    "bomb": lambda archive: archive.writestr(work.IDENTITY, "0" * (200 << 20)),
    "outside": _outside,
    "empty": lambda _: None,
}
