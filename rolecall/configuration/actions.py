"""Apply a configuration entry by entry, through the same actions as API and console, in one transaction.

Each entry has a savepoint: errors of all entries are reported together, and an entry without changes is rolled back.
"""

from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from psycopg import Rollback

from rolecall.access_models import actions as access_models
from rolecall.access_models import queries as model_queries
from rolecall.applications import actions as applications
from rolecall.configuration import queries
from rolecall.configuration.shapes import (
    ConfigurationBody,
    ConfigurationChanges,
    EntryChange,
    FieldChange,
    unknown_fields,
)
from rolecall.core.caller import Caller, Scope
from rolecall.core.checking import Facts, Json, check
from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.core.errors import Forbidden, Invalid, Problem
from rolecall.duties import actions as duties
from rolecall.duties import queries as duty_queries
from rolecall.identities import finding
from rolecall.notifications import actions as notifications
from rolecall.notifications import queries as notification_queries
from rolecall.reports import actions as reports
from rolecall.settings import actions as settings
from rolecall.sources import actions as sources
from rolecall.sources import queries as source_queries
from rolecall.webhooks import actions as webhooks

Write = Callable[[Json], Awaitable[None]]
# The action's field for each field that an entry gives by name.
_ENTRY_WORDS = {
    "ownerId": "owner",
    "provisionerIds": "provisioners",
    "recipientIds": "recipients",
    "identityId": "identity",
}
_LISTS_OF_PEOPLE = {"provisioners": "provisionerIds", "recipients": "recipientIds"}
_ENTRY_WORDS |= {"applicationId": "application"}


async def plan_configuration(db: Db, caller: Caller, raw: Json, facts: Facts, config: Config) -> ConfigurationChanges:
    """Return what applying would change, and roll back (dry run)."""
    changes = ConfigurationChanges([])
    async with db.transaction() as tried:
        changes = await apply_configuration(db, caller, raw, facts, config)
        raise Rollback(tried)
    return changes


async def apply_configuration(db: Db, caller: Caller, raw: Json, facts: Facts, config: Config) -> ConfigurationChanges:
    """Apply every entry, or none if any entry breaks a rule."""
    if raw.get("webhooks") is not None and Scope.WEBHOOKS_MANAGE not in caller.scopes:
        raise Forbidden(Scope.WEBHOOKS_MANAGE)
    if any(raw.get(section) is not None for section in ("duties", "dutyRules")) and (
        Scope.DUTIES_WRITE not in caller.scopes
    ):
        raise Forbidden(Scope.DUTIES_WRITE)
    applying = _Applying(db, caller, facts, config, raw)
    await applying.settings()
    for place, entry in applying.entries("applications"):
        await applying.application(place, entry)
    for place, entry in applying.entries("accessModels"):
        await applying.model(place, entry)
    for place, entry in applying.entries("webhooks"):
        await applying.webhook(place, entry)
    for place, entry in applying.entries("reports"):
        await applying.report(place, entry)
    for place, entry in applying.entries("duties"):
        await applying.duty(place, entry)
    for place, entry in applying.entries("dutyRules"):
        await applying.rule(place, entry)
    await applying.notifications()
    if applying.problems:
        raise Invalid(*applying.problems)
    return ConfigurationChanges(applying.changes)


class _DraftVerbs(NamedTuple):
    """The verbs of records that are drafted and then committed: access models and rules."""

    what: str
    get: Callable[..., Awaitable[Any]]
    create: Callable[..., Awaitable[Any]]
    change: Callable[..., Awaitable[Any]]
    discard: Callable[..., Awaitable[Any]]
    commit: Callable[..., Awaitable[Any]]


_MODELS = _DraftVerbs(
    "access model",
    model_queries.get,
    access_models.create_model,
    access_models.change_model,
    access_models.discard_draft,
    # A file may name groups that the next import brings.
    partial(access_models.commit_model, allow_unknown=True),
)
_RULES = _DraftVerbs(
    "rule",
    duty_queries.get_rule,
    duties.create_rule,
    duties.change_rule,
    duties.discard_rule_draft,
    duties.commit_rule,
)


class _Applying:
    """The state of one run: the changes so far and the problems found."""

    def __init__(self, db: Db, caller: Caller, facts: Facts, config: Config, raw: Json) -> None:
        self.db, self.caller, self.facts, self.config, self.raw = db, caller, facts, config, raw
        self.changes: list[EntryChange] = []
        self.problems = [*unknown_fields(ConfigurationBody, raw), *_repeated(raw)]
        try:
            check(ConfigurationBody, raw, facts)
        except Invalid as error:
            self.problems += error.problems
        self._unsound = [problem.field for problem in self.problems]

    def entries(self, section: str) -> Iterator[tuple[str, Json]]:
        """Return the named entries with their index; unnamed ones are reported already."""
        for number, name in enumerate(_names(self.raw, section)):
            if isinstance(name, str) and "\x00" not in name:
                yield f"{section}.{number}", {**self.raw[section][number], "name": name}

    def _is_sound(self, place: str) -> bool:
        """Return whether the entry is valid by itself; problems are reported already."""
        return not any(field == place or field.startswith(f"{place}.") for field in self._unsound)

    async def settings(self) -> None:
        entry = self.raw.get("settings")
        if not isinstance(entry, dict):
            return

        async def write(given: Json) -> None:
            await settings.change_settings(self.db, given, self.facts)

        await self._write_entry("settings", "", entry, write, lambda: queries.settings_entry(self.db))

    async def notifications(self) -> None:
        entry = self.raw.get("notifications")
        if not isinstance(entry, dict):
            return

        async def write(given: Json) -> None:
            await notifications.change_settings(self.db, self.caller, given, self.facts, self.config)

        await self._write_entry("notifications", "", entry, write, lambda: notification_queries.policy(self.db))

    async def application(self, place: str, entry: Json) -> None:
        name = entry["name"]
        known = (await queries.ids_by_name(self.db, "applications", [name])).get(name)

        async def write(given: Json) -> None:
            archived = {"isArchived": given.pop("isArchived", None)}
            source = {"source": given.pop("source")} if "source" in given else {}
            id = known or await applications.create_application(self.db, given, self.facts, self.caller)
            if known or archived["isArchived"]:
                await applications.change_application(self.db, id, {**given, **archived}, self.facts, self.caller)
            if source:
                await self._write_source(id, source["source"])

        await self._write_entry(place, name, entry, write, lambda: self._one(queries.application_entries, name))

    async def _write_source(self, id: UUID, given: Json | None) -> None:
        try:
            if given is not None:
                await sources.put_source(self.db, self.caller, id, given, self.facts, self.config)
            elif await source_queries.find(self.db, id):
                await sources.delete_source(self.db, self.caller, id)
        except Invalid as error:
            raise Invalid(*(Problem(f"source.{each.field}", each.message) for each in error.problems)) from None

    async def model(self, place: str, entry: Json) -> None:
        name = entry["name"]
        known = (await queries.ids_by_name(self.db, "access_models", [name])).get(name)

        async def write(given: Json) -> None:
            await self._write_draft(_MODELS, known, given)

        await self._write_entry(place, name, entry, write, lambda: self._one(queries.model_entries, name))

    async def rule(self, place: str, entry: Json) -> None:
        name = entry["name"]
        known = (await queries.ids_by_name(self.db, "duty_rules", [name])).get(name)

        async def write(given: Json) -> None:
            await self._write_draft(_RULES, known, given)

        await self._write_entry(place, name, entry, write, lambda: self._one(queries.rule_entries, name))

    async def _write_draft(self, verbs: "_DraftVerbs", known: UUID | None, given: Json) -> None:
        """Create or change a record that is drafted and then committed."""
        commit = given.pop("isCommitted", True)
        if known:
            await self._change_draft(verbs, known, given, commit)
            return
        made = await verbs.create(self.db, given, self.facts)
        if commit:
            await verbs.commit(self.db, self.caller, str(made.id), self.facts.now)

    async def _change_draft(self, verbs: "_DraftVerbs", id: UUID, given: Json, commit: bool) -> None:
        before = await verbs.get(self.db, id)
        if before.committed and not commit:
            raise Invalid.on("isCommitted", f"The {verbs.what} is committed already")
        # Compare with the committed version, so that another person's draft is not committed along.
        await verbs.discard(self.db, id)
        changed = await verbs.change(self.db, str(id), given, self.facts)
        if before.committed and before.draft and changed.draft not in (before.committed, before.draft):
            raise Invalid.on("name", f"{verbs.what.capitalize()} {before.committed.name} has a draft; commit it first")
        if commit and changed.draft != before.committed:
            await verbs.commit(self.db, self.caller, str(id), self.facts.now)

    async def duty(self, place: str, entry: Json) -> None:
        name = entry["name"]
        known = (await queries.ids_by_name(self.db, "duties", [name])).get(name)

        async def write(given: Json) -> None:
            if known:
                await duties.change_duty(self.db, str(known), given, self.facts)
            else:
                await duties.create_duty(self.db, given, self.facts)

        await self._write_entry(place, name, entry, write, lambda: self._one(queries.duty_entries, name))

    async def webhook(self, place: str, entry: Json) -> None:
        name = entry["name"]
        known = (await queries.ids_by_name(self.db, "webhooks", [name])).get(name)

        async def write(given: Json) -> None:
            if known:
                await webhooks.change_hook(self.db, known, given, self.facts, self.config)
            else:
                await webhooks.create_hook(self.db, given, self.facts, self.config)

        await self._write_entry(place, name, entry, write, lambda: self._one(queries.webhook_entries, name))

    async def report(self, place: str, entry: Json) -> None:
        name = entry["name"]
        known = (await queries.ids_by_name(self.db, "reports", [name])).get(name)

        async def write(given: Json) -> None:
            if known:
                await reports.change_report(self.db, self.caller, known, given, self.facts, self.config)
            else:
                await reports.create_report(self.db, self.caller, given, self.facts, self.config)

        await self._write_entry(place, name, entry, write, lambda: self._one(queries.report_entries, name))

    async def _one(self, entries: Callable[..., Awaitable[list[Any]]], name: str) -> Any:
        return next(iter(await entries(self.db, name)), None)

    async def _write_entry(
        self, place: str, name: str, entry: Json, write: Write, read: Callable[[], Awaitable[Any]]
    ) -> None:
        """Write one entry in a savepoint; collect its changes and problems."""
        given = await self._with_ids(place, entry)
        if not self._is_sound(place):
            return
        before = _plain(await read())
        try:
            async with self.db.transaction() as written:
                await write(given)
                after = _plain(await read())
                if after == before:
                    raise Rollback(written)
        except Invalid as error:
            self.problems += [Problem(_in_entry(place, problem.field), problem.message) for problem in error.problems]
            return
        if after != before:
            self.changes.append(_change(place.split(".", maxsplit=1)[0], name, before, after))

    async def _with_ids(self, place: str, entry: Json) -> Json:
        """Replace names by ids, as the action expects. Report and drop a name that matches no record."""
        given: Json = {}
        for field, value in entry.items():
            match field, value:
                case "owner", _:
                    given["ownerId"] = await self._person(f"{place}.owner", value)
                case "identity", _:
                    given["identityId"] = await self._person(f"{place}.identity", value)
                case "application", _:
                    given["applicationId"] = await self._application(f"{place}.application", value)
                case "conflicts", list():
                    named = [await self._duty(f"{place}.{field}.{n}", name) for n, name in enumerate(value)]
                    given[field] = [id for id in named if id]
                case "without", str():
                    given[field] = await self._duty(f"{place}.{field}", value)
                case (("provisioners" | "recipients"), list()):
                    found = [await self._person(f"{place}.{field}.{n}", name) for n, name in enumerate(value)]
                    given[_LISTS_OF_PEOPLE[field]] = [id for id in found if id]
                case "approvalPolicy" | "access", list():
                    parts = [(n, part) for n, part in enumerate(value) if isinstance(part, dict)]
                    read = [await self._with_ids(f"{place}.{field}.{n}", part) for n, part in parts]
                    given[field] = [part for part in read if part.get("applicationId", "") is not None]
                case _:
                    given[field] = value
        return given

    async def _person(self, place: str, name: object) -> str | None:
        if not isinstance(name, str) or not self._is_sound(place):
            return None
        fits, name = await finding.meant_by_confirmed(self.db, name), name.strip()
        if len(fits) == 1:
            return str(fits[0].id)
        nobody = f"No identity has the name, e-mail or employee ID {name}"
        self.problems.append(Problem(place, finding.several(name, fits) if fits else nobody))
        return None

    async def _application(self, place: str, name: object) -> str | None:
        return await self._named(place, "applications", "application", name)

    async def _duty(self, place: str, name: object) -> str | None:
        return await self._named(place, "duties", "duty", name)

    async def _named(self, place: str, section: str, what: str, name: object) -> str | None:
        """Return the id of the record with this name, from this file or the table that `section` names."""
        if not isinstance(name, str) or not self._is_sound(place):
            return None
        name = name.strip()
        if found := (await queries.ids_by_name(self.db, section, [name])).get(name):
            return str(found)
        # An entry of this file that could not be created has its own problem.
        if name not in _names(self.raw, section):
            self.problems.append(Problem(place, f"No {what} is named {name}"))
        return None


def _names(raw: Json, section: str) -> list[Any]:
    """Return the names of the entries in order; None for an entry without a name."""
    entries = raw.get(section)
    names = [
        entry.get("name") if isinstance(entry, dict) else None
        for entry in (entries if isinstance(entries, list) else ())
    ]
    return [name.strip() if isinstance(name, str) else name for name in names]


def _repeated(raw: Json) -> Iterator[Problem]:
    for section in ("applications", "accessModels", "webhooks", "reports", "duties", "dutyRules"):
        names = _names(raw, section)
        for number, name in enumerate(names):
            if name is not None and name in names[:number]:
                yield Problem(f"{section}.{number}.name", f"{name} is listed twice")


def _in_entry(place: str, field: str) -> str:
    words = [_ENTRY_WORDS.get(word, word) for word in field.split(".")]
    return ".".join([place, *words])


def _change(section: str, name: str, before: Json | None, after: Json) -> EntryChange:
    if before is None:
        return EntryChange(section, name, "New", [])
    return EntryChange(section, name, "Altered", list(_differences(before, after, "")))


def _differences(before: Any, after: Any, path: str) -> Iterator[FieldChange]:
    """Yield the fields that differ; recurse into objects with the same fields and lists of the same length."""
    match before, after:
        case dict(), dict() if before.keys() == after.keys():
            for name in after:
                yield from _differences(before[name], after[name], f"{path}.{name}" if path else name)
        case list(), list() if len(before) == len(after):
            for number, (old, new) in enumerate(zip(before, after, strict=True)):
                yield from _differences(old, new, f"{path}.{number}")
        case _ if before != after:
            yield FieldChange(path, before, after)


def _plain(entry: Any) -> Any:
    """Convert to plain JSON values: a tuple becomes a list."""
    return msgspec.json.decode(msgspec.json.encode(entry))
