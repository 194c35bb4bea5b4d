"""The findings store: what was found and when the daemon last lived, in SQL.

Raw samples never come here. `upgrade` makes or renews the schema, `open_store` opens it.
"""

from rocediag.store.rows import DaemonState
from rocediag.store.store import Store, open_store
from rocediag.store.upgrade import upgrade

__all__ = ["DaemonState", "Store", "open_store", "upgrade"]
