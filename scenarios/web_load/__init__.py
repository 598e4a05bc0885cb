"""Parts of the experiment `mptcp_load`: the JMeter plan, claims and figures."""
