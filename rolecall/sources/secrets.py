"""Read the secret that a source or carrier refers to (`references.py`). The secret is read only when it is needed."""

import asyncio
import os
from datetime import datetime
from pathlib import Path
from uuid import UUID

import msgspec

from rolecall.core import sealing
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.sources import queries
from rolecall.sources.model import SourceFailed
from rolecall.sources.references import ENVIRONMENT, FILE, SEALED, set_date


class FoundSecret(msgspec.Struct, frozen=True):
    """A secret, and when it was set if that is known."""

    text: str
    set_on: datetime | None = None

    def __repr__(self) -> str:
        """Leave out the secret, because this text may be logged."""
        return "FoundSecret()"


async def find_secret(db: Db, config: Config, reference: str, owner: UUID, name: str, host: str) -> FoundSecret:
    """Return the secret, which is empty without a reference; raise SourceFailed if it is missing or cannot be read."""
    if not reference:
        return FoundSecret("")
    if reference == SEALED:
        return await _unsealed(db, config, owner, name, host)
    if reference.startswith(ENVIRONMENT):
        return _in_environment(reference.removeprefix(ENVIRONMENT))
    return await asyncio.to_thread(_in_file, config.source_secrets, reference.removeprefix(FILE))


async def _unsealed(db: Db, config: Config, owner: UUID, name: str, host: str) -> FoundSecret:
    stored = await queries.sealed_secret(db, owner, name)
    if stored is None:
        raise SourceFailed("no secret is stored; save the source or carrier again with its secret")
    if stored.host != host:
        raise SourceFailed(
            f"the stored secret is for {stored.host}; save the source or carrier again with the secret for {host}"
        )
    key = sealing.load_key(config)
    try:
        return FoundSecret(sealing.unseal(key, stored.sealed, owner).decode(), stored.set_on)
    except sealing.CannotUnseal as error:
        raise SourceFailed(f"the stored secret cannot be read: {error}") from None


def _in_environment(name: str) -> FoundSecret:
    if text := os.environ.get(name):
        return FoundSecret(text)
    raise SourceFailed(f"the environment variable {name} is not set; set it and restart the service")


def _in_file(folder: Path | None, name: str) -> FoundSecret:
    if folder is None:
        raise SourceFailed("ROLECALL_SOURCE_SECRETS is not set; set it to the folder with the secret files")
    try:
        path = folder / name
        # Editors end a file with a line break, which is not a part of the secret.
        return FoundSecret(path.read_text().strip(), set_date(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SourceFailed(f"the secret {name} in ROLECALL_SOURCE_SECRETS cannot be read: {reason}") from None
