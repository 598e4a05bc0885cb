"""Installs JMeter (`python -m probes.jmeter.install`): without it there is only Debian's, years older.

Maven lays out JMeter's folders from the jars that the JMeter project publishes (`pom.xml`). They are assembled
beside the target and renamed into place, so that an interrupted installation leaves nothing half-made.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from flightpath.commands import require, run
from flightpath.errors import FlightpathError, MissingCapability
from flightpath.project import build_folder

POM = Path(__file__).with_name("pom.xml")
HOME = build_folder() / "jmeter"
_TIMEOUT_S = 900.0
# Debian keeps the machine's certificate authorities there, added ones too; a foreign JDK looks elsewhere by default.
_SYSTEM_TRUST = Path("/etc/ssl/certs/java/cacerts")


def is_installed(home: Path = HOME) -> bool:
    """Whether `home` has all that the present `pom.xml` asks for."""
    stamp = home / "pom.sha256"
    return stamp.is_file() and stamp.read_text() == _fingerprint()


def install(home: Path = HOME) -> bool:
    """Assembles JMeter in `home`, in place of an older one; False if nothing was to do.

    Raises:
        MissingCapability: there is no Maven or no Java.
        CommandFailed: Maven failed, for example because Maven Central cannot be reached.
    """
    if is_installed(home):
        return False
    maven = _maven()
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{home.name}-", dir=home.parent) as scratch:
        made = Path(scratch) / home.name
        run([*maven, f"-Djmeter.home={made}"], timeout_s=_TIMEOUT_S, env=_environment())
        _complete(made)
        if home.exists():
            home.rename(Path(scratch) / "replaced")
        made.rename(home)
    return True


def main() -> int:
    """Installs JMeter for the project; says what it does on stderr."""
    try:
        if not is_installed():
            print("JMeter: assembling it from Maven Central (about 70 MB, half a minute) ...", file=sys.stderr)
        done = install()
    except FlightpathError as error:
        print(f"jmeter_install: {error}", file=sys.stderr)
        return error.exit_code
    print(f"JMeter: {'installed in' if done else 'already in'} {HOME}", file=sys.stderr)
    return 0


def _maven() -> list[str]:
    try:
        require("java")
        return [require("mvn"), "-B", "-q", "--strict-checksums", "-f", str(POM), "package"]
    except MissingCapability as error:
        raise MissingCapability(
            "Maven and Java assemble JMeter, and one of them is not installed",
            "apt-get install maven default-jre-headless",
        ) from error


def _environment() -> dict[str, str]:
    options = os.environ.get("MAVEN_OPTS", "")
    if not _SYSTEM_TRUST.is_file() or "trustStore" in options:
        return {}
    return {"MAVEN_OPTS": f"{options} -Djavax.net.ssl.trustStore={_SYSTEM_TRUST}".strip()}


def _complete(made: Path) -> None:
    shutil.rmtree(made / ".maven", ignore_errors=True)
    (made / "lib" / "junit").mkdir(exist_ok=True)  # JMeter complains without it
    (made / "pom.sha256").write_text(_fingerprint())


def _fingerprint() -> str:
    return hashlib.sha256(POM.read_bytes()).hexdigest() + "\n"


if __name__ == "__main__":
    sys.exit(main())
