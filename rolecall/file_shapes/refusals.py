"""Reject files that are not about access, because they would create accounts and permissions that do not exist."""

import re

from rolecall.applications.model import Content
from rolecall.file_shapes.header_names import is_about_person, names_of
from rolecall.file_shapes.parts import View
from rolecall.file_shapes.sample_table import Unreadable

_WHEN = {"timestamp", "time", "datetime", "eventtime", "eventdate", "logtime", "eventtimestamp", "date", "zeit", "when"}
_WHAT = {"action", "event", "eventname", "eventtype", "operation", "activity", "command", "request", "aktion"}
_RESULT = {
    "result", "outcome", "status", "success", "ip", "ipaddress", "clientip", "sourceip", "sourceaddress", "useragent",
    "eventid", "sessionid", "message", "severity", "resultcode", "errorcode", "ergebnis", "target", "resource",
}  # fmt: skip
_LEAST_RESULTS = 1
# Words in headers of invoices, orders and payments.
MONEY = re.compile(
    r"invoice|amount|price|quantity|currency|vendor|supplier|order|sku|payment|balance|rechnung|betrag|preis|menge"
    r"|factura|importe|facture|montant|prix",
    re.IGNORECASE,
)
_LEAST_MONEY = 2
_SURE = 0.8


def check_is_about_access(view: View) -> None:
    """Raise Unreadable for an audit log, and for business data such as a list of invoices."""
    if _is_log(view):
        named = ", ".join(view.table.headers[:4])
        raise Unreadable(f"the file is an audit log ({named}); export a list of accounts, members or permissions")
    money = [each for each in view.profiles if MONEY.search(each.header) and not each.ticks]
    is_listed = len(money) >= _LEAST_MONEY and any(each.numbers == 1 for each in money)
    if is_listed and not any(map(is_about_person, view.table.headers)) and not _names_access(view):
        named = ", ".join(each.header for each in money[:3])
        raise Unreadable(
            f"no column is about accounts or access; {named} look like business data; export a list of accounts"
        )


def _names_access(view: View) -> bool:
    """Return whether a column certainly has users, groups or permissions, as in a matrix of approval limits."""
    found = view.fields(Content.PERMISSIONS)
    return any(field in found and found[field].score > _SURE for field in ("Username", "Group", "Permission"))


def _is_log(view: View) -> bool:
    """Return whether the file is a log: its rows are events with a time of day, an action and a result."""
    names = {name: each for each in view.profiles for name in names_of(each.header)[:1]}
    when = next((each for name, each in names.items() if name in _WHEN), None)
    if when is None or not names.keys() & _WHAT or len(names.keys() & _RESULT) < _LEAST_RESULTS:
        return False
    # In a snapshot the time is the same in all rows; in a log it differs.
    return len(when.distinct) > 1 and all(re.search(r"\d:\d\d|\d{10}", value) for value in when.distinct)
