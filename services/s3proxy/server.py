"""S3Proxy in a host, with signatures of version 4."""

from pathlib import Path

from flightpath.commands import require
from flightpath.hosts import Host, endpoint
from flightpath.overrides import override
from services.running.daemon import DaemonService
from services.s3proxy.files import class_path

PORT = 8480
_JAVA = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

_CONFIGURATION = """\
s3proxy.authorization=aws-v4
s3proxy.endpoint={endpoint}
s3proxy.identity={identity}
s3proxy.credential={credential}
jclouds.provider=filesystem-nio2
jclouds.filesystem.basedir={buckets}
"""

_LOGGING = """\
<configuration>
  <appender name="console" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%level %logger %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="console"/></root>
</configuration>
"""


class S3Proxy(DaemonService):
    """One S3Proxy; it is ready when it listens.

    Args:
        address: address to listen on.
        folder: folder for configuration, log and buckets; made if it does not exist.

    Attributes:
        buckets: folder of the buckets, which are folders.
    """

    daemon_name, log_name = "S3Proxy", "s3proxy.log"
    ACCESS_KEY, SECRET_KEY = "AKIDEXAMPLE", "secretEXAMPLE"

    def __init__(self, host: Host, address: str, folder: Path, *, port: int = PORT) -> None:
        super().__init__(host, folder, port=port)
        self.address, self.buckets = address, self.folder / "buckets"
        self._configuration, self._logging = self.folder / "s3proxy.conf", self.folder / "logback.xml"

    @property
    def endpoint(self) -> str:
        return f"http://{endpoint(self.address, self.port)}"

    def make_bucket(self, name: str) -> Path:
        """Makes an empty bucket; returns its folder."""
        (self.buckets / name).mkdir()
        return self.buckets / name

    @override
    def _prepare(self) -> None:
        self.buckets.mkdir(mode=0o700, parents=True, exist_ok=True)
        keys = {"identity": self.ACCESS_KEY, "credential": self.SECRET_KEY}
        text = _CONFIGURATION.format(endpoint=self.endpoint, buckets=self.buckets, **keys)
        self._write(self._configuration, text)
        self._write(self._logging, _LOGGING)

    @override
    def _argv(self) -> list[str]:
        settings = [f"-Dlogback.configurationFile={self._logging}", f"-Djava.io.tmpdir={self.folder}"]
        main = ["-cp", class_path(), "org.gaul.s3proxy.Main", "--properties", str(self._configuration)]
        return self._wrapped(require("java"), *_JAVA, *settings, *main)
