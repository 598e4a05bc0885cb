"""Entry point for Alembic: runs all steps in the transaction of the connection that `results.store.migration` sets."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
