import asyncio
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import httpx2
import pytest

from rolecall.core.caller import Caller, Scope
from rolecall.core.db import Db, fetch_rows
from rolecall.tokens import model
from rolecall.tokens.actions import create_token
from rolecall.tokens.model import new_secret, public_id
from tests.builders import a_token, an_identity, facts

DEFAULT_SCOPES = {scope for scope in Scope if scope.endswith(":read")} | {"imports:write", "personnel-events:write"}


async def create(client: httpx2.AsyncClient, **body: Any) -> httpx2.Response:
    return await client.post("/api/tokens", json=body)


async def problems(client: httpx2.AsyncClient, **body: Any) -> dict[str, str]:
    answer = await create(client, **body)
    assert answer.status_code == 400
    return {entry["field"]: entry["message"] for entry in answer.json()["errors"]}


async def test_default_scopes_are_all_reads_and_the_specified_writes(client: httpx2.AsyncClient) -> None:
    answer = await create(client, name="ci")

    token = answer.json()
    assert answer.status_code == 201
    fields = ["id", "kind", "name", "scopes", "createdDate", "expiresOn", "lastUsedOn", "revokedOn"]
    assert list(token) == [*fields, "owner", "refusedScopes", "secret"]
    assert (token["kind"], token["name"]) == ("API Token", "ci")
    assert set(token["scopes"]) == DEFAULT_SCOPES
    assert token["lastUsedOn"] is token["revokedOn"] is None
    lifetime = datetime.fromisoformat(token["expiresOn"]) - datetime.fromisoformat(token["createdDate"])
    assert lifetime.days == 90


async def test_secret_is_well_formed_and_works(client: httpx2.AsyncClient) -> None:
    secret = (await create(client, name="ci")).json()["secret"]

    assert re.fullmatch("rct_[0-9A-Za-z]{12}_[0-9A-Za-z]{38}", secret)
    answer = await client.get("/api/identities", headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 200


async def test_only_a_digest_of_the_secret_is_stored(client: httpx2.AsyncClient, db: Db) -> None:
    secret = (await create(client, name="ci")).json()["secret"]

    assert secret.rpartition("_")[2] not in str(await fetch_rows(db, "SELECT * FROM tokens"))


TYPOS: list[Callable[[str], str]] = [
    lambda secret: secret[:-1],
    lambda secret: secret + "0",
    lambda secret: secret[1:],
    lambda secret: secret.swapcase(),
    lambda secret: secret[:-1] + ("a" if secret[-1] != "a" else "b"),
    lambda secret: secret.replace("rct_", "rcx_"),
]


@pytest.mark.parametrize("change", TYPOS)
def test_typo_in_a_token_is_detected_without_a_query(change: Callable[[str], str]) -> None:
    secret = new_secret()

    assert public_id(secret) == secret[4:16]
    assert public_id(change(secret)) is None


@pytest.mark.parametrize("public", ["a" * 11, "a" * 13, "é" + "a" * 11])
def test_malformed_public_id_is_refused_despite_a_valid_checksum(public: str) -> None:
    assert public_id(f"rct_{public}_{'b' * 32}{model._checksum(public + 'b' * 32)}") is None


async def test_token_belongs_to_the_person_who_created_it_directly_or_with_a_token(db: Db) -> None:
    ada, grace = await an_identity(db), await an_identity(db, "Grace", "Hopper")

    async def made(name: str, by: UUID | None) -> UUID:
        caller = Caller(by, "Somebody", frozenset(Scope)) if by else None
        return (await create_token(db, caller, {"name": name}, facts())).id

    hers, other, nobody = await made("hers", ada), await made("other", grace), await made("nobody", None)
    await made("by hers", hers)
    await made("by other", other)
    await made("by nobody", nobody)

    owners: dict[str, UUID | None] = dict(await fetch_rows(db, "SELECT name, owner_id FROM tokens"))
    assert owners == {
        "hers": ada, "by hers": ada, "other": grace, "by other": grace, "nobody": None, "by nobody": None,
    }  # fmt: skip


async def test_token_without_expiry_needs_explicit_null(client: httpx2.AsyncClient) -> None:
    assert (await create(client, name="for ever", expiresInDays=None)).json()["expiresOn"] is None
    assert (await create(client, name="a while")).json()["expiresOn"] is not None


async def test_all_validation_errors_are_reported(client: httpx2.AsyncClient) -> None:
    assert await problems(client) == {"name": "Name is required"}
    assert await problems(client, name=" ", scopes=[], expiresInDays=0) == {
        "name": "Name is required",
        "scopes": "Scopes must have at least 1 entry",
        "expiresInDays": "Expires in days must be at least 1",
    }
    assert await problems(client, name="x" * 101, scopes=["all", 7], expiresInDays="90") == {
        "name": "Name must be at most 100 characters",
        "scopes.0": f"Scopes must be one of {', '.join(Scope)}",
        "scopes.1": f"Scopes must be one of {', '.join(Scope)}",
        "expiresInDays": "Expires in days must be a whole number",
    }
    assert await problems(client, name="bell\x07") == {"name": "Name must not contain control characters"}
    assert await problems(client, name="a\u202eb") == {"name": "Name must contain only printable characters"}


async def test_names_are_unique(client: httpx2.AsyncClient) -> None:
    await create(client, name="ci")

    assert await problems(client, name=" ci ") == {"name": "A token named ci already exists; choose another name"}


async def test_only_one_of_several_concurrent_tokens_with_the_same_name_is_created(client: httpx2.AsyncClient) -> None:
    answers = await asyncio.gather(*(create(client, name="ci") for _ in range(5)))

    assert sorted(answer.status_code for answer in answers) == [201, 400, 400, 400, 400]


async def test_token_cannot_grant_scopes_it_lacks(anonymous: httpx2.AsyncClient, db: Db) -> None:
    token = await a_token(db, scopes=["tokens:manage", "identities:read"])
    anonymous.headers["Authorization"] = f"Bearer {token.secret}"

    assert (await create(anonymous, name="less", scopes=["identities:read"])).status_code == 201
    refused = await create(anonymous, name="more", scopes=["identities:read", "audit:read"])
    assert refused.status_code == 403
    assert refused.json()["message"] == "The token lacks the scope audit:read"
