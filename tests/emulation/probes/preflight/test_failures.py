"""The probe against a real sshd when something goes wrong: refusals, failures at either end, and interruptions."""

import contextlib
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from flightpath import libc
from flightpath.commands import run
from flightpath.processes import family
from flightpath.waiting import wait_until
from probes.preflight.ssh.remote_folder import PREFIX
from tests.support import ssh_far_end
from tests.support.killed import killed_at_end
from tests.support.ssh_far_end import far_end, finish, stopped, transferring
from topologies.sandbox import sandbox

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to look into the server's processes")


@pytest.mark.parametrize(
    ("words", "named", "says"),
    [
        ([], {"target": "no-such-machine.invalid"}, "no address"),
        (["--size", "1MB", "--remote-folder", "/proc"], {}, "/proc"),
        (["--size", "1MB", "--remote-folder", "/no/such/place"], {}, "/no/such/place"),
        ([], {"file": "nothing-there"}, "there is no file"),
        ([], {"file": "empty"}, "empty (0 bytes)"),
        ([], {"file": "folder"}, "no regular file"),
        ([], {"file": "closed"}, "permission denied"),
        (["--size", "2GB"], {"file": "short"}, "1000 bytes, less than"),
    ],
)
def test_names_folders_and_files_that_cannot_be_measured_with(unchanged_end, words, named, says):
    unchanged_end.make("empty", 0)
    unchanged_end.make("short", 1000)
    (unchanged_end.files / "folder").mkdir(exist_ok=True)
    (unchanged_end.files / "closed").write_bytes(b"x")
    (unchanged_end.files / "closed").chmod(0)
    said = unchanged_end.refused(*words, **named)
    assert says in said
    assert named.get("file", "") in said


def test_nobody_answers(unchanged_end):
    with socket.socket() as nobody:
        nobody.bind((ssh_far_end.ADDRESS, 0))  # so that no other program can listen there
        assert "connection refused" in unchanged_end.refused("-p", str(nobody.getsockname()[1]))
    with socket.create_server((ssh_far_end.ADDRESS, 0)) as silent:
        unchanged_end.refused("-p", str(silent.getsockname()[1]), "--connect-limit", "500ms")


def test_something_else_than_ssh_answers(end):
    with socket.create_server((ssh_far_end.ADDRESS, 0)) as server:
        # In a process of its own, where nothing but the command says what the libraries below it complain about.
        process = end.start("-p", str(server.getsockname()[1]), "--connect-limit", "3s")
        made, _ = server.accept()
        with made:
            made.recv(100)
            made.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
        assert "SSH" in finish(process).error()


@pytest.mark.parametrize(("passphrase", "says"), [("", "log-in refused"), ("secret", "passphrase")])
def test_a_wrong_key_and_one_with_a_passphrase_and_nobody_to_ask(unchanged_end, tmp_path, passphrase, says):
    key = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", key], check=True)
    said = unchanged_end.refused(*unchanged_end.configured(tmp_path, (unchanged_end.sshd.identity, key)))
    assert says in said
    assert str(key) in said


def test_agent_is_asked(end, tmp_path, monkeypatch):
    """The configuration names no key that is there: only the agent has one."""
    path = tmp_path / "agent"
    with killed_at_end(subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)):
        monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
        add = ["ssh-add", "-q", end.sshd.identity]
        wait_until(lambda: subprocess.run(add, capture_output=True).returncode == 0, "the agent to take the key", 30)
        changes = [("IdentityAgent none", f"IdentityAgent {path}"), ("IdentitiesOnly yes", "IdentitiesOnly no")]
        end.measured(*end.configured(tmp_path, (end.sshd.identity, "/nonexistent"), *changes), "--streams", "2")


def _with_known_hosts(end, folder, known):
    """A known_hosts with this text, and the options that name it."""
    file = folder / "known_hosts"
    file.write_text(known)
    return file, end.configured(folder, (end.sshd.known_hosts, file))


def test_unknown_host_key_is_refused_unless_accepted(own_end, tmp_path):
    file, options = _with_known_hosts(own_end, tmp_path, "")
    said = own_end.refused(*options)
    assert "unknown" in said
    assert "SHA256:" in said
    assert file.read_text() == ""
    assert own_end.stored() == 0

    assert any("host key was added" in note for note in own_end.measured(*options, "--accept-new-host-key")["notes"])
    assert own_end.sshd.known_hosts.read_text().split()[2] in file.read_text()
    own_end.measured(*options)  # it is known now


@pytest.mark.parametrize("kind", ["changed", "revoked"])
def test_changed_and_revoked_host_keys_are_always_refused(unchanged_end, tmp_path, kind):
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    name, _, own = unchanged_end.sshd.known_hosts.read_text().split()
    key = other.with_suffix(".pub").read_text().split()[1] if kind == "changed" else own
    line = f"{'' if kind == 'changed' else '@revoked '}{name} ssh-ed25519 {key}\n"
    file, options = _with_known_hosts(unchanged_end, tmp_path, line)
    said = unchanged_end.refused(*options, "--accept-new-host-key")
    assert ("CHANGED" if kind == "changed" else "revoked") in said
    assert file.read_text() == line


def test_host_keys_that_the_configuration_revokes_are_refused(unchanged_end, tmp_path):
    revoked = tmp_path / "revoked"
    revoked.write_text(unchanged_end.sshd.known_hosts.read_text().partition(" ")[2])
    change = ("IdentitiesOnly yes", f"RevokedHostKeys {revoked}")
    assert "its host key was revoked" in unchanged_end.refused(*unchanged_end.configured(tmp_path, change))


def test_ciphers_sessions_and_sftp_that_the_far_end_has_not():
    with far_end(Ciphers="aes256-ctr", MaxSessions="2") as end:
        assert "--cipher" in end.refused("--size", "1MB")
        spoken = ["--size", "1MB", "--cipher", "aes256-ctr"]
        assert "MaxSessions" in end.refused(*spoken, "--one-connection", "--streams", "4")
        assert end.left() == []
        end.measured(*spoken)
    with far_end(ForceCommand="/bin/false") as end:
        assert "SFTP" in end.refused("--size", "1MB")


def _transferring(end, *options, streams=1, **named):
    """A command whose transfer has begun and takes long enough for anything to happen to it."""
    process = end.start("--rate", "50Mbit", "--time", "60s", "--streams", str(streams), *options, **named)

    def is_going():
        assert process.poll() is None, process.communicate()
        return len(transferring(end)) >= streams

    wait_until(is_going, "the transfer to begin", 30)
    return process


def test_file_that_becomes_shorter_while_it_is_read(unchanged_end):
    path = unchanged_end.make("shrinking", 400_000_000)
    process = _transferring(unchanged_end, "--stall", "5s", files=("shrinking",))
    os.truncate(path, 1000)
    assert "shorter than it was" in finish(process).error()


@pytest.mark.parametrize("all_of_it", [False, True], ids=["sessions", "machine"])
def test_far_end_that_stalls(own_end, all_of_it):
    # With the machine, the connection that would remove the folder stalls, too: that is waited for.
    limit = ["--connect-limit", "10s"] if all_of_it else []
    process = _transferring(own_end, "--stall", "1s", *limit)
    (folder,) = own_end.left()
    with stopped(family(own_end.sshd.pid) if all_of_it else own_end.sessions()):
        said = finish(process).error()
    assert "stalls" in said
    if all_of_it:  # nobody is there to remove the folder; that is said
        assert folder in said
    else:
        assert own_end.left() == []
    assert own_end.stored() == 0


def test_connection_that_is_cut(unchanged_end):
    process = _transferring(unchanged_end)
    (serving,) = transferring(unchanged_end)
    os.kill(serving.parent, signal.SIGKILL)  # the process that has the connection
    assert "was cut" in finish(process).error()


def test_connections_that_are_all_cut_are_followed_by_one_that_tidies_up(unchanged_end):
    process = _transferring(unchanged_end, "--upload")
    wait_until(lambda: list(unchanged_end.files.glob(f"{PREFIX}*/stream-*")) != [], "the upload", 30)
    for each in unchanged_end.sessions():
        with contextlib.suppress(ProcessLookupError):  # it has ended with the one before
            os.kill(each.pid, signal.SIGKILL)
    assert finish(process).code == 1


def test_stream_process_that_is_killed(unchanged_end):
    process = _transferring(unchanged_end)
    started = [each for each in family(process.pid) if each.pid != process.pid]
    (stream,) = [each for each in started if each.parent != process.pid]  # its parent is the process that starts them
    os.kill(stream.pid, signal.SIGKILL)
    assert "SIGKILL" in finish(process).error()


@pytest.mark.parametrize(("number", "direction"), [(signal.SIGINT, []), (signal.SIGHUP, ["--upload"])])
def test_interruption_leaves_nothing(unchanged_end, number, direction):
    process = _transferring(unchanged_end, *direction, streams=3)
    if direction:

        def all_grow():
            found = [path.stat().st_size for path in unchanged_end.files.glob(f"{PREFIX}*/stream-*")]
            return len(found) == 3 and min(found) > 100_000

        wait_until(all_grow, "what is uploaded to arrive", 30)
    started = family(process.pid)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)  # Ctrl-C goes to all
    done = finish(process)
    assert done.code == 130
    assert "interrupted" in done.said
    assert "Traceback" not in done.said
    wait_until(lambda: not any(each.is_alive() for each in started), "all processes to end", 30)
    established = ["ss", "-Htn", "state", "established", f"sport = :{unchanged_end.sshd.port}"]
    wait_until(lambda: run(established) == "", "all connections to end", 30)


def test_killed_probe_leaves_a_folder_that_the_next_removes_when_it_is_old(own_end):
    process = _transferring(own_end)
    started = family(process.pid)
    process.kill()
    finish(process)
    wait_until(lambda: not any(each.is_alive() for each in started), "the stream processes to notice", 30)
    (stale,) = own_end.left()
    foreign, alike = own_end.files / f"{PREFIX}{'0' * 16}", own_end.files / f"{PREFIX}mine"
    for path in (foreign, alike):
        path.mkdir()
        own_end.sshd.give(path)
    (foreign / "precious.txt").write_text("not the probe's")
    own_end.measured("--size", "1MB")
    assert stale in own_end.left()  # too young: another probe may be using it
    day_before = time.time() - 25 * 3600
    for path in (own_end.files / stale, foreign, alike):
        for each in (*path.iterdir(), path):
            os.utime(each, (day_before, day_before))
    found = own_end.measured("--size", "1MB")
    assert own_end.left() == sorted([foreign.name, alike.name])
    assert (foreign / "precious.txt").exists()
    assert any(stale in note for note in found["notes"])


def test_remote_folder_elsewhere(end):
    place = end.files / "else where"
    place.mkdir()
    end.sshd.give(place)
    for options in (["--upload", "--remote-folder", "else where"], ["--remote-folder", str(place)]):
        end.measured("--size", "1MB", *options)
        assert list(place.iterdir()) == []


def test_local_target_that_cannot_be_written(unchanged_end, tmp_path):
    unchanged_end.make("data", 100_000)
    for target in (tmp_path, tmp_path / "no" / "file"):
        unchanged_end.run("--to", str(target), file="data").error(2)


@pytest.mark.in_sandbox
def test_full_disks_at_either_end():
    sandbox.prepare_network()
    small = Path("/run/small")
    small.mkdir()
    libc.call("mount", b"tmpfs", str(small).encode(), b"tmpfs", 0, b"size=4m")
    small.chmod(0o777)
    with far_end() as end:
        end.make("data", 50_000_000)
        upload = end.start("--upload", "--size", "50MB", "--remote-folder", str(small))
        assert "disk is full" in finish(upload).error()
        assert list(small.iterdir()) == []
        download = end.start("--to", str(small / "copy"), files=("data",))
        assert "No space left" in finish(download).error()
        assert list(small.iterdir()) == []
        assert end.stored() == 0
