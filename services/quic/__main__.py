"""`python -m services.quic`: makes the programs of the QUIC implementations, once per machine, version and recipe."""

import sys

from flightpath.command_line import exit_code_of
from flightpath.errors import FlightpathError
from services.quic.implementations import IMPLEMENTATIONS
from services.running.making import make_once


def build() -> None:
    """Builds what is not built yet, each in a folder of its own that is complete or not there.

    Raises:
        MissingCapability: Rust is missing or too old, or another program is missing.
        CommandFailed: a build failed; with the compiler's last words.
        If several cannot be built, it is the first's error, and the others' are printed.
    """
    errors = []
    for implementation in IMPLEMENTATIONS.values():
        home = implementation.home
        try:
            make_once(home, implementation.build, "lock")
            print(f"QUIC: {implementation.name} {implementation.version} in {home}", file=sys.stderr)
        except FlightpathError as error:
            errors.append(error)
    for other in errors[1:]:
        print(f"QUIC: {other}", file=sys.stderr)
    if errors:
        raise errors[0]


if __name__ == "__main__":
    sys.exit(exit_code_of(build))
