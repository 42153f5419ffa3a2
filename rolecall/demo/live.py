"""Create an application of the sample company with a live source and a carrier, both on a SCIM server.

An approved request for it is carried out and verified automatically.
"""

from typing import Any
from uuid import UUID

import msgspec

from rolecall.applications import actions as applications
from rolecall.carriers import actions as carriers
from rolecall.carriers import queries as carrier_queries
from rolecall.core.caller import Caller
from rolecall.core.checking import Facts, Json
from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_value
from rolecall.demo.people import Employee
from rolecall.demo.scim_peer import Record, ScimPeer
from rolecall.demo.story import Who
from rolecall.sources import actions as sources
from rolecall.sources import queries as source_queries

NAME = "Team Chat"
# The person who requests an account.
ASKER = Who("Accounting", 8)
GROUP = "Accounting"
CONNECTOR: Json = {
    "name": "SCIM",
    "vendor": "Parlando",
    "files": [
        {
            "name": "Users",
            "content": "users",
            "columns": {
                "userName": "Username",
                "displayName": "Name",
                "emails[type=work].value": "Email",
                "active": "Active",
            },
            "shape": {"ignore": ["id", "schemas", "emails"]},
        },
        {
            "name": "Memberships",
            "content": "memberships",
            "isOptional": True,
            "columns": {"members.display": "Username", "displayName": "Group"},
            "shape": {"ignore": ["id", "schemas"]},
        },
    ],
}
_CONNECTION: Json = {"kind": "SCIM", "authentication": "Bearer", "timeoutSeconds": 10}
_SOURCE: Json = {
    **_CONNECTION,
    "contents": {"Users": {"path": "Users"}, "Memberships": {"path": "Groups", "each": "members"}},
}
_CARRIER: Json = {
    **_CONNECTION,
    "mode": "On",
    "accountName": "{email|local}",
    "attributes": {"displayName": "{firstName} {lastName}", "emails[type=work].value": "{email}"},
    "removalsPerHour": 5,
}


def fill(peer: ScimPeer, people: list[Employee], without: Employee) -> None:
    """Create an account for everyone except service accounts and `without`, in groups by department."""
    here = [person for person in people if person != without and person.type != "Service Account"]
    groups: dict[str, list[str]] = {}
    for person in here:
        groups.setdefault(person.department, []).append(person.username)
    peer.fill([_user(person) for person in here], groups)


def _user(person: Employee) -> Record:
    emails = [{"type": "work", "value": person.email}]
    return {
        "userName": person.username,
        "displayName": f"{person.first} {person.last}",
        "active": True,
        "emails": emails,
    }


async def create(db: Db, caller: Caller, people: dict[str, Any], peer: ScimPeer, facts: Facts, config: Config) -> UUID:
    """Create the application with its source and carrier; return its id. `people` has its owner and provisioners."""
    raw = {"name": NAME, "priority": "Low", "connector": CONNECTOR, **people}
    id = await applications.create_application(db, raw, facts)
    await sources.put_source(db, caller, id, {**_SOURCE, **_secret(peer)}, facts, config)
    await carriers.put_carrier(db, id, {**_CARRIER, **_secret(peer)}, facts, config)
    return id


async def reconnect(db: Db, caller: Caller, peer: ScimPeer, facts: Facts, config: Config) -> None:
    """Set the new URL of the source and the carrier, because the SCIM server has another port after each start."""
    id = await fetch_value(db, "SELECT id FROM applications WHERE name = %(name)s", name=NAME)
    if id is None:
        return
    if source := await source_queries.find(db, id):
        await sources.put_source(db, caller, id, {**msgspec.to_builtins(source), **_secret(peer)}, facts, config)
    if carrier := await carrier_queries.find(db, id):
        await carriers.put_carrier(db, id, {**msgspec.to_builtins(carrier), **_secret(peer)}, facts, config)


def _secret(peer: ScimPeer) -> Json:
    """Return the URL and the token. Both are sent, because a stored secret is valid only for its host and port."""
    return {"url": peer.url, "secret": peer.state.token, "secretRef": None}
