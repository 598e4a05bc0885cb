"""A web server under load, over one path and over two."""
