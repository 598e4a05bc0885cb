"""A log-in while somebody sets the time of day."""

import itertools
import socket
import threading
import time

import paramiko
import pytest

from probes.preflight.ssh import session


class Server(paramiko.ServerInterface):
    """Answers the first question after 0.3 s, and the next when the client has given up."""

    def __init__(self):
        self.has_answered, self.is_over = False, threading.Event()

    def check_auth_password(self, username, password):
        self.is_over.wait(30 if self.has_answered else 0.3)
        self.has_answered = True
        return paramiko.AUTH_SUCCESSFUL


@pytest.mark.parametrize("step_s", [3600, -3600])
def test_a_time_of_day_that_is_set_neither_ends_nor_prolongs_a_log_in(monkeypatch, step_s):
    assert session.Session  # this module gives paramiko its clock
    ours, theirs = socket.socketpair()
    server, client = paramiko.Transport(theirs), paramiko.Transport(ours)
    server.add_server_key(paramiko.ECDSAKey.generate())
    asked = Server()
    times = itertools.count(time.time(), step_s)
    monkeypatch.setattr(time, "time", lambda: next(times))
    try:
        server.start_server(threading.Event(), asked)
        client.start_client(timeout=30)
        client.auth_timeout = 30
        client.auth_password("student", "code")
        assert client.is_authenticated()
        client.auth_timeout = 0.1
        with pytest.raises(paramiko.AuthenticationException):
            client.auth_password("student", "code")
    finally:
        asked.is_over.set()
        client.close()
        server.close()
