"""A file of users becomes accounts and what is said of them."""

from datetime import datetime

import polars as pl

from rolecall.application_imports.compare.change_set import Draft, involved
from rolecall.application_imports.compare.diff import Difference, difference
from rolecall.application_imports.compare.relations import ACCOUNTS
from rolecall.application_imports.compare.state import Known
from rolecall.application_imports.read.file_delta import Delta
from rolecall.application_imports.read.rows import name_keys

_USERNAME = ["username"]


class AccountDraft(Draft):
    """`known` are the accounts that the file is about, `present` those of them that are there after the import."""

    known: Known
    present: pl.DataFrame
    removed: pl.DataFrame
    # Whether `known` are all the accounts that the application ever had.
    is_all = False

    async def draw_up(self, users: Delta | None, now: datetime) -> None:
        self.is_all = users is not None and users.is_whole
        names = users.mentioned(*_USERNAME) if users else pl.DataFrame(schema=dict.fromkeys(_USERNAME, pl.String))
        known = await self.state.known(ACCOUNTS, None if self.is_all else names)
        there = known.frame.filter("is_present")
        change = Difference(there.clear(), there.clear(), there.clear())
        if users:
            before = there if users.is_whole else involved(users, there, _USERNAME)
            change = difference(before, name_keys(users.after), _USERNAME, ACCOUNTS.values)
            self.count(users, change)
        # In order, as all their indexes will be.
        new = known.missing(change.new.select(_USERNAME)).sort(_USERNAME)
        self.known = known.with_numbers_for(new, await self.state.numbers("holder_numbers", new.height))
        made = self.known.frame.tail(new.height).select("number", *_USERNAME)
        matched_on = pl.lit(now.isoformat()).alias("matched_on")
        self.insert("accounts (number, username, matched_on, id, application_id)", made.with_columns(matched_on))
        stay = there.select(_USERNAME).join(change.removed, on=_USERNAME, how="anti")
        still = pl.concat([stay, change.new.select(_USERNAME)])
        self.present = self.known.frame.select(*_USERNAME, "number").join(still, on=_USERNAME, how="semi")
        self.removed = change.removed.select("number")
        if users:
            self.change(ACCOUNTS, change, {"account_number": self.known})
