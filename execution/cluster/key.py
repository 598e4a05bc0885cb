"""The key of a cluster: whoever has the file belongs to it, and nobody else can talk to any part of it (TLS)."""

import json
import logging
import os
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from flightpath.errors import MissingCapability, UsageError

if TYPE_CHECKING:
    from distributed import Security

DEFAULT_KEY = Path("~/.config/flightpath/cluster.pem")
_LOGGERS = ("asyncio", "distributed", "distributed.client", "tornado", "tornado.application")
_ROLES = ("client", "scheduler", "worker")


def require_dask() -> None:
    """Checks for Dask distributed, which nothing else needs, and makes it say only what is critical."""
    if find_spec("distributed") is None:
        raise MissingCapability("Dask distributed is not installed", "make setup, or pip install 'flightpath[cluster]'")
    import_module("distributed")  # which sets levels of its own
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def make_key(file: Path) -> None:
    """Makes a key and its certificate (RSA, valid for a year), which only this user may read."""
    from distributed import Security

    made = Security.temporary()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{file} exists", "remove it to make a new one, which every machine needs then") from None
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror}") from error
    with os.fdopen(handle, "w") as opened:
        opened.write(made.tls_client_key + made.tls_client_cert)


def security(file: Path) -> "Security":
    """Returns Dask's settings that encrypt all connections, and refuse those without this key."""
    from distributed import Security

    file = file.expanduser()
    if not file.is_file():
        raise UsageError(f"there is no key {file}", "`flightpath cluster key` makes one: copy it to each machine")
    if file.stat().st_mode & 0o077:
        raise UsageError(f"others may read {file}, and with it take over the cluster", f"chmod 600 {file}")
    own = {f"tls_{role}_{kind}": str(file) for role in _ROLES for kind in ("key", "cert")}
    return Security(require_encryption=True, tls_ca_file=str(file), **own)


def scheduler_address(text: str) -> str:
    """Returns the address of a scheduler: as it was given, or from the file that the scheduler has written."""
    address = text
    if "://" not in text:
        try:
            address = str(json.loads(Path(text).read_text(encoding="utf-8"))["address"])
        except OSError as error:
            raise UsageError(
                f"there is no scheduler file {text}: {error.strerror}", "or write tls://HOST:PORT"
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{text} is no scheduler file") from error
    if not address.startswith("tls://"):
        raise UsageError(f"{address} is no address of a scheduler with TLS", "write tls://HOST:PORT")
    return address
