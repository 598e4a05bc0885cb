"""A measurement as tables and sentences for people."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from flightpath.terminal import print_table
from flightpath.units import counted, format_bytes, format_duration, format_rate, spaced
from probes.preflight.commands.common import print_line
from probes.preflight.records import Iperf3Result, IterationResult, LimitedBy, PreflightResult, Route
from probes.preflight.spec import Direction

_MANY_STREAMS = 4


def print_report(console: Console, result: PreflightResult) -> None:
    spec, upload = result.spec, result.spec.direction is Direction.UPLOAD
    streams = f", {spec.streams} streams" if spec.streams > 1 else ""
    cipher = result.iterations[-1].streams[0].connection.cipher if result.iterations else spec.cipher
    print_line(console, f"{spec.direction} {'to' if upload else 'from'} {result.target}{streams}, {cipher}", "bold")
    print_table(console, _transfers(result))
    print_table(console, _phases(result))
    for iteration in result.iterations:
        if iteration.verdict is not LimitedBy.OK:
            print_line(console, f"{iteration.number}: {iteration.verdict}: {iteration.reason}", "yellow")
    if result.iterations:
        _print_connection(console, result.iterations[-1], upload)
    if result.route is not None:
        print_line(console, f"route: {_route_text(result.route)}")
    if result.path_mtu is not None:
        print_line(console, f"path MTU: {result.path_mtu} bytes")
    if result.iperf3 is not None:
        print_line(console, f"iperf3: {_iperf3_text(result.iperf3, result.goodput_bps)}")
    for note in result.notes:
        print_line(console, f"note: {note}")
    if result.verdict not in (LimitedBy.OK, LimitedBy.RATE_LIMITED):
        print_line(console, f"{result.verdict}: this is what this machine can do, not what the path can", "red")


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False)
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left")
    return table


def _transfers(result: PreflightResult) -> Table:
    table = _table("", "goodput", "bytes", "transfer", "RTT min..last", "client CPU")
    for iteration in result.iterations:
        samples = [sample for stream in iteration.streams for sample in stream.samples]
        last = iteration.streams[0].samples[-1:] if iteration.streams else ()
        table.add_row(
            str(iteration.number),
            Text(_rate(iteration.goodput_bps), "bold"),
            format_bytes(iteration.bytes),
            _time(iteration.transfer_s),
            f"{min(sample.least_rtt_ms for sample in samples):.3g}..{last[0].rtt_ms:.3g} ms" if last else "",
            f"{iteration.cpu_s / iteration.transfer_s:.0%}" if iteration.transfer_s else "",
        )
        if len(iteration.streams) > _MANY_STREAMS:
            rates = [stream.goodput_bps or 0 for stream in iteration.streams]
            table.add_row("  per stream", f"{_rate(min(rates))} … {_rate(max(rates))}")
        elif len(iteration.streams) > 1:
            for stream in iteration.streams:
                texts = _rate(stream.goodput_bps), format_bytes(stream.bytes), _time(stream.transfer_s)
                table.add_row(f"  stream {stream.number}", *texts)
    if len(result.iterations) > 1:
        table.add_row("median", Text(_rate(result.goodput_bps), "bold"))
    return table


def _phases(result: PreflightResult) -> Table:
    """Returns the phases before the first byte, which are not in the goodput."""
    table = _table("before it", "connect", "key exchange", "log-in", "first byte")
    for iteration in result.iterations:
        phases = iteration.phases
        spans = (phases.connect_s, phases.key_exchange_s, phases.authentication_s, phases.first_byte_s)
        table.add_row(str(iteration.number), *map(_time, spans))
    return table


def _print_connection(console: Console, iteration: IterationResult, upload: bool) -> None:
    stream = iteration.streams[0]
    facts = stream.connection
    subflows = max((sample.subflows for sample in stream.samples), default=0)
    if not facts.congestion_control:
        print_line(console, f"connection: only ssh(1) has it, so nothing is known of its TCP; {facts.server}")
        return
    kind = f"MPTCP ({counted(subflows, 'subflow')})" if facts.mptcp else "TCP"
    print_line(
        console,
        f"connection: {kind}/IPv{facts.family}, {facts.congestion_control}, MSS {facts.mss_bytes}, "
        f"buffers {format_bytes(facts.send_buffer_bytes)} send, {format_bytes(facts.receive_buffer_bytes)} receive, "
        f"{facts.server}",
    )
    if stream.samples:
        last = stream.samples[-1]
        text = (
            f"congestion window {last.cwnd_packets} packets, retransmitted {last.retransmitted_packets}, "
            f"delivery rate {_rate(last.delivery_rate_bps)}"
            if upload
            else f"packets out of order {last.out_of_order_packets}, "
            f"receive space {format_bytes(last.receive_space_bytes)}"
        )
        print_line(console, f"TCP_INFO at the end: {text}")


def _iperf3_text(iperf3: Iperf3Result, goodput_bps: float | None) -> str:
    if iperf3.goodput_bps is None:
        return f"not measured: {iperf3.note}"
    lost = f", {iperf3.retransmitted_packets} retransmitted" if iperf3.retransmitted_packets is not None else ""
    share = f" (preflight: {goodput_bps / iperf3.goodput_bps:.1%} of it)" if goodput_bps and iperf3.goodput_bps else ""
    return f"{_rate(iperf3.goodput_bps)} in {iperf3.seconds:.3g} s{lost}{share}"


def _route_text(route: Route) -> str:
    hops = [
        f"{hop.address} {hop.rtt_ms:.3g} ms" if hop.address and hop.rtt_ms is not None else "*" for hop in route.hops
    ]
    return " > ".join(hops) + (f" ({route.note})" if route.note else "")


def _rate(bits_per_second: float | None) -> str:
    return "-" if bits_per_second is None else format_rate(bits_per_second)


def _time(seconds: float) -> str:
    return spaced(format_duration(seconds))
