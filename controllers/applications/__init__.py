"""Applications for os-ken that users bring, and a learning switch: `python -m controllers.applications`."""
