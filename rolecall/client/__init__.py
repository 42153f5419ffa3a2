"""Call the HTTP API, from programs and from the command line.

with Client("https://rolecall.example", token) as rolecall:
    for person in rolecall.each(calls.list_identities()):
        print(person.last_name)
    run = rolecall.upload(application_id, {"Users": "users.csv"})
    print(rolecall.wait(run.id).status)
"""

from typing import TYPE_CHECKING, Any

from rolecall.client import answers, calls, errors
from rolecall.client.errors import Conflict, Failed, Invalid, NotAllowed, NotFound, NotVerified, TooMany, Unavailable
from rolecall.client.webhooks import verify

if TYPE_CHECKING:
    from rolecall.client.http import AsyncClient, Client

__all__ = [
    "AsyncClient",
    "Client",
    "Conflict",
    "Failed",
    "Invalid",
    "NotAllowed",
    "NotFound",
    "NotVerified",
    "TooMany",
    "Unavailable",
    "answers",
    "calls",
    "errors",
    "verify",
]


def __getattr__(name: str) -> Any:
    """Load the HTTP library lazily: verifying webhooks and printing help do not need it."""
    if name not in ("AsyncClient", "Client"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from rolecall.client import http

    return getattr(http, name)
