"""nginx in a host, as a data portal: files over HTTPS, with ranges, uploads (WebDAV's PUT and DELETE) and log-ins."""

import sys
from pathlib import Path

from flightpath.commands import require
from flightpath.hosts import Host, endpoint, succeeds_in
from flightpath.overrides import override
from services.running.certificates import write_certificate
from services.running.daemon import DaemonService
from services.running.privileges import Privileges

PORT = 8443

_CONFIGURATION = """\
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr warn;
events {{
    worker_connections 1000;
}}
http {{
    access_log off;
    default_type application/octet-stream;
    sendfile on;
    client_max_body_size 10g;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen {listen} ssl;
        ssl_protocols TLSv1.2 TLSv1.3;
        ssl_certificate {folder}/certificate.pem;
        ssl_certificate_key {folder}/key.pem;
        root {folder}/files;
        location / {{
        }}
        location /incoming/ {{
            dav_methods PUT DELETE;
        }}
        location /kept/ {{
            dav_methods PUT;
        }}
        location /small/ {{
            dav_methods PUT DELETE;
            client_max_body_size 1k;
        }}
        location /private/ {{
            auth_basic "data";
            auth_basic_user_file {folder}/passwords;
        }}
        location /closed/ {{
            deny all;
        }}
        location /whole/ {{
            max_ranges 0;
        }}
        location /here/ {{
            rewrite ^/here/(.*)$ /$1 redirect;
        }}
        location /elsewhere/ {{
            return 302 https://mirror.example/data;
        }}
    }}
}}
"""


class WebFiles(DaemonService):
    """One nginx that serves a folder; it is ready when it listens.

    `/incoming/` takes uploads, `/kept/` removes none of them and `/small/` takes only small ones; `/private/` wants the
    log-in `USER` with `PASSWORD`; `/whole/` knows no ranges; `/here/` leads to the same files, `/elsewhere/` to another
    server.

    Args:
        address: address to listen on, and the name in the certificate.
        folder: folder for key, configuration, log and served files; made if it does not exist.

    Attributes:
        files: folder that is served.
        certificate: the server's, which it has signed itself.
    """

    daemon_name, log_name = "nginx", "nginx.log"
    USER, PASSWORD = "me", "secret"

    def __init__(self, host: Host, address: str, folder: Path, *, port: int = PORT) -> None:
        super().__init__(host, folder, port=port, privileges=Privileges.detect())
        self.address = address
        self.files, self.certificate = self.folder / "files", self.folder / "certificate.pem"
        self._configuration = self.folder / "nginx.conf"

    @property
    def url(self) -> str:
        return f"https://{endpoint(self.address, self.port)}"

    def give(self, path: Path) -> Path:
        """Makes the server's user the owner of a file in `files`; returns it."""
        self._privileges.give(path)
        return path

    @override
    def _prepare(self) -> None:
        self._privileges.prepare_folder(self.folder)
        for name in ("", "incoming", "kept", "small", "private", "closed", "whole"):
            self._privileges.prepare_folder(self.files / name)
        key = self.folder / "key.pem"
        write_certificate(self.certificate, key, self.address)
        self.give(key)
        self.give(self.certificate)
        self._write(self.folder / "passwords", f"{self.USER}:{{PLAIN}}{self.PASSWORD}\n")
        listen = endpoint(self.address, self.port)
        self._write(self._configuration, _CONFIGURATION.format(folder=self.folder, listen=listen))

    @override
    def _argv(self) -> list[str]:
        return self._wrapped(require("nginx"), "-e", "stderr", "-p", str(self.folder), "-c", str(self._configuration))

    @override
    def _is_ready(self) -> bool:
        connect = "import socket, sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 2)"
        return succeeds_in(self.host, [sys.executable, "-I", "-S", "-c", connect, self.address, str(self.port)])
