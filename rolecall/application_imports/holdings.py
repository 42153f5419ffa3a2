"""Accounts, groups, memberships, permissions and assignments: from what the files say to intervals in the database.

Everything is found out first; only then is anything written, so a doubt costs nothing. Names become numbers, and
numbers are compared.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import polars as pl

from rolecall.application_imports.deltas import Delta, Deltas, Doubt
from rolecall.application_imports.diff import Difference, difference
from rolecall.application_imports.frames import as_csv
from rolecall.application_imports.relations import (
    ACCOUNTS,
    ASSIGNMENTS,
    GROUPS,
    LISTINGS,
    MEMBERSHIPS,
    PERMISSIONS,
    Relation,
    close_intervals,
    copy_in,
    open_intervals,
)
from rolecall.application_imports.rows import name_keys
from rolecall.application_imports.state import Known, State
from rolecall.applications.model import Content
from rolecall.core.db import Db, execute

_NAME = ["header", "section", "permission"]
# So many rows that the planner should know of them.
MANY = 5_000
_RISKS = ["None", "Low", "Moderate", "High", "Critical"]


class Change(NamedTuple):
    relation: Relation
    difference: Difference


class Draft:
    """What one import will change in what its application holds."""

    def __init__(self, db: Db, application_id: UUID, number: int, deltas: Deltas, unchanged: set[Content]) -> None:
        self.db = db
        self.state = State(db, application_id)
        self.application_id = application_id
        self.number = number
        self.deltas = deltas
        self.unchanged = unchanged
        self.new_accounts = self.new_groups = self.new_permissions = pl.DataFrame()
        self.changes: list[Change] = []
        self.doubted_permissions = pl.DataFrame()
        # Contents whose files still say what is no longer so.
        self.stale: set[Content] = set()
        # Rows of each file that changed something.
        self.applied: dict[Content, dict[int, int]] = {}

    async def draw_up(self) -> None:
        await self._accounts()
        self._reject_unknown_users()
        await self._groups()
        await self._memberships()
        await self._permissions()

    async def _accounts(self) -> None:
        users = self.deltas.get(Content.USERS)
        every = users is not None and users.is_whole
        mentions = [delta for delta in self.deltas.values() if "username" in delta.after.columns]
        names = None if every else _union(delta.mentioned("username") for delta in mentions)
        known = await self.state.known(ACCOUNTS, names)
        present = known.frame.filter("is_present")
        change = Difference(present.clear(), present.clear(), present.clear())
        if users:
            after = name_keys(users.after)
            before = present if users.is_whole else self._involved(users, present, ["username"])
            change = difference(before, after, ["username"], ACCOUNTS.values)
            self._count(users, change)
        new = known.missing(change.new.select("username"))
        self.accounts = known.with_numbers_for(new, await self.state.numbers("holder_numbers", new.height))
        self.new_accounts = self.accounts.frame.tail(new.height).select("number", "username")
        gone = change.removed.select("username")
        still = pl.concat(
            [present.select("username").join(gone, on="username", how="anti"), change.new.select("username")]
        )
        self.present = self.accounts.frame.select("username", "number").join(still, on="username", how="semi")
        self.removed = change.removed.select("number")
        if users:
            self._change(ACCOUNTS, change, {"account_number": self.accounts})

    async def _groups(self) -> None:
        listed = self.deltas.get(Content.GROUPS)
        mentions = [d for d in self.deltas.values() if d.content != Content.GROUPS and "group" in d.after.columns]
        naming = [*([listed] if listed else []), *mentions]
        every = listed is not None and listed.is_whole
        names = None if every else _union(delta.mentioned("group") for delta in naming).filter(pl.col("group") != "")
        known = await self.state.known(GROUPS, names)
        added = _union(delta.after.select("group") for delta in naming)
        new = known.missing(added.filter(pl.col("group") != ""))
        self.groups = known.with_numbers_for(new, await self.state.numbers("holder_numbers", new.height))
        self.new_groups = self.groups.frame.tail(new.height).select("number", "group")
        present = self.groups.frame.filter("is_present")
        blank = {"description": "", "nomenclature": "", "parent": "", "metadata": "{}"}
        only_named = added.filter(pl.col("group") != "").join(present, on="group", how="anti")
        only_named = only_named.with_columns(pl.lit(value).alias(column) for column, value in blank.items())
        after = only_named
        if listed:
            rows = listed.after.select("group", *GROUPS.values)
            after = pl.concat([rows, only_named.join(rows, on="group", how="anti").select(rows.columns)])
            were_listed = self.groups.frame.filter("is_listed")
            before = were_listed if listed.is_whole else self._involved(listed, were_listed, ["group"])
            listing = difference(before, listed.after.select("group"), ["group"], [])
            self._change(LISTINGS, listing, {"group_number": self.groups})
        # A group that goes, or is no longer listed, is told by what still names it: `_settle_groups` looks.
        change = difference(present, after, ["group"], GROUPS.values)
        self._change(GROUPS, change._replace(removed=present.clear()), {"group_number": self.groups})
        if listed:
            files = listed.after.select("group", "file")
            new, altered = (part.select("group").join(files, on="group") for part in (change.new, change.altered))
            self._count(listed, Difference(new, altered, present.clear()))

    async def _memberships(self) -> None:
        delta = self.deltas.get(Content.MEMBERSHIPS)
        key = list(MEMBERSHIPS.key)
        held = await self.state.held_by(self.removed, MEMBERSHIPS)
        if delta is None:
            self._let_go(Content.MEMBERSHIPS, MEMBERSHIPS, held)
            return
        after = self.groups.number(self.accounts.number(delta.after, "account_number"), "group_number")
        if delta.gone is not None:
            gone = self.groups.number(self.accounts.number(delta.gone, "account_number"), "group_number").select(key)
            before = await self._before(MEMBERSHIPS, after, gone, delta)
            self._doubt_unless_gone(held, gone, key, delta)
        else:
            before = await self.state.current(MEMBERSHIPS)
        change = difference(before, after, key, [])
        self._count(delta, change)
        self._change(MEMBERSHIPS, change, {})

    async def _permissions(self) -> None:
        delta = self.deltas.get(Content.PERMISSIONS)
        key, values = list(ASSIGNMENTS.key), list(ASSIGNMENTS.values)
        held = await self.state.held_by(self.removed, ASSIGNMENTS)
        if delta is None:
            self._let_go(Content.PERMISSIONS, ASSIGNMENTS, held)
            return
        after = self._holders(delta.after)
        # A permission is mostly said alike by all who hold it.
        said = after.select(*_NAME, "description", "risk_rating").unique()
        said = said.group_by(_NAME).agg(
            pl.col("description").max(),
            pl.col("description").min().alias("other"),
            pl.col("risk_rating").replace_strict(_RISKS, range(5), return_dtype=pl.Int8).max().alias("risk"),
            pl.col("risk_rating").replace_strict(_RISKS, range(5), return_dtype=pl.Int8).min().alias("other_risk"),
        )
        if said.select(
            ((pl.col("description") != pl.col("other")) | (pl.col("risk") != pl.col("other_risk"))).any()
        ).item():
            delta.is_by_line = False
        said = said.with_columns(risk_rating=pl.col("risk").replace_strict(range(5), _RISKS, return_dtype=pl.String))
        known = await self.state.known(PERMISSIONS, None if delta.is_whole else delta.mentioned(*_NAME))
        new = known.missing(said.select(_NAME))
        self.permissions = known.with_numbers_for(new, await self.state.numbers("permissions_number_seq", new.height))
        self.new_permissions = self.permissions.frame.tail(new.height).select("number", *_NAME)
        present = self.permissions.frame.filter("is_present")
        catalogue = difference(present, said.select(*_NAME, *PERMISSIONS.values), _NAME, PERMISSIONS.values)
        after = self.permissions.number(after, "permission_number")
        if delta.gone is not None:
            if catalogue.altered.height:
                raise Doubt(delta.content, "the description or risk of a permission changed")
            gone = self.permissions.number(self._holders(delta.gone), "permission_number").select(key)
            before = await self._before(ASSIGNMENTS, after, gone, delta)
            self._doubt_unless_gone(held, gone, key, delta)
            # Whether a permission is gone with its line depends on lines that were not read, unless a new one has it.
            lost = gone.select("permission_number").unique()
            self.doubted_permissions = lost.join(after, on="permission_number", how="anti")
            catalogue = catalogue._replace(removed=present.clear())
        else:
            before = await self.state.current(ASSIGNMENTS)
        change = difference(before, after, key, values)
        self._count(delta, change)
        self._change(PERMISSIONS, catalogue, {"permission_number": self.permissions})
        self._change(ASSIGNMENTS, change, {})

    def _reject_unknown_users(self) -> None:
        for content in (Content.MEMBERSHIPS, Content.PERMISSIONS):
            if delta := self.deltas.get(content):
                unknown = delta.after.filter(pl.col("username") != "").join(self.present, on="username", how="anti")
                if unknown.height:
                    delta.reject(unknown, "Username {} is not among the users")

    def _holders(self, frame: pl.DataFrame) -> pl.DataFrame:
        by_account = self.accounts.number(frame, "holder_number")
        if not frame.select((pl.col("group") != "").any()).item():
            return by_account
        by_group = self.groups.number(frame, "holder_number").get_column("holder_number")
        return by_account.with_columns(holder_number=pl.coalesce("holder_number", by_group))

    def _involved(self, delta: Delta, present: pl.DataFrame, name: list[str]) -> pl.DataFrame:
        """The rows that lines of `delta` are about; a line that comes must be new, or replace a line that goes."""
        assert delta.gone is not None
        there = present.select(name)
        if delta.after.select(name).join(there, on=name, how="semi").join(delta.gone, on=name, how="anti").height:
            raise Doubt(delta.content, "a line repeats what another line says")
        if delta.gone.select(name).join(there, on=name, how="anti").height:
            raise Doubt(delta.content, "a line that went was not among what is known")
        return present.join(delta.mentioned(*name), on=name, how="semi")

    async def _before(self, relation: Relation, after: pl.DataFrame, gone: pl.DataFrame, delta: Delta) -> pl.DataFrame:
        key = list(relation.key)
        pairs = pl.concat([after.select(key), gone]).unique()
        if pairs.select(pl.any_horizontal(pl.all().is_null()).any()).item():
            raise Doubt(delta.content, "a line that went names what is not known")
        before = await self.state.current(relation, pairs)
        if gone.join(before, on=key, how="anti").height:
            raise Doubt(delta.content, "a line that went was not among what is known")
        if after.join(before, on=key, how="semi").join(gone, on=key, how="anti").height:
            raise Doubt(delta.content, "a line repeats what another line says")
        return before

    def _doubt_unless_gone(self, held: pl.DataFrame, gone: pl.DataFrame, key: list[str], delta: Delta) -> None:
        if held.height and held.join(gone, on=key, how="anti").height:
            raise Doubt(delta.content, "an account that went is still named")

    def _let_go(self, content: Content, relation: Relation, held: pl.DataFrame) -> None:
        """An account that goes takes along what a file that is not part of this import gave it."""
        if not held.height:
            return
        if content in self.unchanged:
            raise Doubt(content, "an account that went is still named")
        self.changes.append(Change(relation, Difference(held.clear(), held.clear(), held)))
        self.stale.add(content)

    def _count(self, delta: Delta, change: Difference) -> None:
        files = pl.concat([part.select("file") for part in (change.new, change.altered)])
        self.applied[delta.content] = dict(files.group_by("file").len().iter_rows())

    def _change(self, relation: Relation, change: Difference, numbers: dict[str, Known]) -> None:
        for column, known in numbers.items():
            change = Difference(
                *(
                    part if column in part.columns else known.number(part.drop("number", strict=False), column)
                    for part in change
                )
            )
        self.changes.append(Change(relation, change))

    async def write(self, now: datetime) -> None:
        application = pl.lit(str(self.application_id)).alias("application_id")
        accounts = self.new_accounts.with_columns(application, pl.lit(now.isoformat()).alias("matched_on"))
        await self._insert("accounts (number, username, application_id, matched_on)", accounts)
        await self._insert("groups (number, name, application_id)", self.new_groups.with_columns(application))
        permissions = self.new_permissions.with_columns(application)
        await self._insert("permissions (number, header, section, permission, application_id)", permissions)
        for relation, change in self.changes:
            closed = pl.concat([part.select(relation.key) for part in (change.altered, change.removed)])
            if closed.height:
                await close_intervals(self.db, relation, self.number, as_csv(closed))
            if change.new.height or change.altered.height:
                number = pl.lit(self.number).alias("from_import")
                opened = change.opened.select(*relation.key, *relation.values, number)
                await open_intervals(self.db, relation, as_csv(_in_order(opened, relation)))
        await self._settle_groups()
        await self._settle_permissions()

    def grown(self) -> list[str]:
        """The tables that got many rows."""
        added = {relation.table: change.opened.height for relation, change in self.changes}
        return [table for table, rows in {**added, "accounts": self.new_accounts.height}.items() if rows >= MANY]

    async def _insert(self, into: str, frame: pl.DataFrame) -> None:
        if frame.height:
            await copy_in(self.db, into, as_csv(frame))

    async def _settle_groups(self) -> None:
        """A group that nothing lists goes when nothing names it, and else keeps only its name."""
        unlisted = """v.group_number = g.number AND g.application_id = %(application)s AND v.until_import IS NULL
            AND NOT EXISTS (SELECT FROM group_listings l WHERE l.group_number = g.number AND l.until_import IS NULL)"""
        await execute(
            self.db,
            f"""UPDATE group_versions v SET until_import = %(number)s FROM groups g WHERE {unlisted} AND NOT EXISTS
                (SELECT FROM memberships m WHERE m.group_number = g.number AND m.until_import IS NULL) AND NOT EXISTS
                (SELECT FROM assignments s WHERE s.holder_number = g.number AND s.until_import IS NULL)""",
            application=self.application_id,
            number=self.number,
        )
        await execute(
            self.db,
            f"""WITH stripped AS (
                    UPDATE group_versions v SET until_import = %(number)s FROM groups g WHERE {unlisted}
                    AND (v.description, v.nomenclature, v.parent, v.metadata::text) <> ('', '', '', '{{}}')
                    RETURNING v.group_number)
                INSERT INTO group_versions (group_number, from_import, description, nomenclature, parent, metadata)
                SELECT group_number, %(number)s, '', '', '', '{{}}' FROM stripped""",
            application=self.application_id,
            number=self.number,
        )

    async def _settle_permissions(self) -> None:
        if not self.doubted_permissions.height:
            return
        await execute(
            self.db,
            """UPDATE permission_versions v SET until_import = %(number)s
               WHERE v.permission_number = ANY(%(doubted)s) AND v.until_import IS NULL
               AND v.permission_number NOT IN (
                   SELECT s.permission_number FROM assignments s
                   WHERE s.permission_number = ANY(%(doubted)s) AND s.until_import IS NULL)""",
            number=self.number,
            doubted=self.doubted_permissions.get_column("permission_number").to_list(),
        )


def _union(frames: Iterator[pl.DataFrame]) -> pl.DataFrame:
    found = list(frames)
    return pl.concat(found).unique() if found else pl.DataFrame(schema={"username": pl.String, "group": pl.String})


def _in_order(rows: pl.DataFrame, relation: Relation) -> pl.DataFrame:
    """An index takes keys in order several times faster; a file is mostly in order already."""
    if len(relation.key) == 1 and rows.get_column(relation.key[0]).is_sorted():
        return rows
    return rows.sort(relation.key)
