"""Which schema a store has, and how it gets the one we know."""

from importlib.resources import files

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, inspect, text

from roce.errors import StoreError
from rocediag.store.engine import Access, Address
from rocediag.store.schema import METADATA


def history() -> Config:
    """Give Alembic's configuration: where the history lies, in a wheel or a checkout."""
    config = Config()
    config.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    return config


def fault(connection: Connection, shown: str) -> str | None:
    """Give what is wrong with a store's schema, as a sentence; None where it is ours."""
    scripts = ScriptDirectory.from_config(history())
    if not inspect(connection).has_table("alembic_version"):
        state = "it has no schema yet"
    else:
        found = connection.execute(text("SELECT version_num FROM alembic_version")).scalar()
        if found == scripts.get_current_head():
            return None
        if found is not None and found not in {each.revision for each in scripts.walk_revisions()}:
            return (
                f"store {shown}: a newer rocediag wrote it (schema {found}): "
                f"install that one, then run `rocediag db upgrade --store {shown}`"
            )
        state = f"its schema is old ({found})"
    return f"store {shown}: {state}: run `rocediag db upgrade --store {shown}`"


async def upgrade(url: str) -> None:
    """Make the store if there is none, and bring its schema to the newest, all or nothing.

    Raises:
        StoreError: It cannot be reached or written, or a newer rocediag wrote it.
    """
    await make(Address.parse(url))


async def make(address: Address) -> None:
    """Do what `upgrade` does, where the address is known already."""
    engine = address.engine(Access.CREATE)
    try:
        with address.errors("upgrade it"):
            async with engine.begin() as connection:
                await connection.run_sync(_run, address.shown)
    finally:
        await engine.dispose()


def _run(connection: Connection, shown: str) -> None:
    config = history()
    config.attributes.update(connection=connection, metadata=METADATA)
    try:
        command.upgrade(config, "head")
    except CommandError as error:
        # Its schema is of no history that we have: say whose it is.
        raise StoreError(fault(connection, shown) or f"store {shown}: {error}") from error
