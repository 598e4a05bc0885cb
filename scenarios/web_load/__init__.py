"""Parts of the experiment `mptcp_load`: the JMeter plan, the load, claims and figures."""
