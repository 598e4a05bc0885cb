"""Starts os-ken's manager, whose switches learn addresses, as an OpenFlow controller: `controller.py WEB NAME`.

WEB: `imported` first takes ALREADY_HANDLED from eventlet's web server, as Ryu 4.34 does; `left_out` does not.
NAME: `there` gives eventlet that name, as versions before 0.30.3 had it; `gone` leaves eventlet as it is.
"""

import sys

from own_python import run_in_own_python

run_in_own_python()

from eventlet import wsgi  # noqa: E402

from controllers.applications.__main__ import main  # noqa: E402

if __name__ == "__main__":
    web, name = sys.argv[1:]
    if name == "there":
        wsgi.ALREADY_HANDLED = object()
    if web == "imported":
        from eventlet.wsgi import ALREADY_HANDLED  # noqa: F401
    sys.exit(main(["--listen", "0.0.0.0:6653"]))
