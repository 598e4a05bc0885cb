"""Log-in with the agent's keys, key files, or a password, in the order of ssh(1).

The user is prompted once for a password or passphrase. It is kept in memory for further connections, and never shown or
stored.
"""

import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from paramiko import PKey, Transport
from paramiko.agent import AgentSSH
from paramiko.pkey import PublicBlob, UnknownKeyType
from paramiko.ssh_exception import (
    AuthenticationException,
    BadAuthenticationType,
    PasswordRequiredException,
    SSHException,
)

from flightpath.errors import FlightpathError
from probes.preflight.target import Target

Ask = Callable[[str], str]
"""Prompts the user for a secret, given its name."""

_TRIES = 3
_PASSWORD_METHODS = ("password", "keyboard-interactive")


class LoginRefused(FlightpathError):
    """The far end accepted none of the user's keys and passwords."""


class OnlyOpenSsh(LoginRefused):
    """The far end wants what paramiko cannot give, but ssh(1) perhaps can: a second factor, a token, an authority."""


@dataclass(frozen=True)
class Credential:
    """The accepted credential, with which further connections log in directly.

    Attributes:
        kind: `agent`, `file`, one of the password methods, or `none`.
        name: the fingerprint of the agent's key, or the path of the file.
    """

    kind: str
    name: str = ""
    secret: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        if self.kind in _PASSWORD_METHODS:
            return "a password"
        return f"the agent's {self.name}" if self.kind == "agent" else self.name


class Login:
    """One log-in, over a transport that has exchanged keys; without `ask`, it never asks for a secret."""

    def __init__(self, transport: Transport, target: Target, ask: Ask | None) -> None:
        self._transport, self._target, self._ask = transport, target, ask
        self._tried: list[str] = []

    def find(self) -> Credential:
        """Tries the agent's keys, key files, then a password; returns the accepted credential."""
        try:
            self._transport.auth_none(self._target.user)
            return Credential("none")
        except BadAuthenticationType as error:
            methods = error.allowed_types
        except AuthenticationException as error:
            raise LoginRefused(f"{self._target}: log-in refused: {error}") from error
        for credential, key in self._candidates(methods):
            if self._accepts(credential, key):
                return credential
        raise self._refused(f"; it accepts {', '.join(methods)}")

    def use(self, credential: Credential) -> None:
        """Logs in with the credential of an earlier connection."""
        if credential.kind == "none":
            self._transport.auth_none(self._target.user)
            return
        key = None
        if credential.kind == "agent":
            key = next((key for each, key in self._agent_keys() if each.name == credential.name), None)
        elif credential.kind == "file":
            key = _load_key(credential.name, credential.secret)
        if (key is None and credential.kind not in _PASSWORD_METHODS) or not self._accepts(credential, key):
            raise self._refused()

    def _accepts(self, credential: Credential, key: PKey | None) -> bool:
        self._tried.append(str(credential))
        user, secret = self._target.user, credential.secret or ""
        try:
            if key is not None:
                further_methods = self._transport.auth_publickey(user, key)
            elif credential.kind == "password":
                further_methods = self._transport.auth_password(user, secret, fallback=False)
            else:
                further_methods = self._transport.auth_interactive(user, self._answerer(secret))
        except AuthenticationException:
            return False
        except SSHException as error:
            if not self._transport.is_active():
                raise LoginRefused(
                    f"{self._target}: the far end closed the connection during the log-in, after {self._tried_text()}",
                    "it may allow fewer tries than there are keys: see IdentitiesOnly in ssh_config(5)",
                ) from error
            return False
        if further_methods:
            raise OnlyOpenSsh(f"{self._target}: it wants a second factor ({', '.join(further_methods)})")
        return True

    def _answerer(self, secret: str) -> Callable[[str, str, list[tuple[str, bool]]], list[str]]:
        """Returns a callback that answers keyboard-interactive's only question, which must be for the password."""
        prompts: list[str] = []

        def answer(_title: str, _instructions: str, questions: list[tuple[str, bool]]) -> list[str]:
            prompts.extend(question for question, _shown in questions)
            if len(prompts) > 1:
                more = prompts[-1].strip().rpartition("\n")[2]
                raise OnlyOpenSsh(f"{self._target}: it asks for more than a password ({more!r})")
            return [secret] * len(questions)

        return answer

    def _candidates(self, methods: Sequence[str]) -> Iterator[tuple[Credential, PKey | None]]:
        """Yields the credentials to try in turn, with their keys."""
        if "publickey" in methods:
            from_agent = list(self._agent_keys())
            yield from from_agent
            seen = {credential.name for credential, _ in from_agent}
            for path in filter(os.path.isfile, self._target.identity_files):
                candidate = self._key_from_file(path)
                if candidate and candidate[1].fingerprint not in seen:
                    yield candidate
        method = next((method for method in _PASSWORD_METHODS if method in methods), None)
        if method and self._ask:
            for _ in range(_TRIES):
                yield Credential(method, secret=self._ask(f"password of {self._target}")), None

    def _agent_keys(self) -> Iterator[tuple[Credential, PKey]]:
        wanted = self._public_keys() if self._target.identities_only else None
        for key in _agent_keys(self._target.identity_agent or os.environ.get("SSH_AUTH_SOCK", "none")):
            if wanted is None or key.asbytes() in wanted:
                yield Credential("agent", key.fingerprint), key

    def _public_keys(self) -> set[bytes]:
        keys = set()
        for path in self._target.identity_files:
            with contextlib.suppress(OSError, ValueError, SSHException):  # no such file, or no public key
                keys.add(PublicBlob.from_file(f"{path}.pub").key_blob)
        return keys

    def _key_from_file(self, path: str) -> tuple[Credential, PKey] | None:
        try:
            return Credential("file", path), _load_key(path, None)
        except PasswordRequiredException:
            if self._ask is None:
                self._tried.append(f"{path} (not tried: it has a passphrase, and nobody can be asked for it)")
                return None
        except (SSHException, UnknownKeyType, ValueError, OSError) as error:
            self._tried.append(f"{path} (unreadable: {error})")
            return None
        for _ in range(_TRIES):
            secret = self._ask(f"passphrase of {path}")
            try:
                return Credential("file", path, secret), _load_key(path, secret)
            except (SSHException, ValueError):
                continue
        self._tried.append(f"{path} (wrong passphrase)")
        return None

    def _tried_text(self) -> str:
        return ", ".join(self._tried) or "nothing (no key was found)"

    def _refused(self, more: str = "") -> LoginRefused:
        return LoginRefused(
            f"{self._target}: log-in refused: tried {self._tried_text()}{more}",
            f"does this log in: ssh {self._target.user}@{self._target.name}? --identity FILE names a key",
        )


def _agent_keys(path: str) -> tuple[PKey, ...]:
    """Returns the keys of the agent behind a socket; none if there is no agent, as in ssh(1)."""
    if path == "none":
        return ()
    connection, agent = socket.socket(socket.AF_UNIX), AgentSSH()
    try:
        connection.connect(path)
        agent._connect(connection)  # which its own subclass can do for $SSH_AUTH_SOCK only
    except (OSError, SSHException):
        connection.close()
    return agent.get_keys()


def has_passphrase(path: str) -> bool:
    """Returns whether a file has a private key that cannot be read without its passphrase."""
    try:
        _load_key(path, None)
    except PasswordRequiredException:
        return True
    except (SSHException, UnknownKeyType, ValueError, OSError):
        return False
    return False


def _load_key(path: str, passphrase: str | None) -> PKey:
    """Loads a private key, with its certificate if there is one in its folder.

    Raises:
        PasswordRequiredException: it has a passphrase, and none was given.
    """
    try:
        key = PKey.from_path(path, passphrase.encode() if passphrase else None)
    except TypeError as error:  # from cryptography
        raise PasswordRequiredException(str(error)) from error
    certificate = Path(path + "-cert.pub")
    if certificate.is_file():
        key.load_certificate(str(certificate))
    return key
