"""The command line of a measurement: without it each option would be explained, and read, somewhere else."""

import argparse
import json
import sys
from pathlib import Path

from flightpath.errors import UsageError
from probes.preflight import codec
from probes.preflight.memory.memory import default_folder
from probes.preflight.spec import DEFAULT_CIPHER, DEFAULT_TIME_LIMIT_S, MAX_STREAMS, Direction, Family, TransferSpec
from results.store.location import add_store_options

DESCRIPTION = """\
Measures the path to a machine by transferring a file over SSH, as an ordinary user at both ends, with nothing to
install at the other. It tells how fast the transfer itself was (not the log-in), what the kernel saw meanwhile, and
whether the path was the limit, or this machine: then the figure says nothing about the path, and the exit code is 4.

Without REMOTE_FILE, the probe makes a file in a temporary folder at the far end and removes it again. ~/.ssh/config,
agent, key files and known_hosts are those of ssh(1); if `ssh HOST` works without a question, this does."""

EPILOG = f"""\
sizes: 500MB, 2GB, 64KiB (kB is 1000 bytes, KiB 1024) · rates: 500Mbit, 10Gbit · times: 10s, 2min

examples:
  preflight dtn                                {DEFAULT_TIME_LIMIT_S:g} seconds of download; nothing is left there
  preflight me@dtn.example.org data/run7.tar   that file, all of it, to /dev/null
  preflight dtn --upload --size 2GB            the other way
  preflight dtn --streams 8 --iterations 5     eight connections at the same time, five times
  preflight dtn run7.tar --to /scratch/run7.tar   onto the disk: is it the limit?
  preflight dtn --receive-buffer 4MiB --congestion-control cubic
  preflight dtn --iperf3                       the same with iperf3 beside it, if a server runs there

what was measured before:
  preflight history HOST · preflight compare A B · preflight plot HOST · preflight check HOST --transfer 2TB
  (a machine of such a name: preflight USER@history)

exit codes: 0 measured, 1 it failed (the message says at what), 2 usage, 3 this machine lacks something,
4 measured, but this machine and not the path was the limit, 130 interrupted
"""


def parser() -> argparse.ArgumentParser:
    """The parser; `specification` makes a TransferSpec of what it found."""
    made = argparse.ArgumentParser(
        prog="preflight",
        usage="preflight [USER@]HOST [REMOTE_FILE] [OPTION ...]\n       preflight history|compare|plot|check ...",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("target", metavar="[USER@]HOST", help="a name, an address, or a Host of ~/.ssh/config")
    made.add_argument("remote_file", nargs="?", metavar="REMOTE_FILE", help="to download; without it, one is made")
    _add_transfer(made.add_argument_group("what is transferred"))
    _add_connection(made.add_argument_group("how", "None of these is needed; what is not set, the kernel chooses."))
    add_meeting(made.add_argument_group("meeting the far end"))
    _add_output(made.add_argument_group("what is told and kept"))
    return made


def specification(options: argparse.Namespace) -> TransferSpec:
    """What the options ask for.

    Raises:
        UsageError: an option's text cannot be read, or two contradict each other.
    """
    if options.spec is not None:
        return _read_specification(options.spec)
    names = TransferSpec.__dataclass_fields__
    texts = {name: value for name, value in vars(options).items() if name in names and value is not None}
    return TransferSpec.parse(texts)


def _add_transfer(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--upload", dest="direction", action="store_const", const=Direction.UPLOAD, help="to the far end, not from it"
    )
    group.add_argument("--size", dest="size_bytes", metavar="SIZE", help="bytes of an iteration, all streams together")
    group.add_argument("--time", dest="time_limit_s", metavar="TIME", help="an iteration's transfer ends after this")
    group.add_argument("--bytes", dest="byte_limit", metavar="SIZE", help="an iteration's transfer ends after so many")
    group.add_argument(
        "--rate", dest="rate_limit_bps", metavar="RATE", help="no faster than this, all streams together"
    )
    group.add_argument("-n", "--iterations", metavar="N", help="measure N times, each over new connections (1)")
    group.add_argument("-P", "--streams", metavar="N", help=f"N transfers at the same time (1, at most {MAX_STREAMS})")
    group.add_argument(
        "--one-connection", dest="connections", action="store_const", const="one", help="for all streams, not one each"
    )
    group.add_argument(
        "--each", dest="whole_each", action="store_const", const=True, help="each stream moves all, not its share"
    )
    group.add_argument("--to", dest="sink", metavar="FILE", help="where a download goes (/dev/null)")
    group.add_argument("--remote-folder", metavar="DIR", help="where the temporary folder is made (the home)")


def _add_connection(group: argparse._ArgumentGroup) -> None:
    version = group.add_mutually_exclusive_group()
    version.add_argument("-4", dest="family", action="store_const", const=Family.IPV4, help="IPv4 only")
    version.add_argument("-6", dest="family", action="store_const", const=Family.IPV6, help="IPv6 only")
    group.add_argument("--mptcp", action="store_const", const=True, help="Multipath TCP, if the far end speaks it")
    group.add_argument("--send-buffer", dest="send_buffer_bytes", metavar="SIZE", help="SO_SNDBUF of each socket")
    group.add_argument("--receive-buffer", dest="receive_buffer_bytes", metavar="SIZE", help="SO_RCVBUF of each")
    group.add_argument("--window-clamp", dest="window_clamp_bytes", metavar="SIZE", help="TCP_WINDOW_CLAMP")
    group.add_argument("--mss", dest="mss_bytes", metavar="BYTES", help="TCP_MAXSEG, without unit")
    group.add_argument(
        "--congestion-control", metavar="NAME", help="of this end; of uploads, that is the one that counts"
    )
    group.add_argument("--ssh-window", dest="ssh_window_bytes", metavar="SIZE", help="SSH's own window per stream")
    group.add_argument("--request", dest="request_bytes", metavar="SIZE", help="of one SFTP read or write")
    group.add_argument("--cipher", metavar="NAME", help=f"({DEFAULT_CIPHER})")


def add_meeting(group: argparse._ArgumentGroup) -> None:
    """Adds the options that say how the far end is met."""
    group.add_argument("-p", "--port", type=int, metavar="PORT", help="of its SSH server")
    group.add_argument("-l", "--user", metavar="USER", help="to log in as")
    group.add_argument(
        "-i", "--identity", action="append", default=[], metavar="FILE", help="a private key to try first; repeatable"
    )
    group.add_argument("-F", "--ssh-config", metavar="FILE", help="instead of ~/.ssh/config and the system's")
    group.add_argument(
        "--accept-new-host-key",
        action="store_true",
        help="of a host that is not known, add the key to known_hosts; a changed key is always refused",
    )
    group.add_argument("--batch", action="store_true", help="never ask for a passphrase or password")
    group.add_argument(
        "--connect-limit", dest="connect_limit_s", metavar="TIME", help="for each step of connecting (15s)"
    )
    group.add_argument("--stall", dest="stall_limit_s", metavar="TIME", help="nothing comes for so long: give up (30s)")


def _add_output(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--iperf3",
        dest="iperf3_port",
        nargs="?",
        const="5201",
        metavar="PORT",
        help="the same with iperf3, if a server is there (5201); write --iperf3=PORT",
    )
    group.add_argument("--no-route", dest="route", action="store_const", const=False, help="do not trace the route")
    group.add_argument(
        "--interval", dest="interval_s", metavar="TIME", help="of throughput and the kernel's view (500ms)"
    )
    group.add_argument(
        "--json", action="store_true", help="print one JSON object: {run, goodput_bps, verdict, measurement}"
    )
    add_store_options(group, default_folder(), "it is remembered")
    group.add_argument("--forget", action="store_true", help="do not remember it")
    group.add_argument(
        "--spec", metavar="FILE", help="all of the transfer's options as JSON (a measurement's `spec`); - is stdin"
    )


def _read_specification(file: str) -> TransferSpec:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
        return codec.decode(TransferSpec, json.loads(text))
    except (OSError, ValueError, TypeError) as error:
        raise UsageError(f"--spec: {file} is no specification of a transfer: {error}") from error
