"""Web servers and storage as far ends: connections by TLS, log-in by ~/.netrc, and requests signed for S3."""
