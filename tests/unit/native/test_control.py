"""Where programs listen for requests: sockets that were left behind, and those that are in use."""

import ctypes
import os
import socket
import time

import pytest

from tests.support.c_builds import NATIVE, library


def listen(path) -> tuple[int, str]:
    """The descriptor, and the error if it is -1."""
    c = library("control", *(NATIVE / "common" / f"{name}.c" for name in ("control", "text")))
    error = ctypes.create_string_buffer(512)
    fd = c.control_listen(os.fsencode(path), error, len(error))
    return fd, error.value.decode()


def answers(path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        return client.connect_ex(str(path)) == 0


def leave_behind(path) -> None:
    """A socket as a killed program leaves it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as killed:
        killed.bind(str(path))
        killed.listen()


def test_a_socket_of_a_killed_program_is_replaced(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "control", "in the working folder"):
        leave_behind(path)
        fd, error = listen(path)
        assert (fd >= 0, error) == (True, "")
        assert answers(path)
        os.close(fd)


def test_a_socket_on_which_another_program_listens_is_left_alone(tmp_path):
    first, _ = listen(tmp_path / "control")
    second, error = listen(tmp_path / "control")
    assert second == -1 and "Address already in use; another program listens there" in error
    assert answers(tmp_path / "control")
    os.close(first)


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_socket_of_another_kind_is_left_alone(tmp_path, kind):
    with socket.socket(socket.AF_UNIX, kind) as other:
        other.bind(str(tmp_path / "control"))
        if kind == socket.SOCK_STREAM:
            other.listen()
        inode = (tmp_path / "control").stat().st_ino
        assert listen(tmp_path / "control")[0] == -1
    assert (tmp_path / "control").stat().st_ino == inode


@pytest.mark.parametrize("make", [lambda path: path.write_text("notes"), lambda path: path.mkdir()])
def test_what_is_no_socket_is_left_alone(tmp_path, make):
    make(tmp_path / "control")
    fd, error = listen(tmp_path / "control")
    assert fd == -1 and "Address already in use" in error
    assert (tmp_path / "control").exists()


def test_a_link_to_another_file_is_left_alone(tmp_path):
    leave_behind(tmp_path / "elsewhere")
    (tmp_path / "control").symlink_to(tmp_path / "elsewhere")
    assert listen(tmp_path / "control")[0] == -1
    assert (tmp_path / "control").is_symlink() and (tmp_path / "elsewhere").exists()


def listen_in_a_process(path, begin: float, told: int, release: int) -> int:
    child = os.fork()
    if child == 0:
        time.sleep(max(0, begin - time.monotonic()))
        fd, _ = listen(path)
        os.write(told, bytes([fd >= 0]))
        os.read(release, 1)  # until all have tried
        os._exit(0)
    return child


def test_of_programs_that_start_at_once_one_gets_the_place(tmp_path):
    for number in range(3):
        path = tmp_path / f"control{number}"
        leave_behind(path)
        begin = time.monotonic() + 0.1
        (tell, told), (release, released) = os.pipe(), os.pipe()
        children = [listen_in_a_process(path, begin, told, release) for _ in range(6)]
        assert sum(os.read(tell, 1)[0] for _ in children) == 1
        os.write(released, bytes(6))
        for child in children:
            os.waitpid(child, 0)
        for end in (tell, told, release, released):
            os.close(end)
