"""Paths of control sockets: those that were left behind, and those that are in use."""

import ctypes
import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

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


def test_what_is_no_socket_of_a_killed_program_is_left_alone(tmp_path):
    leave_behind(tmp_path / "elsewhere")
    (tmp_path / "link").symlink_to("elsewhere")
    (tmp_path / "file").touch()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(tmp_path / "datagrams"))
        before = {path: path.lstat().st_ino for path in tmp_path.iterdir()}
        for name in ("link", "file", "datagrams"):
            fd, error = listen(tmp_path / name)
            assert fd == -1 and "Address already in use" in error
    assert {path: path.lstat().st_ino for path in tmp_path.iterdir()} == before


def test_of_several_that_listen_at_once_one_gets_the_place(tmp_path):
    begin = threading.Barrier(3)

    def listen_at_once(path) -> int:
        begin.wait()
        return listen(path)[0]

    with ThreadPoolExecutor(begin.parties) as pool:
        for number in range(100):  # without a lock two of them would get the place in one case of fifty
            path = tmp_path / str(number)
            leave_behind(path)
            descriptors = sorted(pool.map(listen_at_once, [path] * begin.parties))
            assert descriptors[:-1] == [-1, -1] and answers(path)
            os.close(descriptors[-1])
