"""Alembic's entry: takes the connection that `results.store.migration` hands it, whose transaction all steps share."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
