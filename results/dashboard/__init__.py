"""The dashboard: a store in a browser, on this machine only, read-only."""
