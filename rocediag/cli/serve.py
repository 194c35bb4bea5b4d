"""`rocediag serve`: the daemon."""

import asyncio
import logging
import os
import sys

from rocediag.cli import options


def serve(config: options.ConfigPath = options.CONFIG) -> None:
    """Watch a fabric until told to stop."""
    from rocediag.config import load
    from rocediag.service import run

    log_to_stderr()
    asyncio.run(run(load(config), os.environ))


def log_to_stderr() -> None:
    """Log for people; systemd's journal has the time, and reads the level from <N>."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Journal() if "JOURNAL_STREAM" in os.environ else _plain())
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    # How the store's history runs is of no interest unless it fails.
    logging.getLogger("alembic").setLevel(logging.WARNING)


def _plain() -> logging.Formatter:
    return logging.Formatter("%(asctime)s %(levelname)-7s %(name)s: %(message)s")


class _Journal(logging.Formatter):
    """Lines as sd-daemon(3) reads them."""

    def format(self, record: logging.LogRecord) -> str:
        level = (
            3 if record.levelno >= logging.ERROR else 4 if record.levelno >= logging.WARNING else 6
        )
        # Each line of a traceback is a line of the journal, and needs its level too.
        lines = f"{record.name}: {super().format(record)}".splitlines()
        return "\n".join(f"<{level}>{line}" for line in lines)
