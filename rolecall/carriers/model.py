"""Define the configuration of a carrier, its steps, and the states of the requests that it takes up."""

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
# The caller on whose behalf carriers resolve requests.
CARRIER = Caller(UUID(int=2), "Carrier", frozenset())
# The name of the stored secret of a carrier; the secret of a source has another name.
CARRYING = "carrier"
# Pauses before each retry after a temporary failure; if the last retry fails, the request is left to a person.
RETRY_PAUSES = (timedelta(seconds=10), timedelta(minutes=1), timedelta(minutes=5))
# The default template for the username of a new account.
DEFAULT_NAME = "{email}"
# The result of deleting an account that no longer exists.
GONE = "the account was already deleted"
# The result of adding a member who is in the group.
ALREADY_MEMBER = "it was already a member"
# The Active Directory attribute with the bit that disables an account.
ACCOUNT_CONTROL = "userAccountControl"


class CarrierKind(StrEnum):
    SCIM = "SCIM"
    LDAP = "LDAP"


class CarrierMode(StrEnum):
    OFF = "Off"
    DRY_RUN = "Dry Run"
    ON = "On"


class RemovalWay(StrEnum):
    """Whether to disable or delete an account when all of its access is removed."""

    DISABLE = "Disable"
    DELETE = "Delete"


class MemberValue(StrEnum):
    """The content of the member attribute of a group: DNs or usernames."""

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


# The steps that the brake counts.
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
    """The progress of a carrier with a request; `Left` means that a person must carry it out."""

    WAITING = "Waiting"
    HELD = "Held"
    DRY_RUN = "Dry Run"
    LEFT = "Left"
    DONE = "Done"


class Verification(StrEnum):
    """The state of the import that verifies changes. `Ended` also means that none can, for example without a source."""

    DUE = "Due"
    WAITING = "Waiting"
    ENDED = "Ended"


class Step(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One change in the application; `attributes` are the values to write."""

    verb: StepVerb
    account: str
    group: str = ""
    attributes: dict[str, str] = {}

    def described(self) -> str:
        return _PLANNED[self.verb].format(account=self.account, group=self.group)


class RecordedStep(NamedTuple):
    position: int
    step: Step
    # Whether this step or an equal one was sent before and not refused: the application may show its result already.
    was_sent: bool


class SentStep(NamedTuple):
    step: Step
    answer: str


class Inexpressible(Exception):
    """Raised if a person must handle the request, for example because no steps can express it; the message says why."""


class CannotCarryOut(Exception):
    """Raised if the application refuses a step, or its data contradict the step; a person must take over."""

    def __init__(self, reason: str) -> None:
        # The reason may quote the server: limit its length and prevent log injection.
        super().__init__(in_one_line(reason[:LONGEST_REASON]))


def require_own(step: Step, *, was_sent: bool) -> None:
    """Raise CannotCarryOut unless `was_sent`: an account that the carrier did not create may be another person's."""
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
    # The attribute in the DN of a new LDAP entry; by default the account attribute.
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
        """Return a hash of the settings, which shows whether a plan is still current."""
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()

    def as_source(self) -> Source:
        """Return the connection settings as a source, because carriers use the connections of sources."""
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
    """The progress of a request that opened at `opened_on`; a reopened request counts as a new one."""

    opened_on: datetime
    state: CarriedState
    attempts: int
    is_released: bool
    # The digest of the carrier settings that the steps were planned with; empty if they are not planned.
    planned_with: str


class TargetConnection(Protocol):
    """An open connection to the application that a carrier changes."""

    # Whether the last step sent a change; false if it only read.
    @property
    def has_sent(self) -> bool: ...

    async def carry_out(self, step: Step, *, was_sent: bool) -> str:
        """Make a change unless it was made already; return a description of the result.

        `was_sent` means that an earlier attempt sent this step, so an existing or missing account may be its result.
        """
        ...
