"""The configuration of a carrier, the steps it carries out, and the states of a request that it takes up."""

import hashlib
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol
from uuid import UUID

import msgspec

from rolecall.core.caller import Caller
from rolecall.core.text import in_one_line
from rolecall.sources.model import LONGEST_REASON, Authentication, Source, SourceKind

CHANNEL = "carriers"
# The caller who resolves requests that a carrier carried out.
CARRIER = Caller(UUID(int=2), "Carrier", frozenset())
# The name by which an application stores the secret of its carrier.
CARRYING = "carrier"
# Pauses before a request is taken up again after the system could not be reached; then it is left to a person.
RETRY_PAUSES = (timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=5))
# The template of the username of a new account.
DEFAULT_NAME = "{email}"
# The answer to the deletion of an account that an earlier attempt deleted.
GONE = "the account was gone already"
# The attribute of Active Directory with a bit for a disabled account.
ACCOUNT_CONTROL = "userAccountControl"


class CarrierKind(StrEnum):
    SCIM = "SCIM"
    LDAP = "LDAP"


class CarrierMode(StrEnum):
    OFF = "Off"
    DRY_RUN = "Dry Run"
    ON = "On"


class RemovalWay(StrEnum):
    """What happens to an account whose access is removed as a whole."""

    DISABLE = "Disable"
    DELETE = "Delete"


class MemberValue(StrEnum):
    """What a group's member attribute contains."""

    DN = "DN"
    USERNAME = "Username"


class StepVerb(StrEnum):
    CREATE = "Create Account"
    CHANGE = "Change Account"
    ENABLE = "Enable Account"
    DISABLE = "Disable Account"
    DELETE = "Delete Account"
    ADD_MEMBER = "Add Member"
    REMOVE_MEMBER = "Remove Member"


# Steps that the brake counts.
REMOVALS = frozenset({StepVerb.DISABLE, StepVerb.DELETE, StepVerb.REMOVE_MEMBER})

_PLANNED = {
    StepVerb.CREATE: "create the account {account}",
    StepVerb.CHANGE: "change the account {account}",
    StepVerb.ENABLE: "enable the account {account}",
    StepVerb.DISABLE: "disable the account {account}",
    StepVerb.DELETE: "delete the account {account}",
    StepVerb.ADD_MEMBER: "add {account} to the group {group}",
    StepVerb.REMOVE_MEMBER: "remove {account} from the group {group}",
}


class StepState(StrEnum):
    PLANNED = "Planned"
    SENT = "Sent"
    DONE = "Done"


class CarriedState(StrEnum):
    """How far a carrier is with a request; `Left` means that a person carries it out."""

    WAITING = "Waiting"
    HELD = "Held"
    DRY_RUN = "Dry Run"
    LEFT = "Left"
    DONE = "Done"


class Verification(StrEnum):
    """Whether an import must still show what a carrier has done; it has ended too if there is no source to fetch."""

    DUE = "Due"
    WAITING = "Waiting"
    ENDED = "Ended"


class Step(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One change of the application; `attributes` are those to write."""

    verb: StepVerb
    account: str
    group: str = ""
    attributes: dict[str, str] = {}

    def described(self) -> str:
        return _PLANNED[self.verb].format(account=self.account, group=self.group)


class RecordedStep(NamedTuple):
    position: int
    step: Step
    # It was sent before and not refused, so that the application may show its result already.
    was_sent: bool


class Inexpressible(Exception):
    """The carrier cannot express what was approved; the message says why."""


class CannotCarryOut(Exception):
    """The application refuses a step, or its data contradict it; a person must look."""

    def __init__(self, reason: str) -> None:
        super().__init__(in_one_line(reason[:LONGEST_REASON]))


def require_own(step: Step, *, was_sent: bool) -> None:
    """Take an account that exists for the new one only if it was sent: it may be another person's of the same name."""
    if not was_sent:
        raise CannotCarryOut(f"the account {step.account} exists; it may be another person's")


class Carrier(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The carrier of an application; `docs/carriers.md` describes every key."""

    kind: CarrierKind
    url: str
    mode: CarrierMode = CarrierMode.OFF
    username: str = ""
    secret_ref: str = ""
    authentication: Authentication = Authentication.NONE
    header: str = ""
    headers: dict[str, str] = {}
    start_tls: bool = False
    timeout_seconds: int = 60
    account_name: str = DEFAULT_NAME
    attributes: dict[str, str] = {}
    changed_attributes: list[str] = []
    on_remove: RemovalWay = RemovalWay.DISABLE
    accounts_path: str = ""
    account_attribute: str = ""
    # The attribute that names a new entry in LDAP, by default the account attribute.
    name_attribute: str = ""
    object_classes: list[str] = []
    active_attribute: str = ""
    active_value: str = ""
    inactive_value: str = ""
    groups_path: str = ""
    group_attribute: str = ""
    member_attribute: str = ""
    member_value: MemberValue = MemberValue.DN
    steps_per_minute: int = 60
    removals_per_hour: int = 20

    @property
    def can_disable(self) -> bool:
        return self.kind is CarrierKind.SCIM or bool(self.active_attribute)

    def digest(self) -> str:
        """Identify the settings that a plan was made with."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()

    def as_source(self) -> Source:
        """Return what the connections of sources need to know."""
        return Source(
            SourceKind(self.kind),
            self.url,
            {},
            username=self.username,
            secret_ref=self.secret_ref,
            authentication=self.authentication,
            header=self.header,
            headers=self.headers,
            start_tls=self.start_tls,
            timeout_seconds=self.timeout_seconds,
        )


class CarriedRequest(msgspec.Struct, frozen=True):
    """A request as the carrier knows it; `opened_on` tells one opening from the next."""

    opened_on: datetime
    state: CarriedState
    attempts: int
    is_released: bool
    # The digest of the carrier that the steps were planned with.
    planned_with: str


class TargetConnection(Protocol):
    """An open connection to the application that a carrier changes."""

    # Whether the last step sent a change, and not only questions.
    @property
    def has_sent(self) -> bool: ...

    async def carry_out(self, step: Step, *, was_sent: bool) -> str:
        """Make a change unless it was made already; return what happened, in words.

        `was_sent`: the step was sent before, so that an account that exists or is missing may be its result.
        """
        ...
