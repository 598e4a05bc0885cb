"""The log-in for a web server, from ~/.netrc (or the file that NETRC names)."""

import base64
import netrc
import os
from pathlib import Path

from flightpath.errors import UsageError


def authorization(host: str) -> str:
    """Returns the value of the header Authorization for a host (RFC 7617); "" if there is no log-in for it.

    The entry `default` is not used: it would be shown to any host that a stored measurement names.
    """
    named = os.environ.get("NETRC", "")
    path = Path(named) if named else Path.home() / ".netrc"
    if not path.exists():
        return ""
    try:
        entry = netrc.netrc(named or None).hosts.get(host)
    except (netrc.NetrcParseError, OSError, UnicodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    if entry is None:
        return ""
    name, _account, password = entry
    return f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"
