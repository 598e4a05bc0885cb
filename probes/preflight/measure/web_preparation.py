"""Preparation at a web server or storage: the size of a file, or names for what is uploaded, removed afterwards."""

import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPResponse

from flightpath.errors import FlightpathError, MeasurementFailed
from probes.preflight.measure.plan import Plan, made_bytes, plan, removed_afterwards, require_size
from probes.preflight.records import OnProgress, Status
from probes.preflight.spec import TransferSpec
from probes.preflight.ssh.remote_folder import PREFIX
from probes.preflight.url import request_path
from probes.preflight.web.answers import moved_to, refusal
from probes.preflight.web.session import WebSession

_MAX_REDIRECTS = 5
_SIZE = re.compile(r"bytes 0-0/(\d{1,18})")
_REMOVED = (200, 202, 204, 404)
_NOTE_ACKNOWLEDGED = "HTTP confirms nothing before the end: what the far end's TCP has acknowledged was counted"


@contextmanager
def prepare_requests(
    control: WebSession, spec: TransferSpec, on_progress: OnProgress, notes: list[str]
) -> Iterator[Plan]:
    """Finds the file to download, or tries whether uploads are taken and can be removed; after the block, they are."""
    if spec.remote_file is not None:
        path, size = _find(control, spec.remote_file, spec)
        yield plan(spec, [control.signed("GET", path)] * spec.streams, size)
        return
    on_progress(Status("trying an empty file"))
    folder = f"{spec.remote_folder.rstrip('/')}/" if spec.remote_folder else ""
    name = f"{folder}{PREFIX}{secrets.token_hex(8)}"
    files = [request_path(control.target, f"{name}-{number:02d}") for number in range(spec.streams)]
    _try_to_upload(control, files[0], folder or "/")
    notes.append(_NOTE_ACKNOWLEDGED)
    with removed_afterwards(lambda: _remove(control, files), notes):
        size = made_bytes(spec)
        yield plan(spec, [control.signed("PUT", file) for file in files], size)


def _find(control: WebSession, file: str, spec: TransferSpec) -> tuple[str, int]:
    """Returns a file's path, after redirects on the same server, and its size."""
    path, where = request_path(control.target, file), f"{file!r} at {control.target}"
    with ExitStack() as stack:
        session = control
        response = _first_byte(session, path)
        for _ in range(_MAX_REDIRECTS):
            if (moved := moved_to(response, control.target, path)) is None:
                break
            path, session = moved, stack.enter_context(control.reconnected())
            response = _first_byte(session, path)
        size = _size_of(response, where)
        if response.status == 200:
            session.cut()  # all of the file would come
        if size is None:
            raise refusal(response, control.target, file, has_login=control.has_login)
    require_size(where, size, spec)
    if response.status != 206 and spec.streams > 1 and not spec.whole_each:
        raise MeasurementFailed(
            f"{where} is only sent as a whole: the server knows no ranges",
            "measure with one stream, or let each fetch the whole file: --each",
        )
    return path, size


def _first_byte(session: WebSession, path: str) -> HTTPResponse:
    return session.request("GET", session.signed("GET", path), {"Range": "bytes=0-0"})


def _size_of(response: HTTPResponse, where: str) -> int | None:
    """Returns the size of the file that an answer to a request for its first byte is about; None if that is refused."""
    if response.status == 416:
        return 0
    if response.status == 206 and (match := _SIZE.fullmatch(response.getheader("Content-Range", ""))):
        return int(match[1])
    if response.status == 200 and response.length is not None:
        return response.length
    if response.status in (200, 206):
        raise MeasurementFailed(f"{where}: the server does not say how large it is", "name another file")
    return None


def _try_to_upload(control: WebSession, file: str, folder: str) -> None:
    """Uploads and removes an empty file.

    Raises:
        MeasurementFailed: one of both is refused.
    """
    response = control.request("PUT", control.signed("PUT", file), {"Content-Length": "0"})
    if response.status not in (200, 201, 204):
        raise refusal(response, control.target, folder, has_login=control.has_login)
    if left := _remove(control, [file]):
        raise MeasurementFailed(f"what is uploaded to {folder!r} could not be removed: {left.args[0]}", left.hint)


def _remove(control: WebSession, files: Sequence[str]) -> FlightpathError | None:
    """Removes files over one connection, or more if the server ends it."""
    left = list(files)
    while left:
        before = len(left)
        try:
            with control.reconnected() as session:
                while left:
                    response = session.request("DELETE", session.signed("DELETE", left[0]))
                    if response.status not in _REMOVED:
                        raise refusal(response, control.target, left[0], has_login=control.has_login)
                    response.read()
                    left.pop(0)
        except FlightpathError as error:
            if len(left) == before:
                return FlightpathError(f"{left[0]!r} is left at {control.target} ({error.args[0]})", "remove it there")
    return None
