"""The answer of `preflight check`: without it a script could not ask whether now is the time for a large transfer."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from rich.text import Text

from flightpath.units import format_bytes, format_rate, format_span
from probes.preflight.commands.views import age, console, past_json, plain
from probes.preflight.memory.history import Past, comparable, short
from probes.preflight.memory.limits import Diagnosis, diagnose
from probes.preflight.memory.memory import recall
from probes.preflight.memory.regression_check import MINIMUM, Judgement, Outlook, Standing, expect, judge
from results.store.store import Store

HEALTHY, WORSE, UNTRUSTWORTHY = 0, 1, 4
_COLOURS = {Standing.WITHIN: "green", Standing.ABOVE: "green", Standing.BELOW: "red", Standing.UNKNOWN: "yellow"}


@dataclass(frozen=True)
class Check:
    """What one check found.

    Attributes:
        host: the far end.
        newest: the measurement that stands for today.
        size_bytes: of the transfer; None if only the path's health was asked for.
        target_s: the time it may take; None if none was given.
        judgement: today against the past; None if the newest measurement is no figure of the path.
        outlook: how long the transfer takes; None without a size, or without any figure of the path.
        diagnosis: the likely limit, and what would help.
    """

    host: str
    newest: Past
    size_bytes: int | None
    target_s: float | None
    judgement: Judgement | None
    outlook: Outlook | None
    diagnosis: Diagnosis

    @property
    def in_time(self) -> bool | None:
        """Whether the transfer is expected to end in its time; None if that was not asked for, or cannot be said."""
        return self.outlook.seconds <= self.target_s if self.outlook and self.target_s else None

    @property
    def exit_code(self) -> int:
        """0 healthy, or too little history to say; 1 worse than before, or too late; 4 not to be trusted."""
        if self.judgement is None:
            return UNTRUSTWORTHY
        return WORSE if self.judgement.standing is Standing.BELOW or self.in_time is False else HEALTHY


def check(store: Store, host: str, pasts: Sequence[Past], size_bytes: int | None, target_s: float | None) -> Check:
    """Judges the newest of some measurements of a path by those before it.

    Args:
        store: the memory, for what the newest measurement saw in detail.
        host: the far end.
        pasts: of one direction, oldest first, at least one; those under other conditions tell what is possible.
        size_bytes, target_s: of the transfer, where there is one.
    """
    newest = pasts[-1]
    alike = comparable(pasts, newest)
    rates = [past.goodput_bps for past in alike if past.goodput_bps]
    trusted = newest.measures_path and bool(newest.goodputs_bps)
    best = [past.goodput_bps for past in pasts if past.measures_path and past.goodput_bps]
    if size_bytes and target_s:
        best.append(size_bytes * 8 / target_s)
    return Check(
        host=host,
        newest=newest,
        size_bytes=size_bytes,
        target_s=target_s,
        judgement=judge(rates) if trusted else None,
        outlook=expect(size_bytes, rates, newest.goodputs_bps if trusted else ()) if size_bytes and rates else None,
        diagnosis=diagnose(newest, max(best, default=0.0), _sender(store, newest)),
    )


def _sender(store: Store, past: Past) -> str:
    """The congestion control of the sending end, where that is this one and it is remembered."""
    if past.direction != "upload":
        return ""
    whole = recall(store, past.run_id)
    found = (
        {stream.connection.congestion_control for each in whole.iterations for stream in each.streams} if whole else ()
    )
    return next(iter(found), "") if len(found) == 1 else ""


def print_check(found: Check, now: datetime | None = None) -> None:
    """The answer in a few lines: today, the past, the transfer, the limit, and what would help."""
    past, out = found.newest, console()
    rate = format_rate(past.goodput_bps) if past.goodput_bps else "nothing that could be timed"
    out.print(
        plain(f"{found.host}: {rate}, {short(past.configuration)} ({age(past.at, now)}, {past.run_id})"), soft_wrap=True
    )
    for name, words, colour in _lines(found):
        out.print(Text(f"  {name:<9} ").append_text(plain(words, colour)), soft_wrap=True)


def _lines(found: Check) -> list[tuple[str, str, str]]:
    judged = found.judgement
    if judged is None:
        lines = [("today", "not to be trusted as a figure of the path: measure again", "red")]
    else:
        lines = [("today", judgement_words(judged), _COLOURS[judged.standing])]
    if found.outlook and found.size_bytes:
        lines.append(("transfer", outlook_words(found.size_bytes, found.outlook), ""))
    if found.target_s and found.size_bytes:
        lines.append(("in time", _target_words(found), "" if found.in_time is not False else "red"))
    lines.append(("limit", f"{found.diagnosis.limit}: {found.diagnosis.why}", ""))
    return lines + [("helps" if number == 0 else "", words, "") for number, words in enumerate(found.diagnosis.advice)]


def judgement_words(judged: Judgement) -> str:
    """Today against the past, in a sentence."""
    if judged.standing is Standing.UNKNOWN or judged.usual_bps is None or judged.change is None:
        return f"not enough history to judge: {judged.count} of {MINIMUM} comparable measurements"
    ordinary = f"{format_rate(judged.low_bps or 0)} to {format_rate(judged.high_bps or 0)}"
    together = "; not by itself, but the last few together are" if judged.together else ""
    return (
        f"{judged.standing} what this path used to give: {judged.change:+.0%} against the usual "
        f"{format_rate(judged.usual_bps)}; {ordinary} would be unremarkable{together} "
        f"({judged.count} comparable measurements)"
    )


def outlook_words(size_bytes: int, outlook: Outlook) -> str:
    """How long a transfer takes, in a sentence."""
    expected = f"{format_bytes(size_bytes)} take {format_span(outlook.seconds)}"
    if outlook.low_s is None or outlook.high_s is None:
        return f"{expected}; a single figure gives no interval"
    interval = f"{format_span(outlook.low_s)} to {format_span(outlook.high_s)}"
    return f"{expected}, with 95 % between {interval} (from {outlook.basis})"


def _target_words(found: Check) -> str:
    needed = format_rate((found.size_bytes or 0) * 8 / (found.target_s or 1))
    asked = f"{format_span(found.target_s or 0)} need {needed}"
    if found.outlook is None or found.in_time is None:
        return f"{asked}; no figure of the path tells whether it has them"
    low, high = found.outlook.low_s or found.outlook.seconds, found.outlook.high_s or found.outlook.seconds
    sure = "surely " if found.target_s and (high <= found.target_s or low > found.target_s) else ""
    return f"{asked}: {sure}{'enough' if found.in_time else 'too late'}"


def check_json(found: Check) -> dict[str, Any]:
    """The answer as the one object that `--json` prints: rates in bit/s, times in s, sizes in B."""
    judged = found.judgement
    return {
        "host": found.host,
        "verdict": str(judged.standing) if judged else "untrustworthy",
        "exit_code": found.exit_code,
        "today": past_json(found.newest),
        "history": {**asdict(judged), "change": judged.change, "needed": MINIMUM} if judged else None,
        "transfer": {"bytes": found.size_bytes, **asdict(found.outlook)} if found.outlook else None,
        "target": {"seconds": found.target_s, "in_time": found.in_time} if found.target_s else None,
        "limit": {
            "limit": str(found.diagnosis.limit),
            "why": found.diagnosis.why,
            "advice": list(found.diagnosis.advice),
            "figures": dict(found.diagnosis.figures),
        },
    }
