"""nginx in front of an application: without it 4000 keep-alive clients would sit on the application itself."""

import resource
import sys
from pathlib import Path
from typing import Self

from flightpath.commands import over_mptcp, require
from flightpath.hosts import Host, run_in, succeeds_in
from services.running import answering
from services.running.daemon import Daemon, DaemonService
from services.running.privileges import Privileges

BACKLOG = 4096
_CONNECTIONS = 10_000
_LOW_PORTS = "net.ipv4.ip_unprivileged_port_start"
_WAITING = "net.core.somaxconn"
_HINT = "its port may be taken, or its address not be this host's"

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

    # Thousands of students think between two pages; their connections stay open meanwhile.
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
            # A page goes on as it comes, 4 kB at a time. MPTCP chooses a path for each write, and for a page in one
            # write on an idle connection that is always the first path: the second would never be used.
            proxy_buffering off;
            proxy_buffer_size 4k;
            # An overloaded application answers late, not never; and a form is never sent twice on nginx's own account.
            proxy_connect_timeout 60s;
            proxy_read_timeout 60s;
            proxy_send_timeout 60s;
            proxy_next_upstream off;
        }}
    }}
}}
"""


class Nginx(DaemonService):
    """One nginx; ready means that a page comes back from the application behind it.

    Args:
        host: where it runs.
        address: the address to listen on; over MPTCP it listens on all, or further subflows would find nobody there.
        folder: for its configuration, log and temporary files; made if need be, and private to it.
        upstream_socket: the application's Unix socket.
        port: 80 is open to it without root: the host's network namespace is told so.
        mptcp: listen for MPTCP (which accepts plain TCP as well).
    """

    def __init__(
        self,
        host: Host,
        address: str,
        folder: Path,
        upstream_socket: Path,
        *,
        port: int = 80,
        mptcp: bool = False,
    ) -> None:
        self.host, self.address, self.port, self.folder = host, address, port, Path(folder)
        self._upstream_socket, self._mptcp = upstream_socket, mptcp
        self._privileges = Privileges.found()

    @property
    def url(self) -> str:
        """Where students find it, without a slash at the end."""
        return f"http://{_host_part(self.address)}" + (f":{self.port}" if self.port != 80 else "")

    def __enter__(self) -> Self:
        """Starts it.

        Raises:
            MissingCapability: nginx is not installed.
            StartFailed: it did not start or nothing answers; with the end of its log.
        """
        self._privileges.prepare_folder(self.folder)
        path = self.folder / "nginx.conf"
        path.write_text(configuration(self.folder, self._listen, self._upstream_socket))
        self._privileges.give(path)
        self._pid_file.unlink(missing_ok=True)
        _prepare_network(self.host, self.port)
        command = [require("nginx"), "-e", "stderr", "-p", str(self.folder), "-c", str(path)]
        argv = [*self._privileges.prefix(), *over_mptcp(self._mptcp), *command]
        self._daemon = Daemon(self.host, "nginx", argv, self.folder / "nginx.log", hint=_HINT)
        self._daemon.start(self._answers)
        return self

    @property
    def _pid_file(self) -> Path:
        return self.folder / "nginx.pid"

    @property
    def _listen(self) -> str:
        everywhere = "[::]" if ":" in self.address else "0.0.0.0"
        return f"{everywhere if self._mptcp else _host_part(self.address)}:{self.port}"

    def _answers(self) -> bool:
        if not self._pid_file.exists():  # nginx writes it once it has its port: until then, whoever answers is another
            return False
        argv = [sys.executable, "-I", "-S", answering.__file__, self.address, str(self.port), "/healthz", "0.5"]
        return succeeds_in(self.host, argv)


def configuration(folder: Path, listen: str, upstream_socket: Path) -> str:
    """The text of `nginx.conf`."""
    files = min(2 * _CONNECTIONS, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    return _CONFIGURATION.format(
        folder=folder,
        listen=listen,
        socket=upstream_socket,
        backlog=BACKLOG,
        files=files,
        connections=min(_CONNECTIONS, files // 2),
    )


def _prepare_network(host: Host, port: int) -> None:
    """Opens low ports to daemons without root, and lets enough connections wait, in this network namespace only."""
    sysctl = require("sysctl")
    if int(run_in(host, [sysctl, "-n", _LOW_PORTS])) > port:
        run_in(host, [sysctl, "-qw", f"{_LOW_PORTS}={port}"])
    if int(run_in(host, [sysctl, "-n", _WAITING])) < BACKLOG:
        run_in(host, [sysctl, "-qw", f"{_WAITING}={BACKLOG}"])


def _host_part(address: str) -> str:
    return f"[{address}]" if ":" in address else address
