"""Check a bundle of evidence offline, with Python 3.8 or newer and nothing else.

python verify.py                     check the folder of this file
python verify.py evidence.zip        check a bundle file
python verify.py … --seal DIGEST     compare also with the seal that was printed when the bundle was written
python verify.py … --head head.json  compare also with heads of the audit chains that were saved before the bundle

Without a seal, a bundle rewritten with all its digests looks intact where the audit chains do not cover it: the report,
the access and the requests.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

MANIFEST, SEAL = "manifest.json", "manifest.sha256"
START = "00" * 32


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


def check(bundle: Bundle, kept: Iterable[dict[str, Any]] = (), seal: str | None = None) -> list[str]:
    """Return one sentence per mismatch; none if everything matches. `seal` is the saved digest of the manifest."""
    try:
        manifest = bundle.read(MANIFEST)
        if sha256(manifest) != bundle.read(SEAL).decode().strip():
            return [f"{MANIFEST} does not match {SEAL}: one of them was changed"]
        if seal is not None and sha256(manifest) != seal.strip().lower():
            return [f"{MANIFEST} does not match the kept seal: this is not the bundle that was sealed"]
        members = json.loads(manifest)["members"]
    except (KeyError, OSError, ValueError, zipfile.BadZipFile) as error:
        return [f"{MANIFEST} or {SEAL} cannot be read: {error}"]
    changed = list(check_members(bundle, members))
    try:
        return changed or [*check_chains(bundle, kept), *check_imports(bundle)]
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return [f"the bundle cannot be read: {error!r}"]


def check_members(bundle: Bundle, members: dict[str, str]) -> Iterator[str]:
    for name in sorted({name for name in bundle.names() if bundle.names().count(name) > 1}):
        yield f"{name} is there twice"
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


def entries_of(bundle: Bundle) -> Iterator[dict[str, Any]]:
    """Read each entry with the text that is hashed, which ends its line."""
    for line in bundle.read("audit.jsonl").decode().split("\n"):
        if line:
            entry = json.loads(line)
            entry["text"] = line[line.index('"entry":') + len('"entry":') : -1]
            yield entry


class Chain:
    """One audit chain, recomputed link by link from its start."""

    def __init__(self, number: int) -> None:
        self.number, self.last, self.count, self.hash = number, 0, 0, START

    def step(self, number: int, digest: str) -> None:
        self.hash = sha256(f"{self.hash} {number} {digest}".encode())
        self.last, self.count = number, self.count + 1


def check_chains(bundle: Bundle, kept: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Follow every link from the beginning of each chain to its head; entries of other people are only digests."""
    entries: dict[int, dict[str, Any]] = {}
    for entry in entries_of(bundle):
        if entry["number"] in entries:
            yield f"audit entry {entry['number']} occurs twice"
        entries[entry["number"]] = entry
    ends = {(head["chain"], head["number"]): head["hash"] for head in kept}
    chains: dict[int, Chain] = {}
    unlinked = set(entries)
    for line in bundle.read("links.txt").decode().splitlines():
        first, second, digest = line.split()
        number, chain = int(second), chains.setdefault(int(first), Chain(int(first)))
        yield from check_link(chain, number, digest, entries.get(number))
        unlinked.discard(number)
        # Remove each head when its entry is found; the remaining ones were not found.
        if ends.pop((chain.number, number), chain.hash) != chain.hash:
            yield f"chain {chain.number} at entry {number} differs from the saved head"
    for number in sorted(unlinked):
        yield f"audit entry {number} is not in any chain"
    for missed in sorted(ends):
        yield f"chain {missed[0]} does not reach entry {missed[1]}, which the saved head names"
    yield from check_heads(json.loads(bundle.read("heads.json")), chains)


def check_link(chain: Chain, number: int, digest: str, entry: dict[str, Any] | None) -> Iterator[str]:
    if number <= chain.last:
        yield f"link {number} of chain {chain.number} does not come after link {chain.last}"
    before = chain.hash
    if entry and entry["chain"] == chain.number:
        digest = sha256(entry["text"].encode())
    chain.step(number, digest)
    if entry is None:
        return
    if entry["chain"] != chain.number:
        yield f"audit entry {number} is in chain {chain.number}, not in chain {entry['chain']} as it says"
    elif entry["previousHash"] != before:
        yield f"audit entry {number} does not follow the one before it in chain {chain.number}"
    elif entry["hash"] != chain.hash:
        yield f"audit entry {number} does not match its hash"


def check_heads(said: dict[str, Any], chains: dict[int, Chain]) -> Iterator[str]:
    """Check that every chain ends at its head, and that every head ends a chain."""
    lines = "".join(f"{head['chain']} {head['number']} {head['count']} {head['hash']}\n" for head in said["heads"])
    if sha256(lines.encode()) != said["head"]:
        yield "the heads do not match the hash over all of them"
    heads = {head["chain"]: (head["number"], head["count"], head["hash"]) for head in said["heads"]}
    for number in sorted(heads.keys() | chains.keys()):
        chain = chains.get(number, Chain(number))
        if heads.get(number) != (chain.last, chain.count, chain.hash):
            yield f"chain {number} does not end at its head"


def check_imports(bundle: Bundle) -> Iterator[str]:
    """Compare the files of each import with those that its audit entries name."""
    named: dict[str, set[str]] = {}
    for entry in entries_of(bundle):
        for field, value in (entry["entry"]["after"] or {}).items():
            if entry["entry"]["entity"]["kind"] == "Import" and field.startswith("files."):
                named.setdefault(entry["entry"]["entity"]["id"], set()).add(value["sha256"])
    for run in json.loads(bundle.read("imports.json")):
        files = {file["sha256"] for file in run["files"]}
        if files != named.get(run["id"], set()):
            yield f"import {run['number']} has other files than its audit entry names"


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(description="Check a bundle of evidence offline.")
    options.add_argument("bundle", nargs="?", default=str(Path(__file__).parent), help="a zip file or a folder")
    options.add_argument("--seal", help="the digest that was printed when the bundle was written")
    options.add_argument("--head", help="a file with heads of the audit chains that were kept elsewhere")
    given = options.parse_args(arguments)
    kept = json.loads(Path(given.head).read_bytes())["heads"] if given.head else []
    problems = check(Bundle(given.bundle), kept, given.seal)
    for problem in problems:
        print(problem)
    if not problems:
        print("Everything matches")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
