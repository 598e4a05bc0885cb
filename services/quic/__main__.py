"""`python -m services.quic`: builds the QUIC implementations."""

import sys

from flightpath.command_line import exit_code_of
from services.quic.build import build

if __name__ == "__main__":
    sys.exit(exit_code_of(build))
