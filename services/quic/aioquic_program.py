"""Bulk transfers over QUIC with aioquic: a server, and a client; `Implementation` has the words and the report.

A stream begins with a letter and a number: `d` asks for so many bytes, `u` announces some, `r` asks for the server's
report.
"""

import asyncio
import json
import struct
import sys
import time
from collections import Counter
from typing import Any

from aioquic.asyncio import QuicConnectionProtocol, connect, serve
from aioquic.quic.configuration import QuicConfiguration
from aioquic.quic.connection import QuicConnection
from aioquic.quic.events import ConnectionTerminated, QuicEvent, StreamDataReceived
from aioquic.quic.logger import QuicLogger, QuicLoggerTrace

_WINDOW_BYTES = 16 << 20
_DATAGRAM_BYTES = 1452
"""UDP payload in an IPv6 packet of 1500 bytes; aioquic does not look for the largest by itself."""
_REQUEST = struct.Struct(">cQ")
_NUMBER = struct.Struct(">Q")


class _Trace(QuicLoggerTrace):
    """Counts the events that aioquic logs for qlog, instead of keeping them."""

    def __init__(self, *, is_client: bool, odcid: bytes) -> None:
        super().__init__(is_client=is_client, odcid=odcid)
        self.counts: Counter[str] = Counter()

    def log_event(self, *, category: str, event: str, data: dict[str, Any]) -> None:
        self.counts[event] += 1


class _Logger(QuicLogger):
    def start_trace(self, is_client: bool, odcid: bytes) -> QuicLoggerTrace:
        return _Trace(is_client=is_client, odcid=odcid)

    def end_trace(self, trace: QuicLoggerTrace) -> None:
        """Keeps nothing."""


def _report(connection: QuicConnection) -> dict[str, Any]:
    """Returns what this end knows of a connection, as a sender."""
    recovery, counts = connection._loss, connection._quic_logger.counts
    path = {
        "congestion_control": type(recovery._cc).__name__,
        "rtt_ms": recovery._rtt_smoothed * 1e3,
        "sent_packets": counts["packet_sent"],
        "lost_packets": counts["packet_lost"],
        "mtu": connection._max_datagram_size,
    }
    return {"multipath": False, "paths": [path]}


class _Server(QuicConnectionProtocol):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._requests: dict[int, tuple[bytes, int]] = {}
        """Letter and number of bytes so far of each stream."""
        self._begun: dict[int, bytes] = {}
        """The first part of each request of which the rest comes in another packet."""

    def quic_event_received(self, event: QuicEvent) -> None:
        if not isinstance(event, StreamDataReceived):
            return
        stream, data = event.stream_id, event.data
        if stream not in self._requests:
            data = self._begun.pop(stream, b"") + data
            if len(data) < _REQUEST.size:
                self._begun[stream] = data
                return
            letter, number = _REQUEST.unpack_from(data)
            self._requests[stream] = (letter, 0)
            data = data[_REQUEST.size :]
            if letter == b"d":
                self._quic.send_stream_data(stream, bytes(number), end_stream=True)
            elif letter == b"r":
                self._quic.send_stream_data(stream, json.dumps(_report(self._quic)).encode(), end_stream=True)
        letter, count = self._requests[stream]
        self._requests[stream] = (letter, count + len(data))
        if letter == b"u" and event.end_stream:
            self._quic.send_stream_data(stream, _NUMBER.pack(count + len(data)), end_stream=True)


class _Client(QuicConnectionProtocol):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._answers: dict[int, tuple[bool, list[bytes], int, asyncio.Future[tuple[bytes, int]]]] = {}

    async def ask(self, letter: bytes, number: int, data: bytes = b"") -> tuple[bytes, int]:
        """Sends a request and data; returns the answer, or for `d` nothing, and its length."""
        stream = self._quic.get_next_available_stream_id()
        answer: asyncio.Future[tuple[bytes, int]] = asyncio.get_running_loop().create_future()
        self._answers[stream] = (letter != b"d", [], 0, answer)
        self._quic.send_stream_data(stream, _REQUEST.pack(letter, number) + data, end_stream=True)
        self.transmit()
        return await answer

    def quic_event_received(self, event: QuicEvent) -> None:
        if isinstance(event, ConnectionTerminated):
            for _, _, _, answer in self._answers.values():
                if not answer.done():
                    answer.set_exception(ConnectionError(event.reason_phrase or "the connection has ended"))
        elif isinstance(event, StreamDataReceived):
            keeps, parts, length, answer = self._answers[event.stream_id]
            if keeps:
                parts.append(event.data)
            length += len(event.data)
            self._answers[event.stream_id] = (keeps, parts, length, answer)
            if event.end_stream:
                answer.set_result((b"".join(parts), length))


def _configuration(algorithm: str, *, is_client: bool) -> QuicConfiguration:
    return QuicConfiguration(
        is_client=is_client,
        alpn_protocols=["flightpath"],
        congestion_control_algorithm=algorithm,
        max_data=_WINDOW_BYTES,
        max_stream_data=_WINDOW_BYTES,
        max_datagram_size=_DATAGRAM_BYTES,
        quic_logger=_Logger(),
        server_name="localhost",
    )


def _host_and_port(endpoint: str) -> tuple[str, int]:
    host, _, port = endpoint.rpartition(":")
    return host.strip("[]"), int(port)


async def _serve(endpoint: str, certificate: str, key: str, algorithm: str, paths: str) -> None:
    if paths != "1":
        sys.exit("aioquic has no multipath")
    configuration = _configuration(algorithm, is_client=False)
    configuration.load_cert_chain(certificate, key)
    await serve(*_host_and_port(endpoint), configuration=configuration, create_protocol=_Server)
    await asyncio.Event().wait()


async def _request(client: _Client, size: int, due: float) -> tuple[int, float]:
    _, arrived = await client.ask(b"d", size)
    return arrived, 1e3 * (time.monotonic() - due)


async def _requests(client: _Client, count: int, size: int, interval_us: int) -> dict[str, Any]:
    """Makes requests: at an interval, or without one when the answer before is complete."""
    began, answers = time.monotonic(), []
    for number in range(count):
        due = began + number * interval_us / 1e6 if interval_us else time.monotonic()
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        answers.append(asyncio.ensure_future(_request(client, size, due)))
        if not interval_us:
            await answers[-1]
    arrived, times_ms = zip(*(await asyncio.gather(*answers)), strict=True)
    return {"bytes": sum(arrived), "times_ms": times_ms}


async def _transfer(direction: str, *words: str) -> None:
    *numbers, certificate, algorithm, endpoint = words
    configuration = _configuration(algorithm, is_client=True)
    configuration.load_verify_locations(certificate)
    size, began = int(numbers[0]), time.monotonic()
    async with connect(*_host_and_port(endpoint), configuration=configuration, create_protocol=_Client) as client:
        handshake_s = time.monotonic() - began
        if direction == "requests":
            found = await _requests(client, *map(int, numbers))
        elif direction == "upload":
            answer, _ = await client.ask(b"u", size, bytes(size))
            found = {"bytes": _NUMBER.unpack(answer)[0]}
        else:
            found = {"bytes": (await client.ask(b"d", size))[1]}
        seconds = time.monotonic() - began
        server, _ = await client.ask(b"r", 0)
        report = {
            **found,
            "seconds": seconds,
            "handshake_s": handshake_s,
            "client": _report(client._quic),
            "server": json.loads(server),
        }
    print(json.dumps(report))


if __name__ == "__main__":
    word, *words = sys.argv[1:]
    asyncio.run(_serve(*words) if word == "server" else _transfer(word, *words))
