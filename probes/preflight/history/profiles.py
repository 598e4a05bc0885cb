"""Repetitions of a measurement: as the last time, or as a profile pins it under a name.

A profile is stored as a run without cells, of a scenario of its own: it is shared, exported and imported with the
measurements. So it may come from somebody else, as any record may, and nothing that a record names as a file or folder
is used: it would be read or written with the rights of the user who repeats it.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from itertools import count
from typing import Any

from flightpath.errors import UsageError
from flightpath.suggestions import did_you_mean
from probes.preflight.history.past import METRICS, PastMeasurement, describe, ends_of, host_name, influences
from probes.preflight.history.recording import SCENARIO
from probes.preflight.spec import NO_INFLUENCE, NULL_SINK, Direction, TransferSpec, read_json
from results.records import RunRecord, RunStatus
from results.store.query import RunQuery
from results.store.store import Store

SCENARIO_OF_PROFILES = "preflight-profile"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}")
_MIN_ADOPTED = 2
"""Minimum number of measurements of the same kind that become a profile."""

FILES_AND_FOLDERS = {"remote_file": "REMOTE_FILE", "sink": "--to", "remote_folder": "--remote-folder"}
"""The settings that name files or folders, and how the user names them."""


@dataclass(frozen=True)
class Repetition:
    """The settings of a run to repeat, and the files and folders that are left out, by setting."""

    run_id: str
    spec: TransferSpec
    left_out: Mapping[str, Any]

    def announcement(self, named: Collection[str]) -> str:
        """Returns a line for the user, who has named files or folders for some settings."""
        text = f"measuring as in {self.run_id}: {describe(asdict(self.spec))}, iterations {self.spec.iterations}"
        missing = [f"{FILES_AND_FOLDERS[name]} {text}" for name, text in self.left_out.items() if name not in named]
        if not missing:
            return text
        return f"{text}; files and folders are not repeated, only those that you name are used: {', '.join(missing)}"


def last_repetition(store: Store, host: str, direction: Direction, last: int) -> Repetition | None:
    """Returns the repetition of a far end's newest measurement in a direction that belongs to no profile.

    It is None if there is none among the `last` ones, or if its settings are of another version.
    """
    for run in reversed(store.history(RunQuery(SCENARIO, host_name(host), last), ())):
        configuration, profile = run.record.plan.get("configuration"), run.record.plan.get("profile")
        if not profile and isinstance(configuration, Mapping) and configuration.get("direction") == direction:
            return repetition(run.record.run_id, configuration)
    return None


def repetition(run_id: str, configuration: Mapping[str, object]) -> Repetition | None:
    """Returns the repetition of a run; None if its settings are of another version."""
    settings = {name: value for name, value in configuration.items() if name not in FILES_AND_FOLDERS}
    try:
        spec = read_json(TransferSpec, json.dumps(settings))
    except (ValueError, UsageError):
        return None
    left_out = {
        name: str(configuration[name])
        for name in FILES_AND_FOLDERS
        if configuration.get(name) not in (None, "", NULL_SINK)
    }
    return Repetition(run_id, spec, left_out)


@dataclass(frozen=True)
class Profile:
    """A named, pinned set of what is measured.

    Attributes:
        host: far end as it was typed; "" for a matrix.
        sources, targets: sites of a matrix; empty for one path.
        settings: pinned settings, and the run that holds them.
        since: time when it was made; unnamed measurements before it that measured the same are a part of its history.
    """

    name: str
    host: str
    sources: tuple[str, ...]
    targets: tuple[str, ...]
    settings: Repetition
    since: datetime

    @property
    def paths(self) -> tuple[str, ...]:
        """Names under which its measurements are stored."""
        if self.host:
            return (host_name(self.host),)
        pairs = [(host_name(a), host_name(b)) for a in self.sources for b in self.targets]
        return tuple(dict.fromkeys(f"{a}/{b}" for a, b in pairs if a != b))

    @property
    def words(self) -> str:
        """Its ends and settings in a few words."""
        ends = self.host or f"{', '.join(self.sources)} to {', '.join(self.targets)}"
        settings = {**asdict(self.settings.spec), **self.settings.left_out}
        return f"{ends}: {describe(settings)}, iterations {self.settings.spec.iterations}"

    def path(self, text: str | None) -> str:
        """Returns the path that a command line names, or the only one."""
        if text and host_name(text) in self.paths:
            return host_name(text)
        if text or len(self.paths) > 1:
            known = ", ".join(self.paths[:8]) + (", …" if len(self.paths) > 8 else "")
            problem = f"does not measure {text!r}" if text else "measures several paths"
            raise UsageError(f"profile {self.name!r} {problem}", f"it measures: {known}")
        return self.paths[0]

    def keeping(self, named: Mapping[str, Any]) -> TransferSpec:
        """Returns the settings with those that a command line names, which may not change what is measured."""
        pinned = {**asdict(self.settings.spec), **self.settings.left_out}
        changed = [name for name, value in named.items() if name not in NO_INFLUENCE and pinned[name] != value]
        if changed:
            raise UsageError(
                f"profile {self.name!r} is pinned ({self.words}); "
                f"this would change its {', '.join(name.replace('_', ' ') for name in changed)}",
                "leave these options out, or begin another profile: preflight profile add",
            )
        if missing := [name for name in self.settings.left_out if name not in {*named, *NO_INFLUENCE}]:
            words = " and ".join(f"{FILES_AND_FOLDERS[name]} {self.settings.left_out[name]}" for name in missing)
            raise UsageError(
                f"profile {self.name!r} measures with {words}",
                "name it: a profile may come from somebody else, so files are used only if you name them",
            )
        return replace(self.settings.spec, **named)


def profiles(store: Store) -> list[Profile]:
    """Returns all profiles by name; leaves out those that another version wrote."""
    found = (_profile(record) for record in store.find(RunQuery(SCENARIO_OF_PROFILES)))
    return sorted((each for each in found if each), key=lambda each: each.name)


def find_profile(store: Store, name: str) -> Profile | None:
    """Returns a profile; None if there is none of this name."""
    records = store.find(RunQuery(SCENARIO_OF_PROFILES, profile=name))
    if not records:
        return None
    if (found := _profile(records[-1])) is None:
        raise UsageError(f"profile {name!r} is of another version of Flightpath", "remove it, and add it again")
    return found


def get_profile(store: Store, name: str) -> Profile:
    """Returns a profile."""
    if found := find_profile(store, name):
        return found
    known = [each.name for each in profiles(store)]
    hint = did_you_mean(name, known) if known else "add it: preflight profile add; or, of old histories: profile adopt"
    raise UsageError(f"there is no profile {name!r} in {store.name}", hint)


def add_profile(
    store: Store,
    name: str,
    spec: TransferSpec,
    *,
    host: str = "",
    sources: Sequence[str] = (),
    targets: Sequence[str] = (),
    since: datetime | None = None,
) -> Profile:
    """Makes a profile of one path, or of a matrix."""
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a profile", "use up to 48 letters, digits, '.', '_' and '-'")
    if store.count(RunQuery(SCENARIO_OF_PROFILES, profile=name)):
        raise UsageError(f"profile {name!r} exists", f"choose another name, or: preflight profile remove {name}")
    ends = {"host": host} if host else {"from": list(sources), "to": list(targets)}
    plan = {"profile": name, **ends, "configuration": spec.as_json()}
    run_id = store.begin_run(SCENARIO_OF_PROFILES, plan, {}, ["preflight", "profile", "add", name], since)
    store.finish_run(run_id, RunStatus.DONE)
    return get_profile(store, name)


def remove_profile(store: Store, name: str) -> None:
    """Removes a profile; its measurements stay."""
    get_profile(store, name)
    for record in store.find(RunQuery(SCENARIO_OF_PROFILES, profile=name)):
        store.discard_run(record.run_id)


def load_profile(store: Store, profile: Profile, path: str, last: int | None = None) -> list[PastMeasurement]:
    """Returns the newest measurements of a path under a profile, oldest first.

    They are those under its name, and those under no name that measured the same before the profile was made.
    """
    named = store.history(RunQuery(SCENARIO, path, last, profile=profile.name), METRICS)
    earlier = store.history(RunQuery(SCENARIO, path, last, before=profile.since, profile=""), METRICS)
    pinned = influences({**asdict(profile.settings.spec), **profile.settings.left_out})
    pasts = [PastMeasurement.of(run) for run in [*earlier, *named]]
    fitting = [past for past in pasts if past.profile or influences(past.configuration) == pinned]
    return sorted(fitting, key=lambda past: past.at)[-(last or len(fitting)) :]


def adopt(store: Store, host: str | None) -> list[Profile]:
    """Makes a profile of each history that has none: of what was measured repeatedly, of all far ends or of one.

    Measurements between sites with the same settings become one profile of a matrix.
    """
    known = profiles(store)
    kinds: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for _run_id, plan in store.plans(RunQuery(SCENARIO, host_name(host) if host else None)):
        configuration, path = plan.get("configuration"), str(plan.get("host", ""))
        if isinstance(configuration, Mapping) and not any(_covers(each, plan, path) for each in known):
            end = "" if ends_of(path) else path
            kinds.setdefault((str(plan.get("profile", "")), end, influences(configuration)), []).append(plan)
    taken, made = {each.name for each in known}, list[Profile]()
    for (profile, end, _settings), plans in kinds.items():
        configuration = dict(plans[-1]["configuration"])
        settings = repetition("", configuration)
        if settings is None or len(plans) < _MIN_ADOPTED:
            continue
        name = next(each for each in _names(profile, end or "matrix", configuration) if each not in taken)
        taken.add(name)
        pairs = [ends for plan in plans if (ends := ends_of(str(plan["host"])))] if not end else []
        sources, targets = (list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1))
        spec = replace(settings.spec, **settings.left_out)
        made.append(add_profile(store, name, spec, host=end, sources=sources, targets=targets))
    return made


def _covers(profile: Profile, plan: Mapping[str, Any], path: str) -> bool:
    if plan.get("profile"):
        return plan["profile"] == profile.name
    pinned = influences({**asdict(profile.settings.spec), **profile.settings.left_out})
    return path in profile.paths and influences(plan["configuration"]) == pinned


def _names(profile: str, end: str, configuration: Mapping[str, Any]) -> Iterator[str]:
    """Yields names for an old history: its own, or what it measured, then numbered ones."""
    usual = describe(asdict(TransferSpec())).split(", ")
    words = [word for word in describe(configuration).split(", ") if word not in usual]
    slug = re.sub(r"[^A-Za-z0-9._]+", "-", "-".join([end, *words])).strip("-._")[:40] or "path"
    first = profile if _NAME.fullmatch(profile) else slug
    yield first
    yield from (f"{first}-{number}" for number in count(2))


def _profile(record: RunRecord) -> Profile | None:
    plan = record.plan
    configuration, host = plan.get("configuration"), plan.get("host", "")
    sources, targets = plan.get("from", []), plan.get("to", [])
    if not (isinstance(configuration, Mapping) and isinstance(sources, list) and isinstance(targets, list)):
        return None  # anybody's record
    settings, texts = repetition(record.run_id, configuration), [plan.get("profile"), host, *sources, *targets]
    if settings is None or not all(isinstance(each, str) for each in texts) or not (host or (sources and targets)):
        return None
    return Profile(plan["profile"], host, tuple(sources), tuple(targets), settings, record.started_at)
