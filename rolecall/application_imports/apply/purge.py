"""Remove secrets that earlier imports kept as metadata, from the current data and from its history."""

from collections import Counter
from collections.abc import Iterable
from uuid import UUID

import msgspec

from rolecall.application_imports.read.secret_headers import secret_headers
from rolecall.application_imports.read.sources import groups_of
from rolecall.applications.model import Content, same_header
from rolecall.core.db import Db, execute, fetch_rows
from rolecall.core.secret_names import mask_json

# Each table with metadata: its name, its key, the table that the key refers to, and the content that fills it.
_HOLDERS = (
    ("account_versions", "account_number", "accounts", Content.USERS),
    ("group_versions", "group_number", "groups", Content.GROUPS),
)


async def purge_secrets(db: Db, application_id: UUID) -> Counter[str]:
    """Remove metadata that looks like secrets, and mask secrets inside JSON; count the changed values by column.

    Columns that a shape names in `keep` are not changed.
    """
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
            keep = kept.get(content, ())
            secret = secret_headers(list(metadata), keep)
            # Encode metadata as imports do, so that the next import finds no difference.
            rest = {name: _hidden(name, value, keep) for name, value in metadata.items() if name not in secret}
            if rest != metadata:
                removed.update(name for name, value in metadata.items() if rest.get(name) != value)
                changed.append((msgspec.json.encode(rest).decode(), number, import_number))
        async with db.cursor() as cursor:
            await cursor.executemany(f"UPDATE {table} SET metadata = %s WHERE {key} = %s AND from_import = %s", changed)
    if removed:
        await _note(db, application_id, removed)
    return removed


def _hidden(name: str, value: str, keep: Iterable[str]) -> str:
    """Mask secrets inside JSON, unless a shape keeps the column."""
    return value if same_header(name) in map(same_header, keep) else mask_json(value)


async def _note(db: Db, application_id: UUID, removed: Counter[str]) -> None:
    """Add an audit entry to the application: how many values of each column were changed, but never the values."""
    note = {
        "kind": "Application",
        "id": str(application_id),
        "part": "purgedSecrets",
        "is": {"records": dict(sorted(removed.items()))},
    }
    await execute(db, "SELECT note_changes(%(note)s)", note=msgspec.json.encode(note).decode())
