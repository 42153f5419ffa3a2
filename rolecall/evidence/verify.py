"""Check a bundle of evidence offline, with Python 3.8 or newer and nothing else.

python verify.py                     check the folder of this file
python verify.py evidence.zip        check a bundle file
python verify.py … --seal DIGEST     also compare with the seal that was printed when the bundle was written
python verify.py … --head head.json  also compare with heads of the audit chains that were saved before the bundle

The audit chains do not cover some files of a bundle, such as the report. Without a seal, a forger can change such a
file and recompute its digest unnoticed. In the bundle of a review, the digest that was stored when the review
was opened covers the population, and audit entries cover what was decided and changed afterwards. A forger can change
this file too: use a copy from a trusted source.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

MANIFEST, SEAL = "manifest.json", "manifest.sha256"
# The hash that precedes the first entry of each chain.
START = "00" * 32
# The numbers of the chains that the service writes.
CHAINS = range(1, 17)
_EVERY = {"audit.jsonl", "heads.json", "imports.json", "links.txt", "report.html", "verify.py"}
# The members of each kind of bundle. They must match exactly, so that a forger cannot leave out a whole member.
KINDS = {
    "person": _EVERY | {f"{name}.json" for name in ("identity", "access", "events", "requests", "conflicts")},
    "review": _EVERY
    | {f"{name}.jsonl" for name in ("items", "decisions", "moves", "changes")}
    | {f"{name}.json" for name in ("review", "population", "exceptions", "quality")}
    | {f"{name}.json" for name in ("bulks", "submissions", "steps", "acceptances", "remediation")},
}


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


def parsed(text: str | bytes) -> Any:
    """Parse JSON; raise ValueError if a key occurs twice, because programs differ in which of the values they read."""
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a key occurs twice among {', '.join(key for key, _ in pairs)}")
    return found


def check(bundle: Bundle, kept: Iterable[dict[str, Any]] = (), seal: str | None = None) -> list[str]:
    """Return one sentence for each mismatch. If the manifest or a file does not match, skip the other checks.

    `kept` are saved heads of the audit chains. `seal` is the saved digest of the manifest.
    """
    try:
        manifest = bundle.read(MANIFEST)
        if sha256(manifest) != bundle.read(SEAL).decode().strip():
            return [f"{MANIFEST} does not match {SEAL}: one of them was changed"]
        if seal is not None and sha256(manifest) != seal.strip().lower():
            return [f"{MANIFEST} does not match the given seal: this is not the bundle that was sealed"]
        members = parsed(manifest)["members"]
    except (KeyError, OSError, ValueError, zipfile.BadZipFile) as error:
        return [f"{MANIFEST} or {SEAL} cannot be read: {error}"]
    changed = list(check_members(bundle, members))
    if kind_of(members) is None:
        changed.append("the bundle does not have exactly the files of a person or of a review")
    try:
        if changed:
            return changed
        chained = [*check_chains(bundle, kept), *check_imports(bundle)]
        return chained + (list(check_review(bundle)) if kind_of(members) == "review" else [])
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return [f"the bundle cannot be read: {error!r}"]


def kind_of(members: Iterable[str]) -> str | None:
    """Return `person` or `review`, or None if members are missing or added."""
    return next((kind for kind, names in KINDS.items() if names == set(members)), None)


# Every `check_…` function yields one sentence for each mismatch.
def check_members(bundle: Bundle, members: dict[str, str]) -> Iterator[str]:
    # A zip file can contain a name twice, and programs differ in which of the two members they read.
    for name in sorted({name for name in bundle.names() if bundle.names().count(name) > 1}):
        yield f"{name} is in the bundle twice"
    names = set(bundle.names()) - {MANIFEST, SEAL}
    for name in sorted(members.keys() - names):
        yield f"{name} is missing"
    for name in sorted(names - members.keys()):
        yield f"{name} is not part of the bundle"
    for name in sorted(names & members.keys()):
        try:
            content = bundle.read(name)
        # Report a member as changed if it does not match its checksum in the archive.
        except zipfile.BadZipFile:
            content = b""
        if sha256(content) != members[name]:
            yield f"{name} was changed"


def entries_of(bundle: Bundle) -> Iterator[dict[str, Any]]:
    """Yield each entry with the text that its digest is computed from: the last value of the line."""
    # Do not use `splitlines`: it also splits at other characters, which an entry may contain.
    for line in bundle.read("audit.jsonl").decode().split("\n"):
        if line:
            entry = parsed(line)
            # Hash the text as written, because encoding the entry again may change it.
            said = [f'"{key}":{json.dumps(entry[key])}' for key in ("chain", "number", "previousHash", "hash")]
            before = f'{{{",".join(said)},"entry":'
            text = line[len(before) : -1]
            # Without this comparison, a forger could write an entry whose hashed text differs from its readable fields.
            if not line.startswith(before) or parsed(text) != entry["entry"] or len(entry) > len(said) + 1:
                raise ValueError(f"audit entry {entry['number']} is not written as the service writes it")
            entry["text"] = text
            yield entry


class Chain:
    """One audit chain, recomputed link by link from its start."""

    def __init__(self, number: int) -> None:
        self.number, self.last, self.count, self.hash = number, 0, 0, START

    def step(self, number: int, digest: str) -> None:
        self.hash = sha256(f"{self.hash} {number} {digest}".encode())
        self.last, self.count = number, self.count + 1


def check_chains(bundle: Bundle, kept: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Follow every link from the start of each chain to its head.

    The bundle has the texts of the entries about its own records, and only the digests of all other entries.
    """
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
        # Remove each saved head when its entry is found; heads that remain have no entry.
        if ends.pop((chain.number, number), chain.hash) != chain.hash:
            yield f"chain {chain.number} at entry {number} differs from the saved head"
    for number in sorted(chains.keys() - {*CHAINS}):
        yield f"chain {number} was added: the service writes no chain with this number"
    for number in sorted(unlinked):
        yield f"audit entry {number} is not in any chain"
    for missed in sorted(ends):
        yield f"chain {missed[0]} does not reach entry {missed[1]}, which the saved head names"
    yield from check_heads(parsed(bundle.read("heads.json")), chains)


def check_link(chain: Chain, number: int, digest: str, entry: dict[str, Any] | None) -> Iterator[str]:
    if number <= chain.last:
        yield f"link {number} of chain {chain.number} does not come after link {chain.last}"
    before = chain.hash
    # Compute the digest from the text of the entry, not from links.txt, so that a changed text breaks the chain.
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
    """Check the hash over all heads, that every chain ends at its head, and that every head ends a chain."""
    lines = "".join(f"{head['chain']} {head['number']} {head['count']} {head['hash']}\n" for head in said["heads"])
    if sha256(lines.encode()) != said["head"]:
        yield "the heads do not match the hash over all of them"
    heads = {head["chain"]: (head["number"], head["count"], head["hash"]) for head in said["heads"]}
    for number in sorted(heads.keys() | chains.keys()):
        chain = chains.get(number, Chain(number))
        if heads.get(number) != (chain.last, chain.count, chain.hash):
            yield f"chain {number} does not end at its head"


def check_imports(bundle: Bundle) -> Iterator[str]:
    """Compare the files of each import with the files that its audit entries name."""
    named: dict[str, set[str]] = {}
    for entry in entries_of(bundle):
        for field, value in (entry["entry"]["after"] or {}).items():
            if entry["entry"]["entity"]["kind"] == "Import" and field.startswith("files."):
                named.setdefault(entry["entry"]["entity"]["id"], set()).add(value["sha256"])
    for run in parsed(bundle.read("imports.json")):
        files = {file["sha256"] for file in run["files"]}
        if files != named.get(run["id"], set()):
            yield f"the files of import {run['number']} differ from its audit entry"


# The kinds of records that are audited one by one, and the file of the bundle that contains each kind.
PARTS = {name: f"{name}.json" for name in ("bulks", "submissions", "acceptances", "steps")}
PARTS.update({name: f"{name}.jsonl" for name in ("decisions", "moves", "changes")})
SYSTEM = "00000000-0000-0000-0000-000000000000"
DECIDED = {"Keep": "Approved", "Keep Until": "Approved", "Change": "Flagged", "Revoke": "Flagged"}


class Review:
    """The records of a review bundle, and what its audit entries say about each record."""

    def __init__(self, bundle: Bundle) -> None:
        self.about = parsed(bundle.read("review.json"))
        self.population = parsed(bundle.read("population.json"))
        self.items = records_of(bundle, "items.jsonl")
        self.parts = {part: records_of(bundle, member) for part, member in PARTS.items()}
        self.requests = parsed(bundle.read("remediation.json"))
        self.imports = {run["number"]: run for run in parsed(bundle.read("imports.json"))}
        self.exceptions = parsed(bundle.read("exceptions.json"))
        self.quality = parsed(bundle.read("quality.json"))
        self.numbers = {item["id"]: item["number"] for item in self.items}
        self.decided_ids = {made["itemId"] for made in self.parts["decisions"]}
        # The history of each reviewer, in order: their decisions, and the moves of their items to others.
        self.acts: dict[str, list[tuple[str, str, str | None]]] = {}
        for made in self.parts["decisions"]:
            self.acts.setdefault(made["reviewerId"], []).append((made["decidedOn"], made["itemId"], made["decision"]))
        submitted = {one["submittedOn"] for one in self.parts["submissions"]}
        for move in self.parts["moves"]:
            # Skip moves at the time of a submission, because the submission moved these kept items to the next stage.
            if move["movedOn"] not in submitted:
                self.acts.setdefault(move["fromId"], []).append((move["movedOn"], move["itemId"], None))
        for acts in self.acts.values():
            acts.sort(key=lambda act: act[0])
        # The last move of each item to another reviewer.
        self.moved = {move["itemId"]: move for move in sorted(self.parts["moves"], key=lambda move: move["number"])}
        # The changes that the service made to each item, by item number and in order.
        self.changes: dict[int, list[dict[str, Any]]] = {}
        for change in sorted(self.parts["changes"], key=lambda change: change["number"]):
            for number in change["items"]:
                self.changes.setdefault(number, []).append(change)
        self.audited: dict[str, dict[str, Any]] = {}
        for entry in sorted(entries_of(bundle), key=lambda entry: entry["number"]):
            fields = self.audited.setdefault(entry["entry"]["entity"]["id"], {})
            # A field that an entry has only in `before` was emptied by the change.
            fields.update(dict.fromkeys(entry["entry"]["before"] or {}))
            fields.update(entry["entry"]["after"] or {})


def records_of(bundle: Bundle, member: str) -> list[dict[str, Any]]:
    text = bundle.read(member).decode()
    return parsed(text) if member.endswith(".json") else [parsed(line) for line in text.split("\n") if line]


def check_review(bundle: Bundle) -> Iterator[str]:
    review = Review(bundle)
    for check_part in (check_settings, check_population, check_parts, check_bulks, check_changes, check_decisions):
        yield from check_part(review)
    for check_part in (check_reviewers, check_openings, check_submissions, check_remediation, check_exceptions):
        yield from check_part(review)
    for check_part in (check_numbers, check_review_imports, check_quality):
        yield from check_part(review)


# Fields that are not compared with audit entries, because they only identify a record or are covered by a digest.
UNAUDITED = {"id", "number", "item", "itemId", "bulk", "items", "owner"}


def is_same(one: Any, other: Any) -> bool:
    """Return whether two values are equal, regardless of the format of times.

    All falsy values (None, 0, empty strings and lists) are equal, because audit entries omit empty fields.
    """
    if isinstance(one, str) and isinstance(other, str):
        return one == other or plain_time(one) == plain_time(other)
    return one == other or (not one and not other)


def plain_time(text: str) -> str:
    """Return a time as the audit writes it: `+00:00` instead of `Z`, and no zeros at the end of the fraction."""
    text = text[:-1] + "+00:00" if text.endswith("Z") else text
    whole, dot, rest = text.partition(".")
    digits, plus, zone = rest.partition("+")
    digits = digits.rstrip("0")
    return f"{whole}{'.' + digits if digits else ''}+{zone}" if dot and plus else text


def differing(record: dict[str, Any], said: dict[str, Any], names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if not is_same(record.get(name), said.get(name)))


def check_settings(review: Review) -> Iterator[str]:
    """Compare the review with its audit entries, and its counts and due dates with its other records."""
    audited = review.audited.get(review.about["id"])
    if not audited:
        yield "the review has no audit entry"
        return
    for field in differing(review.about, audited, review.about.keys() - {"id", "owner"}):
        yield f"the {field} of the review differs from its audit entries"
    # These numbers were stored when the review ended, to detect records that were removed with their audit entries.
    about = review.about
    if about["closedOn"] or about["canceledOn"]:
        counted = {"decisionCount": "decisions", "moveCount": "moves"}
        for field, part in counted.items():
            if about[field] is not None and about[field] != len(review.parts[part]):
                yield f"the review had {about[field]} {part} when it ended, the bundle has {len(review.parts[part])}"
    if about["closedDueOn"] and about["closedDueOn"] != about["dueOn"]:
        yield "the review was closed with a different due date"
    extended = any(step["step"] == "Extended" for step in review.parts["steps"])
    if about["firstDueOn"] and about["firstDueOn"] < about["dueOn"] and not extended:
        yield "the due date was extended, but no step of the review says so"


def population_line(item: dict[str, Any]) -> str:
    """Return the line of an item in the text from which the digest of the population is computed."""
    access, place = (item[name] and item[name]["id"] for name in ("entitlement", "application"))
    person = item["person"] and item["person"]["id"]
    parts = (item["holder"]["id"], access, item["subject"], place, item["access"], item["sinceImport"], person)
    return "\t".join("" if part is None else str(part) for part in parts)


def check_population(review: Review) -> Iterator[str]:
    """Check the digest of the items, and that the counts of every application add up."""
    # Items about models belong to the population only in a review of models. In other reviews, such an item only serves
    # to decide the access that the model explains.
    items = [item for item in review.items if item["subject"] != "Model" or review.about["type"] == "Model"]
    lines = sorted(population_line(item).encode() for item in items)
    if sha256(b"\n".join(lines)) != review.about["digest"]:
        yield "the items do not match the digest of the population"
    yield from check_audited_population(review)
    counts = Counter(item["application"] and item["application"]["id"] for item in items)
    for place in review.population:
        name = place["application"]["name"] if place["application"] else "the models"
        here = counts[place["application"] and place["application"]["id"]]
        if here != place["items"]:
            yield f"{name} has {here} items, but its population says {place['items']}"
        if place["held"] != place["items"] + sum(place["excluded"].values()):
            yield f"the population of {name} does not add up: items and excluded access differ from the access held"
        if place["importNumber"] and place["importNumber"] not in review.imports:
            yield f"import {place['importNumber']}, to which {name} is pinned, is missing"
    if len(items) != review.about["itemCount"]:
        yield "the number of items differs from the review"


def check_audited_population(review: Review) -> Iterator[str]:
    """Compare the population of each application with its audit entry."""
    audited = review.audited.get(review.about["id"], {})
    said = {name: value for name, value in audited.items() if name.startswith("populations.") and value}
    if len(said) != len(review.population):
        yield "the audit and the population have different numbers of applications"
    for position, place in enumerate(review.population):
        shown = {**place, "applicationId": place["application"] and place["application"]["id"]}
        entry = said.get(f"populations.{position}", {})
        if not entry or differing(shown, entry, (shown.keys() | entry.keys()) - {"application"}):
            yield f"the population at position {position} differs from its audit entry"


def check_parts(review: Review) -> Iterator[str]:
    """Compare each record of the kinds in `PARTS` with its audit entry; report records that only the audit has."""
    for part, records in review.parts.items():
        found = set()
        for record in records:
            owner, field = record.get("itemId", review.about["id"]), f"{part}.{record['number']}"
            found.add((owner, field))
            # The digest of a bulk decision covers its individual decisions.
            if part == "decisions" and record["bulk"] is not None:
                continue
            said = review.audited.get(owner, {}).get(field)
            if said is None:
                yield f"{field} has no audit entry"
            elif differing(record, said, (record.keys() | said.keys()) - UNAUDITED):
                yield f"{field} differs from its audit entry"
        for owner, fields in review.audited.items():
            for field in fields:
                if field.startswith(f"{part}.") and (owner, field) not in found:
                    yield f"{field} is in the audit but not in the bundle"


def check_bulks(review: Review) -> Iterator[str]:
    """Compare every bulk decision with the decisions that belong to it, and check its digest."""
    by_bulk: dict[int, list[dict[str, Any]]] = {}
    for one in review.parts["decisions"]:
        by_bulk.setdefault(one["bulk"], []).append(one)
    for bulk in review.parts["bulks"]:
        made = by_bulk.get(bulk["number"], [])
        ids = sorted(one["itemId"] for one in made)
        if len(ids) != bulk["itemCount"] or sha256("\n".join(ids).encode()) != bulk["digest"]:
            yield f"the decisions of bulk {bulk['number']} do not match its digest"
        shared = ["reviewerId", "decision", "comment", "decidedBy", "decidedByName", "decidedOn"]
        # Older bulk decisions of the kind Keep Until do not contain the date.
        if bulk["decision"] != "Keep Until" or bulk.get("until"):
            shared.append("until")
        if any(one["newAccess"] is not None or differing(one, bulk, shared) for one in made):
            yield f"a decision of bulk {bulk['number']} differs from the bulk decision"
    for number in sorted(number for number in by_bulk if number is not None):
        if number not in {bulk["number"] for bulk in review.parts["bulks"]}:
            yield f"a decision belongs to bulk {number}, which does not exist"


def check_changes(review: Review) -> Iterator[str]:
    """Check the digest of every change that the service made, and that every item agrees with the changes to it."""
    for change in review.parts["changes"]:
        numbers = "\n".join(str(number) for number in sorted(change["items"]))
        if len(change["items"]) != change["itemCount"] or sha256(numbers.encode()) != change["digest"]:
            yield f"the items of change {change['number']} do not match its digest"
    for item in review.items:
        withdrawn = last_change(review, item, "Withdrawn", "Restored")
        if (item["status"] == "Withdrawn") != (withdrawn is not None and withdrawn["change"] == "Withdrawn"):
            yield f"item {item['number']} is {item['status']}, which does not follow from what the service recorded"
        reopened = last_change(review, item, "Reopened") or {"changedOn": None, "importNumber": None}
        if (item["reopenedOn"], item["reopenedImport"]) != (reopened["changedOn"], reopened["importNumber"]):
            yield f"item {item['number']} contradicts what the service recorded about reopening"
        yield from check_decision_of_service(review, item)


def check_decision_of_service(review: Review, item: dict[str, Any]) -> Iterator[str]:
    """Check an item that the service decided because nobody responded in time, or because it was carried over."""
    silent, carried = last_change(review, item, "No Response"), last_change(review, item, "Carried Over")
    if silent and item["decidedBy"] != SYSTEM:
        yield f"item {item['number']} shows a decision although there was no response"
    is_carried = carried is not None and not silent and item["decidedBy"] == SYSTEM
    if bool(item["isCarried"]) != is_carried:
        yield f"item {item['number']} contradicts what the service recorded about carrying over"
    by_service = silent or carried
    if item["decidedBy"] != SYSTEM or not by_service:
        return
    shown = {"decidedOn": by_service["changedOn"], "until": None, "newAccess": None, "bulk": None}
    shown["decision"] = "Revoke" if silent and review.about["onSilence"] == "flag" else "Keep"
    if silent:
        shown.update(comment=silent["reason"], submission=None)
    if differing(item, shown, shown):
        yield f"item {item['number']} does not show the decision that the service recorded"


def last_change(review: Review, item: dict[str, Any], *kinds: str) -> dict[str, Any] | None:
    """Return the last change of these kinds to an item."""
    return next((each for each in reversed(review.changes.get(item["number"], [])) if each["change"] in kinds), None)


def check_decisions(review: Review) -> Iterator[str]:
    """Check that every item shows the last decision of its stage, and a status that follows from it."""
    last = {one["itemId"]: one for one in sorted(review.parts["decisions"], key=lambda one: one["number"])}
    for item in review.items:
        made = last.get(item["id"])
        # Ignore the decision of an earlier stage, which is only part of the history.
        made = made if made and made["stage"] == item["stage"] else None
        # A decision no longer counts once the item has moved to another reviewer.
        if made and item["id"] in review.moved and review.moved[item["id"]]["movedOn"] >= made["decidedOn"]:
            made = None
        shown = ("decision", "until", "newAccess", "comment", "decidedOn", "decidedBy", "bulk")
        if item["decision"] is None and any(item[name] for name in (*shown, "submission")):
            yield f"item {item['number']} is undecided, but shows parts of a decision"
        if made and made["decision"] in DECIDED and any(item[name] != made[name] for name in shown):
            yield f"item {item['number']} does not show the last decision that was made"
        if item["status"] not in {*allowed_statuses(review, item), "Withdrawn"}:
            yield f"item {item['number']} is {item['status']}, which does not follow from its decision"
        is_made = made is not None and made["decision"] is not None
        if item["decision"] in DECIDED and not is_made and not is_by_system(item, review):
            yield f"item {item['number']} has a decision that was never made"


def allowed_statuses(review: Review, item: dict[str, Any]) -> set[str]:
    decided = DECIDED.get(item["decision"] or "", "Pending")
    # An item is flagged again if the request to remove its access at the end of a Keep Until was canceled or had no
    # effect.
    if item["decision"] == "Keep Until" and last_change(review, item, "Flagged", "Reopened"):
        decided = "Flagged"
    return {decided, "Remediated"} if decided == "Flagged" else {decided}


def is_by_system(item: dict[str, Any], review: Review) -> bool:
    """Return whether the service decided the item, because it was carried over or because nobody responded."""
    return item["decidedBy"] == SYSTEM and last_change(review, item, "Carried Over", "No Response") is not None


def check_reviewers(review: Review) -> Iterator[str]:
    """Check the reviewer of each item against its decisions and moves, and `acceptedUntil` against its acceptances."""
    given: dict[str, tuple[str, str]] = {}
    for move in review.parts["moves"]:
        given[move["itemId"]] = max(given.get(move["itemId"], ("", "")), (move["movedOn"], move["toId"]))
    for made in review.parts["decisions"]:
        if made["itemId"] not in given or made["decidedOn"] > given[made["itemId"]][0]:
            given[made["itemId"]] = (made["decidedOn"], made["reviewerId"])
    accepted = {one["itemId"]: one for one in sorted(review.parts["acceptances"], key=lambda one: one["number"])}
    for item in review.items:
        named = reviewer_of(item)
        if item["id"] in given and named is not None and named != given[item["id"]][1]:
            yield f"item {item['number']} names a reviewer who contradicts its decisions and reassignments"
        if item["acceptedUntil"] != accepted_until(review, item, accepted.get(item["id"])):
            yield f"item {item['number']} is accepted until a different day from the one in its acceptance"


def check_openings(review: Review) -> Iterator[str]:
    """Check why the reviewer of each item was replaced, whether the item is in the random sample, and its stage."""
    for item in review.items:
        moved = review.moved[item["id"]]["reason"] if item["id"] in review.moved else None
        if moved is None and last_change(review, item, "Reviewer Replaced"):
            # The audit says which reviewers were replaced at the opening, not why, so accept any reason.
            moved = item["moved"] or "a reason"
        if moved is not None and item["moved"] != moved:
            yield f"item {item['number']} does not show why its reviewer was replaced"
        if bool(item["isSample"]) != (last_change(review, item, "Sampled") is not None):
            yield f"item {item['number']} and the audit disagree on whether it is in the random sample"
        if item["stage"] != review.moved.get(item["id"], {"stage": 1})["stage"]:
            yield f"item {item['number']} is in a different stage than its reassignments show"


def accepted_until(review: Review, item: dict[str, Any], accepted: dict[str, Any] | None) -> Any:
    """Return the end of the acceptance of an item.

    Return None if the item was never accepted, or if the acceptance was ended or the item reopened afterwards.
    """
    ended = last_change(review, item, "Acceptance Ended", "Reopened")
    return None if accepted is None or (ended and ended["changedOn"] > accepted["acceptedOn"]) else accepted["until"]


def check_submissions(review: Review) -> Iterator[str]:
    """Check the digest of every statement against the decisions that it signs, and check which items are signed."""
    carried = {item["id"] for item in review.items if last_change(review, item, "Carried Over")}
    # A submission moves kept items to the next stage: find these moves by reviewer and time.
    passed: dict[tuple[str, str], set[str]] = {}
    for move in review.parts["moves"]:
        passed.setdefault((move["fromId"], move["movedOn"]), set()).add(move["itemId"])
    signed_until: dict[str, str] = {}
    signed: dict[str, dict[str, Any]] = {}
    shown: dict[int, dict[str, Any]] = {}
    for item in review.items:
        if item["submission"] is not None and item["id"] not in review.decided_ids:
            shown.setdefault(item["submission"], {})[item["id"]] = item["decision"]
    for one in sorted(review.parts["submissions"], key=lambda one: one["number"]):
        own = dict(shown.get(one["number"], {}))
        own.update(dict.fromkeys(carried & passed.get((one["reviewerId"], one["submittedOn"]), set()), "Keep"))
        for moment, id, decision in review.acts.get(one["reviewerId"], ()):
            if signed_until.get(one["reviewerId"], "") < moment <= one["submittedOn"]:
                own.pop(id, None)
                if decision in DECIDED:
                    own[id] = decision
        lines = sorted(f"{id}\t{decision}" for id, decision in own.items())
        if sha256("\n".join(lines).encode()) != one["digest"] or sum(one["counts"].values()) != len(lines):
            yield f"statement {one['number']} does not match the decisions that it signs"
        signed_until[one["reviewerId"]] = one["submittedOn"]
        signed.update(dict.fromkeys(own, one))
    for item in review.items:
        statement = signed.get(item["id"])
        # Whether a submission, or the service, gave the item to another reviewer afterwards.
        is_moved = (
            item["id"] in review.moved
            and statement
            and (review.moved[item["id"]]["movedOn"] >= statement["submittedOn"])
        )
        if item["submission"] != (statement["number"] if statement and not is_moved else None):
            yield f"item {item['number']} and the statements disagree on whether it is signed"


def check_remediation(review: Review) -> Iterator[str]:
    """Check that a later import proves each removal, except of models, and that requests match their audit entries."""
    requests = {number: one for one in review.requests for number in one["items"]}
    pins = {place["application"]["id"]: place["importNumber"] for place in review.population if place["application"]}
    for request in review.requests:
        said = review.audited.get(request["id"], {})
        for field in differing(request, said, request.keys() - {"id", "items"}):
            yield f"the {field} of request {request['number']} differs from its audit entries"
    for item in review.items:
        request = requests.get(item["number"])
        named = (request["number"], request["status"]) if request else (None, None)
        if (item["request"], item["requestStatus"]) != named:
            yield f"item {item['number']} and the list of requests name different requests"
        if item["status"] != "Remediated":
            if item["status"] != "Withdrawn" and (item["remediatedOn"] or item["remediatedImport"]):
                yield f"item {item['number']} names a proof although it is {item['status']}"
            continue
        proof, change = item["remediatedImport"], last_change(review, item, "Remediated", "Reopened", "Flagged")
        is_recorded = change is not None and change["change"] == "Remediated" and change["importNumber"] == proof
        # "x" stands for a missing time. It sorts after digits, so a missing time is later than every other time.
        if not change or not is_recorded or not (item["remediatedOn"] or "x") <= change["changedOn"]:
            yield f"item {item['number']} is Remediated, which contradicts what the service recorded"
        elif proof is None and item["subject"] != "Model":
            yield f"item {item['number']} is Remediated without a proof"
        if proof is not None and not is_proof(review, item, proof, pins):
            yield f"item {item['number']} names import {proof}, which does not prove its removal"


def is_proof(review: Review, item: dict[str, Any], number: int, pins: dict[str, int]) -> bool:
    """Return whether the import is of the item's application and newer than the import that the review is based on."""
    run = review.imports.get(number)
    place = item["application"]
    return run is not None and run["application"] == place["name"] and number > (pins.get(place["id"]) or 0)


def is_decided_by_hand(item: dict[str, Any]) -> bool:
    return item["decidedBy"] not in (None, SYSTEM)


def reviewer_of(item: dict[str, Any]) -> Any:
    return item["reviewer"] and item["reviewer"]["id"]


# Kinds of items that auditors ask for, each with a function that recognizes the kind from the item and the review.
EXCEPTIONS: dict[str, Callable[[dict[str, Any], dict[str, Any]], bool]] = {
    "self": lambda item, _: bool(item["person"]) and item["person"]["id"] in (item["decidedBy"], reviewer_of(item)),
    "standIn": lambda item, _: item["decidedBy"] not in (None, SYSTEM, reviewer_of(item)),
    "late": lambda item, review: (
        item["decidedOn"] is not None and item["decidedOn"] > (review["firstDueOn"] or review["dueOn"])
    ),
    "unread": lambda item, _: bool(item["isSample"]) and is_decided_by_hand(item) and item["readOn"] is None,
    "discarded": lambda item, _: item["status"] == "Withdrawn" and item["decision"] in ("Revoke", "Change"),
    "silent": lambda item, review: (
        review["closedOn"] is not None
        and item["status"] != "Withdrawn"
        and item["decidedBy"] in (None, SYSTEM)
        and not item["isCarried"]
    ),
    "unsigned": lambda item, review: (
        review["closedOn"] is not None
        and item["submission"] is None
        and item["status"] != "Withdrawn"
        and is_decided_by_hand(item)
    ),
    "bulk": lambda item, _: item["bulk"] is not None,
    "carried": lambda item, _: bool(item["isCarried"]),
    "moved": lambda item, _: bool(item["moved"]),
    "reopened": lambda item, _: item["reopenedOn"] is not None,
    "accepted": lambda item, _: item["acceptedUntil"] is not None,
}


class ExceptionsFound:
    """Collect the parts of a review that auditors look at first.

    These are the items of each kind in EXCEPTIONS, applications in which one person made all the decisions that people
    made, and steps taken by people whose own access is under review.
    """

    def __init__(self, review: dict[str, Any], steps: Iterable[dict[str, Any]]) -> None:
        self.review = review
        self.interested = [f"{step['step']} by {step['doneByName']}" for step in steps if step["ownItems"]]
        self.numbers: dict[str, list[int]] = {name: [] for name in EXCEPTIONS}
        self.deciders: dict[str, set[str]] = {}

    def note(self, item: dict[str, Any]) -> None:
        for name, is_one in EXCEPTIONS.items():
            if is_one(item, self.review):
                self.numbers[name].append(item["number"])
        if item["application"] and is_decided_by_hand(item):
            self.deciders.setdefault(item["application"]["name"], set()).add(item["decidedBy"])

    def found(self) -> dict[str, list[Any]]:
        single = sorted(name for name, people in self.deciders.items() if len(people) == 1)
        return {**self.numbers, "single": single, "interested": self.interested}


def check_exceptions(review: Review) -> Iterator[str]:
    exceptions = ExceptionsFound(review.about, review.parts["steps"])
    for item in review.items:
        exceptions.note(item)
    for name, which in exceptions.found().items():
        if review.exceptions[name] != which:
            yield f"the exceptions of kind {name} do not match the items"


def check_numbers(review: Review) -> Iterator[str]:
    """Check that the item number and the item id in each record belong to the same item."""
    for part in ("decisions", "moves", "acceptances"):
        for record in review.parts[part]:
            if review.numbers.get(record["itemId"]) != record["item"]:
                yield f"{part}.{record['number']} has the number of one item and the id of another"


def check_review_imports(review: Review) -> Iterator[str]:
    """Compare the fields of the imports with their audit entries."""
    names = {
        place["application"]["id"]: place["application"]["name"] for place in review.population if place["application"]
    }
    for run in review.imports.values():
        said = review.audited.get(run["id"], {})
        for field in differing(
            run, said, run.keys() & {"number", "type", "status", "createdBy", "buildStart", "buildEnd", "metrics"}
        ):
            yield f"the {field} of import {run['number']} differs from its audit entries"
        if names.get(said.get("applicationId"), run["application"]) != run["application"]:
            yield f"import {run['number']} belongs to a different application than its audit entries say"


# Keeping an item with one of these facts counts as a wrong decision.
KNOWN_WRONG = {"Person Left", "Conflict"}
# A longer time between two decisions is a pause, not the duration of a decision.
PAUSE_SECONDS = 600


def check_quality(review: Review) -> Iterator[str]:
    """Check the quality figures of every reviewer against the items, and each `submittedOn` against the submissions."""
    by_reviewer: dict[Any, list[dict[str, Any]]] = {}
    for item in review.items:
        if item["status"] != "Withdrawn":
            by_reviewer.setdefault(reviewer_of(item), []).append(item)
    medians = {id: median(paces(items)) for id, items in by_reviewer.items()}
    # Items that any administrator can review name no reviewer.
    known = {id for id in by_reviewer if id is not None}
    found = {one["reviewerId"] if one["reviewerId"] in known else None: one for one in review.quality}
    if found.keys() != by_reviewer.keys() or len(found) != len(review.quality):
        yield "the quality figures and the items name different reviewers"
    for id in by_reviewer.keys() & found.keys():
        figures = figures_of(by_reviewer[id])
        figures["medianSeconds"] = medians[id]
        figures["othersMedianSeconds"] = median([each for of, each in medians.items() if of != id and each is not None])
        signed = [s["submittedOn"] for s in review.parts["submissions"] if s["reviewerId"] == found[id]["reviewerId"]]
        for field, value in figures.items():
            if not is_near(found[id][field], value):
                yield f"the {field} of {found[id]['reviewer']} does not follow from the items"
        if not is_same(found[id]["submittedOn"], max(signed, default=None)):
            yield f"the submittedOn of {found[id]['reviewer']} differs from the statements"


def figures_of(items: list[dict[str, Any]]) -> dict[str, Any]:
    by_hand = [item for item in items if is_decided_by_hand(item)]
    made = sorted(
        (item for item in by_hand if item["status"] != "Pending"), key=lambda item: (instant(item), item["number"])
    )
    kept = sum(item["decision"] in ("Keep", "Keep Until") for item in by_hand)
    in_bulk = sum(item["bulk"] is not None for item in by_hand)
    was_read = sum(item["readOn"] is not None and instant(item, "readOn") <= instant(item) for item in by_hand)
    return {
        "items": len(items),
        "decided": len(made),
        "kept": kept,
        "flagged": sum(item["decision"] in ("Revoke", "Change") for item in by_hand),
        "pending": sum(item["status"] == "Pending" for item in items),
        "carried": sum(bool(item["isCarried"]) for item in items),
        "approvalRate": kept / len(made) if made else None,
        "bulkShare": in_bulk / len(made) if made else None,
        "openedShare": was_read / len(made) if made else None,
        "longestRun": max((len(list(run)) for _, run in groupby(made, lambda item: item["decision"])), default=0),
        "knownWrongKept": sum(
            item["decision"] in ("Keep", "Keep Until") and bool(KNOWN_WRONG & {*item["facts"]}) for item in items
        ),
    }


def paces(items: list[dict[str, Any]]) -> list[float]:
    """Return the seconds from each decision to the next, but leave out long pauses.

    For a bulk decision, return one number for each item: an equal share of the seconds.
    """
    acts = Counter(
        (
            instant(item),
            "bulk" if item["bulk"] is not None else "item",
            item["bulk"] if item["bulk"] is not None else item["number"],
        )
        for item in items
        if is_decided_by_hand(item) and item["status"] != "Pending"
    )
    ordered = sorted(acts)
    pairs = ((ordered[n], act) for n, act in enumerate(ordered[1:]))
    seconds = [(acts[act], act[0] - before[0]) for before, act in pairs]
    return [pace / count for count, pace in seconds if pace <= PAUSE_SECONDS for _ in range(count)]


def median(numbers: list[float]) -> float | None:
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if not ordered:
        return None
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def instant(item: dict[str, Any], field: str = "decidedOn") -> float:
    """Return a time in seconds. Parse the fraction here, because Python before 3.11 reads only three or six digits."""
    whole, _, rest = plain_time(item[field]).partition("+")[0].partition(".")
    return datetime.fromisoformat(f"{whole}+00:00").timestamp() + float(f"0.{rest or 0}")


def is_near(one: Any, other: Any) -> bool:
    return bool(one == other if one is None or other is None else abs(one - other) < 0.001)


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(description="Check a bundle of evidence offline.")
    options.add_argument("bundle", nargs="?", default=str(Path(__file__).parent), help="a zip file or a folder")
    options.add_argument("--seal", help="the digest that was printed when the bundle was written")
    options.add_argument("--head", help="a file with heads of the audit chains that were kept elsewhere")
    given = options.parse_args(arguments)
    kept = parsed(Path(given.head).read_bytes())["heads"] if given.head else []
    problems = check(Bundle(given.bundle), kept, given.seal)
    for problem in problems:
        print(problem)
    if not problems:
        members = parsed(Bundle(given.bundle).read(MANIFEST))["members"]
        print(f"Everything matches: this is the evidence of a {kind_of(members)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
