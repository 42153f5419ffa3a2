"""Describe accounts that occur in rows but in no file of users: the rows are rejected, or the accounts are imported."""

from collections.abc import Collection, Iterable
from itertools import islice

from rolecall.core.text import counted, some_of

MOST_NAMED = 6


def unlisted_in_words(names: Collection[str], rows: int) -> str:
    """State that rows are rejected because they name accounts that are not among the users."""
    one = len(names) == 1
    named = some_of(sorted(names), MOST_NAMED)
    which = f"{counted(len(names), 'account')} {'is' if one else 'are'} not among the users: {named}"
    found = f"{counted(rows, 'row')} {'names' if rows == 1 else 'name'} {'it' if one else 'them'}"
    rejected = f"{found} and {'is' if rows == 1 else 'are'} rejected"
    return f"{which}; {rejected}. The list of users may be incomplete, or these are groups or roles"


def derived_in_words(count: int, names: Iterable[str]) -> str:
    """Return how many accounts are imported because rows contain their usernames, and list the first usernames."""
    first = list(islice(names, MOST_NAMED))
    return f"{counted(count, 'account')}, all of them active: {some_of(first, MOST_NAMED, count)}"
