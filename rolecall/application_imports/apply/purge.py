"""Remove secrets that earlier imports kept as metadata, from the current data and from its history."""

from collections import Counter
from uuid import UUID

import msgspec

from rolecall.application_imports.read.secret_headers import secret_headers
from rolecall.application_imports.read.sources import groups_of
from rolecall.applications.model import Content
from rolecall.core.db import Db, execute, fetch_rows

# The tables with metadata, their keys, the tables of names that they belong to, and the content they come from.
_HOLDERS = (
    ("account_versions", "account_number", "accounts", Content.USERS),
    ("group_versions", "group_number", "groups", Content.GROUPS),
)


async def purge_secrets(db: Db, application_id: UUID) -> Counter[str]:
    """Remove metadata whose names look like secrets, except names that a shape keeps; return the rows per name."""
    kept = {group.content: group.shape.keep for group in await groups_of(db, application_id) if group.shape}
    removed = Counter[str]()
    for table, key, names, content in _HOLDERS:
        rows = await fetch_rows(
            db,
            f"""SELECT v.{key}, v.from_import, v.metadata FROM {table} v JOIN {names} n ON n.number = v.{key}
                WHERE n.application_id = %(application)s AND v.metadata <> '{{}}' FOR UPDATE OF v""",
            application=application_id,
        )
        changed = []
        for number, import_number, text in rows:
            metadata = msgspec.json.decode(text, type=dict[str, str])
            if secret := secret_headers(list(metadata), kept.get(content, ())):
                removed.update(secret)
                # Encode metadata as imports do, so that the next import finds no difference.
                rest = {name: value for name, value in metadata.items() if name not in secret}
                changed.append((msgspec.json.encode(rest).decode(), number, import_number))
        async with db.cursor() as cursor:
            await cursor.executemany(f"UPDATE {table} SET metadata = %s WHERE {key} = %s AND from_import = %s", changed)
    if removed:
        await _note(db, application_id, removed)
    return removed


async def _note(db: Db, application_id: UUID, removed: Counter[str]) -> None:
    """Add an audit entry to the application: names and counts, never the values."""
    note = {
        "kind": "Application",
        "id": str(application_id),
        "part": "purgedSecrets",
        "is": {"records": dict(sorted(removed.items()))},
    }
    await execute(db, "SELECT note_changes(%(note)s)", note=msgspec.json.encode(note).decode())
