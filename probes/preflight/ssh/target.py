"""The far end as ~/.ssh/config tells it: without it `preflight dtn` would not reach what `ssh dtn` reaches."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flightpath.commands import CommandFailed, require, run
from flightpath.errors import UsageError

_CONFIGURATION_LIMIT_S = 30


@dataclass(frozen=True)
class Target:
    """A machine with SSH, resolved.

    Attributes:
        name: as it was typed, without the user: a name, an address, or a Host of ~/.ssh/config.
        user: to log in as.
        host: the name or address to connect to.
        port: TCP port.
        identity_files: private keys to try, if the agent has none that fits.
        known_hosts_files: where host keys are looked up; the first is where a new one would be added.
        host_key_name: the name under which the host's key is known, if it is not that of `host` and `port`.
        identities_only: try only `identity_files`, also of those that the agent has.
        identity_agent: the agent's socket; "" asks the environment, `none` asks no agent.
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

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.user}@{host}" + (f":{self.port}" if self.port != 22 else "")


@dataclass(frozen=True)
class Resolved:
    """What ~/.ssh/config says about a name.

    Attributes:
        target: the far end.
        accept_new: host keys that nobody has seen before are accepted (StrictHostKeyChecking).
        hash_names: hosts are added to known_hosts in a form that does not show their names (HashKnownHosts).
        family: `any`, `inet` or `inet6` (AddressFamily).
    """

    target: Target
    accept_new: bool
    hash_names: bool
    family: str


def resolve(
    text: str,
    *,
    port: int | None = None,
    user: str | None = None,
    identities: Sequence[str] = (),
    configuration: str | None = None,
) -> Resolved:
    """What `[USER@]HOST` means here; OpenSSH itself is asked, so Include, Match and all else hold.

    Args:
        text: as typed; an IPv6 address with or without brackets.
        port, user: instead of the configuration's.
        identities: private keys to try before the configuration's.
        configuration: a file to read instead of the user's and the system's.

    Raises:
        UsageError: there is no host in it, or the configuration is wrong or needs a proxy.
        MissingCapability: OpenSSH's client is not installed.
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
        told = run([require("ssh"), "-G", *options, "--", name], timeout_s=_CONFIGURATION_LIMIT_S)
    except CommandFailed as error:
        raise UsageError(f"{text}: {error.args[0].partition(': exit code 255: ')[2] or error.args[0]}") from error
    return parse_configuration(name, told)


def parse_configuration(name: str, told: str) -> Resolved:
    """What `ssh -G` printed for a name.

    Raises:
        UsageError: the host is behind a proxy.
    """
    lines = [line.partition(" ")[::2] for line in told.splitlines()]
    first = dict(reversed(lines))
    _refuse_proxy(name, first)
    home = str(Path.home())
    tokens = {"%": "%", "d": home, "h": first["hostname"], "n": name, "p": first["port"], "r": first["user"]}
    files = shlex.split(first.get("userknownhostsfile", "")) + shlex.split(first.get("globalknownhostsfile", ""))
    target = Target(
        name=name,
        user=first["user"],
        host=first["hostname"],
        port=int(first["port"]),
        identity_files=tuple(_path(value, tokens) for key, value in lines if key == "identityfile"),
        known_hosts_files=tuple(_path(each, tokens) for each in files if each != "none"),
        host_key_name=first.get("hostkeyalias", "none").replace("none", ""),
        identities_only=first.get("identitiesonly") == "yes",
        identity_agent=_agent(first.get("identityagent", "SSH_AUTH_SOCK"), tokens),
    )
    return Resolved(
        target,
        accept_new=first.get("stricthostkeychecking") in ("accept-new", "no", "off", "false"),
        hash_names=first.get("hashknownhosts") == "yes",
        family=first.get("addressfamily", "any"),
    )


def _refuse_proxy(name: str, settings: Mapping[str, str]) -> None:
    for key in ("proxyjump", "proxycommand"):
        if settings.get(key, "none") != "none":
            raise UsageError(
                f"{name} is reached through a proxy ({key} {settings[key]})",
                "preflight measures a connection of its own: run it on the proxy, or name a host reached directly",
            )


def _agent(told: str, tokens: dict[str, str]) -> str:
    if told == "SSH_AUTH_SOCK":
        return ""
    if told.startswith("$"):
        return os.environ.get(told[1:].strip("{}"), "none")
    return told if told == "none" else _path(told, tokens)


def _path(told: str, tokens: dict[str, str]) -> str:
    """A path with ssh_config(5)'s tokens and the home folder filled in."""
    filled = re.sub("%(.)", lambda found: tokens.get(found[1], found[0]), told.strip('"'))
    return str(Path(filled).expanduser())
