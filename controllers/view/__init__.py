"""The view: what a running controller knows, over HTTP, as tables and as drawings."""
