"""Create an application with a carrier and approved requests, and carry them out as a worker does."""

from typing import Any
from uuid import UUID

import httpx2

from rolecall.access_requests.model import NewPrivilege
from rolecall.accounts.model import Access
from rolecall.carriers.carrying import carry_out_next
from rolecall.core import clock
from rolecall.core.config import Config
from rolecall.core.db import Db, make_pool
from rolecall.worker import recheck_requests
from tests.access_requests.walking import Cast, a_cast, detail_of, done
from tests.builders import an_access_request, an_application, an_identity
from tests.holdings import an_account
from tests.sources.peers import ADMIN, PASSWORD, SUFFIX, TOKEN
from tests.sources.sourcing import Sourcing
from tests.working import let_the_worker_work

# A directory that cannot be reached.
NOWHERE = "ldap://127.0.0.1:1"
PEOPLE, GROUPS = f"ou=people,{SUFFIX}", f"ou=groups,{SUFFIX}"
LDAP: dict[str, Any] = {
    "kind": "LDAP",
    "username": ADMIN,
    "secret": PASSWORD,
    "accountName": "{email|local}",
    "accountsPath": PEOPLE,
    "accountAttribute": "uid",
    "objectClasses": ["inetOrgPerson"],
    "attributes": {"cn": "{firstName} {lastName}", "sn": "{lastName}", "mail": "{email}", "title": "{title}"},
    "changedAttributes": ["title"],
    "activeAttribute": "employeeType",
    "activeValue": "Yes",
    "inactiveValue": "No",
    "groupsPath": GROUPS,
    "groupAttribute": "cn",
    "memberAttribute": "member",
}
SCIM: dict[str, Any] = {
    "kind": "SCIM",
    "authentication": "Bearer",
    "secret": TOKEN,
    "accountName": "{email|local}",
    "attributes": {
        "displayName": "{firstName} {lastName}",
        "name.familyName": "{lastName}",
        "emails[type=work].value": "{email}",
        "title": "{title}",
    },
    "changedAttributes": ["title"],
}


def entries(*usernames: str) -> str:
    """Return the LDIF of a directory with these accounts and `seed`: Staff contains all of them, Clerks only `seed`."""
    folders = [f"dn: {folder}\nobjectClass: organizationalUnit\n" for folder in (PEOPLE, GROUPS)]
    people = [
        f"dn: uid={name},{PEOPLE}\nobjectClass: inetOrgPerson\nuid: {name}\ncn: {name.title()}\nsn: {name.title()}\n"
        f"mail: {name}@example.com\nemployeeType: Yes\n"
        for name in ("seed", *usernames)
    ]
    members = "".join(f"member: uid={name},{PEOPLE}\n" for name in ("seed", *usernames))
    groups = [
        f"dn: cn=Staff,{GROUPS}\nobjectClass: groupOfNames\n{members}",
        f"dn: cn=Clerks,{GROUPS}\nobjectClass: groupOfNames\nmember: uid=seed,{PEOPLE}\n",
    ]
    return "\n".join([*folders, *people, *groups])


class Carrying:
    """An application with a carrier. Grace supervises the people of the requests; Peter provisions the application."""

    def __init__(self, client: httpx2.AsyncClient, db: Db, config: Config, id: UUID, cast: Cast) -> None:
        self.client, self.db, self.config, self.id, self.cast = client, db, config, id, cast
        self.path = f"/api/applications/{id}/carrier"
        self.source = Sourcing(client, config, id)

    async def put(self, url: str, settings: dict[str, Any], **fields: Any) -> dict[str, Any]:
        answer = await self.client.put(self.path, json={"url": url, "mode": "On", **settings, **fields})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def get(self) -> dict[str, Any]:
        return dict((await self.client.get(self.path)).json())

    async def post(self, verb: str, **body: Any) -> httpx2.Response:
        return await self.client.post(f"{self.path}/{verb}", json=body)

    async def person(self, name: str, **fields: Any) -> UUID:
        """Create a person whose e-mail address begins with the name."""
        given = {"email": f"{name}@example.com", "title": "Clerk", "supervisorId": self.cast.grace, **fields}
        return await an_identity(self.db, name.title(), "Lovelace", **given)

    async def account(self, name: str, person: UUID | None = None, **fields: Any) -> UUID:
        """Create an account as an import would, matched to the person."""
        person = person or await self.person(name)
        await an_account(self.db, self.id, name, person, **fields)
        return person

    async def request(
        self, action: str, person: UUID, gives: tuple[str, ...] = (), takes: tuple[str, ...] = (), **fields: Any
    ) -> str:
        """Create a request about groups and approve it, so that it is Open."""
        privileges = [NewPrivilege(header="Group", permission=name) for name in gives]
        privileges += [NewPrivilege(header="Group", permission=name, requested_access=Access.NONE) for name in takes]
        id = await an_access_request(
            self.db,
            action,
            application_id=self.id,
            identity_id=person,
            now=clock.now(),
            **{"privileges": privileges, **fields},
        )
        if (await self.detail(id))["status"] == "Pending":
            await done(self.client, id, "respond", type="Approve", response="Approved", reviewerId=self.cast.grace)
        assert (await self.detail(id))["status"] == "Open"
        return str(id)

    async def work(self) -> None:
        """Check requests again and carry out those that are due, as a worker does."""
        async with make_pool(self.config) as pool:
            while await recheck_requests(pool, self.config, clock.now()):
                pass
            while await carry_out_next(pool, self.config, clock.now()):
                pass

    async def work_on_everything(self) -> None:
        await let_the_worker_work(self.config)

    async def detail(self, id: object) -> dict[str, Any]:
        return await detail_of(self.client, id)

    async def said(self, id: object) -> list[tuple[str, str]]:
        """Return the activity entries that the carrier wrote on a request."""
        activity = (await self.detail(id))["activity"]
        return [(each["action"], each["content"]) for each in activity if each["author"] == "Carrier"]


async def an_application_to_carry(client: httpx2.AsyncClient, db: Db, config: Config) -> Carrying:
    cast = await a_cast(db)
    id = await an_application(db, "Ledger", ownerId=cast.grace, provisionerIds=[cast.peter])
    return Carrying(client, db, config, id, cast)


async def a_removal(carrying: Carrying, name: str) -> str:
    return await carrying.request("Remove", await carrying.account(name), target_name=name, privileges=[])
