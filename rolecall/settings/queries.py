"""Read the settings."""

from collections.abc import Sequence
from uuid import UUID

import msgspec

from rolecall.core.db import Db, fetch_rows
from rolecall.settings.model import Settings


async def get(db: Db) -> Settings:
    # A setting without a row has the default of its field, so that a new setting needs no migration.
    stored = await fetch_rows(db, "SELECT name, value FROM settings")
    return msgspec.convert(dict(stored), Settings)


async def people(db: Db, ids: Sequence[UUID]) -> frozenset[UUID]:
    """Return which of these ids belong to identities, to validate a policy."""
    rows = await fetch_rows(db, "SELECT id FROM identities WHERE id = ANY(%(ids)s)", ids=list(ids))
    return frozenset(id for (id,) in rows)
