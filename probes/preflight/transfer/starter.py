"""Loaded by the process that starts streams: removes its folder of sockets if the probe is killed and cannot."""

import atexit
import os
import shutil

FOLDER = "FLIGHTPATH_STREAM_SOCKETS"
"""Environment variable that names the folder, which the probe removes when it ends by itself."""

if FOLDER in os.environ:  # only in that process, which ends when the probe has ended; those that it forks skip `atexit`
    atexit.register(shutil.rmtree, os.environ[FOLDER], ignore_errors=True)
