"""One piece of the soak: `python -m tests.campaign.soak relay 300`; each line of its output is an outcome as JSON."""

import sys

from tests.campaign.apart import tell
from tests.campaign.soak import controller, dashboard, relay, tunnel

PIECES = {"tunnel": tunnel, "relay": relay, "controller": controller, "dashboard": dashboard}

if __name__ == "__main__":
    sys.exit(tell(PIECES[sys.argv[1]].soak(float(sys.argv[2]))))
