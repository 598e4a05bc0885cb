"""A clock that stands still before a time, on the wire to a guest that is made up."""

import socket
import struct
import threading

import pytest

from execution.uml.clock_controller import GuestClock, Stops

MESSAGE = struct.Struct("=IIQ")
ACK, REQUEST, WAIT, RUN, FREE_UNTIL, COPY = 0, 2, 3, 6, 7, 100


@pytest.fixture
def wire():
    """The guest's end of the conversation, its clock, and how far that may go."""
    (guest, ours), pace = socket.socketpair(), Stops()
    clock = GuestClock(pace, holds=True)

    def converse() -> None:
        try:
            clock.converse(ours)
        except OSError:
            ours.close()

    thread = threading.Thread(target=converse)
    with guest:
        guest.settimeout(10)
        thread.start()
        yield guest, clock, pace
    thread.join()


def received(guest: socket.socket) -> tuple[int, int, int]:
    return MESSAGE.unpack(guest.recv(MESSAGE.size, socket.MSG_WAITALL))


def wants(guest: socket.socket, time_ns: int) -> None:
    """Asks for a jump as the kernel does."""
    guest.send(MESSAGE.pack(REQUEST, 1, time_ns))
    assert received(guest) == (ACK, 1, 0)
    guest.send(MESSAGE.pack(WAIT, 2, 2**64 - 1))
    assert received(guest) == (ACK, 2, 0)


def test_a_guest_that_wants_to_go_further_than_it_may_waits_and_then_goes_where_it_wanted(wire):
    guest, clock, pace = wire
    pace.go_until(1000)
    wants(guest, 999)
    assert [received(guest) for _ in range(2)] == [(FREE_UNTIL, 0, 1000), (RUN, 0, 999)]
    wants(guest, 1000)
    assert pace.reached.wait(10) and clock.wanted_ns == 1000
    pace.go_until(1500)
    assert not pace.reached.is_set()
    assert [received(guest) for _ in range(2)] == [(FREE_UNTIL, 0, 1500), (RUN, 0, 1000)]


def test_a_guest_that_stands_still_is_asked_for_a_copy_and_may_say_no(wire):
    guest, clock, pace = wire
    pace.go_until(0)
    wants(guest, 7)
    answers = []
    for process in (0, 4711):
        asking = threading.Thread(target=lambda: answers.append(clock.ask_for_copy()))
        asking.start()
        operation, number, _ = received(guest)
        assert operation == COPY
        guest.send(MESSAGE.pack(ACK, number, process))
        asking.join()
    assert answers == [0, 4711]
