"""One piece of the soak: `python -m tests.campaign.soak relay 300`; each line of its output is an outcome as JSON."""

import argparse
import sys

from tests.campaign.apart import tell
from tests.campaign.soak import AMOUNTS, controller, dashboard, relay, tunnel

PIECES = {"tunnel": tunnel, "relay": relay, "controller": controller, "dashboard": dashboard}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.campaign.soak", description=__doc__)
    parser.add_argument("piece", choices=AMOUNTS)
    parser.add_argument("amount", type=float, help="seconds; of the controller: connections")
    options = parser.parse_args()
    sys.exit(tell(PIECES[options.piece].soak(options.amount)))
