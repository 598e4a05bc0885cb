"""Logging in as ssh(1) does, with agent and key files: a password is asked for once, kept in memory, and never told."""

import base64
import hashlib
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from paramiko import PKey, Transport
from paramiko.agent import AgentSSH
from paramiko.pkey import UnknownKeyType
from paramiko.ssh_exception import (
    AuthenticationException,
    BadAuthenticationType,
    PasswordRequiredException,
    SSHException,
)

from flightpath.errors import FlightpathError
from probes.preflight.ssh.target import Target

Ask = Callable[[str], str]
"""Asks the user for a secret; the text says which."""

_TRIES = 3
_BY_PASSWORD = ("password", "keyboard-interactive")
_USE_A_KEY = "only a password can be given: let a key alone be enough for this user"


class LoginRefused(FlightpathError):
    """The far end let nobody in with what there is."""


@dataclass(frozen=True)
class Credential:
    """What the far end accepted; so that further connections need no trying, and no asking.

    Attributes:
        kind: `agent`, `file`, one of the methods by which a password is told, or `none`.
        name: the key's fingerprint in the agent, or the file's path.
        secret: passphrase or password; never shown or stored.
    """

    kind: str
    name: str = ""
    secret: str | None = field(default=None, repr=False)


class _Agent(AgentSSH):
    """The agent behind a socket."""

    def __init__(self, path: str) -> None:
        super().__init__()
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            self._connect(connection)
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Leaves it."""
        self._close()


class Login:
    """One attempt to log in, which notes what it tried.

    Args:
        transport: after the key exchange.
        target: whose user, agent and key files are used.
        ask: for passphrases and passwords; None never asks.
    """

    def __init__(self, transport: Transport, target: Target, ask: Ask | None) -> None:
        self._transport, self._target, self._ask = transport, target, ask
        self._tried: list[str] = []

    def find(self) -> Credential:
        """Tries what there is: the agent's keys, key files, then a password.

        Raises:
            LoginRefused: nothing was accepted; with what was tried, and what the far end would accept.
        """
        allowed = self._allowed()
        if not allowed:
            return Credential("none")
        for credential, key in self._keys() if "publickey" in allowed else ():
            if self._accepts(credential, key):
                return credential
        method = next((method for method in _BY_PASSWORD if method in allowed), None)
        if method and self._ask is not None:
            for _ in range(_TRIES):
                credential = Credential(method, secret=self._ask(f"password of {self._target}"))
                if self._accepts(credential, None):
                    return credential
        raise self._refused(allowed)

    def use(self, credential: Credential) -> None:
        """Logs in with what an earlier connection found.

        Raises:
            LoginRefused: it is not accepted any more.
        """
        if credential.kind == "none":
            self._transport.auth_none(self._target.user)
            return
        key = None
        if credential.kind == "agent":
            key = next((key for found, key in self._agent_keys() if found.name == credential.name), None)
        elif credential.kind == "file":
            key = load_key(credential.name, credential.secret)
        if (key is None and credential.kind not in _BY_PASSWORD) or not self._accepts(credential, key):
            raise self._refused([])

    def _allowed(self) -> list[str]:
        """The methods that the far end offers; none if it wants none."""
        try:
            self._transport.auth_none(self._target.user)
        except BadAuthenticationType as error:
            return list(error.allowed_types)
        except AuthenticationException as error:
            raise LoginRefused(f"{self._target}: log-in refused: {error}") from error
        return []

    def _accepts(self, credential: Credential, key: PKey | None) -> bool:
        by_password = "a password" if credential.kind in _BY_PASSWORD else ""
        self._tried.append(by_password or {"agent": "the agent's "}.get(credential.kind, "") + credential.name)
        user, secret = self._target.user, credential.secret or ""
        try:
            if key is not None:
                more = self._transport.auth_publickey(user, key)
            elif credential.kind == "password":
                more = self._transport.auth_password(user, secret, fallback=False)
            else:
                more = self._transport.auth_interactive(user, self._answering(secret))
        except AuthenticationException:
            return False
        except SSHException as error:
            if not self._transport.is_active():
                raise LoginRefused(
                    f"{self._target}: the far end hung up during the log-in, after {self._told_tried()}",
                    "it may allow fewer tries than there are keys: IdentitiesOnly in ~/.ssh/config",
                ) from error
            return False
        if more:
            raise LoginRefused(f"{self._target}: it wants a second factor ({', '.join(more)})", _USE_A_KEY)
        return True

    def _answering(self, secret: str) -> Callable[[str, str, list[tuple[str, bool]]], list[str]]:
        """Answers the one question that keyboard-interactive is expected to ask: for the password."""
        asked: list[str] = []

        def answer(_title: str, _instructions: str, questions: list[tuple[str, bool]]) -> list[str]:
            asked.extend(question for question, _shown in questions)
            if len(asked) > 1:
                more = asked[-1].strip().rpartition("\n")[2]
                raise LoginRefused(f"{self._target}: it asks for more than a password ({more!r})", _USE_A_KEY)
            return [secret] * len(questions)

        return answer

    def _keys(self) -> Iterator[tuple[Credential, PKey]]:
        agents = list(self._agent_keys())
        yield from agents
        seen = {credential.name for credential, _ in agents}
        for path in self._target.identity_files:
            found = self._from_file(path) if Path(path).is_file() else None
            if found and found[1].fingerprint not in seen:
                yield found

    def _agent_keys(self) -> Iterator[tuple[Credential, PKey]]:
        path = self._target.identity_agent or os.environ.get("SSH_AUTH_SOCK", "none")
        if path == "none":
            return
        try:
            agent = _Agent(path)
        except (OSError, SSHException):  # no agent there: as ssh(1), go on without
            return
        wanted = self._public_fingerprints() if self._target.identities_only else None
        for key in agent.get_keys():
            if wanted is None or key.fingerprint in wanted:
                yield Credential("agent", key.fingerprint), key

    def _public_fingerprints(self) -> set[str]:
        found = set()
        for path in self._target.identity_files:
            public = Path(path + ".pub")
            if public.is_file() and len(words := public.read_text().split()) >= 2:
                digest = hashlib.sha256(base64.b64decode(words[1])).digest()
                found.add("SHA256:" + base64.b64encode(digest).decode().rstrip("="))
        return found

    def _from_file(self, path: str) -> tuple[Credential, PKey] | None:
        try:
            return Credential("file", path), load_key(path, None)
        except PasswordRequiredException:
            if self._ask is None:
                self._tried.append(f"{path} (not tried: it has a passphrase, and there is nobody to ask)")
                return None
        except (SSHException, UnknownKeyType, ValueError, OSError) as error:
            self._tried.append(f"{path} (unreadable: {error})")
            return None
        for _ in range(_TRIES):
            secret = self._ask(f"passphrase of {path}")
            try:
                return Credential("file", path, secret), load_key(path, secret)
            except (SSHException, ValueError):
                continue
        self._tried.append(f"{path} (wrong passphrase)")
        return None

    def _told_tried(self) -> str:
        return ", ".join(self._tried) or "nothing (no key was found)"

    def _refused(self, allowed: list[str]) -> LoginRefused:
        accepts = f"; it accepts {', '.join(allowed)}" if allowed else ""
        return LoginRefused(
            f"{self._target}: log-in refused: tried {self._told_tried()}{accepts}",
            f"try the same with: ssh {self._target.user}@{self._target.name}; --identity FILE names a key",
        )


def load_key(path: str, passphrase: str | None) -> PKey:
    """A private key, with its certificate if there is one beside it.

    Raises:
        PasswordRequiredException: it has a passphrase, and none was given.
    """
    try:
        key = PKey.from_path(path, passphrase.encode() if passphrase else None)
    except TypeError as error:  # so says cryptography, and paramiko passes it on
        raise PasswordRequiredException(str(error)) from error
    certificate = Path(path + "-cert.pub")
    if certificate.is_file():
        key.load_certificate(str(certificate))
    return key
