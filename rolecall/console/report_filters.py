"""Convert the filters of a report to fields of a form and back, with names of people and records instead of ids."""

import msgspec

from rolecall.console import finding
from rolecall.console.forms import first, with_people
from rolecall.console.inputs import Form
from rolecall.console.queries import RecordChoice
from rolecall.console.record_choices import NamedRecord, records_of
from rolecall.core.db import Db
from rolecall.core.errors import Invalid
from rolecall.core.ids import guid
from rolecall.identities.queries import departments
from rolecall.reports.model import has_past
from rolecall.reports.shapes import ReportDetail
from rolecall.web.lists import RECORD, ListSource

# The prefix of filter fields in a form; without it, a filter called `name` would collide with the name of the report.
FILTER = "filters."
_PEOPLE = ("identityId", "ownerId", "reviewerId", "standInId", "callerId")
_RECORDS = {
    "applicationId": NamedRecord.APPLICATION,
    "ruleId": NamedRecord.RULE,
    "webhookId": NamedRecord.WEBHOOK,
}
# Lists below a record, each with the kind of that record.
_BELOW = {
    "accounts": NamedRecord.APPLICATION,
    "groups": NamedRecord.APPLICATION,
    "permissions": NamedRecord.APPLICATION,
    "access-model-members": NamedRecord.MODEL,
    "duty-holders": NamedRecord.DUTY,
    "new-access": NamedRecord.REVIEW,
    "report-runs": NamedRecord.REPORT,
    "review-items": NamedRecord.REVIEW,
}
_BELOW_ENTITLEMENTS = ("holders", "holder-history")


class FilterField(msgspec.Struct, frozen=True, kw_only=True):
    """A filter as a form field.

    `options` are the possible values, `records` are the records to choose from, and `known` are suggestions.
    """

    name: str
    label: str = ""
    required: bool = False
    is_person: bool = False
    options: list[str] = []
    records: list[RecordChoice] | None = None
    known: list[str] | None = None


async def filter_fields(db: Db, source: ListSource) -> list[FilterField]:
    record = [await _record_field(db, source)] if source.is_below_record else []
    return record + [await _field(db, source, name) for name in source.filters]


async def _record_field(db: Db, source: ListSource) -> FilterField:
    if source.name in _BELOW_ENTITLEMENTS:
        return FilterField(name=RECORD, label="Group or permission", required=True)
    kind = _BELOW.get(source.name)
    records = await records_of(db, kind) if kind else None
    return FilterField(name=RECORD, label=kind or "", records=records, required=True)


async def _field(db: Db, source: ListSource, name: str) -> FilterField:
    reader = source.filters[name]
    # A list with history requires only times, which the report's period can set.
    return FilterField(
        name=name,
        label=_RECORDS.get(name, ""),
        required=reader.required and not has_past(source.filters.keys()),
        is_person=name in _PEOPLE,
        options=["true", "false"] if reader.schema.get("type") == "boolean" else reader.schema.get("enum", []),
        records=await records_of(db, _RECORDS[name]) if name in _RECORDS else None,
        known=await departments(db) if name == "department" else None,
    )


async def with_ids(db: Db, source: ListSource, entered: Form) -> Form:
    """Return the form with the names of people and entitlements replaced by ids."""
    form = await with_people(db, entered, "ownerId", *(f"{FILTER}{name}" for name in _PEOPLE))
    place = f"{FILTER}{RECORD}"
    if source.name in _BELOW_ENTITLEMENTS and (words := first(form, place)):
        form = {**form, place: [await _the_entitlement(db, place, words)]}
    return form


async def _the_entitlement(db: Db, field: str, words: str) -> str:
    """Return the id of the entitlement that the words identify. If the words are an id, return it unchecked.

    Otherwise look for the exact label or name, preferring entitlements that still exist, then for a part of a name.
    Raise Invalid unless exactly one matches.
    """
    if known := guid(words):
        return str(known)
    found = await finding.entitlements_like(db, words)
    exact = [one for one in found if words.casefold() in (one.name.casefold(), one.label.casefold())]
    among = [one for one in exact if one.is_present] or exact or found
    if len(among) == 1:
        return str(among[0].id)
    if not among:
        raise Invalid.on(field, f"No group or permission matches {words}. Enter a part of its name")
    labels = "; ".join(one.label for one in among)
    raise Invalid.on(field, f"{words} matches several groups and permissions; enter one of them: {labels}")


async def current_filters(db: Db, report: ReportDetail) -> Form:
    return {f"{FILTER}{name}": [await _shown(db, report, name, text)] for name, text in report.filters.items()}


async def _shown(db: Db, report: ReportDetail, name: str, text: str) -> str:
    known = guid(text)
    if known and name in _PEOPLE:
        return await finding.label_of(db, known) or text
    if known and name == RECORD and report.list in _BELOW_ENTITLEMENTS:
        return await finding.label_of_entitlement(db, known) or text
    return text
