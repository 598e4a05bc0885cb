"""The far end of a measurement: a machine with SSH, resolved by OpenSSH's configuration, or a server with a URL."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from flightpath.commands import CommandFailed, how_ended, require, run
from flightpath.errors import UsageError
from flightpath.hosts import endpoint, url_host

_CONFIGURATION_LIMIT_S = 30
_ONLY_OPENSSH = ("CertificateFile", "PKCS11Provider")
"""Settings of which paramiko knows nothing."""


@dataclass(frozen=True)
class Target:
    """A machine with SSH, and how to log in to it.

    Attributes:
        name: name as typed, without the user: a name, an address, or a Host of ~/.ssh/config.
        host: name or address to connect to.
        identity_files: private keys to try after the agent's.
        known_hosts_files: files of known host keys; a new one is added to the first.
        host_key_name: name under which known_hosts has the host; "" means `host` and `port`.
        identities_only: whether to try only `identity_files`, even if the agent has more keys.
        identity_agent: socket of the agent; "" means the one in the environment, `none` means no agent.
        proxy: how it is reached if not directly: `ProxyJump gate`, `ProxyCommand`; "" otherwise.
    """

    name: str
    user: str
    host: str
    port: int = 22
    identity_files: tuple[str, ...] = ()
    known_hosts_files: tuple[str, ...] = ("~/.ssh/known_hosts",)
    host_key_name: str = ""
    identities_only: bool = False
    identity_agent: str = ""
    proxy: str = ""

    def as_json(self) -> dict[str, Any]:
        """Returns the fields as JSON values; without a proxy, none is named, as before there was one."""
        return {name: value for name, value in asdict(self).items() if name != "proxy" or value}

    def __str__(self) -> str:
        where = url_host(self.host) if self.port == 22 else endpoint(self.host, self.port)
        return f"{self.user}@{where}"


@dataclass(frozen=True)
class WebTarget:
    """A web server, or a bucket of storage that speaks S3; `url` makes it of a URL.

    Attributes:
        name: URL without a path: `https://portal.example`, `s3://bucket`.
        host, port: server to connect to.
        tls: whether connections are encrypted.
        root: path of the server below which all files are: `/bucket`, or "".
        region: region of the storage; "" for a web server.
    """

    name: str
    host: str
    port: int
    tls: bool = True
    root: str = ""
    region: str = ""

    @property
    def is_storage(self) -> bool:
        return self.name.startswith("s3://")

    @property
    def authority(self) -> str:
        """Host and port as HTTP names them."""
        is_usual = self.port == (443 if self.tls else 80)
        return url_host(self.host) if is_usual else endpoint(self.host, self.port)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        if not self.is_storage:
            return self.name
        return f"{self.name} at {'https' if self.tls else 'http'}://{self.authority}"


FarEnd = Target | WebTarget


@dataclass(frozen=True)
class Resolved:
    """A target and the settings of ~/.ssh/config that are not part of it.

    Attributes:
        accept_new: whether keys of unknown hosts are accepted (StrictHostKeyChecking).
        hash_names: whether names are hashed when they are added to known_hosts (HashKnownHosts).
        family: `any`, `inet` or `inet6` (AddressFamily).
        revoked_keys_files: files of host keys that must not be accepted (RevokedHostKeys).
        ssh_options: options that ssh(1) must get, besides the target's name, to reach it.
        only_openssh: the setting because of which only ssh(1) reaches it; "" if it need not be ssh(1).
    """

    target: Target
    accept_new: bool
    hash_names: bool
    family: str
    revoked_keys_files: tuple[str, ...] = ()
    ssh_options: tuple[str, ...] = ()
    only_openssh: str = ""


def resolve(
    text: str,
    *,
    port: int | None = None,
    user: str | None = None,
    identities: Sequence[str] = (),
    configuration: str | None = None,
) -> Resolved:
    """Resolves `[USER@]HOST` by `ssh -G`, so that Include, Match and everything else in the configuration hold.

    Args:
        text: text as typed; an IPv6 address with or without brackets.
        port, user: override the configuration.
        identities: private keys to try before those of the configuration.
        configuration: file to read instead of the user's and the system's.
    """
    before, at, name = text.rpartition("@")
    name = name.removeprefix("[").removesuffix("]")
    if not name or name.startswith("-") or (at and not before):
        raise UsageError(f"{text!r} is no host", "accepted forms: HOST, USER@HOST, ADDRESS, a Host of ~/.ssh/config")
    options = ["-F", configuration] if configuration is not None else []
    options += ["-p", str(port)] if port is not None else []
    options += ["-l", user or before] if user or before else []
    for identity in identities:
        if not Path(identity).expanduser().is_file():
            raise UsageError(f"--identity: there is no file {identity!r}")
        options += ["-i", identity]
    try:
        printed = run([require("ssh"), "-G", *options, "--", name], timeout_s=_CONFIGURATION_LIMIT_S)
    except CommandFailed as error:
        raise UsageError(f"{text}: {error.args[0].partition(f' {how_ended(255)}: ')[2] or error.args[0]}") from error
    return replace(parse_configuration(name, printed), ssh_options=tuple(options))


def parse_configuration(name: str, printed: str) -> Resolved:
    """Parses the output of `ssh -G NAME`."""
    lines = [line.partition(" ")[::2] for line in printed.splitlines()]
    settings = dict(reversed(lines))  # of a repeated one, the first
    host, port, user = settings["hostname"], settings["port"], settings["user"]
    tokens = {"%": "%", "d": str(Path.home()), "h": host, "n": name, "p": port, "r": user}
    files = shlex.split(settings.get("userknownhostsfile", "")) + shlex.split(settings.get("globalknownhostsfile", ""))
    target = Target(
        name=name,
        user=user,
        host=host,
        port=int(port),
        identity_files=tuple(_path(value, tokens) for key, value in lines if key == "identityfile"),
        known_hosts_files=tuple(_path(file, tokens) for file in files if file != "none"),
        host_key_name=settings.get("hostkeyalias", "none").replace("none", ""),
        identities_only=settings.get("identitiesonly") == "yes",
        identity_agent=_agent(settings.get("identityagent", "SSH_AUTH_SOCK"), tokens),
        proxy=_proxy(settings),
    )
    return Resolved(
        target,
        accept_new=settings.get("stricthostkeychecking") in ("accept-new", "no", "off", "false"),
        hash_names=settings.get("hashknownhosts") == "yes",
        family=settings.get("addressfamily", "any"),
        revoked_keys_files=tuple(
            _path(file, tokens) for file in shlex.split(settings.get("revokedhostkeys", "")) if file != "none"
        ),
        only_openssh=_proxy(settings) or next((name for name in _ONLY_OPENSSH if _is_set(settings, name.lower())), ""),
    )


def _is_set(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "none") != "none"


def _proxy(settings: Mapping[str, str]) -> str:
    """Returns how a host is reached through another; a command's words may be secret."""
    if _is_set(settings, "proxyjump"):
        return f"ProxyJump {settings['proxyjump']}"
    return "ProxyCommand" if _is_set(settings, "proxycommand") else ""


def _agent(setting: str, tokens: Mapping[str, str]) -> str:
    if setting == "SSH_AUTH_SOCK":
        return ""
    if setting.startswith("$"):
        return os.environ.get(setting[1:].strip("{}"), "none")
    return setting if setting == "none" else _path(setting, tokens)


def _path(setting: str, tokens: Mapping[str, str]) -> str:
    """Returns a path with ssh_config(5)'s tokens and `~` expanded."""
    expanded = re.sub("%(.)", lambda match: tokens.get(match[1], match[0]), setting.strip('"'))
    return str(Path(expanded).expanduser())
