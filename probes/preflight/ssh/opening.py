"""The way in: paramiko in this process where it can reach the far end, OpenSSH's client where only that can."""

from collections.abc import Sequence

from probes.preflight.spec import Client, TransferSpec
from probes.preflight.ssh.builtin import BuiltInSession
from probes.preflight.ssh.openssh import OpenSshSession
from probes.preflight.ssh.session import Access, Session
from probes.preflight.ssh.sockets import Address
from probes.preflight.target import Target


def open_session(target: Target, addresses: Sequence[Address], spec: TransferSpec, access: Access) -> Session:
    """Connects to the far end and logs in; `addresses` are only used without OpenSSH's client."""
    if spec.client is Client.OPENSSH:
        return OpenSshSession(target, spec, access)
    return BuiltInSession(target, addresses, spec, access)
