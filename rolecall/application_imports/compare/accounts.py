"""Compare a file of users with the accounts of the application, in parts (`read/parts.py`)."""

from collections.abc import AsyncIterator
from datetime import datetime

import polars as pl

from rolecall.application_imports.compare.change_set import ChangeSet, rows_of_lines
from rolecall.application_imports.compare.diff import difference
from rolecall.application_imports.compare.state import CurrentState, NameIndex
from rolecall.application_imports.model import ACCOUNTS
from rolecall.application_imports.read.file_delta import DeltaPart, Doubt, FileDelta
from rolecall.application_imports.read.names import name_keys
from rolecall.application_imports.read.parts import RowParts, together

_USERNAME = ["username"]
# The maximum number of rows that are compared together: fewer than in `holdings.py`, because accounts have more text.
_MOST_ROWS = 25_000
_NOBODY = pl.DataFrame(schema={"username": pl.String, "number": pl.Int32, "is_present": pl.Boolean})


class AccountsAfter:
    """The accounts that were compared with the file of users. `is_present` is true for those that remain or are new."""

    def __init__(self, state: CurrentState, users: FileDelta | None) -> None:
        self.state = state
        # Whether all accounts that the application ever had are included.
        self.is_all = users is not None and users.is_whole
        self._parts = RowParts(state.parting)
        self._removed = RowParts(state.parting)
        self.add(_NOBODY, _NOBODY.select("username", "number"))

    def add(self, accounts: pl.DataFrame, removed: pl.DataFrame) -> None:
        number = self.state.parting.number(pl.col("username"))
        self._parts.add(accounts, number)
        self._removed.add(removed, number)

    def index(self, *parts: int) -> NameIndex:
        return NameIndex(self._parts.part(*parts), _USERNAME)

    def removed(self, *parts: int) -> pl.DataFrame:
        return self._removed.part(*parts)


class AccountComparison:
    """Compare users with accounts; without a file of users nothing changes."""

    def __init__(self, state: CurrentState, number: int, users: FileDelta | None, now: datetime) -> None:
        self.state = state
        self.number = number
        self.users = users
        self.now = now
        self.after = AccountsAfter(state, users)

    async def changes(self) -> AsyncIterator[ChangeSet | Doubt]:
        """Yield the changes of a few parts at a time. Stop after a Doubt."""
        if self.users is None:
            return
        known = await self.state.all_accounts() if self.users.is_whole else None
        heights = self.users.heights
        if known:
            heights = [sum(pair) for pair in zip(heights, known.heights, strict=True)]
        for parts in together(heights, _MOST_ROWS):
            users = self.users.part(*parts)
            if known:
                index = NameIndex(known.part(*parts), _USERNAME)
            else:
                index = await self.state.index(ACCOUNTS, users.mentioned(*_USERNAME))
            found = await self._compare(users, index)
            yield found
            if isinstance(found, Doubt):
                return

    async def _compare(self, users: DeltaPart, index: NameIndex) -> ChangeSet | Doubt:
        there = index.frame.filter("is_present")
        before = there if users.is_whole else rows_of_lines(users, there, _USERNAME)
        if isinstance(before, Doubt):
            return before
        found = ChangeSet(self.state, self.number)
        change = difference(before, name_keys(users.after), _USERNAME, ACCOUNTS.values)
        found.count(users, change)
        # Sort, because inserting sorted keys into an index is faster.
        new = index.missing(change.new.select(_USERNAME)).sort(_USERNAME)
        index = index.with_numbers_for(new, await self.state.new_numbers("holder_numbers", new.height))
        made = index.frame.tail(new.height).select("number", *_USERNAME)
        matched_on = pl.lit(self.now.isoformat()).alias("matched_on")
        found.insert("accounts (number, username, matched_on, id, application_id)", made.with_columns(matched_on))
        stay = there.select(_USERNAME).join(change.removed, on=_USERNAME, how="anti")
        still = pl.concat([stay, change.new.select(_USERNAME)]).with_columns(is_present=pl.lit(True))
        accounts = index.frame.select(*_USERNAME, "number").join(still, on=_USERNAME, how="left")
        self.after.add(
            accounts.with_columns(pl.col("is_present").fill_null(False)), change.removed.select("username", "number")
        )
        found.change(ACCOUNTS, change, {"account_number": index})
        return found
