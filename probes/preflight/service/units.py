"""Scheduling of a profile's measurements: a systemd service and its timer, or a line of a crontab."""

import hashlib
import shlex
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flightpath.commands import CommandFailed, require, run
from flightpath.errors import MissingCapability, UsageError

_SYSTEMD = Path("/run/systemd/system")
_SYSTEM_UNITS = Path("/etc/systemd/system")
_DAY_MIN = 24 * 60
_MAX_SPREAD_MIN = 30

_SERVICE = """\
[Unit]
Description=Flightpath measures the path of profile {name}
{network}
[Service]
Type=oneshot
ExecStart={command}
# 1: measured, and worse than before.
SuccessExitStatus=1
TimeoutStartSec={limit_s}
{user}"""
_TIMER = """\
[Unit]
Description=Flightpath measures the path of profile {name} every {every_min} minutes

[Timer]
OnCalendar={calendar}
RandomizedDelaySec={spread_s}
FixedRandomDelay=true
AccuracySec=1s
Persistent=true

[Install]
WantedBy=timers.target
"""
_NETWORK = "Wants=network-online.target\nAfter=network-online.target\n"


@dataclass(frozen=True)
class Schedule:
    """The times at which a profile is measured.

    Attributes:
        every_min: minutes from one measurement to the next; they divide an hour or a day.
        spread_min: largest delay of a measurement, in minutes; a machine always has the same one.
    """

    every_min: int
    spread_min: int

    @classmethod
    def parse(cls, every_s: float, spread_s: float | None) -> "Schedule":
        every = round(every_s / 60)
        if every_s < 60 or every_s % 60 or (60 if every < 60 else _DAY_MIN) % every or (every > 60 and every % 60):
            raise UsageError(
                "--every: a day, or an hour, must be a multiple of it",
                "choose 5min, 10min, 15min, 20min, 30min, 1h, 2h, 3h, 4h, 6h, 8h, 12h or 1d",
            )
        spread = min(every // 4, _MAX_SPREAD_MIN) if spread_s is None else round(spread_s / 60)
        if spread >= every:
            raise UsageError("--spread: it must be shorter than --every")
        return cls(every, spread)

    @property
    def per_day(self) -> int:
        return _DAY_MIN // self.every_min

    @property
    def calendar(self) -> str:
        """`OnCalendar` of systemd.time(7)."""
        if self.every_min < 60:
            return f"*-*-* *:00/{self.every_min}:00"
        return "*-*-* 00:00:00" if self.every_min == _DAY_MIN else f"*-*-* 00/{self.every_min // 60}:00:00"

    def cron(self, seed: str) -> str:
        """Returns the first five fields of a crontab's line; the seed gives the place within the spread."""
        digest = int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big")
        hour, minute = divmod(digest % (self.spread_min + 1), 60)
        if self.every_min < 60:
            return f"{minute}-59/{self.every_min} * * * *"
        hours = str(hour) if self.every_min == _DAY_MIN else f"{hour}-23/{self.every_min // 60}"
        return f"{minute} {hours} * * *"


@dataclass(frozen=True)
class Installation:
    """The units, or the crontab's line, of one profile.

    Attributes:
        name: the profile's.
        command: command to be run.
        run_as: user of the system's unit; "" for a unit of this user.
    """

    name: str
    schedule: Schedule
    command: Sequence[str]
    run_as: str = ""

    def units(self) -> dict[str, str]:
        """Returns the contents of the unit files, by file name."""
        unit, schedule = f"flightpath-preflight-{self.name}", self.schedule
        service = _SERVICE.format(
            name=self.name,
            network=_NETWORK if self.run_as else "",
            command=" ".join(map(_quoted, self.command)),
            limit_s=schedule.every_min * 60,
            user=f"User={self.run_as}\n" if self.run_as else "",
        )
        timer = _TIMER.format(
            name=self.name,
            every_min=schedule.every_min,
            calendar=schedule.calendar,
            spread_s=schedule.spread_min * 60,
        )
        return {f"{unit}.service": service, f"{unit}.timer": timer}

    def cron_line(self) -> str:
        fields = self.schedule.cron(f"{socket.gethostname()} {self.name}")
        words = shlex.join(self.command).replace("%", r"\%").replace("\n", " ")
        return f"{fields} {words} > /dev/null {_mark(self.name)}"

    def install(self, *, cron: bool) -> list[str]:
        """Installs and starts it, in place of an earlier one; returns the files, or the crontab's line."""
        if cron:
            _edit_crontab(self.name, self.cron_line())
            return [self.cron_line()]
        folder = units_folder(system=bool(self.run_as))
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for file, text in self.units().items():
                (folder / file).write_text(text)
        except OSError as error:
            raise UsageError(f"cannot write {folder}: {error.strerror}", "for units of the system: sudo") from error
        timer = f"flightpath-preflight-{self.name}.timer"
        _systemctl("daemon-reload", system=bool(self.run_as))
        _systemctl("enable", timer, system=bool(self.run_as))
        _systemctl("restart", timer, system=bool(self.run_as))
        return [str(folder / file) for file in self.units()]


def uninstall(name: str, *, system: bool) -> list[str]:
    """Removes the units and the crontab's line of a profile; returns what was removed."""
    folder, unit = units_folder(system=system), f"flightpath-preflight-{name}"
    files = [path for path in (folder / f"{unit}.timer", folder / f"{unit}.service") if path.exists()]
    if files:
        _systemctl("disable", "--now", f"{unit}.timer", system=system)
        for path in files:
            path.unlink()
        _systemctl("daemon-reload", system=system)
    removed = [] if system else _edit_crontab(name, None)
    return [*map(str, files), *removed]


def has_systemd() -> bool:
    return _SYSTEMD.is_dir()


def units_folder(*, system: bool) -> Path:
    return _SYSTEM_UNITS if system else Path("~/.config/systemd/user").expanduser()


def _systemctl(*words: str, system: bool) -> None:
    try:
        run([require("systemctl"), *([] if system else ["--user"]), *words])
    except CommandFailed as error:
        hint = "units of the system need root" if system else "log in as this user (not by su), or use --cron"
        raise MissingCapability(error.args[0], hint) from error


def _edit_crontab(name: str, line: str | None) -> list[str]:
    """Removes the line of a profile from the user's crontab, and adds one; returns what was removed."""
    try:
        crontab = require("crontab")
    except MissingCapability:
        if line is None:
            return []
        raise
    try:
        lines = run([crontab, "-l"], env={"LC_ALL": "C"}).splitlines()
    except CommandFailed as error:
        if "no crontab" not in error.args[0]:
            raise
        lines = []
    kept = [each for each in lines if not each.endswith(_mark(name))]
    if line is not None or len(kept) < len(lines):
        text = "".join(f"{each}\n" for each in [*kept, *([line] if line else [])])
        run([crontab, "-"], stdin=text)
    return [each for each in lines if each not in kept]


def _mark(name: str) -> str:
    return f"# flightpath preflight: {name}"


def _quoted(word: str) -> str:
    """Quotes a word for `ExecStart` (systemd.service(5))."""
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("%", "%%"), ("$", "$$"), ("\n", "\\n")):
        word = word.replace(plain, escaped)
    return f'"{word}"'
