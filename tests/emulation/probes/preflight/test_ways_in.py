"""Hosts that only OpenSSH's client reaches: behind a jump host, with a second factor, with certificates of both ends.

Three network namespaces: this end (near) has a route to the jump host only, which has one to the far end. Both run a
real sshd, and the far end wants a second factor.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flightpath.commands import run
from flightpath.processes import family
from flightpath.waiting import wait_until
from services.sshd import Sshd
from tests.support.namespace_host import NamespaceHost
from tests.support.ssh_far_end import ADDRESS, PROJECT, far_end, finish, in_this_process

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to make network namespaces")

FOLDER = Path("/run/ways")
MEMORY = FOLDER / "memory"
JUMP, INNER, FAR = "10.1.0.2", "10.2.0.1", "10.2.0.2"
"""Addresses; the inner one is the jump host's too, and only it has a route there."""


def _linked(number: int, left: NamespaceHost, right: NamespaceHost) -> None:
    cable = f"ip link add e{number} netns {left.pid} type veth peer e{number} netns {right.pid}"
    run(cable.split())
    for host, end in ((left, 1), (right, 2)):
        host.run("ip", "address", "add", f"10.{number}.0.{end}/24", "dev", f"e{number}")
        host.run("ip", "link", "set", f"e{number}", "up")


class Ways:
    """The client's configuration, and the command in the near namespace."""

    def __init__(self, near, jump, far):
        self.near, self.jump, self.far = near, jump, far
        self.second, self.configuration = FOLDER / "second", FOLDER / "config"
        run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.second)])
        keys = far.folder / "server" / "authorized_keys"
        keys.write_text(keys.read_text() + self.second.with_suffix(".pub").read_text())
        self.known = FOLDER / "known_hosts"
        self.known.write_text(jump.known_hosts.read_text() + far.known_hosts.read_text())
        self.write()

    def write(self, jump="", far="", way="ProxyJump jump"):
        """Writes the configuration, with these lines first in each block."""

        def block(name, sshd, *lines):
            text = sshd.client_configuration.read_text().replace("Host dtn", f"Host {name}")
            head, _, rest = text.replace(str(sshd.known_hosts), str(self.known)).partition("\n")
            return "\n".join([head, *lines, rest])

        second = f"    IdentityFile {self.second}"
        key = f"    HostKeyAlias {self.jump.known_hosts.read_text().split()[0]}"
        inner = block("inner", self.jump, f"    HostName {INNER}", key)
        self.configuration.write_text(block("jump", self.jump, jump) + inner + block("dtn", self.far, far, way, second))

    def start(self, *words, at=None):
        """Starts a measurement of the far end, from this end by default."""
        kept = [] if "--forget" in words else ["--results", str(MEMORY)]
        argv = [sys.executable, "-m", "probes.preflight", *words, *kept, "-F", str(self.configuration), "dtn"]
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return (at or self.near).popen(argv, **pipes, cwd=PROJECT)

    def run(self, *words, at=None):
        return finish(self.start(*words, at=at), 120)

    def left(self):
        return [path.name for path in self.far.files.iterdir()]


@contextmanager
def ways_in() -> Iterator[Ways]:
    FOLDER.mkdir(mode=0o711)
    factors = {"AuthenticationMethods": "publickey,publickey"}
    with NamespaceHost("near") as near, NamespaceHost("jump") as between, NamespaceHost("far") as behind:
        _linked(1, near, between)
        _linked(2, between, behind)
        with (
            Sshd(between, "0.0.0.0", FOLDER / "jump", reach=JUMP) as jump,
            Sshd(behind, "0.0.0.0", FOLDER / "far", reach=FAR, settings=factors) as far,
        ):
            yield Ways(near, jump, far)


def _is_measured_remembered_and_checked(ways: Ways) -> None:
    command = f"ProxyCommand ssh -F {ways.configuration} -W %h:%p jump"
    chain = "ProxyJump jump,inner"
    for way, directions in (("ProxyJump jump", ((), ("--upload",))), (command, [()]), (chain, [("--upload",)])):
        ways.write(way=way)
        for direction in directions:
            done = ways.run("--size", "5MB", "--streams", "2", "--batch", "--json", *direction)
            (iteration,) = done.found["iterations"]
            assert iteration["bytes"] == 5_000_000
            assert {each["connection"]["host_key"] for each in iteration["streams"]} != {""}
            assert all(value > 0 for value in iteration["phases"].values()), iteration["phases"]
            (by,) = [note for note in done.found["notes"] if note.startswith("reached by OpenSSH's client")]
            assert way.partition(" ssh")[0] in by and "2 MiB per round trip" in by
            assert done.found["spec"]["client"] == "openssh"
    assert "ssh(1) has it" in ways.run("--size", "1MB", "--batch").printed
    done = in_this_process(["history", "dtn", "--json", "--results", str(MEMORY)])
    assert len(json.loads(done.printed)["measurements"]) == 5
    assert ways.left() == []


def _what_is_wrong_is_said(ways: Ways) -> None:
    other = FOLDER / "other"
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(other)])
    secret = FOLDER / "secret"
    run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "words", "-f", str(secret)])

    def refused(*words, **lines):
        ways.write(**lines)
        said = ways.run("--size", "1MB", "--batch", *words).error()
        ways.write()
        return said

    def instead(sshd, key):
        before = sshd.client_configuration.read_text()
        sshd.client_configuration.write_text(before.replace(str(sshd.identity), str(key)))
        try:
            return refused()
        finally:
            sshd.client_configuration.write_text(before)

    ways.second.rename(FOLDER / "away")
    said = instead(ways.far, other)
    assert "log-in refused: tried" in said and str(other) in said and "it accepts publickey" in said
    said = instead(ways.far, secret)
    assert f"{secret} (not tried: it has a passphrase, and nobody can be asked for it)" in said
    assert "it wants a second factor (publickey), and nobody can be asked for it" in refused()
    (FOLDER / "away").rename(ways.second)
    said = instead(ways.jump, other)
    assert "is not reached by its ProxyJump jump: " in said and "Permission denied" in said and "ssh jump" in said

    known = ways.known.read_text()
    jump, far = known.splitlines(keepends=True)
    ways.known.write_text(jump)
    assert "its host key is unknown: ssh-ed25519 SHA256:" in (said := refused()) and "--accept-new-host-key" in said
    ways.known.write_text(jump + far.rpartition(" ")[0] + " " + other.with_suffix(".pub").read_text().split()[1] + "\n")
    assert "its host key has CHANGED: it shows ssh-ed25519 SHA256:" in refused("--accept-new-host-key")
    ways.known.write_text(far)
    assert "the host key of a machine on the way is unknown, or has changed" in refused()
    ways.known.write_text(jump)
    done = ways.run("--size", "1MB", "--batch", "--json", "--accept-new-host-key")
    assert any("host key was added" in note for note in done.found["notes"])
    ways.known.write_text(known)

    assert "no common encryption" in refused("--cipher", "3des-cbc")
    assert "Connection refused" in refused("--port", "9")
    assert "is not reached by its ProxyCommand" in refused(way="ProxyCommand false")
    for words in (["--mss", "1000"], ["--mptcp"], ["--ssh-window", "1MB"]):
        said = ways.run("--size", "1MB", *words).error(2)
        assert f"{words[0]}: this host is reached by OpenSSH's client only (ProxyJump jump)" in said
    assert ways.left() == []


def _a_second_factor_alone_is_given_by_openssh_too(ways: Ways) -> None:
    """From the jump host itself the far end is direct: TCP's options are known, and the window is said."""
    ways.write(way="")
    done = ways.run("--size", "5MB", "--batch", "--json", "--forget", "--no-route", at=ways.jump.host)
    (stream,) = done.found["iterations"][0]["streams"]
    assert done.said == ""
    assert stream["connection"]["remote"] == [FAR, ways.far.port] and stream["samples"]
    ways.write()


def _an_interruption_leaves_nothing(ways: Ways) -> None:
    process = ways.start("--time", "60s", "--rate", "50Mbit", "--batch", "--forget")
    wait_until(lambda: len(ways.left()) == 1, "the temporary folder", 60)
    started = family(process.pid)
    os.killpg(process.pid, signal.SIGINT)
    done = finish(process)
    assert done.code == 130 and "interrupted" in done.said, done.said
    assert ways.left() == []
    wait_until(lambda: not any(each.is_alive() for each in started), "its processes to end", 30)


@pytest.mark.in_sandbox
@pytest.mark.timeout(400)  # half a minute of processor time, which takes minutes beside busy loops and other tests
def test_a_jump_host_and_a_second_factor():
    with ways_in() as ways:
        assert ways.near.popen(["ip", "route", "get", FAR], stderr=subprocess.DEVNULL).wait() != 0
        _is_measured_remembered_and_checked(ways)
        _what_is_wrong_is_said(ways)
        _a_second_factor_alone_is_given_by_openssh_too(ways)
        _an_interruption_leaves_nothing(ways)


def test_certificates_of_a_user_and_of_a_host():
    """Nobody knows a key of the other end, only the authority that certified it."""
    with tempfile.TemporaryDirectory(prefix="preflight-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the server's user must pass
        authority, user, host = folder / "authority", folder / "user", folder / "host"
        for key, kind in ((authority, "ed25519"), (user, "ed25519"), (host, "ecdsa")):
            run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(key)])
        signing = ["ssh-keygen", "-q", "-s", str(authority), "-I", "test", "-n"]
        run([*signing, "daemon", str(user.with_suffix(".pub"))])
        run([*signing, ADDRESS, "-h", str(host.with_suffix(".pub"))])
        host.chmod(0o644)
        trusting = {"HostKey": str(host), "HostCertificate": f"{host}-cert.pub", "AuthorizedKeysFile": "none"}
        with far_end(**trusting, TrustedUserCAKeys=str(authority.with_suffix(".pub"))) as end:
            known = f"@cert-authority * {authority.with_suffix('.pub').read_text()}"
            end.sshd.known_hosts.write_text(known)
            text = end.sshd.client_configuration.read_text().replace(str(end.sshd.identity), str(user))
            for certificate in ("", f"    CertificateFile {user}-cert.pub\n"):
                end.sshd.client_configuration.write_text(text + certificate)
                found = end.measured("--size", "1MB", "--streams", "2")
                assert found["spec"]["client"] == "openssh"
                keys = {each["connection"]["host_key"] for each in found["iterations"][0]["streams"]}
                assert all(key.startswith("SHA256:") for key in keys)
            end.sshd.known_hosts.write_text(known.replace("*", "elsewhere"))
            assert "its host key is unknown" in end.refused("--size", "1MB")
            assert end.left() == []
