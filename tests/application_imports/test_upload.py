import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx2
import msgspec
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, fetch_rows, fetch_value
from tests.asgi import serving
from tests.builders import FILES, an_application
from tests.contract.tables import IMPORT

PATH = "/api/application-imports/upload"
CSV = b"Username,Name\nada,Ada Lovelace\n"

Files = Sequence[tuple[str, tuple[str | None, bytes]]]


async def groups_of(db: Db, application_id: UUID) -> dict[str, str]:
    rows = await fetch_rows(
        db,
        "SELECT g.name, g.id FROM file_groups g JOIN connectors c ON c.id = g.connector_id"
        " WHERE c.application_id = %(id)s",
        id=application_id,
    )
    return {name: str(id) for name, id in rows}


async def upload(client: httpx2.AsyncClient, application_id: object, files: Files, **options: Any) -> httpx2.Response:
    return await client.post(PATH, params={"applicationId": str(application_id)}, files=files, **options)


async def upload_raw(client: httpx2.AsyncClient, application_id: object, *parts: tuple[str, str]) -> httpx2.Response:
    """Send a form of these parts, each with the text after `form-data; ` and the content, both unescaped."""
    body = "".join(f"--x\r\nContent-Disposition: form-data; {head}\r\n\r\n{content}\r\n" for head, content in parts)
    return await client.post(
        PATH,
        params={"applicationId": str(application_id)},
        content=f"{body}--x--\r\n".encode(),
        headers={"Content-Type": "multipart/form-data; boundary=x"},
    )


def problems(answer: httpx2.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"] == "validation_error"
    assert answer.json()["message"] == "One or more validation errors occurred"
    return [(entry["field"], entry["message"]) for entry in answer.json()["errors"]]


def kept(config: Config) -> list[Path]:
    return [path for path in config.store.folder.rglob("*") if path.is_file()]


async def test_upload_returns_the_pending_import_without_its_application(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    id = await an_application(db)
    groups = await groups_of(db, id)

    answer = await upload(
        client,
        id,
        [
            (groups["Users"], ("users.csv", CSV)),
            (groups["Permissions"], ("a.csv", b"a")),
            (groups["Permissions"], ("b.csv", b"b")),
        ],
    )

    assert answer.status_code == 201
    run = answer.json()
    assert list(run) == list(IMPORT)
    assert (run["kind"], run["number"], run["type"], run["status"]) == ("Application Import", 1, "API", "Pending")
    assert run["createdBy"] == "API Token - tests"
    assert [run[name] for name in ("buildStart", "buildEnd", "log", "metrics")] == [None] * 4
    assert [list(file) for file in run["files"]] == [["id", "fileGroupId", "fileGroup", "name"]] * 3
    assert [(file["fileGroupId"], file["fileGroup"], file["name"]) for file in run["files"]] == [
        (groups["Users"], "Users", "users.csv"),
        (groups["Permissions"], "Permissions", "a.csv"),
        (groups["Permissions"], "Permissions", "b.csv"),
    ]
    rows = await fetch_rows(db, "SELECT location, sha256, size FROM import_files ORDER BY position")
    assert [(config.store.folder / row[0]).read_bytes() for row in rows] == [CSV, b"a", b"b"]
    assert rows[0][1:] == (hashlib.sha256(CSV).digest(), len(CSV))
    assert len(kept(config)) == 3


async def test_form_may_name_the_application(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    groups = await groups_of(db, id)
    files = {groups["Users"]: ("users.csv", CSV)}

    in_the_form = await client.post(PATH, data={"applicationId": str(id)}, files=files)
    in_both = await client.post(
        PATH, params={"applicationId": str(id).upper()}, data={"applicationId": str(id)}, files=files
    )

    assert (in_the_form.status_code, in_both.status_code) == (201, 201)
    assert in_both.json()["number"] == 2


async def test_query_and_form_must_name_the_same_application(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    groups = await groups_of(db, id)

    answer = await client.post(
        PATH,
        params={"applicationId": str(id)},
        data={"applicationId": str(uuid4())},
        files=[(groups["Users"], ("users.csv", b""))],
    )

    assert problems(answer) == [
        ("applicationId", "Application ID must be the same in the query and the form"),
        (groups["Users"], "File is empty"),
    ]


async def test_all_problems_are_reported_at_once(client: httpx2.AsyncClient, db: Db, config: Config) -> None:
    files = [*FILES[:2], {**FILES[3], "isOptional": False}]
    id = await an_application(db, connector={"name": "Files", "files": files}, isArchived=True)
    groups = await groups_of(db, id)
    unknown = str(uuid4())

    answer = await upload(
        client,
        id,
        [
            (groups["Users"], ("users.csv", CSV)),
            (groups["Users"], ("more.csv", b"")),
            (unknown, ("what.csv", b"x")),
            ("nonsense", ("n" * 256, b"x")),
            (groups["Groups"], (None, b"x")),
        ],
    )

    known = ", ".join(f"{name} ({group})" for name, group in groups.items())
    assert sorted(problems(answer)) == sorted(
        [
            ("applicationId", "Application is archived"),
            (groups["Groups"], "File name is required"),
            (groups["Users"], "File is empty"),
            (groups["Users"], "Users accepts one file"),
            (unknown, f"The connector has no file group {unknown}; use one of {known}"),
            ("nonsense", f"The connector has no file group nonsense; use one of {known}"),
            ("nonsense", "File name must be at most 255 characters"),
            (groups["Permissions"], "Required file missing: Permissions"),
        ]
    )
    assert kept(config) == []
    assert await fetch_value(db, "SELECT count(*) FROM application_imports") == 0


async def test_missing_required_file_is_reported_under_its_group(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    groups = await groups_of(db, id)

    answer = await upload(client, id, [(groups["Groups"], ("groups.csv", b"x"))])

    assert problems(answer) == [(groups["Users"], "Required file missing: Users")]


async def test_file_field_left_blank_is_ignored(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db)
    groups = await groups_of(db, id)

    users = (f'name="{groups["Users"]}"; filename="users.csv"', "x")
    answer = await upload_raw(client, id, users, (f'name="{groups["Groups"]}"; filename=""', ""))
    nameless = await upload_raw(client, id, users, (f'name="{groups["Groups"]}"; filename=""', "x"))

    assert answer.status_code == 201
    assert len(answer.json()["files"]) == 1
    assert problems(nameless) == [(groups["Groups"], "File name is required")]


async def test_application_must_be_given_and_exist(client: httpx2.AsyncClient) -> None:
    unknown = str(uuid4())
    files = [(str(uuid4()), ("users.csv", CSV))]

    assert problems(await client.post(PATH, files=files)) == [("applicationId", "Application ID is required")]
    assert problems(await upload(client, "nonsense", files)) == [("applicationId", "Application ID must be a GUID")]
    assert problems(await upload(client, unknown, files)) == [
        ("applicationId", f"Application with id {unknown} not found")
    ]


@pytest.mark.parametrize("connector", [None, {"name": "Directory", "vendor": "Acme", "files": None}])
async def test_application_without_a_file_based_connector_refuses_files(
    client: httpx2.AsyncClient, db: Db, connector: dict[str, Any] | None
) -> None:
    id = await an_application(db, connector=connector)

    answer = await upload(client, id, [(str(uuid4()), ("users.csv", CSV))])

    assert problems(answer) == [
        ("applicationId", "Application does not support file imports; add file groups to its connector")
    ]


async def test_upload_without_files_is_refused_even_if_all_are_optional(client: httpx2.AsyncClient, db: Db) -> None:
    id = await an_application(db, connector={"name": "Files", "files": [{**FILES[0], "isOptional": True}]})

    answer = await upload_raw(client, id, ('name="comment"', "nothing to see"))

    assert problems(answer) == [("body", "At least one file is required")]


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\exports\\users.csv", "users.csv"),
        ("/absolute/Übersicht 1.csv", "Übersicht 1.csv"),
        ("..\\..\\users\x07\u202e.csv", "users.csv"),
    ],
)
async def test_path_is_removed_from_file_names(
    client: httpx2.AsyncClient, db: Db, config: Config, sent: str, name: str
) -> None:
    id = await an_application(db)
    groups = await groups_of(db, id)

    answer = await upload_raw(client, id, (f'name="{groups["Users"]}"; filename="{sent}"', "1"))

    assert answer.status_code == 201, answer.text
    assert answer.json()["files"][0]["name"] == name
    assert len(kept(config)) == 1


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ("filename=\"plain.csv\"; filename*=UTF-8''na%C3%AFve%20list.csv", "naïve list.csv"),
        ("filename*=utf-8'de'%E2%82%AC.csv; filename=plain.csv", "€.csv"),
        ("filename*=ISO-8859-1''%A3%20rates.csv", "£ rates.csv"),
        ("filename=\"plain.csv\"; filename*=UTF-8''..%2F..%5Cetc%2Fusers.csv", "users.csv"),
        ("filename=\"plain.csv\"; filename*=UTF-8''%FF.csv", "plain.csv"),
        ("filename=\"plain.csv\"; filename*=Shift-JIS''%83.csv", "plain.csv"),
        ('filename="plain.csv"; filename*=nonsense', "plain.csv"),
        ("filename=\"a; filename*=UTF-8''b.csv\"", "a; filename*=UTF-8''b.csv"),
        ('filename="a \\"; filename*=UTF-8\'\'b.csv"', "a \"; filename*=UTF-8''b.csv"),
    ],
)
async def test_extended_file_name_takes_precedence_if_valid(
    client: httpx2.AsyncClient, db: Db, parameters: str, name: str
) -> None:
    id = await an_application(db)
    groups = await groups_of(db, id)

    answer = await upload_raw(client, id, (f'name="{groups["Users"]}"; {parameters}', "1"))

    assert answer.status_code == 201, answer.text
    assert [file["name"] for file in answer.json()["files"]] == [name]


@pytest.mark.parametrize("sent", [".", "..", "exports/..", "..\\\\", " ", "\u200b", "\u3164"])
async def test_file_without_a_usable_name_is_refused(client: httpx2.AsyncClient, db: Db, sent: str) -> None:
    id = await an_application(db)
    groups = await groups_of(db, id)

    answer = await upload_raw(client, id, (f'name="{groups["Users"]}"; filename="{sent}"', "1"))

    assert problems(answer) == [(groups["Users"], "File name is required")]


@pytest.mark.parametrize("media_type", ["application/json", "text/csv", "multipart/mixed; boundary=x", ""])
async def test_body_that_is_not_multipart_is_refused_without_reading_it(
    client: httpx2.AsyncClient, media_type: str
) -> None:
    async def body() -> Any:
        raise AssertionError("the body was read")
        yield b""

    answer = await client.post(PATH, content=body(), headers={"Content-Type": media_type})

    assert answer.status_code == 415
    assert answer.json()["error"] == "unsupported_media_type"


@pytest.mark.parametrize(
    ("boundary", "content"),
    [
        ("; boundary=x", b"no boundary at all"),
        ("; boundary=x", b""),
        ("; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\ncut off'),
        ("; boundary=x", b"--x\r\nNo-Disposition: 1\r\n\r\n1\r\n--x--\r\n"),
        ("; boundary=x", b'--x\r\nContent-Disposition: form-data; name="\xff"\r\n\r\n1\r\n--x--\r\n'),
        ("", b"--x--\r\n"),
    ],
)
async def test_malformed_form_is_reported_as_one_problem_of_the_body(
    client: httpx2.AsyncClient, config: Config, boundary: str, content: bytes
) -> None:
    answer = await client.post(PATH, content=content, headers={"Content-Type": f"multipart/form-data{boundary}"})

    assert problems(answer) == [("body", "Body is not valid multipart/form-data")]
    assert kept(config) == []


async def test_form_field_that_is_not_text_is_refused(client: httpx2.AsyncClient) -> None:
    content = b'--x\r\nContent-Disposition: form-data; name="applicationId"\r\n\r\n\xff\r\n--x--\r\n'

    answer = await client.post(PATH, content=content, headers={"Content-Type": "multipart/form-data; boundary=x"})

    assert problems(answer) == [("applicationId", "Form field must be UTF-8 text")]


async def test_upload_above_a_limit_is_refused_and_leaves_no_file(config: Config, token: str, db: Db) -> None:
    id = await an_application(db)
    groups = await groups_of(db, id)
    users, permissions = groups["Users"], groups["Permissions"]
    small = msgspec.structs.replace(config, max_file_bytes=1000, max_upload_bytes=5000, max_upload_files=3)

    async with serving(small) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        at_the_limit = await upload(client, id, [(users, ("users.csv", b"x" * 1000))])
        long_file = await upload(client, id, [(permissions, ("a.csv", b"y")), (users, ("users.csv", b"x" * 1001))])
        long_body = await upload(client, id, [(users, (f"{n}.csv", b"x" * 990)) for n in range(6)])
        many_files = await upload(client, id, [(permissions, (f"{n}.csv", b"x")) for n in range(4)])

    assert at_the_limit.status_code == 201
    for refused in (long_file, long_body, many_files):
        assert refused.status_code == 413
        assert refused.json()["error"] == "payload_too_large"
    assert long_file.json()["message"] == "users.csv is larger than 1,000 bytes"
    assert long_body.json()["message"] == "The upload is larger than 5,000 bytes"
    assert many_files.json()["message"] == "Send at most 3 files"
    assert len(kept(config)) == 1


async def test_body_without_content_length_is_limited_too(config: Config, token: str) -> None:
    small = msgspec.structs.replace(config, max_upload_bytes=5000)
    sent = 0

    async def body() -> Any:
        nonlocal sent
        yield b'--x\r\nContent-Disposition: form-data; name="a"; filename="b"\r\n\r\n'
        while sent < 1000:
            sent += 1
            yield b"x" * 1000

    async with serving(small) as client:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "multipart/form-data; boundary=x"}
        answer = await client.post(PATH, content=body(), headers=headers)

    assert answer.status_code == 413
    assert kept(config) == []


async def test_long_form_field_is_refused(client: httpx2.AsyncClient) -> None:
    answer = await client.post(PATH, data={"applicationId": "x" * 70_000}, files=[("a", ("b", b"c"))])

    assert answer.status_code == 413


async def test_same_idempotency_key_and_files_give_the_first_response(
    client: httpx2.AsyncClient, db: Db, config: Config
) -> None:
    id = await an_application(db)
    users = (await groups_of(db, id))["Users"]
    key = {"Idempotency-Key": "once"}

    first = await upload(client, id, [(users, ("users.csv", CSV))], headers=key)
    again = await upload(client, id, [(users, ("users.csv", CSV))], headers=key)
    other = await upload(client, id, [(users, ("users.csv", CSV + b"x"))], headers=key)

    assert first.status_code == again.status_code == 201
    assert again.content == first.content
    assert other.status_code == 409
    assert await fetch_value(db, "SELECT count(*) FROM application_imports") == 1
    assert len(kept(config)) == 1


async def test_upload_checks_the_scope_before_reading_the_body(client: httpx2.AsyncClient, db: Db) -> None:
    client.headers["Authorization"] = "Bearer nonsense"

    answer = await client.post(PATH, files=[("a", ("b", b"c"))])

    assert answer.status_code == 401
