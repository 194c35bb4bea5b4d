"""Runs the history on the connection that `rocediag.store.upgrade` hands over."""

from alembic import context

from roce.errors import StoreError

connection = context.config.attributes.get("connection")
if connection is None:
    raise StoreError("the history runs through `rocediag db upgrade --store URL` alone")

context.configure(
    connection=connection,
    target_metadata=context.config.attributes.get("metadata"),
    # SQLite cannot alter a column in place: Alembic then copies the table.
    render_as_batch=connection.dialect.name == "sqlite",
)
with context.begin_transaction():
    context.run_migrations()
