"""Write the bundle of a person with the command, and verify it with the script inside it."""

import asyncio
import io
import json
import subprocess
import sys
import zipfile
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import httpx2
import pytest

from rolecall.core.config import Config
from rolecall.core.db import Db, execute
from rolecall.core.errors import Invalid, NotFound
from rolecall.evidence import verify
from rolecall.evidence.queries import find_identity
from tests.application_imports.running import Imports
from tests.builders import an_application, an_identity
from tests.cli.commands import typed

USERS = "Username,Name,Email\nada,Ada Lovelace,ada@example.com\nbob,Bob Stone,bob@example.com\n"
MEMBERSHIPS = "Username,Group\nada,Clerks\n"


@pytest.fixture
async def ada(client: httpx2.AsyncClient, db: Db, config: Config) -> UUID:
    grace = await an_identity(db, "Grace", "Hopper", email="grace@example.com")
    ada = await an_identity(db, "Ada", "<b>Lovelace</b>", email="ada@example.com", supervisorId=str(grace))
    await an_identity(db, "Bob", "Stone", email="bob@example.com")
    app = await an_application(db, "Payroll")
    await Imports(client, config).finish(app, {"Users": USERS, "Memberships": MEMBERSHIPS})
    asked = {"action": "Change", "applicationId": str(app), "identityId": str(ada)}
    privileges = [{"header": "Ledger", "permission": "Post"}]
    request = (await client.post("/api/access-requests", json={**asked, "privileges": privileges})).json()["id"]
    response = {"type": "Approve", "response": "Approved", "reviewerId": str(grace)}
    assert (await client.post(f"/api/access-requests/{request}/respond", json=response)).status_code == 200
    event = {"identityId": str(ada), "effectiveDate": "2035-01-01"}
    assert (await client.post("/api/personnel-events/offboard", json=event)).status_code == 201
    # Append an audit entry that is not about Ada.
    await client.patch("/api/settings", json={"approvalLeadDays": 9})
    return ada


@pytest.fixture
def bundle(ada: UUID, clean_database: str, tmp_path: Path) -> Path:
    file = tmp_path / "ada.zip"
    file.touch(0o644)
    made = typed("evidence", "ADA@example.com", "-o", file, ROLECALL_DATABASE_URL=clean_database)
    assert (made.returncode, made.stdout) == (0, f"{file}\n"), made.stderr
    assert file.stat().st_mode & 0o777 == 0o600, "the file existed and everybody could read it"
    return file


def checked(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the script in this process, to save the time of starting Python."""
    words, out = [str(word) for word in arguments], io.StringIO()
    with redirect_stdout(out):
        code = verify.main(words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), "")


def run_script(script: Path, *arguments: Path) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [sys.executable, "-I", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def rewritten(bundle: Path, changes: dict[str, bytes | None]) -> Path:
    """Rewrite the bundle with new contents for some members; None removes a member."""
    copy = bundle.with_name("changed.zip")
    with zipfile.ZipFile(bundle) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            content = changes.get(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return copy


def test_bundle_describes_the_person_and_verifies_offline(bundle: Path, ada: UUID, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(folder)

        def read(name: str) -> object:
            return json.loads(archive.read(name))

        access, requests, imports = (read(name) for name in ("access.json", "requests.json", "imports.json"))
        entries = [json.loads(line) for line in archive.read("audit.jsonl").splitlines()]
        page = archive.read("report.html").decode()

    assert access["applications"][0]["accounts"][0]["access"][0]["permission"] == "Clerks"  # type: ignore[index]
    assert requests[0]["requirements"][0]["rules"][0]["responses"][0]["response"] == "Approved"  # type: ignore[index]
    assert len(imports[0]["files"][0]["sha256"]) == 64  # type: ignore[index]
    kinds = {entry["entry"]["entity"]["kind"] for entry in entries}
    assert kinds == {"Identity", "Import", "Access Request", "Personnel Event"}
    assert "Bob" not in json.dumps(entries)
    assert "&lt;b&gt;Lovelace" in page
    assert "<b>Lovelace" not in page
    # Verification ignores other folders next to the files of the bundle.
    (folder / "notes").mkdir()
    for arguments in ((), (bundle,)):
        result = run_script(folder / "verify.py", *arguments)
        assert (result.returncode, result.stdout) == (0, "Everything matches: this is the evidence of a person\n")
    (folder / "report.html").write_text("another")
    changed = run_script(folder / "verify.py")
    assert (changed.returncode, changed.stdout) == (1, "report.html was changed\n")


async def test_person_is_found_by_email_employee_id_or_id_and_ambiguous_names_are_reported(db: Db) -> None:
    ada, other = [await an_identity(db, "Ada", "Lovelace", email=f"ada{n}@example.com") for n in (1, 2)]
    await execute(db, "UPDATE identities SET employee_id = 'E-1', status = 'Removed' WHERE id = %(id)s", id=ada)

    assert {await find_identity(db, words) for words in ("ADA1@example.com", "e-1", str(ada).upper())} == {ada}
    with pytest.raises(NotFound, match="Ada Love not found"):
        await find_identity(db, "Ada Love")
    with pytest.raises(Invalid) as several:
        await find_identity(db, "Lovelace, Ada")
    told = {f"Ada Lovelace, ada{n}@example.com, {id}" for n, id in ((1, ada), (2, other))}
    (problem,) = several.value.problems
    assert set(problem.message.partition(": ")[2].split("; ")) == told


def test_changed_missing_and_added_members_are_reported(bundle: Path) -> None:
    with zipfile.ZipFile(bundle) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    assert len(contents) == 13
    for name, content in contents.items():
        middle = len(content) // 2
        other = content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]

        result = checked(rewritten(bundle, {name: other}))

        assert result.returncode == 1, name
        assert name in result.stdout, name
    missing = rewritten(bundle, {"requests.json": None})
    assert "requests.json is missing" in checked(missing).stdout
    with zipfile.ZipFile(missing, "a") as archive:
        archive.writestr("more.json", "{}")
    assert "more.json is not part of the bundle" in checked(missing).stdout


async def test_entries_changed_before_the_bundle_fail_verification(
    ada: UUID, db: Db, clean_database: str, tmp_path: Path
) -> None:
    """The manifest matches, but the chain does not."""
    sql = "UPDATE audit_events SET entry = replace(entry, 'Ada', 'Eve') WHERE entity_id = %(id)s"
    await execute(db, sql, id=ada)
    file = tmp_path / "ada.zip"
    arguments = ("evidence", ada, "-o", file, "--as-of", "2020-01-31")
    await asyncio.to_thread(typed, *arguments, ROLECALL_DATABASE_URL=clean_database)

    result = checked(file)
    with zipfile.ZipFile(file) as archive:
        access = json.loads(archive.read("access.json"))
        page = archive.read("report.html").decode()

    [there] = access["applications"]
    assert (access["asOf"], there["accounts"]) == ("2020-01-31T23:59:59.999999Z", [])
    assert there["noDataBefore"] > "2020-01-31"
    assert "No data before" in page
    assert result.returncode == 1
    assert "does not match its hash" in result.stdout


def test_future_date_is_rejected(ada: UUID, clean_database: str, tmp_path: Path) -> None:
    file, tomorrow = tmp_path / "ada.zip", datetime.now(UTC).date() + timedelta(days=2)

    said = typed("evidence", ada, "-o", file, "--as-of", tomorrow, ROLECALL_DATABASE_URL=clean_database)

    assert (said.returncode, file.exists()) == (5, False)
    assert "As of must not be in the future" in said.stderr


async def test_bundle_is_compared_with_a_saved_head(
    client: httpx2.AsyncClient, bundle: Path, db: Db, tmp_path: Path
) -> None:
    kept = tmp_path / "head.json"
    kept.write_text((await client.get("/api/audit-events/verify")).text)
    assert checked(bundle, "--head", kept).returncode == 0

    heads = json.loads(kept.read_text())
    heads["heads"][0]["hash"] = "0" * 64
    kept.write_text(json.dumps(heads))

    assert "saved head" in checked(bundle, "--head", kept).stdout


def test_unknown_person_is_reported(clean_database: str, tmp_path: Path) -> None:
    result = typed("evidence", "nobody", "-o", tmp_path / "x.zip", ROLECALL_DATABASE_URL=clean_database)

    assert result.returncode == 3
    assert "Identity with id nobody not found" in result.stderr
    assert not (tmp_path / "x.zip").exists()
