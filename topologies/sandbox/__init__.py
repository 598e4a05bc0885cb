"""The namespaces a run lives in, and kernel settings inside them."""
