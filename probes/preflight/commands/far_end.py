"""The way to the far end that a command line names: by SSH, or over HTTPS."""

import ssl
from argparse import Namespace
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial

from flightpath.errors import UsageError
from probes.preflight.session import Access
from probes.preflight.spec import CONNECTION, TRANSFER, Client, Family, Option, TransferSpec
from probes.preflight.ssh.login import Ask
from probes.preflight.ssh.session import SshAccess
from probes.preflight.target import FarEnd, Resolved, WebTarget, resolve
from probes.preflight.url import is_url, web_target
from probes.preflight.web.login import authorization
from probes.preflight.web.session import WebAccess, tls_context
from probes.preflight.web.storage import Signer, bucket_target

_FAMILIES = {"inet": Family.IPV4, "inet6": Family.IPV6}

_OF_SOCKETS = (
    *("send_buffer_bytes", "receive_buffer_bytes", "window_clamp_bytes", "mss_bytes", "congestion_control"),
    *("mptcp", "ssh_window_bytes"),
)
"""Settings of sockets and channels that this program makes itself."""

_OF_SSH = ("client", "connections", "ssh_window_bytes", "request_bytes", "cipher")
_FLAGS_OF_SSH = ("port", "user", "identity", "ssh_config", "accept_new_host_key")

Terminal = Callable[[], AbstractContextManager[None]] | None


@dataclass(frozen=True)
class WayIn:
    """A far end, what is measured there, and what gives access to it.

    Attributes:
        access: returns the access, with a callback that asks for passwords, and the terminal for ssh(1)'s questions.
        resolved: what SSH's configuration says of the far end; None over HTTPS.
    """

    target: FarEnd
    spec: TransferSpec
    access: Callable[[Ask | None, Terminal], Access]
    resolved: Resolved | None = None

    def by_openssh(self, why: str) -> "WayIn":
        """Returns the way by ssh(1), which makes its sockets itself."""
        if named := _named(self.spec, _OF_SOCKETS):
            raise UsageError(
                f"{named}: this host is reached by OpenSSH's client only ({why}), which makes its connections itself",
                "leave the option out",
            )
        return replace(self, spec=replace(self.spec, client=Client.OPENSSH))


def far_end(options: Namespace, spec: TransferSpec) -> WayIn:
    """Returns the way to the far end."""
    if is_url(options.host):
        return _over_https(options, spec)
    if options.ca or spec.endpoint:
        name = "--ca" if options.ca else "--endpoint"
        raise UsageError(f"{name}: is for URLs, and {options.host!r} is reached by SSH", "leave the option out")
    resolved = resolve(
        options.host,
        port=options.port,
        user=options.user,
        identities=options.identity,
        configuration=options.ssh_config,
    )
    if spec.family is Family.ANY:
        spec = replace(spec, family=_FAMILIES.get(resolved.family, Family.ANY))
    way = WayIn(resolved.target, spec, partial(_ssh_access, options, resolved, spec.family), resolved)
    if resolved.only_openssh or spec.client is Client.OPENSSH:
        return way.by_openssh(resolved.only_openssh or "--openssh")
    return way


def _ssh_access(
    options: Namespace, resolved: Resolved, family: Family, ask: Ask | None, terminal: Terminal
) -> SshAccess:
    version = () if family is Family.ANY else (f"-{family}",)
    return SshAccess(
        accept_new_host_key=options.accept_new_host_key or resolved.accept_new,
        hash_names=resolved.hash_names,
        revoked_keys_files=resolved.revoked_keys_files,
        ask=ask,
        ssh_options=(*resolved.ssh_options, *version),
        terminal=terminal,
    )


def _over_https(options: Namespace, spec: TransferSpec) -> WayIn:
    flags = [f"--{name.replace('_', '-')}" for name in _FLAGS_OF_SSH if getattr(options, name)]
    if named := _named(spec, _OF_SSH) or next(iter(flags), ""):
        raise UsageError(f"{named}: is for SSH, and {options.host} is reached over HTTPS", "leave the option out")
    is_storage = options.host.startswith("s3://")
    if spec.endpoint and not is_storage:
        raise UsageError(f"--endpoint: is for s3://, and {options.host} has its own address", "leave the option out")
    if spec.remote_file is None and spec.direction == "download":
        raise UsageError(
            f"a download from {options.host} needs a file that is there", f"name it: {options.host}/FILE; or --upload"
        )
    target = bucket_target(options.host, spec.endpoint) if is_storage else web_target(options.host)
    if options.ca:
        _check_certificates(options.ca)
    return WayIn(target, spec, lambda _ask, _terminal: _web_access(target, options.ca or ""))


def _web_access(target: WebTarget, ca_file: str) -> WebAccess:
    if target.is_storage:
        return WebAccess(ca_file, sign=Signer(target))
    return WebAccess(ca_file, authorization(target.host) if target.tls else "")


def _check_certificates(file: str) -> None:
    try:
        tls_context(file)
    except (ssl.SSLError, OSError) as error:
        why = "no certificates (PEM)" if isinstance(error, ssl.SSLError) else error.strerror
        raise UsageError(f"--ca: {file} cannot be used: {why}") from error


def _named(spec: TransferSpec, names: Sequence[str]) -> str:
    """Returns the option of the first of these settings that is not as by default; "" if all are."""
    changed = [name for name in names if getattr(spec, name) != TransferSpec.__dataclass_fields__[name].default]
    if not changed:
        return ""
    option = {**TRANSFER, **CONNECTION}[changed[0]]
    return option.flag if isinstance(option, Option) else next(iter(option))
