"""The probe and the installer without JMeter: what they refuse, what they start, what they count."""

import hashlib
import os
import re
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from flightpath.errors import FlightpathError, MeasurementFailed, UsageError
from flightpath.project import PROJECT
from probes.jmeter import install as jmeter_install
from probes.jmeter.engines import Engine, Generator, engines_ready, shares
from probes.jmeter.probe import _PROPERTIES, JMeterLoad, require_jmeter
from probes.jmeter.progress import ResultFile
from tests.support.ssh_far_end import LocalHost

PLAN = PROJECT / "scenarios" / "web_load" / "load.jmx"
VERBATIM = PROJECT / "tests" / "data" / "jmeter_errors.jtl"


def load(tmp_path: Path, **changes) -> JMeterLoad:
    accounts = tmp_path / "students.csv"
    accounts.write_text("".join(f"s{n},c{n}\n" for n in range(10)))
    return JMeterLoad(plan=tmp_path / "plan.jmx", students_csv=accounts, **{"threads": 10, "ramp_s": 13.6, **changes})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"threads": 0}, "threads"),
        ({"ramp_s": -1.0}, "ramp"),
        ({"pace_s": 0.0005}, "pace"),
        ({"connect_timeout_s": 0.0}, "connect_timeout"),
        ({"response_timeout_s": 1.00049}, "response_timeout"),
    ],
)
def test_settings_that_make_no_sense_are_refused(tmp_path, change, says):
    with pytest.raises(UsageError, match=says):
        load(tmp_path, **change)


@pytest.mark.parametrize(("ramp_s", "text"), [(100.0, "100"), (0.0, "0"), (10.4, "10.4")])
def test_settings_reach_jmeter_in_its_own_units_without_exponents_or_rests(tmp_path, ramp_s, text):
    configured = load(tmp_path, pace_s=0.025, ramp_s=ramp_s, properties={"extra": "yes"})
    argv = configured.command("10.0.0.2", tmp_path, tmp_path, students_header=False)
    given = dict(word[2:].split("=", 1) for word in argv if word.startswith("-J"))
    expected = {"host": "10.0.0.2", "port": "80", "threads": "10", "ramp": text, "pace_ms": "25", "extra": "yes"}
    expected |= {"students_header": "false", "connect_timeout_ms": "5000", "response_timeout_ms": "20000"}
    assert given.items() >= (expected | _PROPERTIES).items()


def test_more_threads_than_students_are_refused_before_anything_starts(tmp_path):
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "ApacheJMeter.jar").touch()
    with pytest.raises(UsageError, match="10 students for 11 threads"):
        load(tmp_path, threads=11, home=home).run(None, "10.0.0.2", folder=tmp_path / "run")


def test_progress_is_counted_while_the_file_grows_byte_by_byte(tmp_path):
    path, text = tmp_path / "growing.jtl", VERBATIM.read_bytes()
    results = ResultFile(path, 1000.0)
    assert (results.count(), results.first_at_s) == ((0, 0), None), "there is no file yet"
    with path.open("wb", buffering=0) as file:
        for begin in range(0, len(text), 97):
            file.write(text[begin : begin + 97])
            requests, errors = results.count()
            assert errors <= requests <= 40
        assert results.count() == (40, 12)
        assert results.first_at_s == int(text.splitlines()[1].split(b",")[0]) / 1000 - 1000


@pytest.fixture
def maven(tmp_path, monkeypatch):
    """A Maven that does as it is told by the test, and notes each call."""
    bin_folder = tmp_path / "bin"
    bin_folder.mkdir()
    calls = tmp_path / "calls"

    def make(body: str):
        for name, script in (("mvn", body), ("java", "")):
            (bin_folder / name).write_text(f'#!/bin/sh\necho "$@" >> {calls}\n{script}\n')
            (bin_folder / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{bin_folder}{os.pathsep}{os.environ['PATH']}")
        return calls

    return make


LAYOUT = """
for word in "$@"; do case $word in -Djmeter.home=*) home=${word#*=};; esac; done
mkdir -p "$home/bin" "$home/lib/ext" "$home/.maven" && touch "$home/bin/ApacheJMeter.jar"
"""


@pytest.fixture
def checksums(tmp_path):
    """Checksums of the files in LAYOUT."""
    path = tmp_path / "files.sha256"
    path.write_text(f"{hashlib.sha256(b'').hexdigest()}  bin/ApacheJMeter.jar\n")
    return path


def test_an_installation_is_made_once(tmp_path, maven, checksums):
    calls, home = maven(LAYOUT), tmp_path / "build" / "jmeter"
    assert jmeter_install.install(home, checksums) and not jmeter_install.install(home, checksums)
    assert calls.read_text().count("\n") == 1
    assert require_jmeter(home) == home
    assert (home / "lib" / "junit").is_dir() and not (home / ".maven").exists()
    assert (home / "bin" / "ApacheJMeter.jar").stat().st_mtime == 315_532_800, "the same on each machine"
    assert [path.name for path in home.parent.iterdir()] == ["jmeter"]


OTHER_FILES = r"1 files .* for example {}"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("echo no route to Maven Central >&2; exit 1", "no route to Maven Central"),
        ('echo changed > "$home/bin/ApacheJMeter.jar"', OTHER_FILES.format("bin/ApacheJMeter.jar")),
        ('touch "$home/lib/ext/more.jar"', OTHER_FILES.format("lib/ext/more.jar")),
        ('rm "$home/bin/ApacheJMeter.jar"', OTHER_FILES.format("bin/ApacheJMeter.jar")),
    ],
)
def test_a_failed_installation_and_files_that_were_not_tested_leave_nothing(tmp_path, maven, checksums, change, said):
    maven(LAYOUT + change)
    home = tmp_path / "build" / "jmeter"
    with pytest.raises(FlightpathError, match=said):
        jmeter_install.install(home, checksums)
    assert list(home.parent.iterdir()) == [] and not jmeter_install.is_installed(home)


def test_an_outdated_installation_stays_until_there_is_another(tmp_path, maven, checksums):
    home = tmp_path / "build" / "jmeter"
    home.mkdir(parents=True)
    (home / "pom.sha256").write_text("of another version\n")
    maven("exit 1")
    with pytest.raises(FlightpathError, match="exit code 1"):
        jmeter_install.install(home, checksums)
    assert [path.name for path in home.iterdir()] == ["pom.sha256"] and not jmeter_install.is_installed(home)
    maven(LAYOUT)
    assert jmeter_install.install(home, checksums) and jmeter_install.is_installed(home)


def test_maven_trusts_whom_the_machine_trusts(monkeypatch, tmp_path):
    trust = tmp_path / "cacerts"
    trust.touch()
    monkeypatch.setattr(jmeter_install, "_SYSTEM_TRUST", trust)
    monkeypatch.setenv("MAVEN_OPTS", "-Xmx1g")
    assert jmeter_install._environment() == {"MAVEN_OPTS": f"-Xmx1g -Djavax.net.ssl.trustStore={trust}"}
    monkeypatch.setenv("MAVEN_OPTS", "-Djavax.net.ssl.trustStore=/own")
    assert jmeter_install._environment() == {}


def test_nothing_costly_is_in_the_plan():
    forbidden = ("JSR223", "BeanShell", "Listener", "ResultCollector", "Summariser", "RegexExtractor")
    assert not [element.tag for element in ElementTree.parse(PLAN).iter() if element.tag.startswith(forbidden)]
    assert not re.search(r"__groovy|__BeanShell|__javaScript", PLAN.read_text())


@pytest.mark.parametrize(("students", "engines"), [(12, 1), (12, 3), (13, 4), (4, 4)])
def test_students_arrive_as_they_would_from_one_engine(students, engines):
    names, ramp_s = [f"s{n},c{n}" for n in range(students)], 6.5
    dealt = shares(names, ramp_s, engines)
    arrivals = {
        student: share.after_s + share.ramp_s * number / len(share.students)
        for share in dealt
        for number, student in enumerate(share.students)
    }
    assert arrivals == pytest.approx({name: ramp_s * number / students for number, name in enumerate(names)})


def engine(folder: Path, script: str) -> Engine:
    return Engine(Generator(LocalHost(), "10.0.3.4"), ["sh", "-c", script, "jmeter"], {"threads": "5"}, folder)


def test_engines_are_used_when_they_say_so_and_end_with_the_load(tmp_path):
    with engines_ready([engine(tmp_path, 'echo "$@"; sleep 0.3; echo Created remote object: x; sleep 60')]) as ready:
        (only,) = ready
        said = (tmp_path / "engine.out").read_text()
        assert "-s" in said and "-Jthreads=5" in said and "-Jserver_port=1099" in said
        process = only._process
        assert process.poll() is None
    assert process.poll() is not None


def test_an_engine_that_dies_is_named_with_its_last_words(tmp_path):
    begun, starting = time.monotonic(), [engine(tmp_path, "echo Cannot start; exit 3")]
    with pytest.raises(MeasurementFailed, match="local ended with exit code 3: Cannot start"), engines_ready(starting):
        pass
    assert time.monotonic() - begun < 10
