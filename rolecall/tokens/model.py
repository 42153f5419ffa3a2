import hashlib
import secrets
import string
import zlib
from datetime import datetime
from uuid import UUID

import msgspec

from rolecall.core.caller import Caller, Scope
from rolecall.core.roles import scopes_over_all_records

DEFAULT_SCOPES = [scope for scope in Scope if scope.endswith(":read")] + [
    Scope.IMPORTS_WRITE,
    Scope.PERSONNEL_EVENTS_WRITE,
]
DEFAULT_DAYS = 90
PREFIX = "rct"
OWNER_LEFT = "The person who created this token is no longer active; ask an administrator for another token"

_ALPHABET = string.digits + string.ascii_letters
# A secret has 190 random bits, so a fast hash is enough to protect it. Six characters can express every CRC-32.
_PUBLIC, _SECRET, _CHECKSUM = 12, 32, 6


class Token(msgspec.Struct, frozen=True):
    id: UUID
    public_id: str
    secret_sha256: bytes
    name: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None
    has_owner: bool
    has_owner_left: bool
    owner_role: str | None

    def is_usable(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    def accepts(self, secret: str) -> bool:
        return secrets.compare_digest(self.secret_sha256, sha256(secret))

    def caller(self) -> Caller:
        refused = refused_scopes(self.scopes, self.owner_role) if self.has_owner else frozenset[str]()
        return Caller(self.id, display_name(self.name), frozenset(self.scopes) - refused, refused_scopes=refused)


def refused_scopes(scopes: list[str], owner_role: str | None) -> frozenset[str]:
    """Return the scopes that a token cannot use, because its owner's role does not allow them.

    The scope `notifications:own` is never among them: everyone may read their own notifications.
    """
    return frozenset(scopes) - scopes_over_all_records(owner_role) - {Scope.NOTIFICATIONS_OWN}


def display_name(name: str) -> str:
    return f"API Token - {name}"


def new_secret(prefix: str = PREFIX) -> str:
    """Generate `rct_<public id>_<secret><checksum>`.

    The checksum detects typos without a query. Secret scanners recognize the prefix.
    """
    public = "".join(secrets.choice(_ALPHABET) for _ in range(_PUBLIC))
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(_SECRET))
    return f"{prefix}_{public}_{secret}{_checksum(public + secret)}"


def public_id(secret: str, prefix: str = PREFIX) -> str | None:
    """Return the public id, by which the token is looked up; None if the secret is malformed."""
    start, _, rest = secret.partition("_")
    public, _, tail = rest.partition("_")
    well_formed = start == prefix and len(public) == _PUBLIC and secret.isascii()
    return public if well_formed and _checksum(public + tail[:_SECRET]) == tail[_SECRET:] else None


def sha256(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _checksum(text: str) -> str:
    number, letters = zlib.crc32(text.encode()), ""
    for _ in range(_CHECKSUM):
        number, digit = divmod(number, len(_ALPHABET))
        letters = _ALPHABET[digit] + letters
    return letters
