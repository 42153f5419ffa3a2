"""Compare files of groups, memberships and permissions with what the application's accounts and groups hold.

Names are replaced by numbers, and numbers are compared.
"""

from collections.abc import Sequence

import polars as pl

from rolecall.application_imports.compare.accounts import AccountChanges
from rolecall.application_imports.compare.change_set import ChangeSet, RelationChange, rows_of_lines, union
from rolecall.application_imports.compare.diff import Difference, difference
from rolecall.application_imports.compare.state import CurrentState, NameIndex
from rolecall.application_imports.model import (
    ACCOUNTS,
    ASSIGNMENTS,
    GROUPS,
    LISTINGS,
    MEMBERSHIPS,
    PERMISSIONS,
    Relation,
)
from rolecall.application_imports.read.file_delta import Doubt, FileDelta, FileDeltas
from rolecall.applications.model import Content

_NAME = ["header", "section", "permission"]
_NAMES_ACCOUNTS = (Content.MEMBERSHIPS, Content.PERMISSIONS)
_RISKS = ["None", "Low", "Moderate", "High", "Critical"]
_BLANK_GROUP = {"description": "", "nomenclature": "", "parent": "", "metadata": "{}"}
_STILL_NAMED = "a removed account is still named"


class HoldingChanges(ChangeSet):
    """Changes of groups, memberships, permissions and assignments."""

    def __init__(
        self, state: CurrentState, number: int, accounts: AccountChanges, deltas: FileDeltas, unchanged: set[Content]
    ) -> None:
        super().__init__(state, number)
        self.account_changes = accounts
        self.removed = accounts.removed
        self.deltas = deltas
        self.unchanged = unchanged
        # Permissions that lost a line; whether anything still holds them is looked up after writing.
        self.maybe_unused = pl.DataFrame()
        # Contents whose files name accounts that are removed.
        self.stale: set[Content] = set()

    async def compare(self) -> Doubt | None:
        await self._accounts()
        return (
            self._reject_unknown_users()
            or await self._groups()
            or await self._memberships()
            or await self._permissions()
        )

    async def _accounts(self) -> None:
        """Add the accounts that other files name to those of the file of users."""
        index, present = self.account_changes.index, self.account_changes.present
        if not self.account_changes.is_all:
            holders = (self.deltas[content] for content in _NAMES_ACCOUNTS if content in self.deltas)
            named = union((delta.mentioned("username") for delta in holders), "username")
            others = await self.state.index(ACCOUNTS, index.missing(named))
            index = NameIndex(pl.concat([index.frame, others.frame], how="diagonal"), index.name)
            more = others.frame.filter("is_present").select("username", "number")
            present = pl.concat([present, more])
        self.accounts, self.present = index, present

    def _reject_unknown_users(self) -> Doubt | None:
        for content in _NAMES_ACCOUNTS:
            if delta := self.deltas.get(content):
                unknown = delta.after.filter(pl.col("username") != "").join(self.present, on="username", how="anti")
                if unknown.height and (doubt := delta.reject(unknown, "Username {} is not among the users")):
                    return doubt
        return None

    async def _groups(self) -> Doubt | None:
        listed = self.deltas.get(Content.GROUPS)
        others = [d for d in self.deltas.values() if d.content != Content.GROUPS and "group" in d.after.columns]
        naming = [*([listed] if listed else []), *others]
        named = union((delta.after.select("group") for delta in naming), "group").filter(pl.col("group") != "")
        await self._index_groups(naming, named, is_all=listed is not None and listed.is_whole)
        present = self.groups.frame.filter("is_present")
        only_named = named.join(present, on="group", how="anti")
        after = only_named.with_columns(pl.lit(value).alias(column) for column, value in _BLANK_GROUP.items())
        if listed:
            rows = listed.after.select("group", *GROUPS.values)
            after = pl.concat([rows, after.join(rows, on="group", how="anti").select(rows.columns)])
            if doubt := self._listings(listed):
                return doubt
        # Whether a group is removed depends on what still names it: `apply/write.py` decides that after writing.
        change = difference(present, after, ["group"], GROUPS.values)
        self.change(GROUPS, change._replace(removed=present.clear()), {"group_number": self.groups})
        if listed:
            files = listed.after.select("group", "file")
            new, altered = (part.select("group").join(files, on="group") for part in (change.new, change.altered))
            self.count(listed, Difference(new, altered, present.clear()))
        return None

    async def _index_groups(self, naming: Sequence[FileDelta], named: pl.DataFrame, *, is_all: bool) -> None:
        mentioned = union((delta.mentioned("group") for delta in naming), "group").filter(pl.col("group") != "")
        index = await self.state.index(GROUPS, None if is_all else mentioned)
        new = index.missing(named)
        self.groups = index.with_numbers_for(new, await self.state.new_numbers("holder_numbers", new.height))
        made = self.groups.frame.tail(new.height).select("number", "group")
        self.insert("groups (number, name, id, application_id)", made)

    def _listings(self, listed: FileDelta) -> Doubt | None:
        were_listed = self.groups.frame.filter("is_listed")
        before = were_listed if listed.is_whole else rows_of_lines(listed, were_listed, ["group"])
        if isinstance(before, Doubt):
            return before
        change = difference(before, listed.after.select("group"), ["group"], [])
        self.change(LISTINGS, change, {"group_number": self.groups})
        return None

    async def _memberships(self) -> Doubt | None:
        delta = self.deltas.get(Content.MEMBERSHIPS)
        held = await self.state.held_by(self.removed, MEMBERSHIPS)
        if delta is None:
            return self._remove_held(Content.MEMBERSHIPS, MEMBERSHIPS, held)
        after = self._members(delta.after)
        removed = None if delta.removed is None else self._members(delta.removed)
        before = await self._before(MEMBERSHIPS, delta, after, removed, held)
        if isinstance(before, Doubt):
            return before
        change = difference(before, after, list(MEMBERSHIPS.key), [])
        self.count(delta, change)
        self.change(MEMBERSHIPS, change, {})
        return None

    async def _permissions(self) -> Doubt | None:
        delta = self.deltas.get(Content.PERMISSIONS)
        held = await self.state.held_by(self.removed, ASSIGNMENTS)
        if delta is None:
            return self._remove_held(Content.PERMISSIONS, ASSIGNMENTS, held)
        after = self._holders(delta.after)
        catalogue = await self._catalogue(delta, after)
        after = self.permissions.number(after, "permission_number")
        removed = None
        if delta.removed is not None:
            if catalogue.altered.height:
                return Doubt(delta.content, "the description or risk of a permission changed")
            removed = self.permissions.number(self._holders(delta.removed), "permission_number")
        before = await self._before(ASSIGNMENTS, delta, after, removed, held)
        if isinstance(before, Doubt):
            return before
        if removed is not None:
            # Lines that were not read may still name the permission of a removed line.
            lost = removed.select("permission_number").unique()
            self.maybe_unused = lost.join(after, on="permission_number", how="anti")
            catalogue = catalogue._replace(removed=catalogue.removed.clear())
        change = difference(before, after, list(ASSIGNMENTS.key), list(ASSIGNMENTS.values))
        self.count(delta, change)
        self.change(PERMISSIONS, catalogue, {"permission_number": self.permissions})
        self.change(ASSIGNMENTS, change, {})
        return None

    async def _catalogue(self, delta: FileDelta, rows: pl.DataFrame) -> Difference:
        """Compare the permissions that the rows name; if descriptions or risks differ, the highest wins."""
        # Nearly all holders give the same description and risk: reduce the rows before grouping.
        distinct = rows.select(*_NAME, "description", "risk_rating").unique()
        rank = pl.col("risk_rating").replace_strict(_RISKS, range(5), return_dtype=pl.Int8)
        named = distinct.group_by(_NAME).agg(
            pl.col("description").max(),
            pl.col("description").min().alias("other"),
            rank.max().alias("risk"),
            rank.min().alias("other_risk"),
        )
        differs = (pl.col("description") != pl.col("other")) | (pl.col("risk") != pl.col("other_risk"))
        if named.select(differs.any()).item():
            delta.is_by_line = False
        named = named.with_columns(risk_rating=pl.col("risk").replace_strict(range(5), _RISKS, return_dtype=pl.String))
        index = await self.state.index(PERMISSIONS, None if delta.is_whole else delta.mentioned(*_NAME))
        new = index.missing(named.select(_NAME))
        numbers = await self.state.new_numbers("permissions_number_seq", new.height)
        self.permissions = index.with_numbers_for(new, numbers)
        made = self.permissions.frame.tail(new.height).select("number", *_NAME)
        self.insert("permissions (number, header, section, permission, id, application_id)", made)
        present = self.permissions.frame.filter("is_present")
        return difference(present, named.select(*_NAME, *PERMISSIONS.values), _NAME, PERMISSIONS.values)

    def _members(self, frame: pl.DataFrame) -> pl.DataFrame:
        return self.groups.number(self.accounts.number(frame, "account_number"), "group_number")

    def _holders(self, frame: pl.DataFrame) -> pl.DataFrame:
        by_account = self.accounts.number(frame, "holder_number")
        if not frame.select((pl.col("group") != "").any()).item():
            return by_account
        by_group = self.groups.number(frame, "holder_number").get_column("holder_number")
        return by_account.with_columns(holder_number=pl.coalesce("holder_number", by_group))

    async def _before(
        self,
        relation: Relation,
        delta: FileDelta,
        after: pl.DataFrame,
        removed: pl.DataFrame | None,
        held: pl.DataFrame,
    ) -> pl.DataFrame | Doubt:
        """Return the valid rows to compare with: all of them, or those that changed lines refer to."""
        if removed is None:
            return await self.state.valid_rows(relation)
        key = list(relation.key)
        removed = removed.select(key)
        pairs = pl.concat([after.select(key), removed]).unique()
        if pairs.select(pl.any_horizontal(pl.all().is_null()).any()).item():
            return Doubt(delta.content, "a removed line has an unknown name")
        before = await self.state.valid_rows(relation, pairs)
        if removed.join(before, on=key, how="anti").height:
            return Doubt(delta.content, "a removed line is not part of the current data")
        if after.join(before, on=key, how="semi").join(removed, on=key, how="anti").height:
            return Doubt(delta.content, "an added line has the key of another line")
        if held.height and held.join(removed, on=key, how="anti").height:
            return Doubt(delta.content, _STILL_NAMED)
        return before

    def _remove_held(self, content: Content, relation: Relation, held: pl.DataFrame) -> Doubt | None:
        """Remove what removed accounts hold according to a file that is not part of this import."""
        if not held.height:
            return None
        if content in self.unchanged:
            return Doubt(content, _STILL_NAMED)
        self.changes.append(RelationChange(relation, Difference(held.clear(), held.clear(), held)))
        self.stale.add(content)
        return None


async def compare_holdings(
    state: CurrentState, number: int, accounts: AccountChanges, deltas: FileDeltas, unchanged: set[Content]
) -> HoldingChanges | Doubt:
    """Compare all files except those of users and people; `unchanged` contents were not read."""
    found = HoldingChanges(state, number, accounts, deltas, unchanged)
    return await found.compare() or found
