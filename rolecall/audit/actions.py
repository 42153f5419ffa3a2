from typing import Any
from uuid import UUID

import msgspec

from rolecall.core.db import Db, execute


async def record(db: Db, kind: str, id: UUID, after: dict[str, Any]) -> None:
    """Add an audit entry for an action that changes no audited table; triggers (schema/audit.sql) add the others."""
    note = msgspec.json.encode({"kind": kind, "id": id, "part": "", "is": after}).decode()
    await execute(db, "SELECT note_changes(%(note)s)", note=note)
