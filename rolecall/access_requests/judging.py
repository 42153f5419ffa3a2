"""Compare requests with imported data.

A request is proved or contradicted, or it is undecided because the files do not cover all of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.access_requests.model import TargetType
from rolecall.access_requests.shapes import AccessRequestDetail, Privilege
from rolecall.accounts import queries as accounts
from rolecall.accounts.model import GROUP_HEADER, Access, group_header, valid
from rolecall.applications.model import Content
from rolecall.core.db import Db, fetch_rows
from rolecall.settings.policy import RequestAction

# The header, section and permission of held access. A membership has two keys: one has the group's nomenclature as its
# header, the other has `Group`.
Key = tuple[str, str, str]

_NOTHING = frozenset({Access.NONE, Access.DENY})


class FinishedImport(msgspec.Struct, frozen=True):
    """An import to compare requests with. It is evidence only about the kinds of content that its files have.

    `supplied_by` is the caller who uploaded its data, or None if a live source supplied the data.
    """

    id: UUID
    number: int
    application_id: UUID
    created_at: datetime
    created_by: str
    supplied_by: UUID | None
    files: dict[Content, list[str]]

    def named(self, contents: Iterable[Content]) -> str:
        shown = [content for content in Content if content in contents]
        names = dict.fromkeys(name for content in shown for name in self.files.get(content, ()))
        return f"Import {self.number} ({', '.join(names)})" if names else f"Import {self.number}"


class Shown(msgspec.Struct, frozen=True):
    """An account or group as the import shows it, with the access that it holds directly or through groups."""

    exists: bool = False
    is_usable: bool = False
    access: dict[Key, set[Access]] = {}


class Judgement(msgspec.Struct, frozen=True):
    """The result of comparing one request with an import.

    `contents` are the kinds of content that were compared, such as memberships. `undecided` means that the files do not
    cover the whole request.
    """

    contradictions: list[str]
    contents: set[Content]
    undecided: bool = False

    @property
    def is_proved(self) -> bool:
        return not self.contradictions and not self.undecided


class ImportedState(msgspec.Struct, frozen=True):
    run: FinishedImport
    users: dict[str, Shown]
    users_by_identity: dict[UUID, Shown]
    groups: dict[str, Shown]
    # The keys of memberships.
    memberships: set[Key]
    # Requests about an account or group itself, even if they list privileges.
    whole: frozenset[UUID]

    def shown(self, request: AccessRequestDetail) -> Shown:
        target = request.target
        if target.type == TargetType.GROUP:
            return self.groups.get(target.name, Shown())
        found = self.users.get(target.name)
        # The new account may have a different name from the one that the request assumed.
        if found is None and request.action == RequestAction.ADD and target.affected_identity:
            found = self.users_by_identity.get(target.affected_identity.id)
        return found or Shown()


def judge(request: AccessRequestDetail, state: ImportedState) -> Judgement:
    shown = state.shown(request)
    about = Content.GROUPS if request.target.type == TargetType.GROUP else Content.USERS
    if about not in state.run.files:
        # Without a file of groups, a file of permissions can still prove what a group holds.
        by_permissions = about == Content.GROUPS and request.target.privileges
        return (
            _judge_privileges(request, shown, state, set()) if by_permissions else Judgement([], set(), undecided=True)
        )
    name = request.target.name
    match RequestAction(request.action):
        case RequestAction.REMOVE:
            if not shown.is_usable:
                return Judgement([], {about})
            if request.id in state.whole or not request.target.privileges:
                return Judgement([f"{name} still exists"], {about})
            return _judge_privileges(request, shown, state, {about})
        case RequestAction.SUSPEND:
            return Judgement([f"{name} is still active"] if shown.is_usable else [], {about})
        case RequestAction.ADD | RequestAction.RESTORE if not shown.is_usable:
            return Judgement([f"{name} is not active" if shown.exists else f"{name} does not exist"], {about})
        case RequestAction.CHANGE if not shown.exists:
            return Judgement([f"{name} does not exist"], {about})
        case RequestAction.ADD | RequestAction.RESTORE | RequestAction.CHANGE:
            return _judge_privileges(request, shown, state, {about})


def reappeared_access(request: AccessRequestDetail, state: ImportedState) -> list[str]:
    """Describe the access that a completed request removed and that the import shows again."""
    taken = [privilege for privilege in request.target.privileges if _is_taken_away(privilege)]
    # Ignore a request that only lowered access. A Remove or Suspend without privileges took away the account itself.
    if not taken and (request.target.privileges or request.action == RequestAction.CHANGE):
        return []
    taking = msgspec.structs.replace(request, target=msgspec.structs.replace(request.target, privileges=taken))
    return judge(taking, state).contradictions


def _judge_privileges(
    request: AccessRequestDetail, shown: Shown, state: ImportedState, contents: set[Content]
) -> Judgement:
    contradictions, undecided = [], False
    for privilege in request.target.privileges:
        is_membership = _key(privilege) in state.memberships or privilege.permission.header == GROUP_HEADER
        content = Content.MEMBERSHIPS if is_membership else Content.PERMISSIONS
        if content not in state.run.files:
            undecided = True
            continue
        contents.add(content)
        if _is_taken_away(privilege):
            if _has(shown, privilege):
                contradictions.append(f"{request.target.name} still has {_display_name(privilege)}")
        elif not _has(shown, privilege):
            contradictions.append(f"{request.target.name} {_difference(shown, privilege)}")
    return Judgement(contradictions, contents, undecided)


def _is_taken_away(privilege: Privilege) -> bool:
    return privilege.approved_access == Access.NONE


def _has(shown: Shown, privilege: Privilege) -> bool:
    """Return whether the target holds the approved access or, if the request removed the access, any access."""
    held = shown.access.get(_key(privilege), set())
    return bool(held - _NOTHING) if _is_taken_away(privilege) else privilege.approved_access in held


def _difference(shown: Shown, privilege: Privilege) -> str:
    held = sorted(shown.access.get(_key(privilege), ()))
    if not held:
        return f"does not have {_display_name(privilege)}"
    return f"has {_display_name(privilege)} as {' and '.join(held)}, not {privilege.approved_access}"


def _key(privilege: Privilege) -> Key:
    what = privilege.permission
    return what.header, what.section, what.permission


def _display_name(privilege: Privilege) -> str:
    return " ".join(word for word in _key(privilege) if word)


async def imported_state(db: Db, run: FinishedImport, requests: Sequence[AccessRequestDetail]) -> ImportedState:
    """Return what the import shows about the targets of all these requests."""
    users = [request for request in requests if request.target.type == TargetType.USER]
    # Sort in descending order, so that `users_by_identity` keeps the first account of an identity by name.
    rows = await fetch_rows(
        db,
        f"""SELECT a.id, a.username, a.identity_id, v.is_active AND NOT v.is_locked FROM accounts a
           JOIN account_versions v ON v.account_number = a.number AND {valid("v", run.number)}
           WHERE a.application_id = %(application)s
             AND (a.username = ANY(%(names)s) OR a.identity_id = ANY(%(identities)s)) ORDER BY a.username DESC""",
        application=run.application_id,
        names=[request.target.name for request in users],
        identities=[request.target.affected_identity.id for request in users if request.target.affected_identity],
    )
    held, memberships = await _held_by_accounts(db, run, [row[0] for row in rows])
    shown = {id: Shown(True, is_usable, held[id]) for id, _, _, is_usable in rows}
    return ImportedState(
        run,
        users={username: shown[id] for id, username, _, _ in rows},
        users_by_identity={identity_id: shown[id] for id, _, identity_id, _ in rows},
        groups=await _groups(db, run, [r.target.name for r in requests if r.target.type == TargetType.GROUP]),
        memberships=memberships | await _known_groups(db, run, requests),
        whole=await _whole(db, requests),
    )


async def _whole(db: Db, requests: Sequence[AccessRequestDetail]) -> frozenset[UUID]:
    sql = "SELECT id FROM access_requests WHERE id = ANY(%(ids)s) AND is_whole"
    return frozenset(id for (id,) in await fetch_rows(db, sql, ids=[request.id for request in requests]))


async def _held_by_accounts(
    db: Db, run: FinishedImport, ids: Sequence[UUID]
) -> tuple[dict[UUID, dict[Key, set[Access]]], set[Key]]:
    held: dict[UUID, dict[Key, set[Access]]] = defaultdict(lambda: defaultdict(set))
    memberships: set[Key] = set()
    for member in await accounts.memberships(db, ids, run.number):
        for header in {group_header(member.nomenclature), GROUP_HEADER}:
            memberships.add((header, "", member.group))
            held[member.account_id][header, "", member.group].add(Access.GRANT)
    for entry in await accounts.permissions_held(db, ids, run.number):
        held[entry.holder_id][entry.header, entry.section, entry.permission].add(Access(entry.access))
    return held, memberships


async def _groups(db: Db, run: FinishedImport, names: Sequence[str]) -> dict[str, Shown]:
    if not names:
        return {}
    rows = await fetch_rows(
        db,
        f"""SELECT g.id, g.name FROM groups g
           JOIN group_versions v ON v.group_number = g.number AND {valid("v", run.number)}
           WHERE g.application_id = %(application)s AND g.name = ANY(%(names)s)""",
        application=run.application_id,
        names=list(names),
    )
    held: dict[UUID, dict[Key, set[Access]]] = defaultdict(lambda: defaultdict(set))
    for entry in await accounts.permissions_of_groups(db, [id for id, _ in rows], run.number):
        held[entry.holder_id][entry.header, entry.section, entry.permission].add(Access(entry.access))
    # Groups have no status, so every group that exists is usable.
    return {name: Shown(True, True, held[id]) for id, name in rows}


async def _known_groups(db: Db, run: FinishedImport, requests: Sequence[AccessRequestDetail]) -> set[Key]:
    """Return the keys of all groups, in any import, that have the name of a requested privilege."""
    names = {privilege.permission.permission for request in requests for privilege in request.target.privileges}
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT group_header(v.nomenclature), g.name
           FROM groups g JOIN group_versions v ON v.group_number = g.number
           WHERE g.application_id = %(application)s AND g.name = ANY(%(names)s)""",
        application=run.application_id,
        names=list(names),
    )
    return {(header, "", name) for header, name in rows}
