"""Change entries and memberships in an LDAP directory or Active Directory.

Each step can be repeated: a change that an earlier attempt made is not an error, because its response may have been
lost.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from rolecall.carriers.model import (
    ACCOUNT_CONTROL,
    ALREADY_MEMBER,
    GONE,
    CannotCarryOut,
    Carrier,
    MemberValue,
    Step,
    StepVerb,
    TargetConnection,
    require_own,
)
from rolecall.sources import ldap
from rolecall.sources.ldap import LdapConnection
from rolecall.sources.model import SourceAccess

# The flag ACCOUNTDISABLE of userAccountControl.
_DISABLED_BIT = 2


@asynccontextmanager
async def connect(access: SourceAccess, carrier: Carrier) -> AsyncIterator[TargetConnection]:
    async with ldap.connect(access) as directory:
        assert isinstance(directory, LdapConnection)
        yield LdapTarget(directory, carrier)


class LdapTarget:
    def __init__(self, directory: LdapConnection, carrier: Carrier) -> None:
        self._directory, self._carrier, self.has_sent = directory, carrier, False

    async def carry_out(self, step: Step, *, was_sent: bool) -> str:
        self.has_sent = False

        def make(bonsai: Any, connection: Any) -> str:
            change = _Change(bonsai, connection, self._carrier)
            try:
                return change.make(step, was_sent=was_sent)
            finally:
                # Set `has_sent` after an error too: it says whether the step may have taken effect.
                self.has_sent = change.has_sent

        return await self._directory.call(make)


class _Change:
    """A change to the directory: `make` carries out one step, in the thread of the connection."""

    def __init__(self, bonsai: Any, connection: Any, carrier: Carrier) -> None:
        self._bonsai, self._connection, self._carrier = bonsai, connection, carrier
        self._seconds = carrier.timeout_seconds
        self.has_sent = False

    def make(self, step: Step, *, was_sent: bool) -> str:
        entry = self._found(self._carrier.accounts_path, self._carrier.account_attribute, step.account)
        match step.verb:
            case StepVerb.CREATE:
                return self._create(step, entry, was_sent=was_sent)
            case StepVerb.CHANGE:
                return self._change(step, _required(entry, step))
            case StepVerb.ENABLE:
                return self._set_active(_required(entry, step), active=True)
            case StepVerb.DISABLE:
                return self._set_active(_required(entry, step), active=False)
            case StepVerb.DELETE:
                # A missing account counts as deleted only if an earlier attempt sent the deletion; otherwise it may
                # have been moved.
                return GONE if entry is None and was_sent else self._delete(_required(entry, step))
            case StepVerb.ADD_MEMBER:
                return self._add_member(step, _required(entry, step))
            case StepVerb.REMOVE_MEMBER:
                return self._remove_member(step, entry)

    def _found(self, base: str, attribute: str, name: str) -> Any:
        """Return the entry with this name below `base`, or None.

        Raise CannotCarryOut if there are several, or if `base` does not exist.
        """
        wanted = [attribute, *self._carrier.attributes, *filter(None, [self._carrier.active_attribute])]
        scope = self._bonsai.LDAPSearchScope.SUBTREE
        test = f"({attribute}={self._bonsai.escape_filter_exp(name)})"
        try:
            answer = self._connection.search(base, scope, test, wanted, timeout=self._seconds)
        except self._bonsai.errors.NoSuchObjectError:
            raise CannotCarryOut(f"the directory has no entry {base}") from None
        # A referral to another directory is not an entry.
        found = [entry for entry in answer if not isinstance(entry, self._bonsai.LDAPReference)]
        if len(found) > 1:
            raise CannotCarryOut(f"the directory has {len(found)} entries with the {attribute} {name}")
        return found[0] if found else None

    def _create(self, step: Step, entry: Any, *, was_sent: bool) -> str:
        if entry is None:
            carrier = self._carrier
            first = carrier.name_attribute or carrier.account_attribute
            value = self._bonsai.escape_attribute_value(step.attributes.get(first, step.account))
            name = f"{first}={value},{carrier.accounts_path}"
            made = self._bonsai.LDAPEntry(name)
            made["objectClass"] = carrier.object_classes
            for attribute, value in {**self._initial(), **step.attributes}.items():
                made[attribute] = value
            made[carrier.account_attribute] = step.account
            self.has_sent = True
            try:
                self._connection.add(made, timeout=self._seconds)
            except self._bonsai.errors.AlreadyExists:
                raise CannotCarryOut(f"the directory has another entry with the name {name}") from None
            except self._refusals as error:
                raise _refused(error) from None
            return f"created as {name}"
        if self._is_disabled(entry):
            raise CannotCarryOut(f"the account {step.account} exists and is disabled; a person must check whose it is")
        require_own(step, was_sent=was_sent)
        if not all(value in _texts(entry, name) for name, value in step.attributes.items()):
            raise CannotCarryOut(f"the account {step.account} exists with other attributes; it may be another person's")
        return "it already existed, with these attributes"

    def _initial(self) -> dict[str, str]:
        """Return the attribute and the value that mark a new account as active; empty if they are not configured."""
        name, value = self._carrier.active_attribute, self._carrier.active_value
        return {name: value} if name and value else {}

    def _change(self, step: Step, entry: Any) -> str:
        different = {name: value for name, value in step.attributes.items() if _texts(entry, name) != [value]}
        if not different:
            return "nothing to change"
        for name, value in different.items():
            entry.change_attribute(name, self._operations.REPLACE, value)
        self._modify(entry)
        return f"changed {', '.join(sorted(different))}"

    def _set_active(self, entry: Any, *, active: bool) -> str:
        state = "enabled" if active else "disabled"
        if self._is_disabled(entry) is not active:
            return f"it was already {state}"
        name = self._carrier.active_attribute
        value = self._carrier.active_value if active else self._carrier.inactive_value
        if _is_control(name):
            # Keep the other bits, such as the one that says that the password never expires.
            number = _control(entry)
            value = str(number & ~_DISABLED_BIT if active else number | _DISABLED_BIT)
        if value:
            entry.change_attribute(name, self._operations.REPLACE, value)
        else:
            # If no value is configured for the state, the absence of the attribute means this state.
            entry.change_attribute(name, self._operations.DELETE)
        self._modify(entry)
        return state

    def _is_disabled(self, entry: Any) -> bool:
        name = self._carrier.active_attribute
        if not name:
            return False
        if _is_control(name):
            return bool(_control(entry) & _DISABLED_BIT)
        held = _texts(entry, name)
        return self._carrier.inactive_value in held if self._carrier.inactive_value else not held

    def _delete(self, entry: Any) -> str:
        self.has_sent = True
        try:
            self._connection.delete(entry.dn, timeout=self._seconds)
        except self._bonsai.errors.NoSuchObjectError:
            return GONE
        except self._refusals as error:
            raise _refused(error) from None
        return "deleted"

    def _add_member(self, step: Step, entry: Any) -> str:
        group = self._found(self._carrier.groups_path, self._carrier.group_attribute, step.group)
        if group is None:
            raise CannotCarryOut(f"the directory has no group {step.group}")
        group.change_attribute(self._carrier.member_attribute, self._operations.ADD, self._member(step, entry))
        try:
            self._modify(group)
        except self._bonsai.errors.TypeOrValueExists:
            return ALREADY_MEMBER
        return "added"

    def _remove_member(self, step: Step, entry: Any) -> str:
        group = self._found(self._carrier.groups_path, self._carrier.group_attribute, step.group)
        if group is None:
            raise CannotCarryOut(f"the directory has no group {step.group} below {self._carrier.groups_path}")
        # A username can be removed from the group even if its account is gone.
        if self._carrier.member_value is MemberValue.DN:
            _required(entry, step)
        group.change_attribute(self._carrier.member_attribute, self._operations.DELETE, self._member(step, entry))
        try:
            self._modify(group)
        except self._bonsai.errors.NoSuchAttribute:
            return "it was not a member"
        return "removed"

    def _member(self, step: Step, entry: Any) -> str:
        return str(entry.dn) if self._carrier.member_value is MemberValue.DN else step.account

    def _modify(self, entry: Any) -> None:
        self.has_sent = True
        try:
            entry.modify(timeout=self._seconds)
        except self._refusals as error:
            raise _refused(error) from None

    @property
    def _operations(self) -> Any:
        return self._bonsai.LDAPModOp

    @property
    def _refusals(self) -> tuple[type[Exception], ...]:
        """Return the errors after which a retry cannot succeed."""
        errors = self._bonsai.errors
        return (errors.ObjectClassViolation, errors.InsufficientAccess, errors.NotAllowedOnNonleaf)


def _required(entry: Any, step: Step) -> Any:
    if entry is None:
        raise CannotCarryOut(f"the directory has no account {step.account}")
    return entry


def _refused(error: Exception) -> CannotCarryOut:
    return CannotCarryOut(f"the directory refuses the change: {error}")


def _texts(entry: Any, name: str) -> list[str]:
    return [str(value) for value in entry.get(name, [])]


def _is_control(attribute: str) -> bool:
    """Return whether an attribute is userAccountControl; LDAP ignores the case of names."""
    return attribute.lower() == ACCOUNT_CONTROL.lower()


def _control(entry: Any) -> int:
    numbers = _texts(entry, ACCOUNT_CONTROL)
    if len(numbers) != 1 or not numbers[0].lstrip("-").isdecimal():
        raise CannotCarryOut(f"{entry.dn} has no {ACCOUNT_CONTROL} that the login may read")
    return int(numbers[0])
