"""The OpenFlow controller: forwarding, and steering of TCP connections and MPTCP subflows."""

from flightpath.launcher import use_project_environment

use_project_environment(__name__)
