"""Read accounts whose names are unique only together with a host or a domain, such as `ada@localhost`."""

from collections.abc import Iterable
from typing import Any

from rolecall.applications.model import Content, same_header
from rolecall.file_shapes.choices import SEPARATOR, SKIP_ROWS
from rolecall.file_shapes.columns.header_names import names_of, words_of
from rolecall.file_shapes.columns.meanings import Meaning
from rolecall.file_shapes.columns.profiles import Profile
from rolecall.file_shapes.parts import Part, View
from rolecall.file_shapes.shapes import ProposedChoice

_REALMS = ["host", "domain", "realm", "client", "mandant", "tenant", "userdirectory", "userdomain", "logindomain"]
_LOGINS = ("user", "login", "name", "grantee")
_MOST_NAMED = 4


def name_with_realm(view: View, fields: dict[str, Meaning], shape: dict[str, Any], evidence: list[str]) -> str | None:
    """Join the username with the host or domain in its row if usernames are unique only within it.

    Return the column of usernames, or None if this does not apply.
    """
    login = view.by_header[fields["Username"].header] if "Username" in fields else None
    realm = _realm_of(view, login)
    if login is None or realm is None:
        return None
    del fields["Username"]
    shape.setdefault("join", {})["Username"] = f"{{{login.header}}}@{{{realm.header}}}"
    evidence.append(f"{login.header} is unique only together with {realm.header}")
    return login.header


def has_realms(view: View) -> bool:
    """Return whether each row is an account whose name is unique only together with a host or domain."""
    fields = view.fields(Content.USERS)
    login = view.by_header[fields["Username"].header] if "Username" in fields else None
    return _realm_of(view, login) is not None


def _realm_of(view: View, login: Profile | None) -> Profile | None:
    """Return the column of hosts or domains if logins are unique only together with it."""
    realm = view.named(_REALMS)
    if login is None or login.is_unique or realm is None or realm is login or not realm.is_filled:
        return None
    pairs = [*zip(login.cells, realm.cells, strict=True)]
    return realm if len(set(pairs)) == len(pairs) else None


def add_realms(view: View, part: Part) -> None:
    """Join the username and the group with their hosts if both have a column of hosts, as TO_USER has TO_HOST."""
    sides = [(field, part.fields[field].header) for field in ("Username", "Group") if field in part.fields]
    found = {field: (header, realm) for field, header in sides if (realm := _realm_beside(view, header))}
    if len(found) < len(("Username", "Group")) or part.shape.get("split"):
        return
    for field, (header, realm) in found.items():
        del part.fields[field]
        part.shape.setdefault("join", {})[field] = f"{{{header}}}@{{{realm}}}"
        part.evidence.append(f"{realm} is the host or domain of {header}")


def _realm_beside(view: View, header: str) -> str | None:
    """Return the column that names the host or domain of a login, such as TO_HOST of TO_USER."""
    name = same_header(header)
    begin = next((name.removesuffix(each) for each in _LOGINS if name.endswith(each) and name != each), None)
    wanted = {f"{begin}{each}" for each in _REALMS} if begin else set[str]()
    return next((each.header for each in view.profiles if wanted.intersection(names_of(each.header))), None)


def ask_for_granted_accounts(files: Iterable[tuple[View, list[Part]]]) -> None:
    """Ask about accounts that are granted to other accounts, because some databases store roles as accounts."""
    known = list(files)
    granted = [column for view, parts in known for part in parts for column in _granted(view, part)]
    for view, parts in known:
        for part in [each for each in parts if each.content == Content.USERS]:
            login = _login_of(view, part)
            names = list(dict.fromkeys(name for each in granted for name in each.distinct))
            roles = [name for name in names if login and login not in granted and name in login.distinct]
            if login is None or not roles:
                continue
            shown = ", ".join(roles[:_MOST_NAMED])
            text = f"{shown} in {login.header} are granted to accounts, as roles are. Leave them out of the accounts?"
            leave_out = ProposedChoice("Yes, they are roles", SKIP_ROWS, SEPARATOR.join((login.header, "is", *roles)))
            keep = ProposedChoice("No, they are accounts", SKIP_ROWS, login.header)
            part.ask(text, leave_out, keep)


def _granted(view: View, part: Part) -> list[Profile]:
    """Return the group columns whose headers say that they contain accounts, such as FROM_USER."""
    pattern = part.origin("Group") or ""
    fits = [each for each in view.profiles if f"{{{each.header}}}" in pattern]
    return [each for each in fits if part.content == Content.MEMBERSHIPS and "user" in words_of(each.header)]


def _login_of(view: View, part: Part) -> Profile | None:
    pattern = part.origin("Username") or ""
    return next((each for each in view.profiles if pattern.startswith(f"{{{each.header}}}")), None)
