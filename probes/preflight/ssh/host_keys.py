"""Host keys: looked up in known_hosts as OpenSSH does, compared, and added for new hosts."""

import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from paramiko import HostKeys, PKey

from flightpath.commands import CommandFailed, require, run
from flightpath.errors import FlightpathError
from probes.preflight.target import Target

_SIGNATURES = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa")}
"""Signature algorithms by key type, where they are not named alike."""

_KRL_MAGIC = b"SSHKRL\n\0"


class HostKeyRefused(FlightpathError):
    """The far end's host key is unknown, has changed, or was revoked; no log-in was tried."""


@dataclass(frozen=True)
class KnownKey:
    """One key that a known_hosts file has for the host: its type, base64, and "", `@revoked` or `@cert-authority`."""

    kind: str
    key: str
    marker: str
    file: str


def look_up(target: Target) -> list[KnownKey]:
    """Looks up all keys of the target in its known_hosts files, also under hashed names and patterns."""
    known = []
    for file in target.known_hosts_files:
        path = Path(file).expanduser()
        if path.is_file():
            try:
                printed = run([require("ssh-keygen"), "-F", _known_name(target), "-f", str(path)])
            except CommandFailed:  # the file has none
                continue
            known += [key for line in printed.splitlines() if (key := _parse(line, str(path)))]
    return known


def preferred_algorithms(known: Sequence[KnownKey], available: Sequence[str]) -> list[str]:
    """Returns the host key algorithms to offer, those of known keys first: the host must show a known key."""
    first = [name for key in known for name in _SIGNATURES.get(key.kind, (key.kind,)) if name in available]
    return list(dict.fromkeys([*first, *available]))


def check(target: Target, key: PKey, known: Sequence[KnownKey], revoked_keys_files: Sequence[str] = ()) -> bool:
    """Checks a host's key, and returns whether it is known; False if no key of the host is known.

    Args:
        known: keys in known_hosts.
        revoked_keys_files: see `Resolved`.
    """
    shown = key.get_base64()
    for file in revoked_keys_files:
        _require_not_revoked(target, key, Path(file))
    for each in known:
        if each.marker == "@revoked" and each.key == shown:
            raise HostKeyRefused(f"{target.host}: its host key was revoked ({each.file})", "do not trust this machine")
    keys = [each for each in known if not each.marker]
    if keys and all(each.key != shown for each in keys):
        files = ", ".join(dict.fromkeys(each.file for each in keys))
        raise changed(target, key.get_name(), key.fingerprint, files)
    return bool(keys)


def changed(target: Target, kind: str, fingerprint: str, files: str) -> HostKeyRefused:
    """Returns the error for a host that shows another key than the files have."""
    return HostKeyRefused(
        f"{target.host}: its host key has CHANGED: it shows {kind} {fingerprint}, which differs from those in {files}",
        "this may be an attack. If the key was changed on purpose: "
        f"ssh-keygen -R '{_known_name(target)}', and check the new fingerprint with the machine's administrator",
    )


def unknown(target: Target, kind: str, fingerprint: str) -> HostKeyRefused:
    """Returns the error for a host of which no key is known."""
    return HostKeyRefused(
        f"{target.host}: its host key is unknown: {kind} {fingerprint}",
        "check the fingerprint with the machine's administrator, then add --accept-new-host-key",
    )


def another(target: Target, first: str, now: str) -> HostKeyRefused:
    """Returns the error for a host that shows another fingerprint than on an earlier connection."""
    return HostKeyRefused(
        f"{target.host}: its host key changed: first {first}, now {now}",
        "several machines may share the name: measure one of them by its address",
    )


def _require_not_revoked(target: Target, key: PKey, file: Path) -> None:
    """Looks the key up in a file of revoked keys: public keys as text, or a key revocation list (KRL).

    As with ssh(1), no key is accepted if the file cannot be read.
    """
    try:
        content = file.read_bytes()
    except OSError as error:
        raise HostKeyRefused(
            f"{target.host}: cannot check whether its host key was revoked: {file}: {error.strerror}",
            "RevokedHostKeys names this file in the configuration of SSH",
        ) from error
    if content.startswith(_KRL_MAGIC):
        with tempfile.NamedTemporaryFile("w", suffix=".pub") as public:
            public.write(f"{key.get_name()} {key.get_base64()}\n")
            public.flush()
            tried = subprocess.run([require("ssh-keygen"), "-Q", "-f", file, public.name], capture_output=True)
        is_revoked = tried.returncode != 0
    else:
        is_revoked = key.get_base64().encode() in content.split()
    if is_revoked:
        raise HostKeyRefused(f"{target.host}: its host key was revoked ({file})", "do not trust this machine")


def add(target: Target, key: PKey, *, hash_name: bool) -> str:
    """Appends the host's key to the target's first known_hosts file; returns its path."""
    name = HostKeys.hash_host(_known_name(target)) if hash_name else _known_name(target)
    path = Path(target.known_hosts_files[0] if target.known_hosts_files else "~/.ssh/known_hosts").expanduser()
    line = f"{name} {key.get_name()} {key.get_base64()}\n".encode()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(path, "a+b", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            complete = file.tell() == 0 or os.pread(file.fileno(), 1, file.tell() - 1) == b"\n"
            file.write(line if complete else b"\n" + line)
    except OSError as error:
        raise FlightpathError(f"{path}: the host key cannot be added: {error.strerror}") from error
    return str(path)


def _known_name(target: Target) -> str:
    """Returns the name under which known_hosts has the host."""
    if target.host_key_name:
        return target.host_key_name
    return target.host if target.port == 22 else f"[{target.host}]:{target.port}"


def _parse(line: str, file: str) -> KnownKey | None:
    words = line.split()
    if not words or words[0].startswith("#"):
        return None
    marker = words.pop(0) if words[0].startswith("@") else ""
    return KnownKey(words[1], words[2], marker, file) if len(words) >= 3 else None
