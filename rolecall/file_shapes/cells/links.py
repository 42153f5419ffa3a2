"""Distinguish columns of URLs, such as profile pages, from columns of logins."""

from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import View

_LIKELY = 0.5
# At most this share of the rows may lack a login.
_MOST_BLANK = 0.25


def has_urls(column: Profile) -> bool:
    return bool(column.values) and all(value.lower().startswith(("http://", "https://")) for value in column.distinct)


def login_beside_urls(view: View, fields: dict[str, Meaning]) -> str | None:
    """Return a column of unique logins with a few blank cells, if the file also has a column of URLs.

    Otherwise, the URLs would be read as usernames, because they are filled and different in every row.
    """
    username = fields.get("Username")
    if username is None or username.score <= _LIKELY or not any(map(has_urls, view.profiles)):
        return None
    column = view.by_header[username.header]
    blank = sum(not cell.strip() for cell in column.cells)
    is_nearly_filled = 0 < blank <= _MOST_BLANK * len(column.cells)
    return column.header if column.is_login and column.is_unique and is_nearly_filled else None
