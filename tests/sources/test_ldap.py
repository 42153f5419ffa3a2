"""Test fetching entries from a running slapd server."""

import asyncio
import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import httpx2
import msgspec
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db
from rolecall.sources.kinds import connect
from rolecall.sources.ldap import LdapConnection
from rolecall.sources.model import (
    FetchedRecord,
    Source,
    SourceAccess,
    SourceChanged,
    SourceContent,
    SourceFailed,
    SourceKind,
)
from tests.sources.certificates import a_certificate
from tests.sources.peers import ADMIN, PASSWORD, SUFFIX, Directory, a_directory, needs_ldap
from tests.sources.sourcing import Sourcing, a_sourced_application

# After a failed connection the library leaves two sockets for the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
PEOPLE, GROUPS = f"ou=people,{SUFFIX}", f"ou=groups,{SUFFIX}"
MANY = 1203
CONNECTOR: dict[str, Any] = {
    "name": "LDAP",
    "files": [
        {
            "name": "Users",
            "content": "users",
            "columns": {"uid": "Username", "cn": "Name", "mail": "Email"},
            "shape": {"ignore": ["dn", "objectClass", "memberOf"]},
        },
        {
            "name": "Members",
            "content": "memberships",
            "isOptional": True,
            "columns": {"member": "Username", "cn": "Group"},
            "shape": {"ignore": ["dn"]},
        },
    ],
}
CONTENTS: dict[str, Any] = {
    "Users": {"path": PEOPLE, "filter": "(objectClass=inetOrgPerson)"},
    "Members": {
        "path": GROUPS,
        "filter": "(objectClass=groupOfNames)",
        "attributes": ["cn"],
        "each": "member",
        "resolve": {"member": "uid"},
        "nested": True,
    },
}


def person(n: int) -> str:
    return f"cn=Person {n},{PEOPLE}"


def a_person(n: int) -> str:
    return (
        f"dn: {person(n)}\nobjectClass: inetOrgPerson\nuid: user{n}\nsn: {n}\n"
        f"mail: user{n}@example.com\nuserPassword: secret{n}\n"
    )


def a_group(name: str, members: list[str]) -> str:
    lines = "".join(f"member: {member}\n" for member in members)
    return f"dn: cn={name},{GROUPS}\nobjectClass: groupOfNames\n{lines}"


def entries() -> str:
    folders = [f"dn: {folder}\nobjectClass: organizationalUnit\n" for folder in (PEOPLE, GROUPS)]
    people = [a_person(n) for n in range(MANY)]
    return "\n".join([*folders, *people, a_group("Everyone", [person(n) for n in range(MANY)])])


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Directory]:
    needs_ldap()
    folder = tmp_path_factory.mktemp("slapd")
    _, certificate = a_certificate(folder, "127.0.0.1")
    nested = [
        a_group("Clerks", [person(1), f"cn=Cashiers,{GROUPS}"]),
        a_group("Cashiers", [person(2), f"cn=Clerks,{GROUPS}"]),
    ]
    with a_directory(folder, entries(), certificate) as directory:
        directory.add("\n".join(nested))
        yield directory


@pytest.fixture
async def sourcing(client: httpx2.AsyncClient, db: Db, config: Config) -> Sourcing:
    return await a_sourced_application(client, db, config, CONNECTOR)


async def put(sourcing: Sourcing, url: str, contents: dict[str, Any] = CONTENTS, **fields: Any) -> None:
    login = {"username": ADMIN, "secret": PASSWORD, **fields}
    answer = await sourcing.put(url, contents=contents, kind="LDAP", **login)
    assert answer.status_code == 200, answer.text


async def found(config: Config, url: str, content: SourceContent, **fields: Any) -> list[FetchedRecord]:
    source = Source(SourceKind.LDAP, url, {}, **{"username": ADMIN, "timeout_seconds": 20, **fields})
    async with connect(SourceAccess(source, PASSWORD, config, 1)) as connection:
        return [record async for page in connection.pages(content) for record in page.records]


async def test_users_and_members_are_fetched_in_pages(sourcing: Sourcing, directory: Directory) -> None:
    await put(sourcing, directory.url)

    run = await sourcing.fetch()

    assert run["status"] == "Finished", run["log"]
    assert f"Users: fetched {MANY:,} records from 127.0.0.1 by LDAP" in run["log"]
    # The two small groups contain each other, so both have two members.
    assert f"Members: fetched {MANY + 4:,} records" in run["log"]
    groups = await sourcing.imports.items(f"/api/applications/{sourcing.id}/groups")
    assert sorted(group["name"] for group in groups) == ["Cashiers", "Clerks", "Everyone"]


class Turns:
    """Count the iterations of the event loop during the block."""

    def __init__(self) -> None:
        self.count = 0

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._turn())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _turn(self) -> None:
        while True:
            await asyncio.sleep(0.01)
            self.count += 1


@pytest.mark.parametrize("scheme", ["ldap", "ldaps"])
async def test_silent_directory_does_not_block_other_work(config: Config, scheme: str) -> None:
    """The directory accepts connections and never responds."""
    needs_ldap()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"{scheme}://127.0.0.1:{silent.getsockname()[1]}"
        async with Turns() as turns:
            with pytest.raises(SourceFailed, match=r"did not answer in time|does not answer"):
                await found(config, url, SourceContent(path=PEOPLE), timeout_seconds=1)

    assert turns.count > 10


async def test_canceled_fetch_does_not_wait_for_a_silent_directory(config: Config) -> None:
    needs_ldap()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"ldap://127.0.0.1:{silent.getsockname()[1]}"
        fetching = asyncio.create_task(found(config, url, SourceContent(path=PEOPLE), timeout_seconds=60))
        (first, _), (library, _) = [await asyncio.to_thread(silent.accept) for _ in range(2)]
        with first, library:
            fetching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fetching
            # The fetch ended before the directory responded.
            assert library.fileno() >= 0


async def test_fetch_fails_if_the_directory_stops_after_a_page(config: Config, tmp_path: Path) -> None:
    needs_ldap()
    source = Source(SourceKind.LDAP, "", {}, username=ADMIN, timeout_seconds=1)
    with a_directory(tmp_path, entries()) as directory:
        slapd = int((tmp_path / "slapd.pid").read_text())
        access = SourceAccess(msgspec.structs.replace(source, url=directory.url), PASSWORD, config, 1)
        try:
            async with connect(access) as connection:
                pages = connection.pages(SourceContent(path=PEOPLE, page_size=100))
                await anext(pages)
                os.kill(slapd, signal.SIGSTOP)
                with pytest.raises(SourceFailed, match="did not answer in time"):
                    _ = [page async for page in pages]
        finally:
            os.kill(slapd, signal.SIGCONT)


async def test_passwords_are_never_fetched(config: Config, directory: Directory) -> None:
    (record,) = await found(config, directory.url, SourceContent(path=person(1)))

    assert record["uid"] == "user1"
    assert record["memberOf"] == f"cn=Clerks,{GROUPS}"
    assert "userPassword" not in record


async def test_nested_groups_are_resolved(config: Config, directory: Directory) -> None:
    content = SourceContent(
        path=GROUPS, filter="(cn=C*)", attributes=["cn"], each="member", nested=True, resolve={"member": "uid"}
    )

    records = await found(config, directory.url, content)

    assert {record["cn"]: record["member"] for record in records} == {
        "Clerks": ["user1", "user2"],
        "Cashiers": ["user1", "user2"],
    }


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"secret": "expired"}, "the directory refuses the login: check the name, the password"),
        ({"contents": {"Users": {"path": "ou=nowhere,dc=example,dc=com"}}}, "the directory has no such entry"),
        ({"contents": {"Users": {"path": PEOPLE, "filter": "(((broken"}}}, "the directory says: "),
    ],
)
async def test_failure_is_reported_with_its_reason(
    sourcing: Sourcing, directory: Directory, fields: dict[str, Any], reason: str
) -> None:
    await put(sourcing, directory.url, **fields)

    run = await sourcing.fetch()

    assert run["status"] == "Failed"
    assert reason in run["log"]


async def test_import_fails_if_the_directory_stops(sourcing: Sourcing, config: Config, tmp_path: Path) -> None:
    needs_ldap()
    with a_directory(tmp_path, f"dn: {PEOPLE}\nobjectClass: organizationalUnit\n\n{a_person(1)}") as directory:
        await put(sourcing, directory.url, {"Users": CONTENTS["Users"]})
        assert (await sourcing.fetch())["status"] == "Finished"

    run = await sourcing.fetch()

    assert run["status"] == "Failed"
    assert "no connection to the directory" in run["log"]
    assert await sourcing.usernames() == ["user1"]


async def test_connection_test_names_the_login(sourcing: Sourcing, directory: Directory) -> None:
    await put(sourcing, directory.url, {"Users": CONTENTS["Users"]})

    result = await sourcing.test()

    assert result["login"] == f"signed in as {ADMIN}"
    (users,) = result["contents"]
    assert (users["found"], users["isComplete"]) == (500, False)
    assert users["understood"][0]["rows"][0]["username"] == "user0"


async def test_encryption_verifies_the_certificate(config: Config, directory: Directory) -> None:
    trusting = msgspec.structs.replace(config, source_ca=directory.folder / "authority.pem")

    (record,) = await found(trusting, directory.url, SourceContent(path=person(3)), start_tls=True)

    assert record["uid"] == "user3"
    with pytest.raises(SourceFailed, match="no connection to the directory"):
        await found(config, directory.url, SourceContent(path=person(3)), start_tls=True)


async def test_certificate_for_another_name_is_refused(config: Config, tmp_path: Path) -> None:
    needs_ldap()
    authority, certificate = a_certificate(tmp_path, "other.example.com")
    trusting = msgspec.structs.replace(config, source_ca=authority)

    with a_directory(tmp_path, "", certificate) as directory:
        assert await found(trusting, directory.url, SourceContent(path=SUFFIX))
        with pytest.raises(SourceFailed, match="no connection to the directory"):
            await found(trusting, directory.url, SourceContent(path=SUFFIX), start_tls=True)


async def test_group_of_100_000_members_gives_one_record_per_member(config: Config, tmp_path: Path) -> None:
    needs_ldap()
    group = a_group("Everyone", [f"uid=user{n},{PEOPLE}" for n in range(100_000)])
    folder = f"dn: {GROUPS}\nobjectClass: organizationalUnit\n"
    content = SourceContent(path=GROUPS, filter="(cn=Everyone)", each="member")

    with a_directory(tmp_path, f"{folder}\n{group}", member_of=False) as directory:
        (record,) = await found(config, directory.url, content)

    assert len(record["member"]) == 100_000


async def test_references_to_other_directories_are_counted(sourcing: Sourcing, config: Config, tmp_path: Path) -> None:
    needs_ldap()
    elsewhere = (
        f"dn: ou=abroad,{PEOPLE}\nobjectClass: referral\nobjectClass: extensibleObject\n"
        "ref: ldap://other.example.com/ou=abroad,dc=example,dc=com\n"
    )
    folder = f"dn: {PEOPLE}\nobjectClass: organizationalUnit\n"
    with a_directory(tmp_path, "\n".join([folder, a_person(1), elsewhere])) as directory:
        await put(sourcing, directory.url, {"Users": CONTENTS["Users"]})

        run = await sourcing.fetch()

    assert run["status"] == "Finished", run["log"]
    assert "referrals to other directories that were not followed: 1" in run["log"]
    assert await sourcing.usernames() == ["user1"]


async def test_groups_may_have_no_members(sourcing: Sourcing, directory: Directory) -> None:
    without_members = {**CONTENTS["Members"], "filter": "(cn=no such group)"}
    await put(sourcing, directory.url, {"Users": {"path": person(1)}, "Members": without_members})

    tested = await sourcing.test()
    run = await sourcing.fetch()

    assert [content["problem"] for content in tested["contents"]] == [None, None]
    assert run["status"] == "Finished", run["log"]
    assert "Members: fetched 0 records" in run["log"]
    assert run["metrics"]["groups"]["total"] == 0


async def test_group_removed_between_two_ranges_counts_as_a_change(directory: Directory, config: Config) -> None:
    source = Source(SourceKind.LDAP, directory.url, username=ADMIN)
    async with connect(SourceAccess(source, PASSWORD, config, 5)) as connection:
        assert isinstance(connection, LdapConnection)

        with pytest.raises(SourceChanged, match="cn=Gone"):
            await connection.run(connection.read_range, f"cn=Gone,{GROUPS}", "member;range=2-*")
