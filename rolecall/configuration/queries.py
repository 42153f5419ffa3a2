from collections.abc import Iterable
from typing import Any
from uuid import UUID

import msgspec

from rolecall.access_models.model import Definition
from rolecall.applications import queries as applications
from rolecall.applications.shapes import ApplicationConfiguration
from rolecall.carriers import queries as carriers
from rolecall.carriers.model import Carrier
from rolecall.configuration import review_templates
from rolecall.configuration.people import names_of
from rolecall.configuration.shapes import (
    ApplicationEntry,
    Configuration,
    DutyEntry,
    DutyRuleEntry,
    GrantsEntry,
    ModelEntry,
    PolicyEntry,
    ReportEntry,
    SettingsEntry,
    WebhookEntry,
)
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Json
from rolecall.core.db import Db, fetch_all, fetch_rows, fetch_value
from rolecall.duties import queries as duties
from rolecall.duties.model import Pattern
from rolecall.notifications import queries as notifications
from rolecall.reports import queries as reports
from rolecall.settings import queries as settings
from rolecall.sources import queries as sources
from rolecall.sources.model import Source

Names = dict[UUID | None, str]


async def get(db: Db, caller: Caller) -> Configuration:
    return Configuration(
        await settings_entry(db),
        await application_entries(db),
        await model_entries(db),
        await webhook_entries(db) if Scope.WEBHOOKS_MANAGE in caller.scopes else None,
        await report_entries(db),
        await duty_entries(db) if Scope.DUTIES_READ in caller.scopes else None,
        await rule_entries(db) if Scope.DUTIES_READ in caller.scopes else None,
        await notifications.policy(db),
        await review_templates.entries(db) if Scope.REVIEWS_READ in caller.scopes else None,
    )


async def settings_entry(db: Db) -> SettingsEntry:
    found = await settings.get(db)
    names = await names_of(db, [rule.identity_id for rule in found.approval_policy])
    policy = [
        PolicyEntry(
            rule.type,
            rule.reason,
            rule.responder,
            names.get(rule.identity_id),
            rule.actions,
            rule.event_types,
            rule.priorities,
            rule.risks,
        )
        for rule in found.approval_policy
    ]
    days = (found.approval_lead_days, found.webhook_retention_days)
    return SettingsEntry(found.custom_fields, *days, policy, found.guard, found.single_handed)


async def application_entries(db: Db, name: str | None = None) -> list[ApplicationEntry]:
    found = await applications.configurations(db, name=name)
    names = await names_of(db, [id for each in found for id in (each.owner_id, *each.provisioner_ids)])
    ids = [each.id for each in found]
    live, carrying = await sources.by_application(db, ids), await carriers.by_application(db, ids)
    return [_application(each, names, live.get(each.id), carrying.get(each.id)) for each in found]


def _application(
    found: ApplicationConfiguration, names: Names, source: Source | None, carrier: Carrier | None
) -> ApplicationEntry:
    return ApplicationEntry(
        found.name,
        found.priority,
        found.is_identity_source,
        found.is_archived,
        found.connector,
        found.schedule,
        names.get(found.owner_id),
        [names[id] for id in found.provisioner_ids if id in names],
        found.guard,
        found.review_every_months,
        found.surprise_reviews,
        source,
        carrier,
    )


async def model_entries(db: Db, name: str | None = None) -> list[ModelEntry]:
    rows = await fetch_rows(
        db,
        """SELECT definition IS NOT NULL, coalesce(definition, draft) FROM access_models
           WHERE %(name)s::text IS NULL OR coalesce(definition, draft) ->> 'name' = %(name)s ORDER BY name_key, id""",
        name=name,
    )
    found = [(committed, msgspec.convert(definition, Definition)) for committed, definition in rows]
    names = await names_of(db, [each.owner_id for _, each in found])
    named = await applications.names(db, {access.application_id for _, each in found for access in each.access})
    return [_model(each, committed, names, named) for committed, each in found]


def _model(definition: Definition, committed: bool, names: Names, applications: dict[UUID, str]) -> ModelEntry:
    access = [
        GrantsEntry(applications[each.application_id], each.groups, each.permissions) for each in definition.access
    ]
    return ModelEntry(
        definition.name,
        definition.description,
        names.get(definition.owner_id),
        definition.enabled,
        committed,
        definition.conditions,
        access,
    )


async def webhook_entries(db: Db, name: str | None = None) -> list[WebhookEntry]:
    return await fetch_all(
        db,
        WebhookEntry,
        """SELECT h.name, h.url, h.events, a.name AS application, h.enabled
           FROM webhooks h LEFT JOIN applications a ON a.id = h.application_id
           WHERE h.deleted_on IS NULL AND (%(name)s::text IS NULL OR h.name = %(name)s)
           ORDER BY lower(h.name), h.name""",
        name=name,
    )


async def report_entries(db: Db, name: str | None = None) -> list[ReportEntry]:
    found = await reports.named(db, name)
    people = [[*([report.owner] if report.owner else []), *report.recipients] for report in found]
    names = await names_of(db, [person.id for each in people for person in each])
    return [
        ReportEntry(
            report.name,
            report.description,
            report.list,
            report.filters,
            report.columns,
            report.period,
            report.format,
            report.schedule,
            names.get(report.owner.id) if report.owner else None,
            [names[person.id] for person in report.recipients if person.id in names],
        )
        for report in found
    ]


async def duty_entries(db: Db, name: str | None = None) -> list[DutyEntry]:
    rows = await fetch_rows(
        db,
        """SELECT name, description, patterns FROM duties WHERE %(name)s::text IS NULL OR name = %(name)s
           ORDER BY name_key, id""",
        name=name,
    )
    return [DutyEntry(name, said, msgspec.convert(patterns, list[Pattern])) for name, said, patterns in rows]


async def rule_entries(db: Db, name: str | None = None) -> list[DutyRuleEntry]:
    found = await duties.definitions(db, name)
    names = await names_of(db, [rule.owner_id for _, rule in found])
    named = await duties.names_of(db, {id for _, rule in found for id in rule.duties})
    return [
        DutyRuleEntry(
            rule.name,
            rule.description,
            rule.risk,
            rule.response,
            names.get(rule.owner_id),
            rule.enabled,
            is_committed,
            [named[id] for id in rule.conflicts],
            named[rule.without] if rule.without else None,
        )
        for is_committed, rule in found
    ]


async def entitlement_id(db: Db, application_id: str, entry: Json) -> UUID | None:
    """Return the id of the entitlement that an entry names: a group, or a permission with its header and section."""
    found: UUID | None = await fetch_value(
        db,
        """SELECT id FROM entitlements WHERE application_id = %(application)s
             AND CASE WHEN %(group)s::text IS NOT NULL THEN kind = 'Group' AND name = %(group)s
                      ELSE kind = 'Permission' AND header = %(header)s AND section = %(section)s
                           AND name = %(permission)s END
           ORDER BY is_present DESC LIMIT 1""",
        application=application_id,
        group=entry.get("group"),
        header=entry.get("header") or "",
        section=entry.get("section") or "",
        permission=entry.get("permission"),
    )
    return found


async def ids_by_name(db: Db, table: str, names: Iterable[Any]) -> dict[str, UUID]:
    """Map each of these names to the id of the record with this name; ignore renamings that are not committed yet."""
    # Deleted webhooks and reports stay in their tables, but their names can be used again.
    alive = " AND deleted_on IS NULL" if table in ("webhooks", "reports") else ""
    # The name of the table comes from constants, never from the document.
    rows = await fetch_rows(
        db, f"SELECT name, id FROM {table} WHERE name = ANY(%(names)s){alive}", names=[str(name) for name in names]
    )
    return dict(rows)
