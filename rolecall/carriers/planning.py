"""Plan the steps of a request from its approved access.

If a carrier can make only a part of the changes, it makes none and the whole request is left to people.
"""

from collections.abc import Iterator, Mapping

import msgspec

from rolecall.access_requests.model import TargetType
from rolecall.access_requests.shapes import AccessRequestDetail, Privilege
from rolecall.accounts.model import GROUP_HEADER, Access
from rolecall.carriers.model import Carrier, Inexpressible, RemovalWay, Step, StepVerb
from rolecall.carriers.naming import filled
from rolecall.settings.policy import RequestAction

_GIVES, _TAKES = frozenset({StepVerb.ADD_MEMBER}), frozenset({StepVerb.REMOVE_MEMBER})


class KnownAccount(msgspec.Struct, frozen=True):
    """The account of a request, as last imported; `holds` contains the header, section and permission of its access."""

    username: str
    is_active: bool
    is_of_person: bool
    holds: frozenset[tuple[str, str, str]]


class RequestFacts(msgspec.Struct, frozen=True):
    """The facts that planning needs besides the request: the person's fields, the account, the headers of groups.

    `is_whole` means that a Remove or Suspend is about the whole account, not about some of its access.
    """

    person: Mapping[str, str]
    account: KnownAccount | None
    is_whole: bool
    group_headers: Mapping[str, frozenset[str]]


def plan(request: AccessRequestDetail, carrier: Carrier, facts: RequestFacts) -> list[Step]:
    """Return the steps in order; raise Inexpressible if the carrier cannot make all changes, or if there are none."""
    if request.target.type == TargetType.GROUP:
        raise Inexpressible("the request is about a group; a carrier changes accounts and their memberships")
    if request.action != RequestAction.ADD:
        _require_known(request, facts.account)
    steps = _steps(request, carrier, facts)
    if not steps:
        raise Inexpressible("the approved access needs no change that a carrier can make")
    return steps


def _require_known(request: AccessRequestDetail, account: KnownAccount | None) -> None:
    """Require that the account exists and is matched to the person: another person may have this username by now."""
    if account is None:
        raise Inexpressible(f"the last import shows no account {request.target.name}")
    if not account.is_of_person:
        raise Inexpressible(another_persons(account.username))


def another_persons(username: str) -> str:
    return f"the account {username} is no longer matched to the person of the request"


def _steps(request: AccessRequestDetail, carrier: Carrier, facts: RequestFacts) -> list[Step]:
    name = request.target.name
    match RequestAction(request.action):
        case RequestAction.ADD:
            username = facts.account.username if facts.account else filled(carrier.account_name, facts.person)
            return [*_created(username, carrier, facts), *_memberships(request, username, facts, _GIVES)]
        case RequestAction.CHANGE:
            return [*_changed(name, carrier, facts), *_memberships(request, name, facts, _GIVES | _TAKES)]
        case RequestAction.RESTORE:
            _require_disabling(carrier)
            return [Step(StepVerb.ENABLE, name), *_memberships(request, name, facts, _GIVES)]
        case RequestAction.SUSPEND:
            _require_disabling(carrier)
            return [Step(StepVerb.DISABLE, request.target.name)]
        case RequestAction.REMOVE:
            return _removed(request, carrier, facts)


def _created(username: str, carrier: Carrier, facts: RequestFacts) -> Iterator[Step]:
    """Yield the step that creates the account, if it does not exist.

    Raise Inexpressible if the account is disabled or not matched to the person.
    """
    if facts.account is None:
        yield Step(StepVerb.CREATE, username, attributes=_attributes(carrier, carrier.attributes, facts, username))
    elif not facts.account.is_of_person:
        raise Inexpressible(f"the account {username} exists and is not matched to the person; match it first")
    elif not facts.account.is_active:
        raise Inexpressible(f"the account {username} is disabled; request a Restore, or enable it by hand")


def _changed(name: str, carrier: Carrier, facts: RequestFacts) -> Iterator[Step]:
    """Yield the step that updates the carrier's `changed_attributes`, if it has any."""
    if carrier.changed_attributes:
        attributes = _attributes(carrier, carrier.changed_attributes, facts, name)
        yield Step(StepVerb.CHANGE, name, attributes=attributes)


def _attributes(
    carrier: Carrier, names: Mapping[str, str] | list[str], facts: RequestFacts, username: str
) -> dict[str, str]:
    person = {**facts.person, "username": username}
    return {name: filled(carrier.attributes[name], person) for name in names}


def _removed(request: AccessRequestDetail, carrier: Carrier, facts: RequestFacts) -> list[Step]:
    """Return the steps that remove the listed access. If no access would remain, also disable or delete the account."""
    name = request.target.name
    if not _takes_all(request, facts):
        return _memberships(request, name, facts, _TAKES)
    memberships = [
        Step(StepVerb.REMOVE_MEMBER, name, each.permission.permission)
        for each in request.target.privileges
        if _is_membership(each, facts)
    ]
    # Remove the memberships before the account: the carrier looks up the account to remove a membership.
    if carrier.on_remove is RemovalWay.DELETE:
        return [*memberships, Step(StepVerb.DELETE, name)]
    _require_disabling(carrier)
    # Disabling comes first, because it ends the access even if a later step fails.
    return [Step(StepVerb.DISABLE, name), *memberships]


def _takes_all(request: AccessRequestDetail, facts: RequestFacts) -> bool:
    """Return whether the request removes the account: it is about the whole account, or lists all of its access."""
    if facts.is_whole:
        return True
    privileges = request.target.privileges
    taken = {_key(each) for each in privileges if each.approved_access == Access.NONE}
    if len(taken) < len(privileges):
        return False
    return facts.account is not None and facts.account.holds <= taken


def _memberships(
    request: AccessRequestDetail, name: str, facts: RequestFacts, allowed: frozenset[StepVerb]
) -> list[Step]:
    """Return the membership steps with an allowed verb: an Add only adds members, a Remove only removes them."""
    steps = [_membership(each, name, facts) for each in request.target.privileges]
    return [step for step in steps if step and step.verb in allowed]


def _membership(privilege: Privilege, name: str, facts: RequestFacts) -> Step | None:
    group = privilege.permission.permission
    if not _is_membership(privilege, facts):
        # An unchanged privilege needs no step.
        if privilege.approved_access == privilege.initial_access:
            return None
        words = " ".join(filter(None, _key(privilege)))
        raise Inexpressible(f"{words} is not a group, so a carrier cannot grant or remove it")
    match privilege.approved_access:
        case Access.GRANT:
            return Step(StepVerb.ADD_MEMBER, name, group)
        case Access.NONE:
            return Step(StepVerb.REMOVE_MEMBER, name, group)
        case Access.UNRESTRICTED | Access.DENY | Access.MODIFY:
            raise Inexpressible(f"a carrier cannot grant the access {privilege.approved_access} to the group {group}")


def _is_membership(privilege: Privilege, facts: RequestFacts) -> bool:
    # For a group that no import has shown, only the default header means a membership.
    what = privilege.permission
    return not what.section and what.header in facts.group_headers.get(what.permission, frozenset({GROUP_HEADER}))


def _key(privilege: Privilege) -> tuple[str, str, str]:
    what = privilege.permission
    return what.header, what.section, what.permission


def _require_disabling(carrier: Carrier) -> None:
    if not carrier.can_disable:
        raise Inexpressible("the carrier cannot disable or enable accounts: it has no activeAttribute; set it")
