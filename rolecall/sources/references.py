"""Check references to secrets. A source or carrier stores only the reference; `secrets.py` reads the secret if needed.

- `env:NAME`: an environment variable whose name begins with ROLECALL_SOURCE_SECRET_
- `file:NAME`: a file in the folder ROLECALL_SOURCE_SECRETS
- `sealed`: the secret that was sent with the source, encrypted in the database and bound to its server and login

The prefix and the folder limit the secrets that a person can send to a host by configuring a source or carrier.
"""

from datetime import UTC, datetime
from pathlib import Path

from rolecall.core.config import SOURCE_SECRET_PREFIX, Config

SEALED = "sealed"
ENVIRONMENT, FILE = "env:", "file:"
REFERENCES = f"{ENVIRONMENT}{SOURCE_SECRET_PREFIX}… or {FILE}…"


def reference_problem(reference: str) -> str | None:
    """Return why a string is not a valid reference to a secret; None if it is valid."""
    if reference == SEALED:
        return None
    if reference.startswith(ENVIRONMENT):
        name = reference.removeprefix(ENVIRONMENT)
        fits = name.startswith(SOURCE_SECRET_PREFIX) and name != SOURCE_SECRET_PREFIX
        return None if fits else f"Secret reference must be env: and a variable that begins with {SOURCE_SECRET_PREFIX}"
    if reference.startswith(FILE):
        name = reference.removeprefix(FILE)
        fits = bool(name) and name == Path(name).name and name not in (".", "..") and "\\" not in name
        return None if fits else "Secret reference must be file: and a plain file name in ROLECALL_SOURCE_SECRETS"
    return f"Secret reference must be {REFERENCES}, or {SEALED} if you enter the secret"


def file_date(reference: str, config: Config) -> datetime | None:
    """Return when the file of a secret was last written; None if the secret is not in a file that can be accessed."""
    if not reference.startswith(FILE) or config.source_secrets is None:
        return None
    try:
        return set_date(config.source_secrets / reference.removeprefix(FILE))
    except OSError:
        return None


def set_date(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)
