"""Whether the far end is who it says: without it a measurement would log in to anybody who answers."""

import base64
import os
from dataclasses import dataclass
from pathlib import Path

from paramiko import HostKeys, PKey

from flightpath.commands import CommandFailed, require, run
from flightpath.errors import FlightpathError
from probes.preflight.ssh.target import Target

_SEVERAL_NAMES = {"ssh-rsa": ("rsa-sha2-512", "rsa-sha2-256", "ssh-rsa")}


class HostKeyRefused(FlightpathError):
    """The far end's host key is unknown, has changed, or was revoked: nobody was logged in."""


@dataclass(frozen=True)
class KnownKey:
    """One line of a known_hosts file that is about the host.

    Attributes:
        kind: the key's type, for example `ssh-ed25519`.
        key: base64.
        marker: "", `@revoked` or `@cert-authority`.
        file: where it is.
    """

    kind: str
    key: str
    marker: str
    file: str


def name_of(target: Target) -> str:
    """The name under which known_hosts has the host."""
    if target.host_key_name:
        return target.host_key_name
    return target.host if target.port == 22 else f"[{target.host}]:{target.port}"


def look_up(target: Target) -> list[KnownKey]:
    """All keys that the target's known_hosts files have for it; hashed names and patterns are found as OpenSSH does."""
    found = []
    for file in target.known_hosts_files:
        path = Path(file).expanduser()
        if path.is_file():
            try:
                told = run([require("ssh-keygen"), "-F", name_of(target), "-f", str(path)])
            except CommandFailed:  # that is how it says "none"
                continue
            found += [key for line in told.splitlines() if (key := _parse(line, str(path)))]
    return found


def preferred_types(known: list[KnownKey], offered: tuple[str, ...]) -> list[str]:
    """The key types to ask the far end for: first those of which we know a key, or a known host would seem new."""
    first = [name for each in known for name in _SEVERAL_NAMES.get(each.kind, (each.kind,)) if name in offered]
    return list(dict.fromkeys([*first, *offered]))


def check(target: Target, key: PKey, known: list[KnownKey]) -> bool:
    """Whether the host is known by this key; False if nothing is known about it.

    Raises:
        HostKeyRefused: another key is known, or this one was revoked.
    """
    told = base64.b64encode(key.asbytes()).decode()
    for each in known:
        if each.marker == "@revoked" and each.key == told:
            raise HostKeyRefused(f"{target.host}: its host key was revoked ({each.file})", "do not trust this machine")
    plain = [each for each in known if not each.marker]
    if any(each.key == told for each in plain):
        return True
    if plain:
        files = ", ".join(dict.fromkeys(each.file for each in plain))
        raise HostKeyRefused(
            f"{target.host}: its host key has CHANGED: it shows {key.get_name()} {key.fingerprint}, "
            f"which is none of those in {files}",
            "somebody may be in between. If the key was changed on purpose: "
            f"ssh-keygen -R '{name_of(target)}', and check the new fingerprint with who runs the machine",
        )
    return False


def unknown(target: Target, key: PKey) -> HostKeyRefused:
    """The error for a host that is not known."""
    return HostKeyRefused(
        f"{target.host}: its host key is unknown: {key.get_name()} {key.fingerprint}",
        "check the fingerprint with who runs the machine, then add --accept-new-host-key",
    )


def add(target: Target, key: PKey, *, hash_name: bool) -> str:
    """Writes the host's key into the target's first known_hosts file; returns its path.

    Raises:
        FlightpathError: it cannot be written.
    """
    name = HostKeys.hash_host(name_of(target)) if hash_name else name_of(target)
    path = Path(target.known_hosts_files[0] if target.known_hosts_files else "~/.ssh/known_hosts").expanduser()
    line = f"{name} {key.get_name()} {base64.b64encode(key.asbytes()).decode()}\n"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "r+b") as file:
            file.seek(0, os.SEEK_END)
            unfinished = file.tell() > 0 and _last_byte(handle, file.tell()) != b"\n"
            file.write((b"\n" if unfinished else b"") + line.encode())
    except OSError as error:
        raise FlightpathError(f"{path}: the host key cannot be added: {error.strerror}") from error
    return str(path)


def _last_byte(handle: int, size: int) -> bytes:
    return os.pread(handle, 1, size - 1)


def _parse(line: str, file: str) -> KnownKey | None:
    words = line.split()
    if not words or words[0].startswith("#"):
        return None
    marker = words.pop(0) if words[0].startswith("@") else ""
    return KnownKey(words[1], words[2], marker, file) if len(words) >= 3 else None
