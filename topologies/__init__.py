"""Emulated networks: one module per network, and packages for hosts, links, switches, sandbox, testbed and doctor."""

import contextlib
import sys

from flightpath.launcher import use_project_environment

use_project_environment(__name__)

# Mininet asks for distutils, and setuptools takes its place, which would double the time that Mininet's import takes.
if sys.version_info < (3, 12):
    with contextlib.suppress(ImportError):
        from _distutils_hack import remove_shim

        remove_shim()
