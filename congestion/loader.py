"""Runs `native/congestion_loader`, which makes all bpf() calls, and explains why the kernel refuses a program.

The verifier's log has thousands of lines, of which one matters.
"""

import re
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

import native
from congestion.sources import give_to_owner
from flightpath.errors import FlightpathError, MissingCapability, UsageError
from flightpath.processes import is_machine_root

_REFUSED, _MISSING, _TAKEN = 2, 3, 5
_TIMEOUT_S = 60
KERNEL_TYPES = Path("/sys/kernel/btf/vmlinux")
"""Type information of the kernel (BTF), which programs are checked against."""

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


def name_in(built: Path, source: Path) -> str:
    """Returns the name of the algorithm in an object."""
    done = _call("name", str(built))
    if done.returncode:
        raise UsageError(f"congestion control {source.name}: {done.stderr.strip()}", "see congestion/README.md")
    return done.stdout.strip()


def check(built: Path, source: Path) -> None:
    """Lets the kernel's verifier check an object without registering it."""
    _raise_for(_call("check", str(built)), built, source)


def register(built: Path, source: Path, folder: Path) -> socket.socket:
    """Registers an algorithm, and starts the daemon that keeps it registered while any connection to it is open.

    Returns the first connection. The daemon keeps its socket and its record in the folder.
    """
    connection, daemon_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with daemon_end:
        done = _call("register", str(built), str(folder), stdin=daemon_end.fileno())
    if done.returncode:
        connection.close()
    _raise_for(done, built, source)
    return connection


def registered() -> dict[str, int]:
    """Lists the BPF algorithms that any tool has registered on this machine, with the id of each one's map."""
    done = _call("list")
    if done.returncode:
        raise _no_rights(done.stderr)
    pairs = (line.split() for line in done.stdout.splitlines())
    return {name: int(number) for number, name in pairs}


def unregister(map_id: int, name: str) -> None:
    """Ends a registration that a killed daemon left; only kernels before 6.4 keep one."""
    done = _call("unregister", str(map_id), name)
    if done.returncode:
        raise FlightpathError(f"congestion control {name}: cannot end its registration: {done.stderr.strip()}")


def _call(*arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.CompletedProcess[str]:
    argv = [str(native.binary("congestion_loader")), *arguments]
    return subprocess.run(argv, stdin=stdin, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S)


def _raise_for(done: subprocess.CompletedProcess[str], built: Path, source: Path) -> None:
    if done.returncode == 0:
        return
    if not KERNEL_TYPES.exists():
        raise MissingCapability(
            "this kernel loads no congestion controls as BPF programs",
            f"it has no type information ({KERNEL_TYPES}), like the virtual-time kernel; use its own algorithms",
        )
    if done.returncode == _MISSING or (done.returncode == _REFUSED and not is_machine_root()):
        raise _no_rights(done.stderr)
    if done.returncode == _TAKEN:
        raise UsageError(f"congestion control {source.name}: {done.stderr.strip()}", "give it another .name")
    if done.returncode != _REFUSED:
        raise FlightpathError(f"congestion control {source.name}: {done.stderr.strip()}")
    raise refusal(done.stderr, source, built.with_suffix(".log"))


def _no_rights(stderr: str) -> MissingCapability:
    lines = stderr.strip().splitlines()
    return MissingCapability(
        f"BPF programs cannot be loaded here: {lines[-1] if lines else 'no reason given'}",
        "run it with sudo (a user namespace's root is not enough), or once: sudo flightpath congestion load NAME",
    )


def refusal(log: str, source: Path, log_path: Path) -> UsageError:
    """Returns the error for a program that the kernel refused, from the loader's stderr; writes that to `log_path`."""
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
    """Returns the kernel's reason: the last lines of its log that are neither source nor state."""
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
    """Returns number and text of the source line that the verifier reached. Kernels before 6.9 log only the text."""
    quotations = [match for match in map(_SOURCE.match, lines) if match]
    if not quotations:
        return None
    text, number = quotations[-1]["text"].strip(), quotations[-1]["line"]
    if number:
        return int(number), text
    same = [i for i, line in enumerate(source.read_text().splitlines(), 1) if line.strip() == text]
    return (same[0], text) if same else None
