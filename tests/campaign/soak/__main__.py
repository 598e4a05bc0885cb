"""One piece of the soak: `python -m tests.campaign.soak relay 300`; each line of its output is an outcome as JSON."""

import json
import signal
import sys
from dataclasses import asdict
from importlib import import_module

from flightpath import libc
from topologies.sandbox import sandbox


def main() -> int:
    for outcome in import_module(f"tests.campaign.soak.{sys.argv[1]}").soak(float(sys.argv[2])):
        print(json.dumps(asdict(outcome)), flush=True)
    return 0


if __name__ == "__main__":
    libc.request_signal_at_parents_end(signal.SIGTERM)
    sys.exit(sandbox.run_inside(main))
