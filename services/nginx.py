"""nginx in a host, as a reverse proxy that keeps thousands of idle client connections away from the application."""

import resource
import sys
from pathlib import Path

from flightpath.commands import require
from flightpath.hosts import Host, endpoint, run_in, succeeds_in, url_host
from flightpath.overrides import override
from services.running import http_check
from services.running.daemon import DaemonService
from services.running.privileges import Privileges

BACKLOG = 4096
_CONNECTIONS = 10_000
_LOW_PORTS = "net.ipv4.ip_unprivileged_port_start"
_ACCEPT_QUEUE = "net.core.somaxconn"

_CONFIGURATION = """\
daemon off;
master_process on;
worker_processes 1;
worker_rlimit_nofile {files};
pid {folder}/nginx.pid;
error_log stderr warn;
events {{
    worker_connections {connections};
    multi_accept on;
}}
http {{
    access_log off;
    server_tokens off;
    gzip off;
    tcp_nodelay on;
    default_type text/html;

    # Thousands of students think between two pages, and their connections stay open.
    keepalive_timeout 300s;
    keepalive_requests 1000000;
    client_max_body_size 64k;
    client_body_buffer_size 64k;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;

    upstream application {{
        server unix:{socket};
        keepalive 128;
        keepalive_requests 1000000;
    }}
    server {{
        listen {listen} backlog={backlog};
        location / {{
            proxy_pass http://application;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $http_host;
            proxy_buffering {buffering};
            proxy_buffer_size 4k;
            # An overloaded application answers late; and nginx itself must never send a form twice.
            proxy_connect_timeout 60s;
            proxy_read_timeout 60s;
            proxy_send_timeout 60s;
            proxy_next_upstream off;
        }}
    }}
}}
"""


class Nginx(DaemonService):
    """One nginx; it is ready when it returns a page of the application behind it.

    Args:
        address: address to listen on. With MPTCP it listens on all addresses, for the further subflows.
        folder: folder for its configuration, log and temporary files; made if missing, and closed to others.
        upstream_socket: the application's Unix socket.
        buffering: wait for a whole page before it is sent. Otherwise pages are forwarded directly, in writes of 4 kB.
            MPTCP chooses a path for each write: a page that is sent in one write on an idle connection takes the first
            path, and the second is never used.
        port: may be below 1024 without root: `net.ipv4.ip_unprivileged_port_start` is set in the host's namespace.
    """

    daemon_name, log_name = "nginx", "nginx.log"

    def __init__(
        self,
        host: Host,
        address: str,
        folder: Path,
        upstream_socket: Path,
        *,
        buffering: bool = False,
        port: int = 80,
        mptcp: bool = False,
    ) -> None:
        super().__init__(host, folder, port=port, mptcp=mptcp, privileges=Privileges.detect())
        self.address, self._upstream_socket, self._buffering = address, upstream_socket, buffering
        self._configuration, self._pid_file = self.folder / "nginx.conf", self.folder / "nginx.pid"

    @property
    def url(self) -> str:
        return f"http://{url_host(self.address)}" + (f":{self.port}" if self.port != 80 else "")

    @override
    def _prepare(self) -> None:
        self._privileges.prepare_folder(self.folder)
        every = "[::]" if ":" in self.address else "0.0.0.0"
        listen = endpoint(every if self._mptcp else self.address, self.port)
        text = configuration(self.folder, listen, self._upstream_socket, buffering=self._buffering)
        self._write(self._configuration, text)
        self._pid_file.unlink(missing_ok=True)
        _prepare_network(self.host, self.port)

    @override
    def _argv(self) -> list[str]:
        return self._wrapped(require("nginx"), "-e", "stderr", "-p", str(self.folder), "-c", str(self._configuration))

    @override
    def _is_ready(self) -> bool:
        if not self._pid_file.exists():  # written after nginx binds its port; until then another program may answer
            return False
        program = [sys.executable, "-I", "-S", http_check.__file__]
        return succeeds_in(self.host, [*program, self.address, str(self.port), "/healthz"])


def configuration(folder: Path, listen: str, upstream_socket: Path, *, buffering: bool) -> str:
    files = min(2 * _CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    return _CONFIGURATION.format(
        folder=folder,
        listen=listen,
        socket=upstream_socket,
        buffering="on" if buffering else "off",
        backlog=BACKLOG,
        files=files,
        connections=min(_CONNECTIONS, files // 2),
    )


def _prepare_network(host: Host, port: int) -> None:
    """Allows daemons without root to use low ports, and enlarges the accept queue, in this network namespace only."""
    sysctl = require("sysctl")
    if int(run_in(host, [sysctl, "-n", _LOW_PORTS])) > port:
        run_in(host, [sysctl, "-qw", f"{_LOW_PORTS}={port}"])
    if int(run_in(host, [sysctl, "-n", _ACCEPT_QUEUE])) < BACKLOG:
        run_in(host, [sysctl, "-qw", f"{_ACCEPT_QUEUE}={BACKLOG}"])
