"""Forge a bundle with recomputed digests, as an informed attacker would."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rolecall.audit.model import Head, seal_of

Entries = list[dict[str, Any]]
Links = list[list[str]]


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Forgery:
    """An unpacked bundle. Change entries, links or members, then assemble it with `write`."""

    def __init__(self, bundle: Path) -> None:
        with zipfile.ZipFile(bundle) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist()}
        self.place = bundle.with_name("forged.zip")
        self.lines = self.members["audit.jsonl"].decode().splitlines()
        self.links: Links = [line.split() for line in self.members["links.txt"].decode().splitlines()]

    def alter(self, change: Callable[[str], str]) -> int:
        """Change the text of the first entry that `change` alters; return its number."""
        for n, line in enumerate(self.lines):
            head, text = line[: line.index('"entry":') + 8], line[line.index('"entry":') + 8 : -1]
            if change(text) != text:
                self.lines[n] = f"{head}{change(text)}}}"
                return int(json.loads(line)["number"])
        raise AssertionError("nothing was changed")

    def rehash(self) -> None:
        """Recompute every link, hash and head."""
        texts = {json.loads(line)["number"]: line[line.index('"entry":') + 8 : -1] for line in self.lines}
        before: dict[str, str] = {}
        made: dict[int, tuple[str, str, str]] = {}
        heads: dict[str, Head] = {}
        for link in self.links:
            chain, number = link[0], link[1]
            link[2] = sha256(texts[int(number)]) if int(number) in texts else link[2]
            previous = before.get(chain, "00" * 32)
            before[chain] = sha256(f"{previous} {number} {link[2]}")
            made[int(number)] = chain, previous, before[chain]
            count = heads[chain].count + 1 if chain in heads else 1
            heads[chain] = Head(int(chain), int(number), count, before[chain])
        self.lines = [
            f'{{"chain":{made[n][0]},"number":{n},"previousHash":"{made[n][1]}","hash":"{made[n][2]}","entry":{texts[n]}}}'
            for n in texts
        ]
        ends = [heads[chain] for chain in sorted(heads, key=int)]
        said = [{"chain": h.chain, "number": h.number, "count": h.count, "hash": h.hash} for h in ends]
        self.members["heads.json"] = json.dumps({"head": seal_of(ends), "heads": said}).encode()

    def write(self) -> Path:
        self.members["audit.jsonl"] = "".join(f"{line}\n" for line in self.lines).encode()
        self.members["links.txt"] = "".join(f"{' '.join(link)}\n" for link in self.links).encode()
        manifest = json.loads(self.members["manifest.json"])
        manifest["members"] = {name: hashlib.sha256(self.members[name]).hexdigest() for name in manifest["members"]}
        self.members["manifest.json"] = json.dumps(manifest).encode()
        self.members["manifest.sha256"] = hashlib.sha256(self.members["manifest.json"]).hexdigest().encode()
        with zipfile.ZipFile(self.place, "w") as archive:
            for name, content in self.members.items():
                archive.writestr(name, content)
        return self.place
