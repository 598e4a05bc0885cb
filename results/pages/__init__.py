"""Reports as HTML and PDF."""
