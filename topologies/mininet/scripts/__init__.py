"""Scripts for Mininet, run as they are: sandboxed, on our links, switches and controllers (`flightpath mn-run`)."""
