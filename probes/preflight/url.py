"""Far ends that are named by a URL: web servers (`https://`, `http://`), and storage that speaks S3 (`s3://`)."""

from urllib.parse import SplitResult, quote, urlsplit

from flightpath.errors import UsageError
from flightpath.hosts import url_host
from probes.preflight.target import WebTarget

_PORTS = {"https": 443, "http": 80}
_FORMS = "accepted forms: https://HOST[:PORT]/FILE, http://…, s3://BUCKET/FILE"
_KEPT = "/%?&=+,;:@!$'()*~"
"""Characters of a path and its query that stay as they were typed."""

AMAZON = "amazonaws.com"


def is_url(text: str) -> bool:
    """Returns whether a far end is named by a URL; no other name contains `://`."""
    return "://" in text


def split_url(text: str) -> tuple[str, str]:
    """Returns a far end's name, and the file there: the URL's path with its query, or the key of an object.

    The file is "" if the URL names none, and ends with `/` if it is a folder.
    """
    scheme, _, rest = text.partition("://")
    if scheme.lower() == "s3":
        bucket, _, key = rest.partition("/")
        if not bucket or "@" in bucket or ":" in bucket:
            raise UsageError(f"{text!r} names no bucket", _FORMS)
        return f"s3://{bucket}", key
    parts = _split(text)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    return _name(parts), "" if path == "/" else path


def web_target(name: str) -> WebTarget:
    """Returns the server of a URL."""
    parts = _split(name)
    return WebTarget(
        name=_name(parts),
        host=parts.hostname or "",
        port=parts.port or _PORTS[parts.scheme],
        tls=parts.scheme == "https",
        root=parts.path.rstrip("/"),
    )


def storage_target(name: str, endpoint: str, region: str) -> WebTarget:
    """Returns the server of a bucket.

    Args:
        endpoint: URL of the storage, in which buckets are folders; "" for Amazon's, where each has a name of its own.
    """
    bucket = name.partition("://")[2]
    if endpoint:
        server = web_target(endpoint)
        return WebTarget(name, server.host, server.port, server.tls, f"{server.root}/{bucket}", region)
    host = f"s3.{region}.{AMAZON}"
    if "." in bucket:  # its certificate is for names of one more part only
        return WebTarget(name, host, 443, root=f"/{bucket}", region=region)
    return WebTarget(name, f"{bucket}.{host}", 443, region=region)


def request_path(target: WebTarget, file: str) -> str:
    """Returns the path of a file for a request: an object's key is quoted, a URL's path only where it must be."""
    if target.is_storage:
        return f"{target.root}/{quote(file, safe='/~')}"
    return f"{target.root}/{quoted_path(file.removeprefix('/'))}"


def quoted_path(path: str) -> str:
    """Returns a URL's path and query with what a request cannot contain as `%XX`."""
    return quote(path, safe=_KEPT)


def _split(text: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise UsageError(f"{text!r} is no URL: {error}", _FORMS) from None
    if parts.scheme not in _PORTS or not parts.hostname or port == 0:
        raise UsageError(f"{text!r} is not the URL of a far end", _FORMS)
    if parts.username is not None or parts.password is not None:
        raise UsageError(
            f"{parts.scheme}://…@{parts.hostname}: a URL with a password would be seen by other users of this machine",
            f"write it to ~/.netrc: machine {parts.hostname} login NAME password PASSWORD",
        )
    return parts


def _name(parts: SplitResult) -> str:
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{url_host(parts.hostname or '')}{port}"
