"""Passwords and communities: from a file, from systemd's credentials, or from the environment.

None ever stands in the configuration or on a command line, and none is printed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from collector.secret import Secret
from roce.errors import ConfigError

CREDENTIALS = "CREDENTIALS_DIRECTORY"
"""Where systemd puts what LoadCredential names (systemd.exec(5))."""

_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class Secrets:
    """Finds secrets for a configuration file that lies in ``folder``."""

    folder: Path
    environ: Mapping[str, str]

    def read(self, file: str | None, name: str) -> Secret | None:
        """Give the secret of a file; where none is named, that which is called ``name``.

        A file may begin with $CREDENTIALS_DIRECTORY, and is else seen from the configuration's
        folder. A name is looked for among systemd's credentials, as ``name`` or as
        ``secret_name``, then in the environment as ROCEDIAG_NAME.

        Raises:
            ConfigError: a file that is named cannot be used.
        """
        if file is not None:
            return _read(self.path(file))
        credentials = self.environ.get(CREDENTIALS)
        for candidate in (name, f"secret_{name}") if credentials else ():
            path = Path(str(credentials), candidate)
            if path.exists():
                return _read(path)
        text = self.environ.get(f"ROCEDIAG_{name.upper()}")
        return Secret(text) if text else None

    def path(self, file: str) -> Path:
        """Give where a secret's file is.

        Raises:
            ConfigError: it is among systemd's credentials, and there are none.
        """
        if not file.startswith(f"${CREDENTIALS}/"):
            return self.folder / file
        credentials = self.environ.get(CREDENTIALS)
        if not credentials:
            raise ConfigError(f"{file}: ${CREDENTIALS} is not set: start by systemd, or set it")
        return Path(credentials, file.removeprefix(f"${CREDENTIALS}/"))


def _read(path: Path) -> Secret:
    """Read a secret; the end of its line is none of it."""
    try:
        with path.open("rb") as opened:
            content = opened.read(_LONGEST + 1)
    except OSError as error:
        raise ConfigError(f"{path}: the secret cannot be read: {error.strerror}") from error
    secret = content.rstrip(b"\r\n")
    if not secret:
        raise ConfigError(f"{path}: the file of the secret is empty: write it there, in one line")
    if len(content) > _LONGEST or b"\n" in secret:
        raise ConfigError(f"{path}: a secret is one line of at most {_LONGEST} bytes")
    return Secret(secret)
