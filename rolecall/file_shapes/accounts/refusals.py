"""Reject files that are not about access, because they would create accounts and permissions that do not exist."""

import re

from rolecall.applications.model import Content
from rolecall.file_shapes.columns.header_names import is_about_person, names_of, words_of
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import View
from rolecall.file_shapes.tables.sample_table import Unreadable

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
_FEW = 5
_CONFLICTS = {"conflict", "conflicts", "conflicting", "incompatible", "konflikt"}
# Words that tell the two sides of a rule of separation of duties apart, as in Role A and Role B.
_SIDES = (("a", "b"), ("1", "2"), ("left", "right"), ("first", "second"), ("x", "y"), ("i", "ii"))
_OF_SIDES = {
    "role", "roles", "group", "permission", "privilege", "entitlement", "function", "duty", "activity", "action",
    "transaction", "tcode", "responsibility", "access", "profile", "rolle", "funktion", "berechtigung",
}  # fmt: skip
_OF_RULES = {
    "risk", "severity", "conflict", "conflicts", "conflicting", "sod", "rule", "violation", "mitigation", "mitigating",
    "criticality", "risiko", "konflikt", "regel", "incompatible",
}  # fmt: skip


def check_is_about_access(view: View) -> None:
    """Raise Unreadable for an audit log, rules of separation of duties, and business data such as invoices."""
    if _is_log(view):
        named = ", ".join(view.table.headers[:4])
        raise Unreadable(f"the file is an audit log ({named}); export a list of accounts, members or permissions")
    if rule := _sides_of_rule(view):
        raise Unreadable(
            f"the file has rules of separation of duties: {' and '.join(rule)} name access that one person must not "
            "hold together, and no column names who holds it; enter the rules under Duties (rolecall duty create, "
            "rolecall rule create), and export the accounts and their access for the import"
        )
    money = [each for each in view.profiles if MONEY.search(each.header) and not each.ticks]
    is_listed = len(money) >= _LEAST_MONEY and any(each.numbers == 1 for each in money)
    if is_listed and not any(map(is_about_person, view.table.headers)) and not _names_access(view):
        named = ", ".join(each.header for each in money[:3])
        raise Unreadable(
            f"no column is about accounts or access; {named} look like business data; export a list of accounts"
        )


def _names_access(view: View) -> bool:
    """Return whether a column certainly has users, groups or permissions.

    A matrix of approval limits has such a column, so it is not rejected as business data, although it also has amounts.
    """
    found = view.fields(Content.PERMISSIONS)
    return any(field in found and found[field].score > _SURE for field in ("Username", "Group", "Permission"))


def _sides_of_rule(view: View) -> tuple[str, str] | None:
    """Return the two columns of roles or permissions that conflict with each other.

    They are the only columns, or beside a column such as Risk.
    """
    headers = view.table.headers
    is_rule = len(headers) == 2 or any(words_of(header) & _OF_RULES for header in headers)
    if any(map(is_about_person, headers)) or not is_rule:
        return None
    named = [each for each in view.profiles if words_of(each.header) & _OF_SIDES and each.is_filled]
    # Ignore files with more such columns: they are matrices, or list the roles of something.
    pairs = [(one, other) for one in named for other in named if _are_sides(one, other)] if len(named) <= _FEW else []
    return (pairs[0][0].header, pairs[0][1].header) if len(pairs) == 1 else None


def _are_sides(one: Profile, other: Profile) -> bool:
    """Return whether two columns are called like Role A and Role B, or Role and Conflicting Role, and always differ."""
    words, others = words_of(one.header), words_of(other.header)
    only, only_other = words - others, others - words
    is_named = any(only == {a} and only_other == {b} for a, b in _SIDES) and bool(words & others & _OF_SIDES)
    is_named |= not only and bool(only_other & _CONFLICTS) and only_other <= _CONFLICTS | {"with"}
    is_same = any(a.strip() == b.strip() for a, b in zip(one.cells, other.cells, strict=True))
    return is_named and not (one.ticks or other.ticks or is_same)


def _is_log(view: View) -> bool:
    """Return whether the file is a log: its rows are events with a time of day, an action and a result."""
    names = {name: each for each in view.profiles for name in names_of(each.header)[:1]}
    when = next((each for name, each in names.items() if name in _WHEN), None)
    if when is None or not names.keys() & _WHAT or len(names.keys() & _RESULT) < _LEAST_RESULTS:
        return False
    # In a snapshot the time is the same in all rows; in a log it differs.
    return len(when.distinct) > 1 and all(re.search(r"\d:\d\d|\d{10}", value) for value in when.distinct)
