"""Random loss, and what it leaves of TCP's throughput."""
