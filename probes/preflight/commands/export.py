"""`preflight export`: measurements for other displays: perfSONAR's archive, Prometheus, Grafana."""

import json
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from typing import Any

from flightpath.errors import FlightpathError
from flightpath.terminal import visible
from probes.preflight.commands.common import add_profile_option, count, open_store, output, query_parser, selected
from probes.preflight.history.recording import load_result
from results.store.store import Store

_EPILOG = """\
formats:
  perfsonar    one record a line, for each iteration, as pScheduler's `http` archiver sends them
  prometheus   all profiles in Prometheus' text format; the dashboard has it at /metrics (flightpath results serve),
               and `preflight service install --textfile DIR` writes it after each measurement
  grafana      a dashboard of these metrics, to be imported there

To send the records to an archive of perfSONAR:
  preflight export perfsonar --profile nersc | while read -r each; do
    curl --fail --silent -X PUT -H 'Content-Type: application/json' \\
      --data "$each" https://ARCHIVE/logstash
  done
Task and run ids are the same each time that a measurement is exported.
"""


def parser() -> ArgumentParser:
    made = query_parser("export", "Print measurements in the format of another program.", _EPILOG, has_json=False)
    made.add_argument("format", choices=("perfsonar", "prometheus", "grafana"))
    made.add_argument("host", nargs="?", metavar="HOST", help="of perfsonar: measurements of this far end")
    add_profile_option(made, "of perfsonar: only those of this profile")
    made.add_argument("--last", type=count, default=100, metavar="N", help="of perfsonar: only the newest N (100)")
    return made


def run(options: Namespace) -> int:
    if options.format == "grafana":
        from probes.preflight.service.grafana import dashboard

        text = json.dumps(dashboard(), indent=2)
    elif options.format == "prometheus":
        from prometheus_client import generate_latest

        from probes.preflight.service.metrics import Profiles

        text = generate_latest(Profiles(open_store(options))).decode().rstrip("\n")
    else:
        text = "\n".join(json.dumps(each) for each in _perfsonar(options, open_store(options)))
    with output():
        print(text)
    return 0


def _perfsonar(options: Namespace, store: Store) -> Iterator[dict[str, Any]]:
    """Yields the records of measurements that are stored whole; says which are not, or are of a newer version."""
    from probes.preflight.service.perfsonar import records

    for past in selected(options, store, options.last)[1]:
        try:
            if result := load_result(store, past.run_id):
                yield from records(past, result)
        except FlightpathError as error:
            print(visible(f"left out: {past.run_id}: {error.args[0]}"), file=sys.stderr)
