"""Parsing of the words of ssh(1), and of the window of its channels.

More of its errors, as it really says them, are in `tests/emulation/probes/preflight/test_ways_in.py`.
"""

import io
from dataclasses import asdict, replace

import pytest

from flightpath.errors import MeasurementFailed
from probes.preflight.history.past import influences
from probes.preflight.measure.measurement import _held_by_window
from probes.preflight.spec import Client, TransferSpec
from probes.preflight.ssh.host_keys import HostKeyRefused
from probes.preflight.ssh.login import LoginRefused
from probes.preflight.ssh.openssh_log import OpenSshLog
from probes.preflight.target import Target
from tests.support.preflight_made_up import iteration

TARGET = Target("dtn", "me", "192.0.2.7", proxy="ProxyJump gate")

# As OpenSSH 9.2 printed it (without what says nothing here).
HEARD = "debug1: Remote protocol version 2.0, remote software version OpenSSH_9.2p1 Debian-2+deb12u10\n"
CIPHERS = """\
debug1: kex: server->client cipher: aes128-gcm@openssh.com MAC: <implicit> compression: none
debug1: kex: client->server cipher: aes256-ctr MAC: umac-128-etm@openssh.com compression: none
"""
SHOWN = f"{HEARD}{CIPHERS}debug1: Server host key: ssh-ed25519 SHA256:h+NQQ5q\n"
KEYS = f"{SHOWN}debug1: SSH2_MSG_NEWKEYS received\ndebug1: Authentications that can continue: publickey\n"
DENIED = "me@192.0.2.7: Permission denied (publickey).\n"
REFUSED = (
    "channel 0: open failed: connect failed: Connection refused\nstdio forwarding failed\n"
    "Connection closed by UNKNOWN port 65535\n"
)
NO_TOKEN = "provider /no/such.so is not a PKCS11 library"


def log(text: str) -> OpenSshLog:
    read = OpenSshLog(io.StringIO(text), None)
    read.join()
    return read


@pytest.mark.parametrize(
    ("text", "kind", "says"),
    [
        ("", MeasurementFailed, "by its ProxyJump gate: it ended without a word"),
        (REFUSED, MeasurementFailed, "failed: Connection refused\n  check the host and the port, as seen from gate"),
        (f"{HEARD}Connection reset by peer\n", MeasurementFailed, "the key exchange failed: Connection reset"),
        (f"{SHOWN}Host key ED25519 revoked by file /r\nHost key verification failed.\n", HostKeyRefused, "revoked"),
        (f"{KEYS}{DENIED}", LoginRefused, "tried nothing (no key was found); it accepts publickey"),
        (f"pin required\n{KEYS}{DENIED}", LoginRefused, "the token (PKCS11Provider) wants its PIN, and nobody"),
        (f"{NO_TOKEN}\n{KEYS}{DENIED}", LoginRefused, f"tried nothing ({NO_TOKEN}); it accepts publickey"),
        (f"{KEYS}Connection closed by 192.0.2.7\n", MeasurementFailed, "the log-in failed: Connection closed"),
    ],
)
def test_errors_of_ssh_become_errors_of_the_probe(text, kind, says):
    error = log(text).error(TARGET, TARGET.proxy, could_ask=False)
    assert isinstance(error, kind) and says in str(error)
    assert "debug1" not in str(error)


def test_facts_in_the_words_of_ssh():
    read = log(f'{KEYS}Authenticated to dtn (via proxy) using "publickey".\n')
    assert read.is_logged_in and read.host_key == "SHA256:h+NQQ5q"
    assert read.ciphers == ("aes128-gcm@openssh.com", "aes256-ctr")
    assert read.server == "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u10"
    certified = HEARD + 'debug1: Server host certificate: ecdsa-cert-v01@openssh.com SHA256:Zz+1, serial 0 ID "test"\n'
    assert log(certified).host_key == "SHA256:Zz+1"
    assert not log(KEYS).is_logged_in and not log(KEYS).has_added_host_key
    assert not log("Warning: Permanently added 'gate' (ED25519) to the list of known hosts.\n").has_added_host_key
    assert log(f"{SHOWN}Warning: Permanently added 'dtn' (ED25519) to the list of known hosts.\n").has_added_host_key


def test_a_stream_near_the_rate_of_the_window_was_held_by_it():
    """2 MiB in 20 ms are 839 Mb/s."""
    fast, slow = iteration(1, 800e6).streams, iteration(1, 400e6).streams
    assert "2 MiB per round trip (20 ms)" in _held_by_window(fast, 0.02)
    assert _held_by_window(slow, 0.02) == "" == _held_by_window(fast, None)


def test_what_was_stored_before_there_was_a_choice_of_clients_stays_comparable():
    now = asdict(TransferSpec(streams=4))
    before = {name: value for name, value in now.items() if name != "client"}
    assert influences(before) == influences(now)
    assert influences(asdict(replace(TransferSpec(streams=4), client=Client.OPENSSH))) != influences(now)
