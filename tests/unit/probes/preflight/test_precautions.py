"""Precautions of preflight against a hostile far end, and against other users of this machine."""

import itertools
import os
import socket
import struct
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from paramiko import ECDSAKey
from paramiko.sftp import CMD_HANDLE, CMD_INIT, CMD_NAME, CMD_OPENDIR, CMD_READDIR, CMD_STATUS, CMD_VERSION

from probes.preflight.history.recording import default_folder
from probes.preflight.ssh import host_keys
from probes.preflight.ssh import sftp as sftp_module
from probes.preflight.ssh.host_keys import HostKeyRefused
from probes.preflight.ssh.sftp import MAX_ENTRIES, Sftp
from probes.preflight.target import Target
from tests.support.preflight_made_up import measurement, store_result

TARGET = Target("dtn", "me", "192.0.2.1")
KEY = ECDSAKey.generate()


@pytest.mark.parametrize("kind", ["text", "list"])
def test_a_revoked_host_key_is_refused(tmp_path, kind):
    file = tmp_path / "revoked"
    file.write_text(f"# theirs\n{KEY.get_name()} {KEY.get_base64()} me@dtn\n")
    if kind == "list":
        subprocess.run(["ssh-keygen", "-q", "-k", "-f", file.with_suffix(".krl"), file], check=True)
        file = file.with_suffix(".krl")
    with pytest.raises(HostKeyRefused, match="revoked"):
        host_keys.check(TARGET, KEY, [], [str(file)])
    assert not host_keys.check(TARGET, ECDSAKey.generate(), [], [str(file)])


def test_without_the_file_of_revoked_keys_no_key_is_accepted():
    with pytest.raises(HostKeyRefused, match="cannot check whether its host key was revoked"):
        host_keys.check(TARGET, KEY, [], ["/nowhere"])


def packet(kind: int, body: bytes) -> bytes:
    return struct.pack(">IB", len(body) + 1, kind) + body


def text(word: bytes) -> bytes:
    return struct.pack(">I", len(word)) + word


def serve(far: socket.socket, entries: int, announced: int) -> None:
    """Speaks SFTP, and answers each READDIR with so many entries, for ever."""
    stream = far.makefile("rb")
    names = itertools.count()
    while header := stream.read(5):
        length, kind = struct.unpack(">IB", header)
        number = stream.read(length - 1)[:4]
        if kind == CMD_INIT:
            far.sendall(packet(CMD_VERSION, struct.pack(">I", 3)))
        elif kind == CMD_OPENDIR:
            far.sendall(packet(CMD_HANDLE, number + text(b"h")))
        elif kind == CMD_READDIR:
            listed = b"".join(text(b"f%d" % next(names)) + text(b"") + struct.pack(">I", 0) for _ in range(entries))
            far.sendall(packet(CMD_NAME, number + struct.pack(">I", announced) + listed))
        else:
            far.sendall(packet(CMD_STATUS, number + struct.pack(">I", 0) + text(b"") + text(b"")))


class Client(Sftp):
    """One on a socket, whose log needs no name of a channel."""

    def _log(self, *_: object) -> None:
        pass


@pytest.fixture
def sftp(request: pytest.FixtureRequest) -> Iterator[Sftp]:
    near, far = socket.socketpair()
    thread = threading.Thread(target=serve, args=(far, *request.param), daemon=True)
    thread.start()
    with near, far:
        yield Client(near)
        far.shutdown(socket.SHUT_RDWR)
        thread.join(10)


@pytest.mark.parametrize("sftp", [(100, 100), (1, 2**31)], indirect=True, ids=["for ever", "announced"])
def test_a_listing_without_an_end_is_cut_off(sftp):
    assert len(sftp.first_entries(".")) <= MAX_ENTRIES


@pytest.mark.parametrize("sftp", [(0, 0)], indirect=True)
def test_empty_answers_without_an_end_are_given_up(sftp, monkeypatch):
    monkeypatch.setattr(sftp_module, "LISTING_LIMIT_S", 0.5)
    assert sftp.first_entries(".") == []


@pytest.mark.parametrize(("named", "kept"), [("/data", "/data"), ("", None), ("relative/data", None)])
def test_where_measurements_are_kept(monkeypatch, named, kept):
    monkeypatch.setenv("XDG_DATA_HOME", named)
    monkeypatch.setenv("HOME", "/home/me")
    assert default_folder() == Path(kept or "/home/me/.local/share") / "flightpath"


def test_nobody_else_can_read_what_a_user_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    folder = tmp_path / "flightpath"
    folder.mkdir(mode=0o755)  # as earlier versions made it
    store_result(measurement([9e8]), default_folder())
    assert folder.stat().st_mode & 0o077 == 0
    mask = os.umask(0o022)
    try:
        store_result(measurement([9e8]), tmp_path / "shared")
    finally:
        os.umask(mask)
    assert (tmp_path / "shared").stat().st_mode & 0o077 == 0o055, "a folder that was named is as the umask says"
