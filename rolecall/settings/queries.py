import msgspec

from rolecall.core.db import Db, fetch_rows
from rolecall.settings.model import Settings


async def get(db: Db) -> Settings:
    stored = await fetch_rows(db, "SELECT name, value FROM settings")
    return msgspec.convert(dict(stored), Settings)
