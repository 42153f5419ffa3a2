"""Groups, memberships, permissions and assignments: from what the files say to intervals in the database.

Names become numbers, and numbers are compared.
"""

import polars as pl

from rolecall.application_imports.compare.accounts import AccountDraft
from rolecall.application_imports.compare.change_set import Change, Draft, involved, union
from rolecall.application_imports.compare.diff import Difference, difference
from rolecall.application_imports.compare.relations import (
    ACCOUNTS,
    ASSIGNMENTS,
    GROUPS,
    LISTINGS,
    MEMBERSHIPS,
    PERMISSIONS,
    Relation,
)
from rolecall.application_imports.compare.state import Known, State
from rolecall.application_imports.read.file_delta import Delta, Deltas, Doubt
from rolecall.applications.model import Content
from rolecall.core.db import Db, execute

_NAME = ["header", "section", "permission"]
# What names the accounts that hold it.
_HELD = (Content.MEMBERSHIPS, Content.PERMISSIONS)
_RISKS = ["None", "Low", "Moderate", "High", "Critical"]


class HoldingDraft(Draft):
    """What changes beside the accounts themselves."""

    def __init__(self, state: State, number: int, drawn: AccountDraft, deltas: Deltas, unchanged: set[Content]) -> None:
        super().__init__(state, number)
        self.drawn = drawn
        self.removed = drawn.removed
        self.deltas = deltas
        self.unchanged = unchanged
        self.doubted_permissions = pl.DataFrame()
        # Contents whose files still say what is no longer so.
        self.stale: set[Content] = set()

    async def draw_up(self) -> None:
        await self._accounts()
        self._reject_unknown_users()
        await self._groups()
        await self._memberships()
        await self._permissions()

    async def _accounts(self) -> None:
        """Those of the file of users, and others that are named beside it."""
        known, present = self.drawn.known, self.drawn.present
        if not self.drawn.is_all:
            holders = (self.deltas[content] for content in _HELD if content in self.deltas)
            named = union((delta.mentioned("username") for delta in holders), "username")
            others = await self.state.known(ACCOUNTS, known.missing(named))
            known = Known(pl.concat([known.frame, others.frame], how="diagonal"), known.name)
            more = others.frame.filter("is_present").select("username", "number")
            present = pl.concat([present, more])
        self.accounts, self.present = known, present

    async def _groups(self) -> None:
        listed = self.deltas.get(Content.GROUPS)
        mentions = [d for d in self.deltas.values() if d.content != Content.GROUPS and "group" in d.after.columns]
        naming = [*([listed] if listed else []), *mentions]
        every = listed is not None and listed.is_whole
        names = (
            None
            if every
            else union((delta.mentioned("group") for delta in naming), "group").filter(pl.col("group") != "")
        )
        known = await self.state.known(GROUPS, names)
        added = union((delta.after.select("group") for delta in naming), "group")
        new = known.missing(added.filter(pl.col("group") != ""))
        self.groups = known.with_numbers_for(new, await self.state.numbers("holder_numbers", new.height))
        made = self.groups.frame.tail(new.height).select("number", "group")
        self.insert("groups (number, name, id, application_id)", made)
        present = self.groups.frame.filter("is_present")
        blank = {"description": "", "nomenclature": "", "parent": "", "metadata": "{}"}
        only_named = added.filter(pl.col("group") != "").join(present, on="group", how="anti")
        only_named = only_named.with_columns(pl.lit(value).alias(column) for column, value in blank.items())
        after = only_named
        if listed:
            rows = listed.after.select("group", *GROUPS.values)
            after = pl.concat([rows, only_named.join(rows, on="group", how="anti").select(rows.columns)])
            were_listed = self.groups.frame.filter("is_listed")
            before = were_listed if listed.is_whole else involved(listed, were_listed, ["group"])
            listing = difference(before, listed.after.select("group"), ["group"], [])
            self.change(LISTINGS, listing, {"group_number": self.groups})
        # A group that goes, or is no longer listed, is told by what still names it: `_settle_groups` looks.
        change = difference(present, after, ["group"], GROUPS.values)
        self.change(GROUPS, change._replace(removed=present.clear()), {"group_number": self.groups})
        if listed:
            files = listed.after.select("group", "file")
            new, altered = (part.select("group").join(files, on="group") for part in (change.new, change.altered))
            self.count(listed, Difference(new, altered, present.clear()))

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
        self.count(delta, change)
        self.change(MEMBERSHIPS, change, {})

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
        made = self.permissions.frame.tail(new.height).select("number", *_NAME)
        self.insert("permissions (number, header, section, permission, id, application_id)", made)
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
        self.count(delta, change)
        self.change(PERMISSIONS, catalogue, {"permission_number": self.permissions})
        self.change(ASSIGNMENTS, change, {})

    def _reject_unknown_users(self) -> None:
        for content in _HELD:
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

    async def settle(self, db: Db) -> None:
        await self._settle_groups(db)
        await self._settle_permissions(db)

    async def _settle_groups(self, db: Db) -> None:
        """A group that nothing lists goes when nothing names it, and else keeps only its name."""
        unlisted = """v.group_number = g.number AND g.application_id = %(application)s AND v.until_import IS NULL
            AND NOT EXISTS (SELECT FROM group_listings l WHERE l.group_number = g.number AND l.until_import IS NULL)"""
        await execute(
            db,
            f"""UPDATE group_versions v SET until_import = %(number)s FROM groups g WHERE {unlisted} AND NOT EXISTS
                (SELECT FROM memberships m WHERE m.group_number = g.number AND m.until_import IS NULL) AND NOT EXISTS
                (SELECT FROM assignments s WHERE s.holder_number = g.number AND s.until_import IS NULL)""",
            application=self.state.application_id,
            number=self.number,
        )
        await execute(
            db,
            f"""WITH stripped AS (
                    UPDATE group_versions v SET until_import = %(number)s FROM groups g WHERE {unlisted}
                    AND (v.description, v.nomenclature, v.parent, v.metadata) <> ('', '', '', '{{}}')
                    RETURNING v.group_number)
                INSERT INTO group_versions (group_number, from_import, description, nomenclature, parent, metadata)
                SELECT group_number, %(number)s, '', '', '', '{{}}' FROM stripped""",
            application=self.state.application_id,
            number=self.number,
        )

    async def _settle_permissions(self, db: Db) -> None:
        if not self.doubted_permissions.height:
            return
        await execute(
            db,
            """UPDATE permission_versions v SET until_import = %(number)s
               WHERE v.permission_number = ANY(%(doubted)s) AND v.until_import IS NULL
               AND v.permission_number NOT IN (
                   SELECT s.permission_number FROM assignments s
                   WHERE s.permission_number = ANY(%(doubted)s) AND s.until_import IS NULL)""",
            number=self.number,
            doubted=self.doubted_permissions.get_column("permission_number").to_list(),
        )
