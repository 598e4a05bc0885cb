"""Error messages from the kernel verifier's log, which has thousands of lines of which one matters."""

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
_NO_REASON = "no reason given"
_PROCESSED = re.compile(r"^(processed \d+ insns|verification time|stack depth)")
_WRITABLE = "only snd_cwnd, snd_cwnd_cnt, snd_ssthresh, sk_pacing_rate and what private_of(sk) points to can be written"
_BOUND = "a loop must have a bound that the compiler knows"
_INDEX = "compare an index with the array's length just before you use it"
_ADVICE = {
    "no write support": _WRITABLE,
    "only read is supported": _WRITABLE,
    "access beyond": "private_of(sk) has 104 bytes",
    "too large": "the verifier follows every path through a loop: give loops few rounds, and pass as few values as "
    "possible from one round to the next",
    "infinite loop": _BOUND,
    "back-edge": _BOUND,
    "#195896080": "this kernel has no such field or function",
    "unbounded": _INDEX,
    "outside of the allowed memory range": _INDEX,
    "divide by zero": "check that the divisor is not 0",
}


def refusal(log: str, source: Path, log_path: Path) -> UsageError:
    """The error for a program that the kernel refused, from the loader's stderr; writes that to `log_path`."""
    log_path.write_text(log)
    give_to_owner(log_path)
    lines = log.splitlines()
    reason = _reason(lines)
    line = _last_source_line(lines, source)
    place = f"{source.name}:{line[0]}" if line else source.name
    quotation = f"\n    {line[0]} | {line[1]}" if line else ""
    advice = next((f"{advice}\n  " for words, advice in _ADVICE.items() if words in log), "")
    hint = f"{advice}the kernel's whole log: {log_path}"
    return UsageError(f"{place}: the kernel refuses this program: {reason}{quotation}", hint)


def _reason(lines: Sequence[str]) -> str:
    """The kernel's reason: the last lines of its log that are neither source nor state."""
    if _BEGIN not in "\n".join(lines):
        return next((line.removeprefix("libbpf: ") for line in lines if line.strip()), _NO_REASON)
    end = max((i for i, line in enumerate(lines) if _END in line), default=len(lines))
    reason: list[str] = []
    for line in reversed(lines[:end]):
        if _PROCESSED.match(line):
            continue
        if line.startswith(";") or _STATE.match(line) or _BEGIN in line:
            break
        reason.insert(0, line.strip())
    return "; ".join(filter(None, reason)) or _NO_REASON


def _last_source_line(lines: Sequence[str], source: Path) -> tuple[int, str] | None:
    """Number and text of the source line that the verifier reached. Kernels before 6.9 log only the text."""
    quotations = [match for match in map(_SOURCE.match, lines) if match]
    if not quotations:
        return None
    text, number = quotations[-1]["text"].strip(), quotations[-1]["line"]
    if number:
        return int(number), text
    same = [i for i, line in enumerate(source.read_text().splitlines(), 1) if line.strip() == text]
    return (same[0], text) if same else None
