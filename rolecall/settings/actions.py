from collections.abc import Callable

import msgspec
from psycopg.types.json import Jsonb
from pydantic.alias_generators import to_camel

from rolecall.core.checking import Facts, Json, check, mentioned_ids
from rolecall.core.db import Db, execute
from rolecall.settings import queries
from rolecall.settings.model import CustomField, Settings
from rolecall.settings.policy import ApprovalRule
from rolecall.settings.shapes import CustomFieldBody, SettingsBody


async def change_settings(db: Db, raw: Json, facts: Facts) -> Settings:
    """Store the given settings and return all; a setting that was never set follows its default."""
    known = msgspec.structs.replace(facts, identities=await queries.people(db, mentioned_ids(raw)))
    body = check(SettingsBody, raw, known)
    await _lock(db)
    settings = await queries.get(db)
    given = body.model_dump(exclude_none=True)
    if body.custom_fields is not None:
        given["custom_fields"] = _merged(settings.custom_fields, body.custom_fields)
    # Convert the nested bodies, because `model_dump` has turned them into dicts and the settings consist of structs.
    if body.approval_policy is not None:
        given["approval_policy"] = [ApprovalRule(**rule.model_dump()) for rule in body.approval_policy]
    if body.guard is not None:
        given["guard"] = msgspec.structs.replace(settings.guard, **given["guard"])
    settings = msgspec.structs.replace(settings, **given)
    stored = msgspec.to_builtins(settings)
    for name in map(to_camel, given):
        await execute(
            db,
            "INSERT INTO settings (name, value) VALUES (%(name)s, %(value)s)"
            " ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value",
            name=name,
            value=Jsonb(stored[name]),
        )
    return settings


async def change_policy(db: Db, change: Callable[[list[Json]], list[Json]], facts: Facts) -> None:
    """Replace the approval policy; `change` receives the current rules as JSON and returns the new ones."""
    await _lock(db)
    rules = (await queries.get(db)).approval_policy
    await change_settings(db, {"approvalPolicy": change(msgspec.json.decode(msgspec.json.encode(rules)))}, facts)


async def _lock(db: Db) -> None:
    """Lock the settings before they are read, to prevent lost updates."""
    await execute(db, "LOCK TABLE settings IN SHARE ROW EXCLUSIVE MODE")


def _merged(fields: list[CustomField], changes: list[CustomFieldBody]) -> list[CustomField]:
    by_number = {field.number: field for field in fields}
    for change in changes:
        given = change.model_dump(exclude_none=True)
        by_number[change.number] = msgspec.structs.replace(by_number[change.number], **given)
    return list(by_number.values())
