"""Checks a bundle of evidence offline, with Python 3.8 or newer and nothing else.

python verify.py                     the folder that this file is in
python verify.py evidence.zip        a bundle as it was written
python verify.py … --head head.json  also against heads of the audit chains that somebody has kept elsewhere
"""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

MANIFEST, SEAL = "manifest.json", "manifest.sha256"


class Bundle:
    def __init__(self, place: str | Path) -> None:
        self.archive = zipfile.ZipFile(place) if zipfile.is_zipfile(place) else None
        self.place = Path(place)

    def names(self) -> list[str]:
        if self.archive:
            return self.archive.namelist()
        return [path.name for path in self.place.iterdir() if path.is_file()]

    def read(self, name: str) -> bytes:
        return self.archive.read(name) if self.archive else (self.place / name).read_bytes()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def check(bundle: Bundle, kept: Iterable[dict[str, Any]] = ()) -> list[str]:
    """What does not match, in sentences; nothing when all is well."""
    try:
        manifest = bundle.read(MANIFEST)
        if sha256(manifest) != bundle.read(SEAL).decode().strip():
            return [f"{MANIFEST} does not match {SEAL}: one of them was changed"]
        members = json.loads(manifest)["members"]
    except (KeyError, OSError, ValueError, zipfile.BadZipFile) as error:
        return [f"{MANIFEST} or {SEAL} cannot be read: {error}"]
    return list(check_members(bundle, members)) or [*check_chains(bundle, kept), *check_imports(bundle)]


def check_members(bundle: Bundle, members: dict[str, str]) -> Iterator[str]:
    names = set(bundle.names()) - {MANIFEST, SEAL}
    for name in sorted(members.keys() - names):
        yield f"{name} is missing"
    for name in sorted(names - members.keys()):
        yield f"{name} is not part of the bundle"
    for name in sorted(names & members.keys()):
        try:
            content = bundle.read(name)
        except zipfile.BadZipFile:
            content = b""
        if sha256(content) != members[name]:
            yield f"{name} was changed"


def entries_of(bundle: Bundle) -> dict[int, Any]:
    """Entries by number; each with the text that is hashed, which ends its line."""
    found: dict[int, Any] = {}
    for line in bundle.read("audit.jsonl").decode().split("\n"):
        if line:
            entry = json.loads(line)
            entry["text"] = line[line.index('"entry":') + len('"entry":') : -1]
            found[entry["number"]] = entry
    return found


def check_chains(bundle: Bundle, kept: Iterable[dict[str, Any]]) -> Iterator[str]:
    """From the first entry in each chain along every link to the head; other people's entries are there as digests."""
    entries = entries_of(bundle)
    ends = {(head["chain"], head["number"]): head["hash"] for head in kept}
    hashes: dict[int, str] = {}
    seen = set()
    for line in bundle.read("links.txt").decode().splitlines():
        first, second, digest = line.split()
        chain, number = int(first), int(second)
        entry = entries.get(number)
        if entry:
            seen.add(number)
            digest = sha256(entry["text"].encode())
            if hashes.setdefault(chain, entry["previousHash"]) != entry["previousHash"]:
                yield f"audit entry {number} does not follow the one before it in chain {chain}"
        hashes[chain] = sha256(f"{hashes.get(chain)} {number} {digest}".encode())
        if entry and hashes[chain] != entry["hash"]:
            yield f"audit entry {number} does not match its hash"
        if ends.get((chain, number), hashes[chain]) != hashes[chain]:
            yield f"chain {chain} at entry {number} is not what the kept head says"
    for number in sorted(entries.keys() - seen):
        yield f"audit entry {number} is in no chain"
    for head in json.loads(bundle.read("heads.json"))["heads"]:
        if hashes.get(head["chain"], head["hash"]) != head["hash"]:
            yield f"chain {head['chain']} does not end at its head"


def check_imports(bundle: Bundle) -> Iterator[str]:
    """The files of an import are those that its audit entries name."""
    named: dict[str, set[str]] = {}
    for entry in entries_of(bundle).values():
        for field, value in (entry["entry"]["after"] or {}).items():
            if entry["entry"]["entity"]["kind"] == "Import" and field.startswith("files."):
                named.setdefault(entry["entry"]["entity"]["id"], set()).add(value["sha256"])
    for run in json.loads(bundle.read("imports.json")):
        files = {file["sha256"] for file in run["files"]}
        if files != named.get(run["id"], set()):
            yield f"import {run['number']} has other files than the audit says"


def main(arguments: list[str]) -> int:
    kept = []
    if "--head" in arguments:
        at = arguments.index("--head")
        kept = json.loads(Path(arguments[at + 1]).read_bytes())["heads"]
        arguments = arguments[:at] + arguments[at + 2 :]
    place = arguments[0] if arguments else Path(__file__).parent
    problems = check(Bundle(place), kept)
    for problem in problems:
        print(problem)
    if not problems:
        print("Everything matches")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
