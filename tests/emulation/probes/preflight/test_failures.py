"""The probe against a real sshd when something goes wrong: refusals, failures at either end, and interruptions."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from flightpath import libc
from flightpath.waiting import wait_until
from probes.preflight.ssh.remote_folder import PREFIX
from tests.support import ssh_far_end
from tests.support.ssh_far_end import connections, far_end, finish, is_one_sentence, stopped, wait_for_transfer

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to look into the server's processes")


def test_refused_connection(end):
    done = end.run("-p", str(ssh_far_end.free_port()))
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert "connection refused" in done.said


def test_unknown_name(end):
    done = end.run(target="no-such-machine.invalid")
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert "no address" in done.said


def test_something_else_than_ssh_answers(end):
    with socket.create_server((ssh_far_end.ADDRESS, 0)) as server:

        def serve():
            made, _ = server.accept()
            with made:
                made.recv(100)
                made.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        done = end.run("-p", str(server.getsockname()[1]), "--connect-limit", "3s")
        thread.join()
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert "SSH" in done.said


def test_silent_far_end(end):
    with socket.create_server((ssh_far_end.ADDRESS, 0)) as server:
        done = end.run("-p", str(server.getsockname()[1]), "--connect-limit", "500ms")
    assert done.code == 1
    assert is_one_sentence(done.said)


def test_wrong_key(end, tmp_path):
    wrong = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", wrong], check=True)
    text = end.sshd.client_configuration.read_text().replace(str(end.sshd.identity), str(wrong))
    configuration = tmp_path / "config"
    configuration.write_text(text)
    done = end.run("-F", str(configuration), "--size", "1MB")
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert "log-in refused" in done.said
    assert str(wrong) in done.said


def test_key_with_a_passphrase_and_nobody_to_ask(end, tmp_path):
    locked = tmp_path / "id"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", locked], check=True)
    configuration = tmp_path / "config"
    text = end.sshd.client_configuration.read_text().replace(str(end.sshd.identity), str(locked))
    configuration.write_text(text)
    done = end.run("-F", str(configuration), "--size", "1MB")
    assert done.code == 1
    assert "passphrase" in done.said


def test_agent_is_asked(own_end, tmp_path):
    """The configuration names no key that is there: only the agent has one."""
    path = tmp_path / "agent"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    try:
        wait_until(path.exists, "the agent", 30)
        environment = {**os.environ, "SSH_AUTH_SOCK": str(path)}
        subprocess.run(["ssh-add", "-q", own_end.sshd.identity], env=environment, check=True)
        text = own_end.sshd.client_configuration.read_text()
        text = text.replace(str(own_end.sshd.identity), "/nonexistent")
        text = text.replace("IdentityAgent none", f"IdentityAgent {path}").replace(
            "IdentitiesOnly yes", "IdentitiesOnly no"
        )
        configuration = tmp_path / "config"
        configuration.write_text(text)
        done = own_end.run("-F", str(configuration), "--size", "1MB", "--streams", "2")
    finally:
        agent.terminate()
        agent.wait()
    assert done.code in (0, 4), done.said


def _without_known_hosts(end, tmp_path, known=""):
    """A configuration whose known_hosts has only what is given."""
    file, configuration = tmp_path / "known_hosts", tmp_path / "config"
    file.write_text(known)
    text = end.sshd.client_configuration.read_text().replace(str(end.sshd.known_hosts), str(file))
    configuration.write_text(text)
    return file, ["-F", str(configuration), "--size", "1MB"]


def _own_key(end):
    return end.sshd.known_hosts.read_text().split()[2]


def test_unknown_host_key_is_refused_unless_accepted(own_end, tmp_path):
    file, options = _without_known_hosts(own_end, tmp_path)
    done = own_end.run(*options)
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert "unknown" in done.said
    assert "SHA256:" in done.said
    assert file.read_text() == ""
    assert own_end.stored() == 0

    done = own_end.run(*options, "--accept-new-host-key")
    assert done.code in (0, 4), done.said
    assert any("host key was added" in note for note in done.found["notes"])
    assert _own_key(own_end) in file.read_text()
    done = own_end.run(*options)  # it is known now
    assert done.code in (0, 4), done.said


@pytest.mark.parametrize("kind", ["changed", "revoked"])
def test_changed_and_revoked_host_keys_are_always_refused(end, tmp_path, kind):
    other = tmp_path / "other"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", other], check=True)
    name = end.sshd.known_hosts.read_text().split()[0]
    key = other.with_suffix(".pub").read_text().split()[1] if kind == "changed" else _own_key(end)
    line = f"{'' if kind == 'changed' else '@revoked '}{name} ssh-ed25519 {key}\n"
    file, options = _without_known_hosts(end, tmp_path, line)
    done = end.run(*options, "--accept-new-host-key")
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert ("CHANGED" if kind == "changed" else "revoked") in done.said
    assert file.read_text() == line
    assert end.left() == []


def test_cipher_that_the_far_end_has_not():
    with far_end(Ciphers="aes256-ctr") as end:
        done = end.run("--size", "1MB")
        assert done.code == 1
        assert is_one_sentence(done.said)
        assert "--cipher" in done.said
        done = end.run("--size", "1MB", "--cipher", "aes256-ctr")
        assert done.code in (0, 4), done.said


def test_far_end_without_sftp():
    with far_end(ForceCommand="/bin/false") as end:
        done = end.run("--size", "1MB")
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert "SFTP" in done.said


def test_too_many_sessions_on_one_connection():
    with far_end(MaxSessions="2") as end:
        done = end.run("--size", "1MB", "--one-connection", "--streams", "4")
        assert done.code == 1
        assert is_one_sentence(done.said)
        assert "MaxSessions" in done.said
        assert end.left() == []


@pytest.mark.parametrize(
    ("file", "options", "word"),
    [
        ("nothing-there", [], "there is no file"),
        ("empty", [], "empty (0 bytes)"),
        ("folder", [], "no regular file"),
        ("closed", [], "permission denied"),
        ("short", ["--size", "2GB"], "1000 bytes, less than"),
    ],
)
def test_remote_files_that_cannot_be_measured_with(end, file, options, word):
    end.make("empty", 0)
    end.make("short", 1000)
    (end.files / "folder").mkdir(exist_ok=True)
    (end.files / "closed").write_bytes(b"x")
    (end.files / "closed").chmod(0)
    before = end.stored()
    done = end.run(*options, file=file)
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert word in done.said
    assert file in done.said
    assert end.stored() == before


def test_file_that_becomes_shorter_while_it_is_read(own_end):
    path = own_end.make("shrinking", 400_000_000)
    process = own_end.start("--rate", "50Mbit", "--stall", "5s", files=("shrinking",))
    wait_for_transfer(own_end, process)
    os.truncate(path, 1000)
    done = finish(process)
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert "shorter than it was" in done.said
    assert own_end.stored() == 0


@pytest.mark.parametrize("all_of_it", [False, True], ids=["sessions", "machine"])
def test_far_end_that_stalls(own_end, all_of_it):
    process = own_end.start("--rate", "50Mbit", "--time", "60s", "--stall", "1s", "--connect-limit", "3s")
    wait_for_transfer(own_end, process)
    (folder,) = own_end.left()
    with stopped(ssh_far_end.family(own_end.sshd.pid) if all_of_it else own_end.sessions()):
        done = finish(process)
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert "stalls" in done.said
    if all_of_it:  # nobody is there to remove the folder; that is said
        assert folder in done.said
    else:
        assert own_end.left() == []
    assert own_end.stored() == 0


def test_connection_that_is_cut(own_end):
    process = own_end.start("--rate", "50Mbit", "--time", "60s")
    wait_for_transfer(own_end, process)
    (serving,) = ssh_far_end.transferring(own_end)
    os.kill(serving.parent, signal.SIGKILL)  # the process that has the connection
    done = finish(process)
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert "was cut" in done.said
    assert own_end.left() == []
    assert own_end.stored() == 0


def test_connections_that_are_all_cut_are_followed_by_one_that_tidies_up(own_end):
    process = own_end.start("--rate", "50Mbit", "--time", "60s", "--upload")
    wait_for_transfer(own_end, process)
    wait_until(lambda: list(own_end.files.glob(f"{PREFIX}*/stream-*")) != [], "the upload", 30)
    for each in own_end.sessions():
        os.kill(each.pid, signal.SIGKILL)
    done = finish(process)
    assert done.code == 1
    assert own_end.left() == []


def test_stream_process_that_is_killed(own_end):
    process = own_end.start("--rate", "50Mbit", "--time", "60s")
    wait_for_transfer(own_end, process)
    workers = [each for each in ssh_far_end.family(process.pid) if _connected(each.pid, own_end.sshd.port)]
    workers = [each for each in workers if each.pid != process.pid]
    assert len(workers) == 1
    os.kill(workers[0].pid, signal.SIGKILL)
    done = finish(process)
    assert done.code == 1
    assert is_one_sentence(done.said)
    assert "SIGKILL" in done.said
    assert own_end.left() == []


def _connected(pid, port):
    """Whether a process holds a connection to a port of this machine."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    inodes = {row[9] for row in rows if row[3] == "01" and int(row[2].split(":")[1], 16) == port}
    held = set()
    for link in Path("/proc").glob(f"{pid}/fd/*"):
        with contextlib.suppress(OSError):  # closed meanwhile
            held.add(str(link.readlink()))
    return any(f"socket:[{inode}]" in held for inode in inodes)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interruption_leaves_nothing(own_end, number):
    process = own_end.start("--rate", "50Mbit", "--time", "60s", "--streams", "3")
    wait_for_transfer(own_end, process, streams=3)
    family = ssh_far_end.family(process.pid)
    os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)  # Ctrl-C goes to all
    done = finish(process)
    assert done.code == 130
    assert "interrupted" in done.said
    assert "Traceback" not in done.said
    assert own_end.left() == []
    assert own_end.stored() == 0
    wait_until(lambda: not any(each.is_alive() for each in family), "all processes to end", 30)
    wait_until(lambda: connections(own_end.sshd.port) == [], "all connections to end", 30)


def test_interruption_keeps_the_iterations_that_had_ended(own_end):
    process = own_end.start("--rate", "50Mbit", "--time", "500ms", "--iterations", "1000")
    wait_until(lambda: (own_end.memory / "flightpath.sqlite").exists(), "the memory", 30)
    wait_until(lambda: own_end.stored() == 1, "the first iteration", 30)
    process.send_signal(signal.SIGINT)
    assert finish(process).code == 130
    assert own_end.stored() == 1
    assert own_end.left() == []


def test_killed_probe_leaves_a_folder_that_the_next_removes_when_it_is_old(own_end):
    process = own_end.start("--rate", "50Mbit", "--time", "60s")
    wait_for_transfer(own_end, process)
    family = ssh_far_end.family(process.pid)
    process.kill()
    finish(process)
    wait_until(lambda: not any(each.is_alive() for each in family), "the stream processes to notice", 30)
    (stale,) = own_end.left()
    foreign = own_end.files / f"{PREFIX}{'0' * 16}"
    foreign.mkdir()
    (foreign / "precious.txt").write_text("not the probe's")
    alike = own_end.files / f"{PREFIX}mine"
    alike.mkdir()
    for path in (foreign, alike):
        own_end.sshd.give(path)
    done = own_end.run("--size", "1MB")
    assert done.code in (0, 4), done.said
    assert stale in own_end.left()  # too young: another probe may be using it
    day_before = time.time() - 25 * 3600
    for path in (own_end.files / stale, foreign, alike):
        for inner in path.iterdir():
            os.utime(inner, (day_before, day_before))
        os.utime(path, (day_before, day_before))
    done = own_end.run("--size", "1MB")
    assert done.code in (0, 4), done.said
    assert own_end.left() == sorted([foreign.name, alike.name])
    assert (foreign / "precious.txt").exists()
    assert any(stale in note for note in done.found["notes"])


def test_unwritable_remote_folder(end):
    for place in ("/proc", "/no/such/place"):
        done = end.run("--size", "1MB", "--remote-folder", place)
        assert done.code == 1
        assert is_one_sentence(done.said)
        assert place in done.said


def test_remote_folder_elsewhere(own_end):
    place = own_end.files / "else where"
    place.mkdir()
    own_end.sshd.give(place)
    done = own_end.run("--upload", "--size", "1MB", "--remote-folder", "else where")
    assert done.code in (0, 4), done.said
    assert list(place.iterdir()) == []
    done = own_end.run("--size", "1MB", "--remote-folder", str(place))
    assert done.code in (0, 4), done.said
    assert list(place.iterdir()) == []


def test_local_target_that_cannot_be_written(end, tmp_path):
    end.make("data", 100_000)
    for target in (tmp_path, tmp_path / "no" / "file"):
        done = end.run("--to", str(target), file="data")
        assert done.code == 2
        assert is_one_sentence(done.said)


def test_full_disks_at_either_end(sandboxed):
    def body():
        small = Path("/run/small")
        small.mkdir()
        libc.call("mount", b"tmpfs", str(small).encode(), b"tmpfs", 0, b"size=4m")
        small.chmod(0o777)
        with far_end() as end:
            end.make("data", 50_000_000)
            done = end.run("--upload", "--size", "50MB", "--remote-folder", str(small))
            assert done.code == 1, done
            assert is_one_sentence(done.said)
            assert "disk is full" in done.said
            assert list(small.iterdir()) == []
            done = end.run("--to", str(small / "copy"), file="data")
            assert done.code == 1, done
            assert is_one_sentence(done.said)
            assert "No space left" in done.said
            assert list(small.iterdir()) == []
            assert end.stored() == 0

    from topologies.sandbox import sandbox

    def with_network():
        sandbox.prepare_network()
        body()

    sandboxed(with_network)
