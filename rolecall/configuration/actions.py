"""Apply a configuration entry by entry, through the same actions as the API, in one transaction.

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
from rolecall.accounts.matching import take_turn
from rolecall.applications import actions as applications
from rolecall.carriers import actions as carriers
from rolecall.carriers import queries as carrier_queries
from rolecall.configuration import queries, review_templates
from rolecall.configuration.naming import Naming, in_entry, names_in
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
from rolecall.notifications import actions as notifications
from rolecall.notifications import queries as notification_queries
from rolecall.reports import actions as reports
from rolecall.settings import actions as settings
from rolecall.sources import actions as sources
from rolecall.sources import queries as source_queries
from rolecall.webhooks import actions as webhooks

Write = Callable[[Json], Awaitable[None]]
# The scope that a section needs besides `config:manage`.
_SCOPES = {
    "webhooks": Scope.WEBHOOKS_MANAGE,
    "duties": Scope.DUTIES_WRITE,
    "dutyRules": Scope.DUTIES_WRITE,
    "reviewTemplates": Scope.REVIEWS_WRITE,
}


async def plan_configuration(db: Db, caller: Caller, raw: Json, facts: Facts, config: Config) -> ConfigurationChanges:
    """Return what applying the configuration would change, and roll back (dry run)."""
    changes = ConfigurationChanges([])
    async with db.transaction() as tried:
        changes = await apply_configuration(db, caller, raw, facts, config)
        raise Rollback(tried)
    return changes


async def apply_configuration(db: Db, caller: Caller, raw: Json, facts: Facts, config: Config) -> ConfigurationChanges:
    """Apply every entry and return the changes.

    If an entry is invalid, raise Invalid with the problems of all entries; the transaction must then be rolled back.
    """
    # The routes require only `config:manage`, because the other scopes depend on the sections in the body.
    for section, scope in _SCOPES.items():
        if raw.get(section) is not None and scope not in caller.scopes:
            raise Forbidden(scope)
    applying = _Applying(db, caller, facts, config, raw)
    await _lock(db, raw)
    await applying.settings()
    # The order matters: entries name records of earlier sections.
    writers = {
        "applications": applying.application,
        "accessModels": applying.model,
        "webhooks": applying.webhook,
        "reports": applying.report,
        "duties": applying.duty,
        "dutyRules": applying.rule,
        "reviewTemplates": applying.review_template,
    }
    for section, write in writers.items():
        for place, entry in applying.entries(section):
            await write(place, entry)
    await applying.notifications()
    if applying.problems:
        raise Invalid(*applying.problems)
    return ConfigurationChanges(applying.changes)


async def _lock(db: Db, raw: Json) -> None:
    """Take the locks that several sections share, in the order in which imports of people take them.

    The sections take them in another order: archiving an application takes the lock of matching, as duties do.
    """
    if not any(raw.get(section) for section in ("applications", "duties", "dutyRules")):
        return
    if raw.get("accessModels"):
        await access_models.lock_for_commits(db)
    await take_turn(db)


class _DraftVerbs(NamedTuple):
    """The actions on a kind of record that is drafted and then committed: access models or rules."""

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
    # A model in a file may name groups that are not imported yet.
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
    """The state while a configuration is applied: the changes so far and the problems found."""

    def __init__(self, db: Db, caller: Caller, facts: Facts, config: Config, raw: Json) -> None:
        self.db, self.caller, self.facts, self.config, self.raw = db, caller, facts, config, raw
        self.changes: list[EntryChange] = []
        self.problems = [*unknown_fields(ConfigurationBody, raw), *_repeated(raw)]
        # Collect the problems and go on, so that one response reports those of all entries.
        try:
            check(ConfigurationBody, raw, facts)
        except Invalid as error:
            self.problems += error.problems
        self._naming = Naming(db, raw, self.problems)

    def entries(self, section: str) -> Iterator[tuple[str, Json]]:
        """Yield each entry that has a name, with its place in the file; entries without a name are already reported."""
        for number, name in enumerate(names_in(self.raw, section)):
            # PostgreSQL accepts no NUL characters in text; the check of the body reports them.
            if isinstance(name, str) and "\x00" not in name:
                yield f"{section}.{number}", {**self.raw[section][number], "name": name}

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
            # Archive a new application with a second action, because `create_application` ignores `isArchived`.
            archived = {"isArchived": given.pop("isArchived", None)}
            parts = {part: given.pop(part) for part in ("source", "carrier") if part in given}
            for part in [part for part, content in parts.items() if content is None]:
                del parts[part]
                # Remove a source or carrier first, because it could prevent the other changes: an application with a
                # source cannot have file locations, and one with a carrier cannot be an identity source.
                if known:
                    await self._write_part(known, part, None)
            id = known or await applications.create_application(self.db, given, self.facts, self.caller)
            if known or archived["isArchived"]:
                await applications.change_application(self.db, id, {**given, **archived}, self.facts, self.caller)
            # Write the source after the connector, because the source names file groups of the connector.
            for part, content in parts.items():
                await self._write_part(id, part, content)

        await self._write_entry(place, name, entry, write, lambda: self._one(queries.application_entries, name))

    async def _write_part(self, id: UUID, part: str, given: Json | None) -> None:
        write = {"source": self._write_source, "carrier": self._write_carrier}[part]
        try:
            await write(id, given)
        except Invalid as error:
            raise Invalid(*(Problem(f"{part}.{each.field}", each.message) for each in error.problems)) from None

    async def _write_source(self, id: UUID, given: Json | None) -> None:
        if given is not None:
            await sources.put_source(self.db, self.caller, id, given, self.facts, self.config)
        elif await source_queries.find(self.db, id):
            await sources.delete_source(self.db, self.caller, id, self.facts.now)

    async def _write_carrier(self, id: UUID, given: Json | None) -> None:
        if given is not None:
            await carriers.put_carrier(self.db, id, given, self.facts, self.config)
        elif await carrier_queries.find(self.db, id):
            await carriers.delete_carrier(self.db, id, self.facts.now)

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
            raise Invalid.on("isCommitted", f"The {verbs.what} is already committed; set isCommitted to true")
        # Start from the committed version, so that another person's draft is not committed too.
        await verbs.discard(self.db, id)
        changed = await verbs.change(self.db, str(id), given, self.facts)
        # If the entry changes nothing, `_write_entry` rolls it back, which restores the discarded draft.
        if before.committed and before.draft and changed.draft not in (before.committed, before.draft):
            named = f"{verbs.what.capitalize()} {before.committed.name}"
            raise Invalid.on("name", f"{named} has a draft; commit or discard it first")
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

    async def review_template(self, place: str, entry: Json) -> None:
        name = entry["name"]

        async def write(given: Json) -> None:
            await review_templates.write_template(self.db, name, given, self.facts)

        await self._write_entry(place, name, entry, write, lambda: self._one(review_templates.entries, name))

    async def _one(self, entries: Callable[..., Awaitable[list[Any]]], name: str) -> Any:
        return next(iter(await entries(self.db, name)), None)

    async def _write_entry(
        self, place: str, name: str, entry: Json, write: Write, read: Callable[[], Awaitable[Any]]
    ) -> None:
        """Write one entry in a savepoint; collect its changes and problems."""
        # Resolve the names of an invalid entry too, so that unknown names are reported as well.
        given = await self._naming.with_ids(place, entry)
        if not self._naming.is_sound(place):
            return
        before = _plain(await read())
        try:
            async with self.db.transaction() as written:
                await write(given)
                after = _plain(await read())
                if after == before:
                    raise Rollback(written)
        except Invalid as error:
            self.problems += [Problem(in_entry(place, problem.field), problem.message) for problem in error.problems]
            return
        if after != before:
            self.changes.append(_change(place.split(".", maxsplit=1)[0], name, before, after))


def _repeated(raw: Json) -> Iterator[Problem]:
    for section in ("applications", "accessModels", "webhooks", "reports", "duties", "dutyRules", "reviewTemplates"):
        names = names_in(raw, section)
        for number, name in enumerate(names):
            # The second entry would silently overwrite fields of the first.
            if name is not None and name in names[:number]:
                yield Problem(f"{section}.{number}.name", f"{name} is listed twice; keep one entry")


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
    """Return the entry as plain JSON values: a tuple becomes a list."""
    return msgspec.json.decode(msgspec.json.encode(entry))
