import msgspec
from psycopg.types.json import Jsonb

from rolecall.core.checking import Facts, Json, check, mentioned_ids
from rolecall.core.db import Db, execute
from rolecall.settings import queries
from rolecall.settings.model import CustomField, Settings
from rolecall.settings.policy import ApprovalRule
from rolecall.settings.shapes import CustomFieldBody, SettingsBody


async def change_settings(db: Db, raw: Json, facts: Facts) -> Settings:
    """Only what is given changes."""
    known = msgspec.structs.replace(facts, identities=await queries.people(db, mentioned_ids(raw)))
    body = check(SettingsBody, raw, known)
    # Two changes at once must not each lose the other's half.
    await execute(db, "LOCK TABLE settings IN SHARE ROW EXCLUSIVE MODE")
    settings = await queries.get(db)
    if body.custom_fields is not None:
        settings = msgspec.structs.replace(settings, custom_fields=_merged(settings.custom_fields, body.custom_fields))
    if body.approval_lead_days is not None:
        settings = msgspec.structs.replace(settings, approval_lead_days=body.approval_lead_days)
    if body.webhook_retention_days is not None:
        settings = msgspec.structs.replace(settings, webhook_retention_days=body.webhook_retention_days)
    if body.approval_policy is not None:
        policy = [ApprovalRule(**rule.model_dump()) for rule in body.approval_policy]
        settings = msgspec.structs.replace(settings, approval_policy=policy)
    for name, value in msgspec.to_builtins(settings).items():
        await execute(
            db,
            "INSERT INTO settings (name, value) VALUES (%(name)s, %(value)s)"
            " ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value",
            name=name,
            value=Jsonb(value),
        )
    return settings


def _merged(fields: list[CustomField], changes: list[CustomFieldBody]) -> list[CustomField]:
    by_number = {field.number: field for field in fields}
    for change in changes:
        given = change.model_dump(exclude_none=True)
        by_number[change.number] = msgspec.structs.replace(by_number[change.number], **given)
    return list(by_number.values())
