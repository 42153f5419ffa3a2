"""Read and write the templates of reviews as entries of a configuration, with names in place of ids."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from rolecall.configuration.people import names_of
from rolecall.configuration.shapes import EntitlementEntry, ReviewTemplateEntry
from rolecall.core.checking import Facts, Json
from rolecall.core.db import Db, fetch_rows
from rolecall.reviews import templates

Names = dict[str, Any]


async def entries(db: Db, name: str | None = None) -> list[ReviewTemplateEntry]:
    """Return all templates, ordered by name, or only the one with this name."""
    found = await templates.named(db, name)
    reviews = [each.review for each in found]
    names = await _names(db, reviews)
    return [
        ReviewTemplateEntry(
            each.name, each.every_months, each.days_to_review, each.opens, _with_names(each.review, names)
        )
        for each in found
    ]


# Map the fields of a review that contain ids to the fields of the file.
_FIELDS = {
    "ownerId": "owner",
    "identityId": "identity",
    "applicationIds": "applications",
    "entitlementIds": "entitlements",
    "entitlementOwnerIds": "entitlementOwners",
    "modelIds": "accessModels",
    "identityIds": "identities",
}


def _with_names(part: Any, names: Names) -> Any:
    """Replace ids with names. An id without a record is omitted from a list; as a single value it becomes None."""
    match part:
        case dict():
            return {
                _FIELDS.get(field, field): _named(value, names) if field in _FIELDS else _with_names(value, names)
                for field, value in part.items()
            }
        case list():
            return [_with_names(each, names) for each in part]
    return part


def _named(value: Any, names: Names) -> Any:
    if isinstance(value, list):
        return [names[id] for id in value if id in names]
    return names.get(value)


def _ids(part: Any) -> Iterable[str]:
    match part:
        case dict():
            for field, value in part.items():
                if field in _FIELDS:
                    yield from value if isinstance(value, list) else [value]
                else:
                    yield from _ids(value)
        case list():
            for each in part:
                yield from _ids(each)


async def _names(db: Db, reviews: list[Json]) -> Names:
    """Map each id in these reviews to its name; the name of an entitlement includes its application."""
    ids = [UUID(id) for id in _ids(reviews) if id]
    people = await names_of(db, ids)
    records = await fetch_rows(
        db,
        """SELECT id, name FROM applications WHERE id = ANY(%(ids)s)
           UNION ALL SELECT id, name FROM access_models WHERE id = ANY(%(ids)s)""",
        ids=ids,
    )
    access = await fetch_rows(
        db,
        """SELECT e.id, a.name, CASE WHEN e.kind = 'Group' THEN e.name END, e.header, e.section, e.name
           FROM entitlements e JOIN applications a ON a.id = e.application_id WHERE e.id = ANY(%(ids)s)""",
        ids=ids,
    )
    # An id occurs in only one of these tables, so one map serves all fields.
    return {
        **{str(id): name for id, name in people.items()},
        **{str(id): name for id, name in records},
        **{str(id): _access(*parts) for id, *parts in access},
    }


def _access(application: str, group: str | None, *permission: str) -> EntitlementEntry:
    return EntitlementEntry(application, group) if group else EntitlementEntry(application, None, *permission)


async def write_template(db: Db, name: str, given: Json, facts: Facts) -> None:
    """Create a template, or change the given fields of an existing one.

    `nextOn` applies only to a new template; later the worker advances it.
    """
    found = await templates.named(db, name)
    if not found:
        await templates.create_template(db, given, facts)
        return
    changes = {field: value for field, value in given.items() if field not in ("name", "nextOn")}
    if isinstance(review := given.get("review"), dict):
        before = found[0].review
        # The action replaces the whole review, but fields that the file does not mention must keep their values.
        scope = {**before.get("scope", {}), **(review.get("scope") or {})}
        changes["review"] = {**before, **review, **({"scope": scope} if scope else {})}
    await templates.change_template(db, str(found[0].id), changes, facts)
