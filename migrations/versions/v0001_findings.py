"""Findings, and the daemon's sign of life."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make both tables."""
    op.create_table(
        "findings",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("severity", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("began_at", sa.Double, nullable=False),
        sa.Column("found_at", sa.Double, nullable=False),
        sa.Column("resolved_at", sa.Double),
        sa.Column("device", sa.Text, nullable=False),
        sa.Column("port", sa.Text, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_findings"),
    )
    op.create_index("ix_findings_state_began_at", "findings", ["state", "began_at"])
    op.create_index(
        "uq_findings_open_key",
        "findings",
        ["rule", "device", "port", "priority"],
        unique=True,
        sqlite_where=sa.text("state = 'open'"),
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "daemon",
        sa.Column("id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("started_at", sa.Double, nullable=False),
        sa.Column("seen_at", sa.Double, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_daemon"),
    )


def downgrade() -> None:
    """Take both out."""
    op.drop_table("daemon")
    op.drop_table("findings")
