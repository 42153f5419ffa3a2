"""Describe accounts that rows name but no file of users lists: the rows are rejected, or the accounts are imported."""

from collections.abc import Collection, Iterable
from itertools import islice

from rolecall.core.text import counted

MOST_NAMED = 6


def unlisted_in_words(names: Collection[str], rows: int) -> str:
    """State that rows are rejected because they name accounts that are not among the users."""
    one = len(names) == 1
    which = f"{counted(len(names), 'account')} {'is' if one else 'are'} not among the users: {_listed(names)}"
    named = f"{counted(rows, 'row')} {'names' if rows == 1 else 'name'} {'it' if one else 'them'}"
    rejected = f"{named} and {'is' if rows == 1 else 'are'} rejected"
    return f"{which}; {rejected}. The list of users may be incomplete, or these are groups or roles"


def derived_in_words(count: int, names: Iterable[str]) -> str:
    """Return the number of accounts that are imported because rows name them, with the first usernames."""
    first = list(islice(names, MOST_NAMED))
    more = f" and {count - len(first):,} more" if count > len(first) else ""
    return f"{counted(count, 'account')}, all of them active: {', '.join(first)}{more}"


def _listed(names: Collection[str]) -> str:
    shown = sorted(names)[:MOST_NAMED]
    more = f" and {len(names) - len(shown):,} more" if len(names) > len(shown) else ""
    return f"{', '.join(shown)}{more}"
