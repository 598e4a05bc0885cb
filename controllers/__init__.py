"""The OpenFlow controller: forwarding, and steering of TCP connections and MPTCP subflows."""
