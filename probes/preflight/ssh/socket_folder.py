"""The folder of a probe's sockets, for its stream processes and for ssh(1)."""

import os
import tempfile
from multiprocessing.util import get_temp_dir

FOLDER_OF_SOCKETS = "FLIGHTPATH_STREAM_SOCKETS"
"""Environment variable of stream processes: the folder, which the probe removes when it ends by itself."""

_SHORT_FOLDER = "/tmp"
_MAX_FOLDER_BYTES = 50
"""Length of TMPDIR with which the path of a socket in a folder there fits into 107 bytes (unix(7))."""


def folder_of_sockets() -> str:
    """Returns the folder, and makes it the first time; TMPDIR may be too long for it."""
    if FOLDER_OF_SOCKETS in os.environ:
        return os.environ[FOLDER_OF_SOCKETS]
    usual = tempfile.tempdir
    try:
        if len(os.fsencode(tempfile.gettempdir())) > _MAX_FOLDER_BYTES:
            tempfile.tempdir = _SHORT_FOLDER
        return get_temp_dir()
    finally:
        tempfile.tempdir = usual
