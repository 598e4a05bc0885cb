"""Loopback addresses to listen on: `127.0.0.1:6653`, `[::1]:6653`."""

from ipaddress import ip_address

from flightpath.errors import UsageError

DEFAULT_REST = "127.0.0.1:8653"
"""Default address of the view."""


def parse_loopback(text: str, option: str, forms: str = "127.0.0.1:6653, [::1]:6653") -> tuple[str, int]:
    """Splits a loopback address and its port; port 0 is allowed."""
    host, _, port = text.rpartition(":")
    try:
        address, number = ip_address(host.removeprefix("[").removesuffix("]")), int(port)
    except ValueError as error:
        raise UsageError(f"{option}: cannot read {text!r}", f"accepted forms: {forms}") from error
    if not address.is_loopback:
        raise UsageError(f"{option}: {address} is not a loopback address, and no password protects the network")
    if not 0 <= number <= 65535:
        raise UsageError(f"{option}: {number} is not a TCP port")
    return str(address), number


def is_local(host: str) -> bool:
    """Returns whether an HTTP request's header `Host` names this machine: `localhost` or a loopback address, with port.

    A web page whose name was made to point to this machine (DNS rebinding) sends its own name.
    """
    name = host.lower() if host.endswith("]") else host.lower().rpartition(":")[0] or host.lower()
    try:
        return name == "localhost" or ip_address(name.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
