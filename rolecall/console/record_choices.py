"""List the records of a kind for select fields."""

from enum import StrEnum

from rolecall.console.queries import RecordChoice
from rolecall.core.db import Db, fetch_all


class NamedRecord(StrEnum):
    APPLICATION = "Application"
    MODEL = "Access model"
    DUTY = "Duty"
    RULE = "Rule"
    REVIEW = "Review"
    REPORT = "Report"
    WEBHOOK = "Webhook"


_RECORDS = {
    NamedRecord.APPLICATION: "applications WHERE NOT is_archived",
    NamedRecord.MODEL: "access_models",
    NamedRecord.DUTY: "duties",
    NamedRecord.RULE: "duty_rules",
    NamedRecord.REVIEW: "reviews",
    NamedRecord.REPORT: "reports WHERE deleted_on IS NULL",
    NamedRecord.WEBHOOK: "webhooks WHERE deleted_on IS NULL",
}


async def records_of(db: Db, kind: NamedRecord) -> list[RecordChoice]:
    """List the first 1000 records of a kind by name."""
    return await fetch_all(
        db, RecordChoice, f"SELECT id, name FROM {_RECORDS[kind]} ORDER BY lower(name), id LIMIT 1000"
    )
