"""`python -m scenarios`: lists the experiments."""

import sys

from scenarios.framework import catalogue


def main() -> int:
    """Prints the list."""
    for name in catalogue.names():
        print(f"{name:20} {catalogue.find(name).summary}")
    print("\npython3 -m scenarios.NAME --help tells more; --dry-run prints what would be measured.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
