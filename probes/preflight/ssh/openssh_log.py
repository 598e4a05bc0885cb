"""Reader of ssh(1)'s log at LogLevel DEBUG1 while it connects: times, facts, and the reason if it fails."""

import re
import threading
import time
from collections.abc import Callable
from typing import IO

from flightpath.errors import FlightpathError, MeasurementFailed
from flightpath.terminal import visible
from probes.preflight.ssh import host_keys
from probes.preflight.ssh.login import LoginRefused, has_passphrase
from probes.preflight.target import Target

_DEBUG = "debug1: "
_BEGUN, _CONNECTED = (f"{_DEBUG}Connecting to", f"{_DEBUG}Executing proxy command"), f"{_DEBUG}Connection established"
_SPOKEN, _KEYS, _IN = f"{_DEBUG}Local version string", f"{_DEBUG}SSH2_MSG_NEWKEYS received", "Authenticated to "
_HOST_KEY = re.compile(rf"{_DEBUG}Server host (?:key|certificate): (\S+) ([^\s,]+)")
_NOT_A_REASON = re.compile(r"debug\d: |Connection closed by UNKNOWN|kex_exchange_ident|Killed by|stdio forw|@@@|\*\* ")
_TRIED = re.compile(rf"{_DEBUG}Offering public key: (.+) \S+ (SHA256:\S+)(.*)")
_ADDED = re.compile(r"Warning: Permanently added .* to the list of known hosts")


class OpenSshLog:
    """The lines that ssh(1) has written so far, each with its time on the monotonic clock.

    Args:
        show: gets each line that is meant for a user at the terminal.
    """

    def __init__(self, stream: IO[str], show: Callable[[str], None] | None) -> None:
        self._lines: list[tuple[float, str]] = []
        self._stream, self._show = stream, show
        self._begun = time.monotonic()
        self._thread = threading.Thread(target=self._read, name="ssh log", daemon=True)
        self._thread.start()

    def join(self) -> None:
        """Waits until all has been read of a program that has ended."""
        self._thread.join(1)

    @property
    def is_logged_in(self) -> bool:
        return self._time(_IN) is not None

    @property
    def host_key(self) -> str:
        """The fingerprint of the far end's key; "" if it has shown none."""
        return self._shown_key[1]

    @property
    def server(self) -> str:
        version = re.search(r"version (\S+), remote software version (.*)", self._after(f"{_DEBUG}Remote protocol "))
        return f"SSH-{version[1]}-{version[2]}" if version else ""

    @property
    def has_added_host_key(self) -> bool:
        return bool(self.host_key) and any(_ADDED.match(line) for _, line in self._lines)

    @property
    def ciphers(self) -> tuple[str, str]:
        """The ciphers from the far end, and to it."""
        received, sent = (self._after(f"{_DEBUG}kex: {way} cipher: ") for way in ("server->client", "client->server"))
        return received.partition(" ")[0], sent.partition(" ")[0]

    def phases(self) -> tuple[float, float, float]:
        """Returns how long connecting, the key exchange and the log-in took, in seconds.

        Through a proxy, connecting is all until the far end is spoken to.
        """
        begun = self._time(*_BEGUN) or self._begun
        connected = self._time(_CONNECTED) or self._time(f"{_DEBUG}Remote protocol") or begun
        keys = self._time(_KEYS) or connected
        return connected - begun, keys - connected, (self._time(_IN) or keys) - keys

    def error(self, target: Target, way: str, *, could_ask: bool) -> FlightpathError:
        """Returns the error that says why ssh(1) has ended.

        Args:
            way: how it reaches the far end: `ProxyJump gate`; "" if directly.
        """
        why = [visible(line) for _, line in self._lines if line and not _NOT_A_REASON.match(line)]
        text = "\n".join(line for _, line in self._lines)
        if not self.server:
            return self._unreached(target, way, why, text)
        if "no matching" in text:
            return MeasurementFailed(
                f"{target}: no common encryption: {why[-1] if why else 'nothing matches'}",
                "choose another --cipher, for example aes128-ctr",
            )
        if not self.host_key:
            return MeasurementFailed(f"{target}: the key exchange failed: {why[-1] if why else 'it was cut off'}")
        kind, key = self._shown_key
        if "HOST IDENTIFICATION HAS CHANGED" in text:
            return host_keys.changed(target, kind, key, ", ".join(target.known_hosts_files))
        if re.search("revoked", text, re.IGNORECASE):
            return host_keys.HostKeyRefused(f"{target.host}: its host key was revoked", "do not trust this machine")
        if "Host key verification failed" in text:
            return host_keys.unknown(target, kind, key)
        if "Permission denied" in text or "Too many authentication failures" in text:
            return self._refused(target, text, could_ask)
        return MeasurementFailed(f"{target}: the log-in failed: {why[-1] if why else 'the connection was closed'}")

    def _unreached(self, target: Target, way: str, why: list[str], text: str) -> FlightpathError:
        """Returns the error if the far end itself was never heard."""
        if not way:
            what = why[-1].removeprefix("ssh: ") if why else "the connection was closed before the key exchange"
            return MeasurementFailed(
                f"{target}: {what}", "check the host and the port, and that an SSH server runs there"
            )
        what = why[-1] if why else "it ended without a word"
        first = way.rpartition(" ")[2].partition(",")[0] if way.startswith("ProxyJump") else ""
        hint = f"does this log in without a question: ssh {first}?" if first else "does this work: ssh " + target.name
        if "verification failed" in text:
            what = "the host key of a machine on the way is unknown, or has changed"
            hint = f"check its fingerprint with its administrator, and log in there once: ssh {first or target.name}"
        if "open failed" in what:
            hint = f"check the host and the port, as seen from {first or 'the other end of its proxy'}"
        return MeasurementFailed(f"{target} is not reached by its {way}: {what}", hint)

    def _refused(self, target: Target, text: str, could_ask: bool) -> LoginRefused:
        methods = re.findall(rf"{_DEBUG}Authentications that can continue: (.*)", text)
        methods_text = methods[-1].replace(",", ", ") if methods else "nothing"
        wants = f"it wants a second factor ({methods_text})" if "with partial success" in text else ""
        if re.search("^pin required$", text, re.MULTILINE):
            wants = "the token (PKCS11Provider) wants its PIN"
        if wants and not could_ask:
            return LoginRefused(
                f"{target}: {wants}, and nobody can be asked for it",
                "measure on a terminal, or let SSH_ASKPASS answer (with SSH_ASKPASS_REQUIRE=force)",
            )
        tried = dict.fromkeys(_key_text(path, key, more, could_ask) for path, key, more in _TRIED.findall(text))
        no_token = re.search("^provider .* is not a PKCS11 library$", text, re.MULTILINE)
        nothing = f"nothing ({visible(no_token[0]) if no_token else 'no key was found'})"
        return LoginRefused(
            f"{target}: log-in refused: tried {', '.join(tried) or nothing}; it accepts {methods_text}",
            f"does this log in: ssh {target.user}@{target.name}? --identity FILE names a key",
        )

    @property
    def _shown_key(self) -> tuple[str, str]:
        """The type and the fingerprint of the far end's key, or of its certificate."""
        shown = (_HOST_KEY.match(line) for _, line in self._lines)
        return next(((each[1], each[2]) for each in shown if each), ("", ""))

    def _read(self) -> None:
        for line in self._stream:
            text = line.rstrip("\r\n")
            self._lines.append((time.monotonic(), text))
            if self._show and text and not (_NOT_A_REASON.match(text) or text.startswith("Authenticated ")):
                self._show(text)

    def _time(self, *beginnings: str) -> float | None:
        return next((at for at, line in self._lines if line.startswith(beginnings)), None)

    def _after(self, beginning: str) -> str:
        return next((line.removeprefix(beginning) for _, line in self._lines if line.startswith(beginning)), "")


def _key_text(path: str, fingerprint: str, more: str, could_ask: bool) -> str:
    if "agent" in more:
        return f"the agent's {fingerprint}"
    if not could_ask and has_passphrase(path):
        return f"{path} (not tried: it has a passphrase, and nobody can be asked for it)"
    return path
