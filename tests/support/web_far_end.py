"""A real web server on loopback, and the command that measures the way to it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from probes.preflight.ssh.remote_folder import PREFIX
from services.web_files import WebFiles
from tests.support.ports import ADDRESS, free_port
from tests.support.ssh_far_end import LocalHost, ServerAndCommand, in_this_process


class WebFarEnd(ServerAndCommand):
    """A web server with its files, and the command that measures the way to it."""

    @property
    def url(self):
        return self.server.url

    def left(self):
        """Files that probes left at the far end."""
        return sorted(path.name for path in (self.files / "incoming").glob(f"{PREFIX}*"))

    def words(self, *arguments, file="", trusted=True):
        """The command's words for a file, or for a folder that ends with `/`."""
        trust = ["--ca", str(self.server.certificate)] if trusted else []
        return [*trust, "--no-route", "--json", "--results", str(self.memory), *arguments, "--", f"{self.url}/{file}"]

    def run(self, *arguments, **named):
        return in_this_process(self.words(*arguments, **named))


@contextmanager
def web_far_end() -> Iterator[WebFarEnd]:
    with tempfile.TemporaryDirectory(prefix="preflight-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the server's user must pass
        with WebFiles(LocalHost(), ADDRESS, folder / "web", port=free_port()) as server:
            yield WebFarEnd(server, folder)
