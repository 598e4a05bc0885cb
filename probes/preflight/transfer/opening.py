"""Connections and streams by what is spoken with the far end: SFTP by paramiko or by ssh(1), or HTTP."""

from collections.abc import Sequence

from paramiko import SFTPFile

from flightpath.errors import MeasurementFailed
from probes.preflight.session import Access, Session
from probes.preflight.sockets import Address
from probes.preflight.spec import Client, Direction, TransferSpec
from probes.preflight.ssh.builtin import BuiltInSession
from probes.preflight.ssh.openssh import OpenSshSession
from probes.preflight.ssh.packetizer import MAX_PACKET_BYTES
from probes.preflight.ssh.session import SshAccess, SshSession
from probes.preflight.ssh.sftp import TRANSPORT_ERRORS, Sftp, reason
from probes.preflight.target import FarEnd, Target, WebTarget
from probes.preflight.transfer.download import Download
from probes.preflight.transfer.http import HttpDownload, HttpUpload
from probes.preflight.transfer.read_ahead import FIRST_AHEAD_BYTES
from probes.preflight.transfer.sftp_stream import Requests, SftpStream
from probes.preflight.transfer.sinks import Sink
from probes.preflight.transfer.stream import Part, Stream
from probes.preflight.transfer.upload import Upload
from probes.preflight.web.session import WebAccess, WebSession

_AMPLE_WINDOW_BYTES = 128 * 1024 * 1024
"""Default SSH window of a stream, and limit of the read-ahead: 10 Gb/s over 100 ms."""

_UPLOAD_WINDOW_BYTES = 2 * 1024 * 1024


def open_session(target: FarEnd, addresses: Sequence[Address], spec: TransferSpec, access: Access) -> Session:
    """Connects to the far end and logs in; `addresses` are only used without OpenSSH's client."""
    match target, access:
        case WebTarget(), WebAccess():
            return WebSession(target, addresses, spec, access)
        case Target(), SshAccess() if spec.client is Client.OPENSSH:
            return OpenSshSession(target, spec, access)
        case Target(), SshAccess():
            return BuiltInSession(target, addresses, spec, access)
    raise TypeError(f"{target} is not reached by {access}")


def open_stream(session: Session, spec: TransferSpec, part: Part, sink: Sink) -> Stream:
    """Opens what moves a part of a file over a connection; downloads go to the sink."""
    upload = spec.direction is Direction.UPLOAD
    rate_bps = spec.rate_limit_bps / spec.streams if spec.rate_limit_bps else None
    if isinstance(session, WebSession):
        return HttpUpload(session, part, rate_bps) if upload else HttpDownload(session, part, rate_bps, sink)
    assert isinstance(session, SshSession)
    window = spec.ssh_window_bytes or _AMPLE_WINDOW_BYTES
    sftp = session.open_sftp(_UPLOAD_WINDOW_BYTES if upload else window)
    read, write = sftp.limits()
    largest = min(write if upload else read, MAX_PACKET_BYTES)
    requests = Requests(
        size_bytes=min(spec.request_bytes or largest, largest),
        ahead_bytes=_AMPLE_WINDOW_BYTES if upload else min(window, FIRST_AHEAD_BYTES),
        max_ahead_bytes=window,
        rate_bps=rate_bps,
    )
    file = _open_remote(sftp, part.path, "w" if upload else "r")
    stream: SftpStream = Upload(sftp, file, part, requests) if upload else Download(sftp, file, part, requests, sink)
    session.consume(sftp, stream.receive)
    return stream


def _open_remote(sftp: Sftp, path: str, mode: str) -> SFTPFile:
    try:
        return sftp.open(path, mode)
    except FileNotFoundError:
        raise MeasurementFailed(f"there is no {path!r} at the far end", "a relative path begins in the home") from None
    except PermissionError:
        raise MeasurementFailed(f"{path!r} at the far end: permission denied") from None
    except TRANSPORT_ERRORS as error:
        raise MeasurementFailed(f"{path!r} at the far end: {reason(error)}") from error
