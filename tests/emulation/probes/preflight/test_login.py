"""Logging in without a key, at a real sshd with PAM: an ordinary user at this end, another at the far end."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flightpath.commands import require, run
from services.running.daemon import Daemon
from tests.support.finished import finished
from tests.support.ordinary_user import require_ordinary_user
from tests.support.ssh_far_end import ADDRESS, Done, LocalHost, on_terminal
from topologies.sandbox import sandbox

pytestmark = [
    pytest.mark.in_sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make users in a folder /etc of its own"),
]

PORT, SECRET = 2222, "correct horse"
QUESTION = f"{PORT}: "
HERE, THERE = "fp-here", "fp-there"
HOMES = Path("/run/homes")
_CONFIGURATION = """\
Port {port}
ListenAddress {address}
HostKey /run/ssh/host_key
PidFile none
UsePAM yes
AuthenticationMethods {methods}
PasswordAuthentication yes
KbdInteractiveAuthentication yes
PrintMotd no
UseDNS no
MaxStartups 100
Subsystem sftp internal-sftp
"""


@contextmanager
def far_end_with_users(methods: str) -> Iterator[None]:
    """An sshd as machines run it, as root, which lets a user in by these methods; in a sandbox."""
    sandbox.prepare_network()
    own, ssh = Path("/run/etc"), Path("/run/ssh")
    for folder in (HOMES, Path("/run/sshd"), ssh):
        folder.mkdir()
    run(["cp", "-a", "/etc", str(own)])
    run(["mount", "--bind", str(own), "/etc"])
    run(["mount", "-t", "tmpfs", "none", "/var/log"])  # where log-ins are noted
    waits = Path("/etc/pam.d/common-auth")  # two seconds after each wrong password
    waits.write_text(waits.read_text().replace("pam_unix.so", "pam_unix.so nodelay"))
    for user in (HERE, THERE):
        run(["useradd", "--create-home", "--base-dir", str(HOMES), "--shell", "/bin/sh", user])
    subprocess.run(["chpasswd"], input=f"{THERE}:{SECRET}\n", text=True, check=True)
    run([require("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(ssh / "host_key")])
    (ssh / "config").write_text(_CONFIGURATION.format(port=PORT, address=ADDRESS, methods=methods))
    argv = [require("sshd"), "-D", "-e", "-f", str(ssh / "config")]
    daemon = Daemon(LocalHost(), "sshd", argv, ssh / "log")
    scanning = ["ssh-keyscan", "-T", "2", "-p", str(PORT), ADDRESS]
    try:
        daemon.start(lambda: bool(subprocess.run(scanning, capture_output=True).stdout))
        yield
    finally:
        daemon.stop()


def preflight(*options: str) -> list[str]:
    """The command as this end's user types it."""
    as_user = ["setpriv", f"--reuid={HERE}", f"--regid={HERE}", "--init-groups", "env", f"HOME={HOMES / HERE}"]
    where = ["--accept-new-host-key", "--no-route", "-p", str(PORT), "--results", str(HOMES / HERE / "memory")]
    return [*as_user, sys.executable, "-m", "probes.preflight", *where, *options, "--", f"{THERE}@{ADDRESS}"]


@pytest.fixture(autouse=True)
def _needs_an_ordinary_user() -> None:
    require_ordinary_user()


def _nothing_is_left_and_the_secret_is_kept_nowhere() -> None:
    kept = [path.read_bytes() for path in (HOMES / HERE).rglob("*") if path.is_file()]
    assert kept and not any(SECRET.encode() in each for each in kept)
    assert [path.name for path in (HOMES / THERE).iterdir() if path.name.startswith(".flightpath")] == []


def _a_password_is_asked_for_once_and_kept_nowhere() -> None:
    only_theirs = HOMES / THERE / "data"
    only_theirs.write_bytes(os.urandom(1_000_000))
    run(["chown", f"{THERE}:{THERE}", str(only_theirs)])
    only_theirs.chmod(0o600)
    copy = HOMES / HERE / "copy"
    code, shown = on_terminal([*preflight("-P", "3", "--to", str(copy)), "data"], QUESTION, SECRET)
    assert code in (0, 4), shown
    assert shown.count("password of") == 1
    assert copy.read_bytes() == only_theirs.read_bytes()
    assert SECRET not in shown
    code, shown = on_terminal(preflight("--upload", "--size", "1MB"), QUESTION, "wrong", SECRET)
    assert code in (0, 4), shown
    _nothing_is_left_and_the_secret_is_kept_nowhere()


def _a_wrong_password_is_refused_after_three_tries(method: str) -> None:
    code, shown = on_terminal(preflight("--size", "1MB"), QUESTION, "wrong", "also wrong", "nor this")
    assert code == 1, shown
    assert shown.count("password of") == 3
    assert "error: " in shown and "log-in refused: tried a password" in shown and method in shown
    assert "Traceback" not in shown and "nor this" not in shown


def _where_nobody_can_be_asked_it_says_what_would_be_accepted(method: str) -> None:
    done = finished(preflight("--batch"), timeout=60)
    assert f"it accepts {method}" in Done(done.returncode, done.stdout, done.stderr).error()


def _ssh_asks_for_a_second_factor_once() -> None:
    """All streams share the connection that asked; the secret is kept nowhere."""
    code, shown = on_terminal(preflight("--size", "1MB", "-P", "3", "--openssh"), "assword:", SECRET)
    assert code in (0, 4), shown
    assert "all streams shared one connection, because each log-in asks a question" in shown and SECRET not in shown
    _nothing_is_left_and_the_secret_is_kept_nowhere()


def _where_nobody_can_be_asked_for_it_askpass_answers() -> None:
    done = finished(preflight("--batch"), timeout=60)
    said = Done(done.returncode, done.stdout, done.stderr).error()
    assert "it wants a second factor" in said and "nobody can be asked for it" in said and "SSH_ASKPASS" in said
    answering = HOMES / "answering"
    answering.write_text(f"#!/bin/sh\necho '{SECRET}'\n")
    answering.chmod(0o755)
    environment = {**os.environ, "SSH_ASKPASS": str(answering), "SSH_ASKPASS_REQUIRE": "force"}
    words = preflight("--batch", "--size", "1MB", "-P", "2")
    done = finished(words, timeout=60, env=environment)
    assert done.returncode in (0, 4), done.stderr
    assert "reached by OpenSSH's client, which takes each stream at most 2 MiB per round trip" in done.stdout


def _let_a_key_in() -> None:
    """The first factor: a key of this end's user."""
    for user in (HERE, THERE):
        (HOMES / user / ".ssh").mkdir(mode=0o700)
    own, theirs = HOMES / HERE / ".ssh" / "id_ed25519", HOMES / THERE / ".ssh" / "authorized_keys"
    run([require("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(own)])
    theirs.write_text(own.with_suffix(".pub").read_text())
    for user in (HERE, THERE):
        run(["chown", "-R", f"{user}:{user}", str(HOMES / user / ".ssh")])


@pytest.mark.parametrize("method", ["password", "keyboard-interactive"])
def test_a_password_is_asked_for_if_somebody_is_there_and_kept_nowhere(method):
    with far_end_with_users(method):
        _a_password_is_asked_for_once_and_kept_nowhere()
        _a_wrong_password_is_refused_after_three_tries(method)
        _where_nobody_can_be_asked_it_says_what_would_be_accepted(method)


def test_a_second_factor_is_asked_for_once_by_ssh():
    with far_end_with_users("publickey,keyboard-interactive"):
        _let_a_key_in()
        _ssh_asks_for_a_second_factor_once()
        _where_nobody_can_be_asked_for_it_askpass_answers()
