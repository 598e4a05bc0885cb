"""Location of S3Proxy: Maven copies it and its dependencies (`pom.xml`) from Maven Central, and checks them."""

import hashlib
import shutil
import sys
from pathlib import Path

from flightpath.commands import require, run
from flightpath.errors import MissingCapability
from services.running.making import make_once

_POM = Path(__file__).with_name("pom.xml")
_TIMEOUT_S = 900.0
# Debian keeps the machine's certificate authorities here, added ones too; other JDKs look elsewhere by default.
_SYSTEM_TRUST = Path("/etc/ssl/certs/java/cacerts")


def home() -> Path:
    """Returns its folder, never in the checkout; like QUIC's, it does not depend on XDG_CACHE_HOME."""
    return Path.home() / ".cache" / "flightpath" / f"s3proxy-{hashlib.sha256(_POM.read_bytes()).hexdigest()[:12]}"


def class_path() -> str:
    """Returns Java's class path; raises MissingCapability if it is not here."""
    if not home().exists():
        raise MissingCapability("S3Proxy is not here", "make s3proxy")
    return f"{home()}/*"


def fetch() -> None:
    """Fetches it, unless that was done.

    Raises:
        MissingCapability: Maven is missing.
        CommandFailed: the download failed, with Maven's last words.
    """
    make_once(home(), _copy, "s3proxy.lock")
    print(f"S3Proxy in {home()}", file=sys.stderr)


def _copy(folder: Path) -> None:
    trust = {"MAVEN_OPTS": f"-Djavax.net.ssl.trustStore={_SYSTEM_TRUST}"} if _SYSTEM_TRUST.is_file() else {}
    argv = [require("mvn"), "-B", "-q", "--strict-checksums", "-f", str(_POM), "package", f"-Ds3proxy.home={folder}"]
    run(argv, timeout_s=_TIMEOUT_S, env=trust)
    shutil.rmtree(folder / ".maven", ignore_errors=True)
