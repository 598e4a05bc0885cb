"""Explanations of a web server's or a storage's refusals."""

import contextlib
import re
from http import HTTPStatus
from http.client import HTTPResponse
from urllib.parse import urljoin, urlsplit

from flightpath.errors import MeasurementFailed
from probes.preflight.target import WebTarget
from probes.preflight.url import quoted_path
from probes.preflight.web.session import WEB_ERRORS

_MAX_CONTENT = 4096
_CODE = re.compile(rb"<Code>([A-Za-z]{1,64})</Code>")
_REDIRECTS = (301, 302, 303, 307, 308)
_NO_UPLOADS = (HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)


def refusal(response: HTTPResponse, target: WebTarget, file: str, *, has_login: bool) -> MeasurementFailed:
    """Returns the error for an answer that is not what a request wants.

    Args:
        file: as the user names it.
        has_login: whether the request showed who made it.
    """
    status = response.status
    answer = f"{target} answered {status} {response.reason}{_code(response)}"
    match status:
        case HTTPStatus.NOT_FOUND:
            return MeasurementFailed(f"there is no {file!r}: {answer}")
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            return MeasurementFailed(f"{file!r} is refused: {answer}", _login_hint(target, has_login=has_login))
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return MeasurementFailed(f"it takes no files of this size: {answer}", "choose a smaller --size")
        case _ if status in _NO_UPLOADS:
            return MeasurementFailed(f"it takes no uploads to {file!r}: {answer}", "name a folder that takes them")
        case _ if status in _REDIRECTS:
            where = response.getheader("Location", "")
            hint = f"measure the path to that server: {where}" if where else "it may be of another region: AWS_REGION"
            return MeasurementFailed(f"{file!r} is at another server: {answer}", hint)
    return MeasurementFailed(f"{file!r} cannot be transferred: {answer}")


def moved_to(response: HTTPResponse, target: WebTarget, path: str) -> str | None:
    """Returns the path to which a server redirects a request; None if it does not, or only to another server."""
    where = response.getheader("Location")
    if response.status not in _REDIRECTS or not where:
        return None
    here = f"{'https' if target.tls else 'http'}://{target.authority}"
    there = urlsplit(urljoin(here + path, where))
    if f"{there.scheme}://{there.netloc}".lower() != here.lower():
        return None
    return quoted_path(there.path + (f"?{there.query}" if there.query else ""))


def _code(response: HTTPResponse) -> str:
    """Returns the word with which storage says what is wrong."""
    with contextlib.suppress(*WEB_ERRORS):
        if match := _CODE.search(response.read(_MAX_CONTENT)):
            return f" ({match[1].decode()})"
    return ""


def _login_hint(target: WebTarget, *, has_login: bool) -> str:
    if target.is_storage:
        return "the credentials are those of AWS_ACCESS_KEY_ID or ~/.aws/credentials, AWS_PROFILE chooses among them"
    if has_login:
        return f"~/.netrc has a log-in for {target.host}; is it the right one, and may it do this?"
    if not target.tls:
        return "a log-in is shown to https:// only"
    return f"write a log-in to ~/.netrc: machine {target.host} login NAME password PASSWORD"
