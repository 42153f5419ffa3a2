"""Test carefully forged bundles; some of them are detected only by a head that was saved elsewhere."""

import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rolecall.evidence import verify
from tests.evidence.forging import Forgery
from tests.evidence.test_bundle import ada, bundle, checked, rewritten

__all__ = ["ada", "bundle"]


@pytest.fixture
def kept(bundle: Path, tmp_path: Path) -> Path:
    """Return a file with the heads as they were two entries before the end of the chain."""
    forgery = Forgery(bundle)
    middle = Forgery(bundle)
    middle.links = middle.links[: len(forgery.links) - 2]
    linked = {int(number) for _, number, _ in middle.links}
    middle.lines = [line for line in middle.lines if json.loads(line)["number"] in linked]
    middle.rehash()
    file = tmp_path / "kept.json"
    file.write_bytes(middle.members["heads.json"])
    assert checked(bundle, "--head", file).returncode == 0
    return file


def as_eve(text: str) -> str:
    return text.replace("Grace", "Eve")


def test_fully_rehashed_forgery_passes_without_a_saved_head(bundle: Path) -> None:
    forgery = Forgery(bundle)
    forgery.alter(as_eve)
    forgery.rehash()

    assert checked(forgery.write()).returncode == 0


def test_saved_head_exposes_a_forged_bundle(bundle: Path, kept: Path) -> None:
    forgery = Forgery(bundle)
    forgery.alter(as_eve)
    forgery.rehash()

    result = checked(forgery.write(), "--head", kept)

    assert (result.returncode, "differs from the saved head" in result.stdout) == (1, True)


def test_forged_bundle_without_the_saved_link_is_rejected(bundle: Path, kept: Path) -> None:
    head = json.loads(kept.read_bytes())["heads"][0]
    forgery = Forgery(bundle)
    forgery.alter(as_eve)
    forgery.links = [link for link in forgery.links if int(link[1]) != head["number"]]
    forgery.lines = [line for line in forgery.lines if json.loads(line)["number"] != head["number"]]
    forgery.rehash()
    forged = forgery.write()

    assert checked(forged).returncode == 0
    result = checked(forged, "--head", kept)
    assert result.returncode == 1
    assert f"chain 1 does not reach entry {head['number']}, which the saved head names" in result.stdout


@pytest.mark.parametrize("member", ["requests.json", "access.json", "report.html"])
def test_forged_member_with_new_digests_is_refused_by_the_seal_alone(bundle: Path, member: str) -> None:
    forgery = Forgery(bundle)
    seal = forgery.members["manifest.sha256"].decode().strip()
    forgery.members[member] = forgery.members[member].replace(b"Ada", b"Eve")
    forged = forgery.write()

    assert checked(bundle, "--seal", seal.upper()).returncode == 0
    assert checked(forged).returncode == 0
    result = checked(forged, "--seal", seal)
    assert (result.returncode, "does not match the given seal" in result.stdout) == (1, True)


def test_duplicate_member_is_refused(bundle: Path) -> None:
    seal = Forgery(bundle).members["manifest.sha256"].decode().strip()
    with zipfile.ZipFile(bundle) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    twice = bundle.with_name("twice.zip")
    with zipfile.ZipFile(twice, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, content in [("report.html", b"another"), *members]:
            archive.writestr(name, content)

    result = checked(twice, "--seal", seal)

    assert (result.returncode, result.stdout) == (1, "report.html is in the bundle twice\n")


def test_saved_head_of_a_missing_chain_is_rejected(bundle: Path, tmp_path: Path) -> None:
    file = tmp_path / "other.json"
    file.write_text(json.dumps({"heads": [{"chain": 7, "number": 2, "count": 1, "hash": "0" * 64}]}))

    result = checked(bundle, "--head", file)

    assert (result.returncode, "chain 7 does not reach entry 2" in result.stdout) == (1, True)


def drop_last_link(forgery: Forgery) -> None:
    forgery.links.pop()


def drop_first_link(forgery: Forgery) -> None:
    del forgery.links[0]


def unlink_an_entry(forgery: Forgery) -> None:
    """Recompute the chain without its last entry, but keep the entry in the list."""
    line = forgery.lines.pop()
    number = json.loads(line)["number"]
    forgery.links = [link for link in forgery.links if int(link[1]) != number]
    forgery.rehash()
    forgery.lines.append(line)


def repeat_an_entry(forgery: Forgery) -> None:
    forgery.lines.insert(0, forgery.lines[-1].replace("Ada", "Eve"))


def move_an_entry(forgery: Forgery) -> None:
    forgery.lines[0] = forgery.lines[0].replace('{"chain":1,', '{"chain":2,')


def swap_links(forgery: Forgery) -> None:
    forgery.links[0], forgery.links[1] = forgery.links[1], forgery.links[0]
    forgery.rehash()


def repeat_a_link(forgery: Forgery) -> None:
    forgery.links.insert(1, list(forgery.links[0]))
    forgery.rehash()


def alter_an_entry(forgery: Forgery) -> None:
    forgery.alter(as_eve)


def change_a_digest(forgery: Forgery) -> None:
    forgery.links[-1][2] = "0" * 64


def drop_a_head(forgery: Forgery) -> None:
    forgery.members["heads.json"] = json.dumps({"head": verify.sha256(b""), "heads": []}).encode()


def change_the_seal(forgery: Forgery) -> None:
    said = json.loads(forgery.members["heads.json"])
    forgery.members["heads.json"] = json.dumps({**said, "head": "0" * 64}).encode()


def add_a_head(forgery: Forgery) -> None:
    said = json.loads(forgery.members["heads.json"])
    said["heads"].append({"chain": 9, "number": 1, "count": 1, "hash": "0" * 64})
    forgery.members["heads.json"] = json.dumps(said).encode()


def follow_another(forgery: Forgery) -> None:
    entry = json.loads(forgery.lines[-1])
    forgery.lines[-1] = forgery.lines[-1].replace(entry["previousHash"], "0" * 64)


def change_import_files(forgery: Forgery, change: Callable[[list[dict[str, str]]], object]) -> None:
    runs = json.loads(forgery.members["imports.json"])
    change(runs[0]["files"])
    forgery.members["imports.json"] = json.dumps(runs).encode()


def replace_an_imported_file(forgery: Forgery) -> None:
    change_import_files(forgery, lambda files: files[0].update(sha256="0" * 64))


def drop_an_imported_file(forgery: Forgery) -> None:
    change_import_files(forgery, lambda files: files.pop())


def break_the_links(forgery: Forgery) -> None:
    forgery.links.append(["no", "link"])


CARELESS: dict[Callable[[Forgery], None], str] = {
    drop_last_link: "chain 1 does not end at its head",
    drop_first_link: "does not follow the one before it in chain 1",
    unlink_an_entry: "is not in any chain",
    repeat_an_entry: "occurs twice",
    move_an_entry: "is in chain 1, not in chain 2 as it says",
    alter_an_entry: "does not match its hash",
    swap_links: "does not come after link",
    repeat_a_link: "does not come after link",
    change_a_digest: "chain 1 does not end at its head",
    drop_a_head: "chain 1 does not end at its head",
    change_the_seal: "the heads do not match the hash over all of them",
    add_a_head: "chain 9 does not end at its head",
    follow_another: "does not follow the one before it",
    replace_an_imported_file: "the files of import 1 differ from its audit entry",
    drop_an_imported_file: "the files of import 1 differ from its audit entry",
    break_the_links: "the bundle cannot be read",
}


def test_added_chain_is_rejected_although_its_entries_match(bundle: Path, kept: Path) -> None:
    forgery = Forgery(bundle)
    added = json.loads(forgery.lines[0])["entry"]
    text = json.dumps(added, separators=(", ", ": "))
    number = max(int(link[1]) for link in forgery.links) + 1
    forgery.links.append(["17", str(number), ""])
    forgery.lines.append(f'{{"chain":17,"number":{number},"previousHash":"","hash":"","entry":{text}}}')
    forgery.rehash()
    place = forgery.write()

    problems = verify.check(verify.Bundle(place), json.loads(kept.read_bytes())["heads"])
    assert problems == ["chain 17 was added: the service writes no chain with this number"]


def test_careless_forgeries_are_rejected_without_a_saved_head(bundle: Path) -> None:
    for forge, said in CARELESS.items():
        forgery = Forgery(bundle)
        forge(forgery)

        problems = verify.check(verify.Bundle(forgery.write()))

        assert any(said in problem for problem in problems), (forge.__name__, problems)


@pytest.mark.parametrize("member", ["manifest.json", "manifest.sha256"])
def test_bundle_without_its_manifest_cannot_be_read(bundle: Path, member: str) -> None:
    result = checked(rewritten(bundle, {member: None}))

    assert result.returncode == 1
    assert result.stdout.startswith("manifest.json or manifest.sha256 cannot be read")


def test_bundle_reassembled_without_changes_is_accepted(bundle: Path) -> None:
    forgery = Forgery(bundle)
    forgery.rehash()

    assert checked(forgery.write()).stdout == "Everything matches: this is the evidence of a person\n"


def test_entry_that_is_hashed_otherwise_than_read_is_rejected(bundle: Path) -> None:
    """The verifier must not hash the text after `"entry":`, the original, and read the entry after `"entry" :`."""
    forgery = Forgery(bundle)
    for n, line in enumerate(forgery.lines):
        head, text = line.split('"entry":', 1)
        forgery.lines[n] = f'{head}"entry" :{as_eve(text[:-1])},"x\\"entry":{text[:-1]}}}'

    found = verify.check(verify.Bundle(forgery.write()))

    assert len(found) == 1
    assert "is not written as the service writes it" in found[0]


def test_key_that_occurs_twice_is_rejected(bundle: Path) -> None:
    forgery = Forgery(bundle)
    forgery.members["identity.json"] = b'{"id": 1, "id": 2}'
    forgery.members["imports.json"] = b'[{"number": 1, "number": 2}]'

    assert any("occurs twice" in problem for problem in verify.check(verify.Bundle(forgery.write())))


@pytest.mark.parametrize(("old", "new"), [("conflicts.json", None), ("conflicts.json", "Conflicts.json")])
def test_bundle_without_one_of_its_files_is_rejected(bundle: Path, old: str, new: str | None) -> None:
    forgery = Forgery(bundle)
    manifest = json.loads(forgery.members["manifest.json"])
    content = forgery.members.pop(old)
    del manifest["members"][old]
    if new:
        forgery.members[new] = content
        manifest["members"][new] = ""
    forgery.members["manifest.json"] = json.dumps(manifest).encode()

    found = verify.check(verify.Bundle(forgery.write()))

    assert found == ["the bundle does not have exactly the files of a person or of a review"]
