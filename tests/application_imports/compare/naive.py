"""Define a naive model of imports with dictionaries. It is slow, but simple enough to trust."""

import csv
import io
from typing import Any, NamedTuple

YES = {"": None, "Yes": True, "No": False}


class State(NamedTuple):
    users: dict[str, Any] = {}  # noqa: RUF012
    listed: dict[str, Any] = {}  # noqa: RUF012
    memberships: frozenset[tuple[str, str]] = frozenset()
    permissions: dict[tuple[str, str, str], Any] = {}  # noqa: RUF012
    assignments: dict[tuple[str, str, str, str, str], Any] = {}  # noqa: RUF012

    @property
    def groups(self) -> dict[str, Any]:
        named = {group for _, group in self.memberships} | {key[1] for key in self.assignments if key[1]}
        return {**dict.fromkeys(named, ("", "", {})), **self.listed}

    def held(self, position: int, holder: str) -> Any:
        direct = {key: value for key, value in self.assignments.items() if key[position] == holder}
        return direct, {pair for pair in self.memberships if position == 0 and pair[0] == holder}


class Malformed(Exception):
    pass


def rows(texts: list[str], delimiter: str) -> list[dict[str, str]]:
    return [
        {name: value.strip() for name, value in row.items()}
        for text in texts
        for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    ]


def keyed(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    for key, value in pairs:
        if found.setdefault(key, value) != value:
            raise Malformed
    return found


def after(state: State, files: dict[str, list[str]], delimiter: str) -> State:
    read = {name: rows(texts, delimiter) for name, texts in files.items()}
    if "Users" in read:
        state = state._replace(users=keyed([(row["Username"], user(row)) for row in read["Users"]]))
    if "Groups" in read:
        state = state._replace(listed=keyed([(row["Group"], group(row)) for row in read["Groups"]]))
    if "Memberships" in read:
        state = state._replace(memberships=frozenset((row["Username"], row["Group"]) for row in read["Memberships"]))
        if any(username not in state.users for username, _ in state.memberships):
            raise Malformed
    if "Permissions" in read:
        given = keyed([(key(row), held(row)) for row in read["Permissions"]])
        if any(holder and holder not in state.users for holder, *_ in given):
            raise Malformed
        catalogue: dict[Any, Any] = {}
        for (_, _, *name), (_, _, *said) in given.items():
            catalogue[tuple(name)] = max(catalogue.get(tuple(name), ("",)), tuple(said))
        state = state._replace(assignments={k: v[:2] for k, v in given.items()}, permissions=catalogue)
    return state._replace(
        memberships=frozenset(pair for pair in state.memberships if pair[0] in state.users),
        assignments={k: v for k, v in state.assignments.items() if not k[0] or k[0] in state.users},
    )


def user(row: dict[str, str]) -> Any:
    known = {"Username", "Name", "Email", "Active"}
    active = row.get("Active", "") in ("", "Yes")
    return row.get("Name", ""), row.get("Email", ""), active, {k: v for k, v in row.items() if k not in known}


def group(row: dict[str, str]) -> Any:
    return row.get("Description", ""), row.get("Nomenclature", ""), {}


def key(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("Username", "Group", "Header", "Section", "Permission"))


def held(row: dict[str, str]) -> tuple[str, ...]:
    return row["Access"] or "None", row["Value"], row["Description"]


def changed(before: dict[Any, Any], now: dict[Any, Any], touched: Any = None) -> dict[str, set[Any]]:
    both = before.keys() & now.keys()
    return {
        "new": now.keys() - before.keys(),
        "altered": {name for name in both if before[name] != now[name] or (touched and touched(name))},
        "removed": before.keys() - now.keys(),
    }


def counted(before: dict[Any, Any], now: dict[Any, Any], touched: Any = None) -> dict[str, int]:
    return {"total": len(now)} | {change: len(keys) for change, keys in changed(before, now, touched).items()}


def metrics(before: State, now: State) -> dict[str, Any]:
    permissions = counted(before.permissions, now.permissions)
    return {
        "users": counted(before.users, now.users, lambda name: before.held(0, name) != now.held(0, name)),
        "groups": counted(before.groups, now.groups, lambda name: before.held(1, name)[0] != now.held(1, name)[0]),
        "permissions": {"total": permissions["total"], "new": permissions["new"]},
    }


def changes(before: State, now: State) -> dict[str, dict[str, list[str]]]:
    """Return the names of the records that are new, altered and removed, for each kind."""

    def path(parts: Any) -> str:
        return " / ".join(filter(None, parts))

    pairs: dict[str, tuple[dict[Any, Any], dict[Any, Any], Any]] = {
        "Account": (before.users, now.users, str),
        "Group": (before.groups, now.groups, str),
        "Membership": (dict.fromkeys(before.memberships), dict.fromkeys(now.memberships), " in ".join),
        "Permission": (before.permissions, now.permissions, path),
        "Assignment": (before.assignments, now.assignments, lambda key: f"{key[0] or key[1]}: {path(key[2:])}"),
    }
    return {
        kind: {change: sorted(map(named, keys)) for change, keys in changed(was, is_).items()}
        for kind, (was, is_, named) in pairs.items()
    }
