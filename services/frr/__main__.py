"""`python -m services.frr`: unpacks FRRouting."""

import sys

from flightpath.command_line import exit_code_of
from services.frr.package import fetch

if __name__ == "__main__":
    sys.exit(exit_code_of(fetch))
