"""Installation of JMeter (`python -m probes.jmeter.install`); Debian's package is years older.

Maven lays out JMeter's folders from the jars that the JMeter project publishes (`pom.xml`). This happens beside the
target, which is then replaced by renaming, so that an interrupted installation leaves nothing incomplete. Before that
every file is compared with `files.sha256`; Maven itself knows only the checksums that the server sends along.
"""

import hashlib
import os
import shutil
import sys
import tempfile
from pathlib import Path

from flightpath.command_line import exit_code_of
from flightpath.commands import require, run
from flightpath.errors import FlightpathError, MissingCapability
from flightpath.project import build_folder
from topologies.sandbox.sandbox import same_path_everywhere

POM = Path(__file__).with_name("pom.xml")
CHECKSUMS = Path(__file__).with_name("files.sha256")
"""SHA-256 of every file of the installation, as `sha256sum` prints it."""
HOME = build_folder() / "jmeter"
CLASSES = "virtual.jsa"
"""Name of the archive of parsed classes in an installation, which is made in virtual time; see `classes`."""
_TIMEOUT_S = 900.0
_MODIFIED_S = 315_532_800
"""Time of modification of all files, 1980-01-01: Java archives the jars' times along with their classes."""
_MAIN = "org.apache.jmeter.NewDriver"
_JAVAS_OWN_XSLT = "com.sun.org.apache.xalan.internal.xsltc.trax.TransformerFactoryImpl"
_JAVA = (
    *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.awt.headless=true"),
    # Without them Java copies all archived classes to another address, and asks the system before each compilation.
    *("-XX:+IgnoreUnrecognizedVMOptions", "-XX:+UnlockDiagnosticVMOptions"),
    *("-XX:ArchiveRelocationMode=0", "-XX:-UseDynamicNumberOfCompilerThreads"),
    # What a start without a window pays for and does not use: management of the log, a look for a web server, and for
    # the preferences that are written at the end a whole XSLT processor (Saxon) where Java's own does.
    *("-Dlog4j2.disableJmx=true", "-Dlog4j2.isWebapp=false"),
    f"-Djavax.xml.transform.TransformerFactory={_JAVAS_OWN_XSLT}",
)
"""Options of Java that the archive needs, and those with which it starts fast."""
# Debian keeps the machine's certificate authorities here, added ones too; other JDKs look elsewhere by default.
_SYSTEM_TRUST = Path("/etc/ssl/certs/java/cacerts")


def is_installed(home: Path = HOME) -> bool:
    """Returns whether `home` was installed by the present `pom.xml`."""
    stamp = home / "pom.sha256"
    return stamp.is_file() and stamp.read_text() == _fingerprint()


def install(home: Path = HOME, checksums: Path = CHECKSUMS) -> bool:
    """Installs JMeter in `home`, in place of an older one; returns False if it was installed already."""
    if is_installed(home):
        return False
    maven = _maven()
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{home.name}-", dir=home.parent) as scratch:
        new = Path(scratch) / home.name
        run([*maven, f"-Djmeter.home={new}"], timeout_s=_TIMEOUT_S, env=_environment())
        shutil.rmtree(new / ".maven", ignore_errors=True)
        _check(new, checksums)
        (new / "lib" / "junit").mkdir(exist_ok=True)  # JMeter complains without it
        for file in filter(Path.is_file, new.rglob("*")):
            os.utime(file, (_MODIFIED_S, _MODIFIED_S))
        (new / "pom.sha256").write_text(_fingerprint())
        if home.exists():
            home.rename(Path(scratch) / "replaced")
        new.rename(home)
    return True


def main() -> int:
    """Installs JMeter for the project and returns the exit code."""
    if not is_installed():
        print("JMeter: downloading it from Maven Central (about 70 MB, half a minute) ...", file=sys.stderr)
    return exit_code_of(
        lambda: print(f"JMeter: {'installed in' if install() else 'already in'} {HOME}", file=sys.stderr)
    )


def java_command(home: Path, *options: str) -> list[str]:
    """Returns the command that starts JMeter, to which its arguments are added.

    All jars are on the class path: from JMeter's own class loader Java archives no classes. Their paths are the same in
    each sandbox, since Java keeps them in memory.
    """
    home = same_path_everywhere(home)
    jars = [home / "bin" / "ApacheJMeter.jar", *sorted(home.glob("lib/*.jar")), *sorted(home.glob("lib/ext/*.jar"))]
    path = ":".join(map(str, jars))
    # Java checks the archive, and silently does without one of another version.
    archive = [f"-XX:SharedArchiveFile={home / CLASSES}", "-Xlog:cds=off"] if (home / CLASSES).is_file() else []
    return [require("java"), *_JAVA, *archive, f"-Djmeter.home={home}", *options, "-cp", path, _MAIN]


def _check(home: Path, checksums: Path) -> None:
    lines = checksums.read_text(encoding="utf-8").splitlines()
    listed = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    files = (path for path in home.rglob("*") if path.is_file())
    installed = {str(path.relative_to(home)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    wrong = sorted(name for name in listed.keys() | installed.keys() if listed.get(name) != installed.get(name))
    if wrong:
        raise FlightpathError(
            f"JMeter is not installed: {len(wrong)} files from Maven Central are not those of {checksums.name}, "
            f"for example {wrong[0]}",
            "remove ~/.m2/repository and try again; if that does not help, somebody may have replaced them",
        )


def _maven() -> list[str]:
    try:
        require("java")
        return [require("mvn"), "-B", "-q", "--strict-checksums", "-f", str(POM), "package"]
    except MissingCapability as error:
        raise MissingCapability(
            "Maven or Java, which install JMeter, is missing",
            "apt-get install maven default-jre-headless",
        ) from error


def _environment() -> dict[str, str]:
    options = os.environ.get("MAVEN_OPTS", "")
    if not _SYSTEM_TRUST.is_file() or "trustStore" in options:
        return {}
    return {"MAVEN_OPTS": f"{options} -Djavax.net.ssl.trustStore={_SYSTEM_TRUST}".strip()}


def _fingerprint() -> str:
    return f"{hashlib.sha256(POM.read_bytes()).hexdigest()} {_MODIFIED_S}\n"


if __name__ == "__main__":
    sys.exit(main())
