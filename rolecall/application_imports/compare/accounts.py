"""Compare a file of users with the accounts of the application."""

from datetime import datetime

import polars as pl

from rolecall.application_imports.compare.change_set import ChangeSet, rows_of_lines
from rolecall.application_imports.compare.diff import Difference, difference
from rolecall.application_imports.compare.state import CurrentState, NameIndex
from rolecall.application_imports.model import ACCOUNTS
from rolecall.application_imports.read.file_delta import Doubt, FileDelta
from rolecall.application_imports.read.names import name_keys

_USERNAME = ["username"]


class AccountChanges(ChangeSet):
    """Changes of accounts; `compare/holdings.py` needs to know which accounts there are after the import."""

    # The accounts that the file refers to, and those of them that are present after the import.
    index: NameIndex
    present: pl.DataFrame
    removed: pl.DataFrame
    # Whether `index` has all accounts that the application ever had.
    is_all = False


async def compare_accounts(
    state: CurrentState, number: int, users: FileDelta | None, now: datetime
) -> AccountChanges | Doubt:
    """Compare users with accounts; without a file of users nothing changes."""
    found = AccountChanges(state, number)
    found.is_all = users is not None and users.is_whole
    names = users.mentioned(*_USERNAME) if users else pl.DataFrame(schema=dict.fromkeys(_USERNAME, pl.String))
    index = await state.index(ACCOUNTS, None if found.is_all else names)
    there = index.frame.filter("is_present")
    change = Difference(there.clear(), there.clear(), there.clear())
    if users:
        before = there if users.is_whole else rows_of_lines(users, there, _USERNAME)
        if isinstance(before, Doubt):
            return before
        change = difference(before, name_keys(users.after), _USERNAME, ACCOUNTS.values)
        found.count(users, change)
    # Sort, because inserting sorted keys into an index is faster.
    new = index.missing(change.new.select(_USERNAME)).sort(_USERNAME)
    found.index = index.with_numbers_for(new, await state.new_numbers("holder_numbers", new.height))
    made = found.index.frame.tail(new.height).select("number", *_USERNAME)
    matched_on = pl.lit(now.isoformat()).alias("matched_on")
    found.insert("accounts (number, username, matched_on, id, application_id)", made.with_columns(matched_on))
    stay = there.select(_USERNAME).join(change.removed, on=_USERNAME, how="anti")
    still = pl.concat([stay, change.new.select(_USERNAME)])
    found.present = found.index.frame.select(*_USERNAME, "number").join(still, on=_USERNAME, how="semi")
    found.removed = change.removed.select("number")
    if users:
        found.change(ACCOUNTS, change, {"account_number": found.index})
    return found
