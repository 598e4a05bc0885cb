"""Keepalives between peers: sessions, replayed and forged messages, and measurements."""

import ctypes
import hashlib
import hmac

import pytest

from tests.support.relay_line import MS, SECOND
from tests.support.tunnel_ends import driver

HEARD, NEW, GREETING, MALFORMED, FORGED, REPLAYED, MISPLACED = range(7)
KEY = "a key that both ends know"
LENGTH = 152


class Peer:
    def __init__(self, seed, *, paths=2, dead_ms=500, recover=2, key=KEY):
        self.greeted, self.said = 0, []
        self.peer = driver().driver_peer(paths, dead_ms * MS, recover, key.encode(), seed)

    def say(self, now=0, path=0, sent=0, received=0, greeted=0) -> bytes:
        out = ctypes.create_string_buffer(LENGTH)
        driver().driver_say(self.peer, path, sent, received, greeted, now, out)
        self.said.append(out.raw)
        return out.raw

    def hear(self, message, now=0, path=0, sent=0, received=0) -> int:
        challenge = ctypes.c_uint64()
        numbers = (sent, received, now)
        heard = driver().driver_hear(self.peer, path, message, len(message), *numbers, ctypes.byref(challenge))
        self.greeted = challenge.value if heard == GREETING else 0
        return heard

    def path(self, path=0) -> dict[str, int]:
        values = (ctypes.c_int64 * 8)()
        driver().driver_path(self.peer, path, values)
        names = ("up", "ups", "downs", "rtt_ns", "lost_in", "lost_out", "loss_in", "loss_out")
        return dict(zip(names, values, strict=True))

    def check(self, now) -> bool:
        return driver().peer_check(self.peer, now)

    def hear_plain(self, now) -> bool:
        return driver().peer_hear_plain(self.peer, 0, now)


def acquaint(a: Peer, b: Peer, now=0, ahead=0) -> None:
    """Lets two peers accept each other by three messages. `ahead`: difference between the clocks of b and a."""
    then = now + ahead
    assert b.hear(a.say(now), then) == GREETING
    assert a.hear(b.say(then, greeted=b.greeted), now) == NEW
    assert b.hear(a.say(now), then) == NEW
    assert a.hear(b.say(then), now) == HEARD


def exchange(a: Peer, b: Peer, now, path=0) -> None:
    assert b.hear(a.say(now, path), now, path) == HEARD
    assert a.hear(b.say(now, path), now, path) == HEARD


@pytest.fixture
def pair():
    a, b = Peer(1), Peer(2)
    acquaint(a, b)
    return a, b


@pytest.fixture
def up(pair):
    """A pair whose first path is up at both ends."""
    exchange(*pair, 1)
    exchange(*pair, 2)
    return pair


@pytest.mark.parametrize("key_bytes", [4, 20, 25, 64, 65, 131])
def test_messages_are_authenticated_with_hmac_sha_256(key_bytes):
    message = Peer(1, key="k" * key_bytes).say()
    assert message[-32:] == hmac.new(b"k" * key_bytes, message[:-32], hashlib.sha256).digest()


def test_every_changed_byte_is_found_and_changes_nothing(pair):
    a, b = pair
    message = a.say(5 * MS)
    before = b.path(), b.say(0)[:16]
    for at in range(LENGTH):
        changed = message[:at] + bytes([message[at] ^ 1]) + message[at + 1 :]
        assert b.hear(changed) in (FORGED, MALFORMED)
    assert (b.path(), b.say(0)[:16]) == before
    assert b.hear(message, 5 * MS) == HEARD


def test_a_message_of_another_length_is_malformed(pair):
    a, b = pair
    for message in (b"", a.say()[:-1], a.say() + b"\0"):
        assert b.hear(message) == MALFORMED


def test_another_key_is_not_heard():
    a, b = Peer(1), Peer(2, key=KEY + "!")
    assert b.hear(a.say()) == FORGED and a.hear(b.say()) == FORGED


def test_a_replayed_message_changes_nothing(pair):
    a, b = pair
    old, new = a.say(1), a.say(2)
    assert b.hear(new, 2) == HEARD
    before = b.path()
    assert b.hear(new, 3) == REPLAYED and b.hear(old, 3) == REPLAYED
    assert b.path() == before
    b.check(2 + 500 * MS)
    assert b.path()["up"] == 0, "a replay does not keep a path up"


def test_a_message_for_another_path_or_our_own_is_not_heard(pair):
    a, b = pair
    message = a.say(1, path=1)
    assert b.hear(message, 1, path=0) == MISPLACED
    assert b.hear(message, 1, path=1) == HEARD
    assert a.hear(a.say(1)) == MISPLACED


def test_messages_of_an_earlier_session_are_never_believed_again(up):
    a, b = up
    reborn = Peer(3)  # a, started again
    acquaint(reborn, b, 10)
    before = b.path()
    assert (before["up"], before["downs"]) == (0, 1), "a path has yet to show itself in the new session"
    assert [b.hear(message, 12) for message in a.said] == [GREETING] * 4
    assert b.path() == before
    assert b.hear(reborn.say(13), 13) == HEARD
    # b starts again, too: what a ever said is of no use to an attacker.
    again = Peer(4)
    assert [again.hear(message, 12) for message in a.said] == [GREETING] * 4
    assert again.path()["up"] == 0


def test_a_silent_path_goes_down_and_comes_back_after_some_messages_in_a_row(up):
    a, b = up
    assert not b.check(2 + 500 * MS - 1) and b.path()["up"] == 1
    assert b.check(2 + 500 * MS) and b.path()["up"] == 0
    assert not b.check(3 + 500 * MS), "told once"
    assert b.hear(a.say(SECOND), SECOND) == HEARD
    assert b.path()["up"] == 0
    assert b.hear(a.say(SECOND + 1), SECOND + 1) == HEARD
    assert b.path()["up"] == 0, "a does not hear b"
    assert a.hear(b.say(SECOND + 2), SECOND + 2) == HEARD
    assert b.hear(a.say(SECOND + 3), SECOND + 3) == HEARD
    assert b.path()["up"] == 1 and b.path()["ups"] == 2


def test_a_path_that_works_in_one_direction_only_is_down_at_both_ends(up):
    a, b = up
    for step in range(1, 12):  # nothing of a's comes through any more
        now = step * 100 * MS
        a.say(now)
        b.check(now)
        assert a.hear(b.say(now), now) == HEARD
    assert a.path()["up"] == 0 and b.path()["up"] == 0


def test_round_trips_are_measured_without_the_time_that_the_peer_took(pair):
    a, b = pair
    for step in range(1, 40):
        start = step * 100 * MS
        assert b.hear(a.say(start), start + 7 * MS) == HEARD
        answered = start + 60 * MS
        assert a.hear(b.say(answered), answered + 5 * MS) == HEARD
    assert a.path()["rtt_ns"] == pytest.approx(12 * MS, rel=0.01)


def test_how_much_earlier_a_path_is_needs_no_common_clock_and_no_queue_changes_it():
    a, b = Peer(1), Peer(2)
    ahead = 12345 * SECOND
    acquaint(a, b, 0, ahead)
    for step in range(1, 40):
        now = step * 200 * MS
        queued = 30 * MS if step % 3 == 0 else 0
        for path, delay in ((0, 5 * MS), (1, 50 * MS + queued)):
            assert b.hear(a.say(now, path), now + delay + ahead, path) == HEARD
            a.hear(b.say(now + delay + ahead, path), now + 2 * delay, path)
    assert b.path(0)["up"] and b.path(1)["up"]
    leads = [driver().driver_lead(b.peer, *paths) for paths in ((1, 0), (0, 1))]
    assert leads == [0, 50 * MS], "acquaint() took no time"


def test_losses_are_counted_by_what_was_sent_before_a_message_and_had_not_come(pair):
    a, b = pair
    b.hear(a.say(1, sent=0), 1)
    for step in range(1, 41):  # 100 packets each time, of which 90 arrive
        now = step * 100 * MS
        assert b.hear(a.say(now, sent=100 * step), now, received=90 * step) == HEARD
        assert a.hear(b.say(now, received=90 * step), now, sent=100 * step) == HEARD
    assert b.path()["lost_in"] == 400 and a.path()["lost_out"] == 400
    assert b.path()["loss_in"] == pytest.approx(100_000, rel=0.02)
    assert a.path()["loss_out"] == pytest.approx(100_000, rel=0.02)
    assert a.path()["lost_in"] == 0


INSIDE = bytes(range(16)), bytes(range(100, 116))  # the addresses of the sender and of the receiver


@pytest.mark.parametrize(("version", "protocol"), [(4, b"\x08\x00"), (6, b"\x86\xdd")])
def test_a_plain_keepalive_is_answered_by_one_of_ours(version, protocol):
    out = ctypes.create_string_buffer(44)
    head = bytes([0xA1, 0, 0, 0, 0, version, 0, 0])
    assert driver().plain_answer(head + INSIDE[0] + INSIDE[1], 40, out)
    assert out.raw == b"\0\0" + protocol + head + INSIDE[1] + INSIDE[0]


@pytest.mark.parametrize("message", [bytes(40), b"\xa1", b"\xa1" + bytes(38), b"\xa2" + bytes(39), b"\xf0" * 40])
def test_what_is_no_plain_keepalive_is_not_answered(message):
    assert not driver().plain_answer(message, len(message), ctypes.create_string_buffer(44))


def test_a_path_with_plain_keepalives_is_up_at_the_first_and_after_a_silence_when_some_have_come():
    peer = Peer(1, dead_ms=2000, recover=3)
    assert peer.hear_plain(now=0) and peer.path()["up"] == 1
    assert not peer.hear_plain(now=SECOND) and not peer.check(3 * SECOND - 1)
    assert peer.check(3 * SECOND) and peer.path()["up"] == 0
    assert not peer.hear_plain(now=10 * SECOND) and not peer.hear_plain(now=11 * SECOND)
    assert peer.hear_plain(now=12 * SECOND) and peer.path()["ups"] == 2
    assert peer.path(1)["up"] == 0, "nothing has come there"
