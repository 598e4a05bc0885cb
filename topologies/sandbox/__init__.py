"""The sandbox that a run lives in (Linux namespaces), and kernel settings inside it."""
