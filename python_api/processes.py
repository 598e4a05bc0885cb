"""Our processes that a user's own process starts, which may be the kernel of a notebook."""

import os

_FOR_TERMINALS = ("FORCE_COLOR", "CLICOLOR_FORCE")
"""Variables with which a notebook's kernel requests terminal output: a progress bar would become many lines."""


def environment() -> dict[str, str]:
    """Returns this process's environment for such a process."""
    return {name: value for name, value in os.environ.items() if name not in _FOR_TERMINALS}
