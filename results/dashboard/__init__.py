"""The store in a browser, on this machine only: runs as they progress, history, and comparison. It changes nothing."""
