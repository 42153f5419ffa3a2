"""Define people who use the console, their scopes, sessions and passwords, and the time limits of sign-ins."""

import hashlib
import os
import secrets
from datetime import datetime, timedelta
from uuid import UUID

import msgspec
from cryptography.exceptions import InvalidKey
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

from rolecall.access_requests.requirements import ADMINISTRATORS
from rolecall.core.caller import Caller, Scope
from rolecall.core.roles import LIMITED, SCOPES, Role
from rolecall.settings.policy import RequirementType

# Scopes that everyone has for their own records, and the additional scopes of supervisors and owners.
OWN_SCOPES = frozenset(
    {Scope.IDENTITIES_READ, Scope.PERSONNEL_EVENTS_READ, Scope.ACCESS_REQUESTS_READ, Scope.ACCESS_REQUESTS_WRITE}
    | {Scope.REVIEWS_READ}
)
SUPERVISOR_SCOPES = frozenset({Scope.PERSONNEL_EVENTS_WRITE})
OWNER_SCOPES = frozenset({Scope.APPLICATIONS_READ, Scope.IMPORTS_READ})

SESSION_RESTS = timedelta(hours=12)
SESSION_LASTS = timedelta(days=7)
LINK_LASTS = timedelta(hours=24)
# How long a link that a person requested on the sign-in page is valid.
MAILED_LINK_LASTS = timedelta(minutes=15)
# A first password must be set within this time after signing in by link or provider.
FIRST_PASSWORD_WITHIN = timedelta(minutes=10)
ATTEMPT_LASTS = timedelta(minutes=10)
SHORTEST_PASSWORD = 12
LONGEST_EMAIL = 256


class Person(msgspec.Struct, frozen=True):
    """A person who may sign in: their role, if any, and whether they supervise people, or own or provision records."""

    id: UUID
    name: str
    email: str
    role: Role | None
    title: str
    supervises: bool
    owns: bool
    # The people for whom this person responds now, each as a type of response and an id, such as `Approve 5f0c…`
    # (`responds_for` in schema/stand_ins.sql).
    stands_in_for: list[str]

    @property
    def represented(self) -> list[tuple[UUID, str]]:
        """Return the people for whom this person responds now, each with a type of response."""
        pairs = [words.split(" ") for words in self.stands_in_for]
        return [(UUID(id), type) for type, id in pairs]

    def answers_as(self, type: RequirementType) -> list[UUID]:
        """Return the reviewers for whom this person can respond, beginning with this person.

        Administrators also respond for the reviewer `Administrators`.
        """
        own = [self.id, ADMINISTRATORS.id] if self.role == Role.ADMINISTRATOR else [self.id]
        return own + [id for id, answered in self.represented if answered == type]

    def reviews_as(self) -> list[UUID]:
        """Return the reviewers for whom this person decides review items, the same as for approvals of requests."""
        return self.answers_as(RequirementType.APPROVE)

    def reviewers(self) -> tuple[list[UUID], list[str]]:
        """Return two parallel lists: the reviewers for whom this person responds, and the type of each response."""
        pairs = [(id, str(type)) for type in RequirementType for id in self.answers_as(type)]
        return [id for id, _ in pairs], [type for _, type in pairs]

    @property
    def is_limited(self) -> bool:
        """Return whether the person sees only their own records: they have no role, or are a Provisioner."""
        return self.role in LIMITED

    def caller(self) -> Caller:
        scopes: frozenset[str] = SCOPES[Role(self.role)] if self.role else frozenset()
        own = OWN_SCOPES | (SUPERVISOR_SCOPES if self.supervises else frozenset())
        own |= OWNER_SCOPES if self.owns else frozenset()
        if self.is_limited:
            scopes |= own
        return Caller(
            self.id,
            self.name,
            scopes,
            is_limited=self.is_limited,
            is_person=True,
            stands_in_for=frozenset(self.represented),
            own_scopes=own - scopes,
        )


class Session(msgspec.Struct, frozen=True):
    sha256: bytes
    identity_id: UUID
    created_at: datetime
    seen_at: datetime
    notice: str | None
    notice_kind: str | None

    def is_live(self, now: datetime) -> bool:
        return now - self.seen_at < SESSION_RESTS and now - self.created_at < SESSION_LASTS

    def may_set_first_password(self, now: datetime) -> bool:
        return now - self.created_at < FIRST_PASSWORD_WITHIN


class SignInAttempt(msgspec.Struct, frozen=True):
    """The state of a sign-in at the OpenID provider, stored until the browser returns."""

    nonce: str
    verifier: str
    next: str


def new_secret() -> str:
    return secrets.token_urlsafe(32)


# Unlike a password, a secret of 32 random bytes cannot be guessed, so a fast hash is enough.
def sha256(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def hash_password(password: str) -> str:
    # Each guess costs 64 MiB of memory and a tenth of a second.
    return Argon2id(salt=os.urandom(16), length=32, iterations=3, lanes=1, memory_cost=64 * 1024).derive_phc_encoded(
        password.encode()
    )


def is_password(password: str, argon2: str) -> bool:
    try:
        Argon2id.verify_phc_encoded(password.encode(), argon2)
    except InvalidKey:
        return False
    return True


# The hash to verify if nobody has the e-mail or the person has no password, so that the response time does not reveal
# which e-mails exist.
NO_PASSWORD = "$argon2id$v=19$m=65536,t=3,p=1$bJrw6rdUNbtM0opJUXr8Hw$L4dXIFjJmZGvyeNvWWZUd8BxP4E7dwcuYgyBTAAUyxg"  # noqa: S105
