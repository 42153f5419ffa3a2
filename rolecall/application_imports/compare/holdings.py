"""Compare files of groups, memberships and permissions with what the application's accounts and groups hold.

Memberships and assignments are compared by the numbers that the database assigns to names. Groups and permissions are
compared by name.
"""

from collections.abc import AsyncIterator, Iterable, Sequence

import polars as pl

from rolecall.application_imports.compare.accounts import AccountsAfter
from rolecall.application_imports.compare.change_set import ChangeSet, rows_of_lines, union
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
from rolecall.application_imports.read.file_delta import DeltaPart, Doubt, FileDelta, FileDeltas
from rolecall.application_imports.read.parts import RowParts, together
from rolecall.applications.model import Content

_NAME = ["header", "section", "permission"]
_HELD = {Content.MEMBERSHIPS: MEMBERSHIPS, Content.PERMISSIONS: ASSIGNMENTS}
_RISKS = ["None", "Low", "Moderate", "High", "Critical"]
_BLANK_GROUP = {"description": "", "nomenclature": "", "parent": "", "metadata": "{}"}
# The maximum number of rows that are compared together.
_MOST_ROWS = 400_000
_STILL_NAMED = "a line still names a removed account"


class HoldingComparison:
    """Compare memberships and assignments in parts (`read/parts.py`), then groups and permissions."""

    def __init__(
        self, state: CurrentState, number: int, accounts: AccountsAfter, deltas: FileDeltas, unchanged: set[Content]
    ) -> None:
        self.state = state
        self.number = number
        self.accounts = accounts
        self.deltas = deltas
        self.unchanged = unchanged
        # All valid rows of the relations whose files were read completely.
        self.valid: dict[Content, RowParts] = {}
        self.groups = GroupNames(state, deltas.get(Content.GROUPS))
        self.catalogue = PermissionNames(state, deltas.get(Content.PERMISSIONS))
        # Contents that have no file in this import, but lose rows because accounts are removed.
        self.stale: set[Content] = set()

    async def changes(self) -> AsyncIterator[ChangeSet | Doubt]:
        """Yield the changes of a few parts at a time; the last change set also has those of groups and permissions.

        If the files of a content must be read completely, yield a Doubt and stop.
        """
        await self.groups.load()
        await self.catalogue.load()
        for content, relation in _HELD.items():
            if content in self.deltas and self.deltas[content].is_whole:
                self.valid[content] = await self.state.all_rows(relation)
        for parts in together(self._heights(), _MOST_ROWS):
            found = await PartComparison(self, parts).compare()
            if isinstance(found, Doubt):
                yield found
                return
            is_last = parts.stop == self.state.parting.count
            yield (self._rest(found) if is_last else None) or found

    def _heights(self) -> list[int]:
        held = [self.deltas[content].heights for content in _HELD if content in self.deltas]
        held += [rows.heights for rows in self.valid.values()]
        return [sum(each) for each in zip([0] * self.state.parting.count, *held, strict=True)]

    def _rest(self, found: ChangeSet) -> Doubt | None:
        return self.groups.compare(found) or self.catalogue.compare(found)


class GroupNames:
    """The groups that a file lists, and the groups that are named in memberships and permissions."""

    def __init__(self, state: CurrentState, listed: FileDelta | None) -> None:
        self.state = state
        self.listed = listed.part() if listed else None
        self._named = [self.listed.after.select("group")] if self.listed else []
        self._made: list[pl.DataFrame] = []

    async def load(self) -> None:
        """Look up all groups if their file is read completely, or else the groups in its changed lines.

        Assign numbers to new groups.
        """
        wanted = self.listed.mentioned("group") if self.listed else pl.DataFrame(schema={"group": pl.String})
        self.is_all = self.listed is not None and self.listed.is_whole
        self.index = await self.state.index(GROUPS, None if self.is_all else wanted)
        await self._number(wanted if self.listed is None else self.listed.after.select("group"))

    async def look_up(self, deltas: Iterable[DeltaPart]) -> None:
        """Look up the groups in these rows, and assign numbers to new groups."""
        naming = [delta for delta in deltas if "group" in delta.after.columns]
        mentioned = union((delta.mentioned("group") for delta in naming), "group").filter(pl.col("group") != "")
        if not self.is_all:
            found = await self.state.index(GROUPS, self.index.missing(mentioned))
            self.index = NameIndex(pl.concat([self.index.frame, found.frame], how="diagonal"), self.index.name)
        named = union((delta.after.select("group") for delta in naming), "group").filter(pl.col("group") != "")
        self._named = [union([*self._named, named], "group")]
        await self._number(named)

    async def _number(self, named: pl.DataFrame) -> None:
        new = self.index.missing(named)
        self.index = self.index.with_numbers_for(new, await self.state.new_numbers("holder_numbers", new.height))
        self._made.append(self.index.frame.tail(new.height).select("number", "group"))

    def compare(self, found: ChangeSet) -> Doubt | None:
        found.insert("groups (number, name, id, application_id)", pl.concat(self._made))
        listed, named = self.listed, union(self._named, "group")
        present = self.index.frame.filter("is_present")
        only_named = named.join(present, on="group", how="anti")
        after = only_named.with_columns(pl.lit(value).alias(column) for column, value in _BLANK_GROUP.items())
        if listed:
            rows = listed.after.select("group", *GROUPS.values)
            after = pl.concat([rows, after.join(rows, on="group", how="anti").select(rows.columns)])
            if doubt := self._listings(found, listed):
                return doubt
        # Remove no groups here, because other files may still name them: `apply/write.py` does so after all changes.
        change = difference(present, after, ["group"], GROUPS.values)
        found.change(GROUPS, change._replace(removed=present.clear()), {"group_number": self.index})
        if listed:
            files = listed.after.select("group", "file")
            new, altered = (part.select("group").join(files, on="group") for part in (change.new, change.altered))
            found.count(listed, Difference(new, altered, present.clear()))
        return None

    def _listings(self, found: ChangeSet, listed: DeltaPart) -> Doubt | None:
        were_listed = self.index.frame.filter("is_listed")
        before = were_listed if listed.is_whole else rows_of_lines(listed, were_listed, ["group"])
        if isinstance(before, Doubt):
            return before
        change = difference(before, listed.after.select("group"), ["group"], [])
        found.change(LISTINGS, change, {"group_number": self.index})
        return None


class PermissionNames:
    """The permissions in the rows of a file.

    If rows of the same permission differ, the last description in sort order and the highest risk are used.
    """

    def __init__(self, state: CurrentState, delta: FileDelta | None) -> None:
        self.state = state
        self.delta = delta
        self._named: list[pl.DataFrame] = []
        self._made: list[pl.DataFrame] = []
        # The permissions named in removed lines (`_lost`) and in added lines (`_kept`).
        self._lost: list[pl.DataFrame] = []
        self._kept: list[pl.DataFrame] = []

    async def load(self) -> None:
        """Look up all permissions if the file is read completely; otherwise `look_up` finds those in changed lines."""
        is_whole = self.delta is not None and self.delta.is_whole
        wanted = None if is_whole else pl.DataFrame(schema=dict.fromkeys(_NAME, pl.String))
        self.index = await self.state.index(PERMISSIONS, wanted)

    async def look_up(self, delta: DeltaPart) -> None:
        """Look up the permissions in these rows, and assign numbers to new permissions."""
        # Nearly all rows of a permission have the same description and risk, so reduce the rows before grouping.
        distinct = delta.after.select(*_NAME, "description", "risk_rating").unique()
        rank = pl.col("risk_rating").replace_strict(_RISKS, range(5), return_dtype=pl.Int8)
        named = distinct.group_by(_NAME).agg(
            pl.col("description").max(),
            pl.col("description").min().alias("other"),
            rank.max().alias("risk"),
            rank.min().alias("other_risk"),
        )
        self._named = [_highest([*self._named, named])]
        if not delta.is_whole:
            found = await self.state.index(PERMISSIONS, self.index.missing(delta.mentioned(*_NAME)))
            self.index = NameIndex(pl.concat([self.index.frame, found.frame], how="diagonal"), self.index.name)
        new = self.index.missing(named.select(_NAME))
        numbers = await self.state.new_numbers("permissions_number_seq", new.height)
        self.index = self.index.with_numbers_for(new, numbers)
        self._made.append(self.index.frame.tail(new.height).select("number", *_NAME))

    def note_lost(self, removed: pl.DataFrame, after: pl.DataFrame) -> None:
        """Record the permissions of removed and added lines. Those that are only in removed lines may be unused."""
        for noted, rows in ((self._lost, removed), (self._kept, after)):
            noted[:] = [pl.concat([*noted, rows.select("permission_number")]).unique()]

    def compare(self, found: ChangeSet) -> Doubt | None:
        if self.delta is None:
            return None
        found.insert("permissions (number, header, section, permission, id, application_id)", pl.concat(self._made))
        [named] = self._named
        differs = (pl.col("description") != pl.col("other")) | (pl.col("risk") != pl.col("other_risk"))
        if named.select(differs.any()).item():
            # A description or risk depends on several lines, so the next files cannot be compared by line.
            self.delta.is_by_line = False
        named = named.with_columns(risk_rating=pl.col("risk").replace_strict(range(5), _RISKS, return_dtype=pl.String))
        present = self.index.frame.filter("is_present")
        change = difference(present, named.select(*_NAME, *PERMISSIONS.values), _NAME, PERMISSIONS.values)
        if not self.delta.is_whole:
            if change.altered.height:
                return Doubt(self.delta.content, "the description or risk of a permission changed")
            # Unchanged lines, which were not read, may name the same permissions, so remove unused permissions later.
            change = change._replace(removed=change.removed.clear())
            unused = pl.concat(self._lost).join(pl.concat(self._kept), on="permission_number", how="anti")
            found.maybe_unused = unused.get_column("permission_number").to_list()
        found.change(PERMISSIONS, change, {"permission_number": self.index})
        return None


def _highest(named: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Merge the permissions of several parts. Use the last description in sort order and the highest risk."""
    if len(named) == 1:
        return named[0]
    highest = (pl.col("description", "risk").max(), pl.col("other", "other_risk").min())
    return pl.concat(named).group_by(_NAME).agg(*highest).select(named[0].columns)


class PartComparison:
    """Compare the memberships and permissions of some parts."""

    def __init__(self, whole: HoldingComparison, parts: range) -> None:
        self.whole = whole
        self.state = whole.state
        self.parts = parts
        self.deltas = {content: whole.deltas[content].part(*parts) for content in _HELD if content in whole.deltas}
        self.removed = whole.accounts.removed(*parts)
        self.found = ChangeSet(whole.state, whole.number)

    async def compare(self) -> ChangeSet | Doubt:
        await self._accounts()
        doubt = self._reject_unknown_users()
        if doubt is None:
            await self.whole.groups.look_up(self.deltas.values())
            doubt = await self._memberships() or await self._permissions()
        return doubt or self.found

    async def _accounts(self) -> None:
        """Set `accounts` to the accounts in the file of users and those that occur only in other files."""
        self.accounts = self.whole.accounts.index(*self.parts)
        if not self.whole.accounts.is_all:
            named = union((delta.mentioned("username") for delta in self.deltas.values()), "username")
            others = await self.state.index(ACCOUNTS, self.accounts.missing(named))
            frames = [self.accounts.frame, others.frame.select(self.accounts.frame.columns)]
            self.accounts = NameIndex(pl.concat(frames), self.accounts.name)

    def _reject_unknown_users(self) -> Doubt | None:
        present = self.accounts.frame.filter("is_present")
        for delta in self.deltas.values():
            unknown = delta.after.filter(pl.col("username") != "").join(present, on="username", how="anti")
            if unknown.height and (doubt := delta.reject_unlisted(unknown)):
                return doubt
        return None

    async def _memberships(self) -> Doubt | None:
        delta = self.deltas.get(Content.MEMBERSHIPS)
        held = await self.state.held_by(self.removed, MEMBERSHIPS)
        if delta is None:
            return self._remove_held(Content.MEMBERSHIPS, held)
        after = self._members(delta.after)
        removed = None if delta.removed is None else self._members(delta.removed)
        return await self._compare(delta, after, removed, held)

    async def _permissions(self) -> Doubt | None:
        delta, catalogue = self.deltas.get(Content.PERMISSIONS), self.whole.catalogue
        held = await self.state.held_by(self.removed, ASSIGNMENTS)
        if delta is None:
            return self._remove_held(Content.PERMISSIONS, held)
        await catalogue.look_up(delta)
        after = catalogue.index.number(self._holders(delta.after), "permission_number")
        removed = None
        if delta.removed is not None:
            removed = catalogue.index.number(self._holders(delta.removed), "permission_number")
            catalogue.note_lost(removed, after)
        return await self._compare(delta, after, removed, held)

    def _members(self, frame: pl.DataFrame) -> pl.DataFrame:
        return self.whole.groups.index.number(self.accounts.number(frame, "account_number"), "group_number")

    def _holders(self, frame: pl.DataFrame) -> pl.DataFrame:
        by_account = self.accounts.number(frame, "holder_number")
        if not frame.select((pl.col("group") != "").any()).item():
            return by_account
        by_group = self.whole.groups.index.number(frame, "holder_number").get_column("holder_number")
        return by_account.with_columns(holder_number=pl.coalesce("holder_number", by_group))

    async def _compare(
        self, delta: DeltaPart, after: pl.DataFrame, removed: pl.DataFrame | None, held: pl.DataFrame
    ) -> Doubt | None:
        relation = _HELD[delta.content]
        before = await self._before(relation, delta, after, removed, held)
        if isinstance(before, Doubt):
            return before
        change = difference(before, after, list(relation.key), list(relation.values))
        self.found.count(delta, change)
        self.found.change(relation, change, {})
        return None

    async def _before(
        self,
        relation: Relation,
        delta: DeltaPart,
        after: pl.DataFrame,
        removed: pl.DataFrame | None,
        held: pl.DataFrame,
    ) -> pl.DataFrame | Doubt:
        """Return all valid rows or, if only changed lines were read, the valid rows named in these lines.

        Return a Doubt if the changed lines contradict the valid rows.
        """
        if removed is None:
            return self.whole.valid[delta.content].part(*self.parts)
        key = list(relation.key)
        removed = removed.select(key)
        pairs = pl.concat([after.select(key), removed]).unique()
        if pairs.select(pl.any_horizontal(pl.all().is_null()).any()).item():
            return Doubt(delta.content, "a removed line has an unknown name")
        before = await self.state.valid_rows(relation, pairs)
        if removed.join(before, on=key, how="anti").height:
            return Doubt(delta.content, "a removed line is not part of the current data")
        if after.join(before, on=key, how="semi").join(removed, on=key, how="anti").height:
            return Doubt(delta.content, "an added line has the same key as another line")
        if held.height and held.join(removed, on=key, how="anti").height:
            return Doubt(delta.content, _STILL_NAMED)
        return before

    def _remove_held(self, content: Content, held: pl.DataFrame) -> Doubt | None:
        """Remove the rows of removed accounts from a content that this import did not read.

        If the files of the content are the same as before, return a Doubt: they still name the removed accounts.
        """
        if not held.height:
            return None
        if content in self.whole.unchanged:
            return Doubt(content, _STILL_NAMED)
        self.found.change(_HELD[content], Difference(held.clear(), held.clear(), held), {})
        self.whole.stale.add(content)
        return None
