"""Explains why the kernel refused a program: its own log is thousands of lines, of which one matters."""

import re
from collections.abc import Sequence
from pathlib import Path

from congestion.sources import give_to_owner
from flightpath.errors import UsageError

_SOURCE = re.compile(r"^; (?P<text>.*?)(?: @ (?P<file>[^:@]+):(?P<line>\d+))?$")
_STATE = re.compile(
    r"^(\d+: |from \d+ to \d+|(frame\d+: )?R\d+|last_idx|regs=|mark_precise|parent |func#|arg#|\(\w\w\))"
)
_BEGIN, _END = "-- BEGIN PROG LOAD LOG --", "-- END PROG LOAD LOG --"
_PROCESSED = re.compile(r"^(processed \d+ insns|verification time|stack depth)")
_WRITABLE = "only snd_cwnd, snd_cwnd_cnt, snd_ssthresh, sk_pacing_rate and what is behind private_of(sk) can be written"
_ADVICE = {
    "no write support": _WRITABLE,
    "only read is supported": _WRITABLE,
    "access beyond": "private_of(sk) has 104 bytes",
    "too large": "the verifier follows every path through a loop: give loops few rounds, and avoid values that pass "
    "from one to the next",
    "infinite loop": "a loop must have a bound that the compiler knows",
    "back-edge": "a loop must have a bound that the compiler knows",
    "#195896080": "this kernel has no such field or function",
    "unbounded": "compare an index with the array's length just before it is used",
    "outside of the allowed memory range": "compare an index with the array's length just before it is used",
    "divide by zero": "look that a divisor is not 0",
}


def refusal(log: str, source: Path, kept: Path) -> UsageError:
    """The error for a program that the kernel refused.

    Args:
        log: what the loader wrote, the kernel's log among it.
        source: the C file.
        kept: where the whole log is put.
    """
    kept.write_text(log)
    give_to_owner(kept)
    lines = log.splitlines()
    reason = _reason(lines)
    where = _last_source(lines, source)
    place = f"{source.name}:{where[0]}" if where else source.name
    shown = f"\n    {where[0]} | {where[1]}" if where else ""
    advice = next((text for words, text in _ADVICE.items() if words in log), "")
    hint = f"{advice}\n  the kernel's whole log: {kept}" if advice else f"the kernel's whole log: {kept}"
    return UsageError(f"{place}: the kernel refuses this program: {reason}{shown}", hint)


def _reason(lines: Sequence[str]) -> str:
    """The kernel's own words: what stands at the end of its log and is neither source nor state."""
    if _BEGIN not in "\n".join(lines):
        said = [line.removeprefix("libbpf: ") for line in lines if line.strip()]
        return said[0] if said else "no reason given"
    end = max(i for i, line in enumerate(lines) if _END in line) if any(_END in line for line in lines) else len(lines)
    words: list[str] = []
    for line in reversed(lines[:end]):
        if _PROCESSED.match(line):
            continue
        if line.startswith(";") or _STATE.match(line) or _BEGIN in line:
            break
        words.insert(0, line.strip())
    return "; ".join(filter(None, words)) or "no reason given"


def _last_source(lines: Sequence[str], source: Path) -> tuple[int, str] | None:
    """Number and text of the line that the verifier had come to. Kernels before 6.9 give the text alone."""
    found = [match for match in map(_SOURCE.match, lines) if match]
    if not found:
        return None
    text, number = found[-1]["text"].strip(), found[-1]["line"]
    if number:
        return int(number), text
    same = [i for i, line in enumerate(source.read_text().splitlines(), 1) if line.strip() == text]
    return (same[0], text) if same else None
