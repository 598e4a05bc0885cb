"""A measurement in words and tables for people: the JSON has everything, and nobody reads it."""

from rich import markup
from rich.console import Console
from rich.table import Table

from flightpath.units import format_bytes, format_duration, format_rate
from probes.preflight.commands.views import visible
from probes.preflight.records import IterationResult, PreflightResult, Route, Verdict

_MANY_STREAMS = 4


def escape(text: str) -> str:
    """A text that is only shown: no markup, and nothing that the far end may have meant for the terminal."""
    return markup.escape(visible(text))


def show(console: Console, result: PreflightResult) -> None:
    """Prints a measurement."""
    spec = result.spec
    streams = f", {spec.streams} streams" if spec.streams > 1 else ""
    console.print(
        f"[bold]{spec.direction} {'from' if spec.direction == 'download' else 'to'} {escape(str(result.target))}"
        f"[/bold]{streams}, {escape(spec.cipher)}",
        highlight=False,
    )
    console.print(_transfers(result))
    console.print(_phases(result))
    for iteration in result.iterations:
        if iteration.verdict is not Verdict.OK:
            console.print(f"[yellow]{iteration.number}: {iteration.verdict}[/yellow]: {escape(iteration.reason)}")
    _show_connection(console, result)
    if result.route is not None:
        console.print(f"route: {escape(_route(result.route))}", highlight=False)
    if result.path_mtu is not None:
        console.print(f"path MTU: {result.path_mtu} bytes", highlight=False)
    _show_iperf3(console, result)
    for note in result.notes:
        console.print(f"note: {escape(note)}", highlight=False)
    if not result.verdict.measures_path and result.verdict is not Verdict.RATE_LIMITED:
        console.print(f"[red]{result.verdict}: this is what the client can do, not what the path can[/red]")


def _table(*names: str) -> Table:
    """Narrow enough for a terminal of 80 columns: what is wider loses figures there."""
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(name, justify="left" if not name else "right", no_wrap=True)
    return table


def _transfers(result: PreflightResult) -> Table:
    table = _table("", "goodput", "bytes", "transfer", "RTT min..last", "client CPU")
    for each in result.iterations:
        table.add_row(*_row(str(each.number), each))
        if len(each.streams) > 1 and len(each.streams) <= _MANY_STREAMS:
            for stream in each.streams:
                table.add_row(
                    f"  stream {stream.number}",
                    _rate(stream.goodput_bps),
                    format_bytes(stream.bytes),
                    format_duration(stream.transfer_s),
                )
        elif len(each.streams) > _MANY_STREAMS:
            rates = [stream.goodput_bps or 0 for stream in each.streams]
            table.add_row("  per stream", f"{_rate(min(rates))} … {_rate(max(rates))}")
    if len(result.iterations) > 1:
        table.add_row("median", f"[bold]{_rate(result.goodput_bps)}")
    return table


def _row(label: str, each: IterationResult) -> list[str]:
    samples = [sample for stream in each.streams for sample in stream.samples]
    least = min((sample.minimum_rtt_ms or sample.rtt_ms for sample in samples), default=None)
    last = each.streams[0].samples[-1].rtt_ms if each.streams and each.streams[0].samples else None
    return [
        label,
        f"[bold]{_rate(each.goodput_bps)}",
        format_bytes(each.bytes),
        format_duration(each.transfer_s),
        f"{least:.3g}..{last:.3g} ms" if least is not None and last is not None else "",
        f"{each.cpu_s / each.transfer_s:.0%}" if each.transfer_s else "",
    ]


def _phases(result: PreflightResult) -> Table:
    """What came before the first byte, and is not in the goodput."""
    table = _table("before it", "connect", "key exchange", "log-in", "first byte")
    for each in result.iterations:
        told = each.phases
        spans = (told.connect_s, told.key_exchange_s, told.authentication_s, told.first_byte_s)
        table.add_row(str(each.number), *map(format_duration, spans))
    return table


def _show_connection(console: Console, result: PreflightResult) -> None:
    if not result.iterations:
        return
    stream = result.iterations[-1].streams[0]
    found = stream.connection
    subflows = max((sample.subflows for sample in stream.samples), default=0)
    kind = f"MPTCP ({subflows} subflows)" if found.mptcp else "TCP"
    console.print(
        f"connection: {kind}/IPv{found.family}, {found.congestion_control}, MSS {found.mss_bytes}, "
        f"buffers {format_bytes(found.send_buffer_bytes)} send, {format_bytes(found.receive_buffer_bytes)} receive, "
        f"{escape(found.server)}",
        highlight=False,
    )
    if stream.samples:
        last = stream.samples[-1]
        upload = result.spec.direction == "upload"
        told = (
            f"congestion window {last.cwnd_packets} packets, retransmitted {last.retransmitted_packets}, "
            f"delivery rate {_rate(last.delivery_rate_bps)}"
            if upload
            else f"packets out of order {last.out_of_order_packets}, "
            f"receive space {format_bytes(last.receive_space_bytes)}"
        )
        console.print(f"kernel, at the end: {told}", highlight=False)


def _show_iperf3(console: Console, result: PreflightResult) -> None:
    beside = result.iperf3
    if beside is None:
        return
    if beside.goodput_bps is None:
        console.print(f"iperf3: not measured: {escape(beside.note)}", highlight=False)
        return
    ours = result.goodput_bps
    share = f" (preflight: {ours / beside.goodput_bps:.1%} of it)" if ours and beside.goodput_bps else ""
    lost = f", {beside.retransmitted_packets} retransmitted" if beside.retransmitted_packets is not None else ""
    console.print(f"iperf3: {_rate(beside.goodput_bps)} in {beside.seconds:.3g} s{lost}{share}", highlight=False)


def _route(route: Route) -> str:
    hops = [
        f"{hop.address} {hop.rtt_ms:.3g} ms" if hop.address and hop.rtt_ms is not None else "*" for hop in route.hops
    ]
    return " > ".join(hops) + (f" ({route.note})" if route.note else "")


def _rate(bits_per_second: float | None) -> str:
    return "-" if bits_per_second is None else format_rate(bits_per_second)
