"""What the controller knows, shown: over HTTP, as tables, as a drawing, and as Prometheus metrics."""
