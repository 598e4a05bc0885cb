"""One measurement of a profile by the system: never two at once, within a day's traffic, and its alerts."""

import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from flightpath.commands import how_ended
from flightpath.errors import UntrustworthyResult
from flightpath.terminal import visible
from probes.preflight.history.health import Condition, Health, conditions
from probes.preflight.history.profiles import Profile, load_profile
from probes.preflight.history.recording import SCENARIO
from results.store.query import RunQuery
from results.store.run_lock import RunLock
from results.store.store import Store

_LOCK = ".preflight-service"
_JUDGED = 300
"""Number of newest measurements from which a path's condition follows."""

_ALERT_LIMIT_S = 60
_MANY_PATHS = 20
"""Maximum number of paths that an alert's reason names."""

_SEEN = timedelta(days=30)


@contextmanager
def alone(folder: Path, limit_s: float) -> Iterator[bool]:
    """Yields whether no other measurement by the system goes on; waits up to a limit for its end."""
    deadline = time.monotonic() + limit_s
    while (lock := RunLock.take(folder, _LOCK)) is None and time.monotonic() < deadline:
        time.sleep(1)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.release()


def planned_bytes(profile: Profile) -> int | None:
    """Returns the bytes of one measurement of all paths; None if only time ends it."""
    spec = profile.settings.spec
    total = None if spec.size_bytes is None else spec.size_bytes * (spec.streams if spec.whole_each else 1)
    total = min((each for each in (total, spec.byte_limit) if each is not None), default=None)
    return None if total is None else total * spec.iterations * len(profile.paths)


def beyond_limit(store: Store, profile: Profile, limit_bytes: int) -> bool:
    """Returns whether another measurement would move more than this within 24 hours.

    One that only time ends is taken to move as much as the largest that is known.
    """
    now, moved = datetime.now(UTC), dict[datetime, float]()
    for run in store.history(RunQuery(SCENARIO, profile=profile.name, since=now - _SEEN), ("bytes",)):
        size = sum(cell.metrics.get("bytes", 0.0) for cell in run.cells)
        moved[run.record.started_at] = moved.get(run.record.started_at, 0.0) + size
    today = sum(size for at, size in moved.items() if at > now - timedelta(days=1))
    expected = planned_bytes(profile)
    if expected is None:
        expected = round(max(moved.values(), default=0.0) * len(profile.paths))
    return today + expected > limit_bytes


@dataclass(frozen=True)
class Report:
    """The conditions of a profile's paths after a measurement, and those before it."""

    profile: Profile
    now: Sequence[Condition]
    before: Sequence[Condition]

    @classmethod
    def of(cls, store: Store, profile: Profile) -> "Report":
        """Returns the report on the newest measurement of each path."""
        now, before = list[Condition](), list[Condition]()
        for path in profile.paths:
            unknown = Condition(path, Health.UNKNOWN, "it was never measured")
            *_, last, newest = unknown, unknown, *conditions(path, load_profile(store, profile, path, _JUDGED))
            now.append(newest)
            before.append(last)
        return cls(profile, now, before)

    @property
    def worst(self) -> Condition:
        return max(self.now, key=lambda each: list(Health).index(each.health))

    @property
    def changed(self) -> list[Condition]:
        """The paths of which an alert begins or ends."""
        return [now for now, before in zip(self.now, self.before, strict=True) if now.is_alert != before.is_alert]

    @property
    def exit_code(self) -> int:
        """0 healthy, or too little is known; 1 a path is worse; 4 one was not measured, or this machine limited it."""
        kinds = {each.health for each in self.now}
        return 4 if kinds & {Health.FAILED, Health.UNTRUSTWORTHY} else 1 if Health.WORSE in kinds else 0

    def as_json(self) -> dict[str, Any]:
        def path(each: Condition) -> dict[str, Any]:
            return {
                "path": each.path,
                "verdict": each.health,
                "reason": each.reason,
                "alert": each.is_alert,
                "run": each.newest.run_id if each.newest else None,
                "goodput_bps": each.newest.goodput_bps if each.newest else None,
                "usual_bps": each.usual_bps,
            }

        changed = [each.path for each in self.changed]
        return {"profile": self.profile.name, "paths": [path(each) for each in self.now], "changed": changed}


def tell(command: str, report: Report) -> None:
    """Runs the alert command if an alert begins or ends; its environment and stdin say what happened and why."""
    if not (changed := report.changed):
        return
    begins = [each for each in changed if each.is_alert]
    worst = max(begins or changed, key=lambda each: list(Health).index(each.health))
    named = [f"{each.path}: {each.reason}" for each in (begins or changed)]
    more = [f"and {len(named) - _MANY_PATHS} more"] if len(named) > _MANY_PATHS else []
    variables: Mapping[str, str] = {
        "FLIGHTPATH_PROFILE": report.profile.name,
        "FLIGHTPATH_STATE": "alert" if begins else "recovered",
        "FLIGHTPATH_VERDICT": worst.health,
        "FLIGHTPATH_REASON": visible("\n".join([*named[:_MANY_PATHS], *more]), keep="\n"),
    }
    try:
        done = subprocess.run(
            ["sh", "-c", command],
            input=json.dumps(report.as_json()),
            env={**os.environ, **variables},
            text=True,
            timeout=_ALERT_LIMIT_S,
        )
        problem = how_ended(done.returncode) if done.returncode else ""
    except (subprocess.TimeoutExpired, BrokenPipeError) as error:
        problem = f"no end after {_ALERT_LIMIT_S} s" if isinstance(error, subprocess.TimeoutExpired) else str(error)
    if problem:
        raise UntrustworthyResult(f"the alert command {problem}: {command}", "run it by hand to see what it lacks")


def lines(report: Report) -> Iterator[str]:
    """Yields the lines for the journal, one per path."""
    for each in report.now:
        state = ", alert" if each.is_alert else ""
        yield visible(f"{report.profile.name} {each.path}: {each.health}{state}: {each.reason}")
