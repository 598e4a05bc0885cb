"""Version 4: the checks of teaching labs."""

import sqlalchemy as sa
from alembic import op

revision, down_revision = "4", "3"


def upgrade() -> None:
    op.create_table(
        "lab_checks",
        sa.Column("check_id", sa.String, primary_key=True),
        sa.Column("checked_at", sa.String, nullable=False),
        sa.Column("course", sa.String, nullable=False),
        sa.Column("student", sa.String, nullable=False),
        sa.Column("lab", sa.Integer, nullable=False),
        sa.Column("title", sa.String, nullable=False),
        sa.Column("points", sa.Integer, nullable=False),
        sa.Column("most_points", sa.Integer, nullable=False),
        sa.Column("hints", sa.JSON, nullable=False),
    )
