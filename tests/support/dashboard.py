"""The dashboard of a store, as a server of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from flightpath.project import PROJECT
from results.store.location import StoreLocation
from tests.support.database_server import store_options
from tests.support.killed import killed_at_end


@contextmanager
def dashboard(location: StoreLocation) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serves the pages of a store: gives the process, and its host and port."""
    command = [sys.executable, "-m", "results", "serve", "--port", "0", *store_options(location)]
    with killed_at_end(subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)) as process:
        yield process, urlsplit(process.stdout.readline().strip()).netloc
