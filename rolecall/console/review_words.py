"""Describe review items in words: the reasons for the access, facts for and against it, and changes."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from rolecall.access_models.model import RANK
from rolecall.accounts.model import Access
from rolecall.entitlements.model import EntitlementKind
from rolecall.reviews.model import Decision, Drift, Explained, ItemFact, OnSilence, ReviewType, StageReviewer
from rolecall.reviews.shapes import ReviewItem, ReviewItemDetail

Item = ReviewItem | ReviewItemDetail
Tone = Literal["", "warn", "bad", "cool"]

TYPES: Mapping[ReviewType, str] = {
    ReviewType.APPLICATION: "all access of applications",
    ReviewType.SUPERVISOR: "all access of each supervisor's people",
    ReviewType.ENTITLEMENT: "the holders of each entitlement",
    ReviewType.GROUP_CONTENTS: "what each group grants",
    ReviewType.PRIVILEGED: "privileged access only",
    ReviewType.UNEXPLAINED: "access without a request or model",
    ReviewType.CHANGED: "access that changed since the last review",
    ReviewType.UNMATCHED: "accounts without a person",
    ReviewType.LEAVERS: "accounts of people who left",
    ReviewType.MODEL: "what each access model grants",
}
STAGES: Mapping[StageReviewer, str] = {
    StageReviewer.SUPERVISOR: "Supervisors",
    StageReviewer.APPLICATION_OWNER: "Application owners",
    StageReviewer.ENTITLEMENT_OWNER: "Entitlement owners",
    StageReviewer.MODEL_OWNER: "Model owners",
    StageReviewer.IDENTITY: "A named person",
}
EXPLAINED: Mapping[Explained, str] = {
    Explained.EACH: "Decide each item",
    Explained.BY_MODEL: "Let the owner of each model decide once",
    Explained.CARRY_OVER: "Carry over the last decision, except for a random sample",
}
SILENCES: Mapping[OnSilence, str] = {
    OnSilence.ESCALATE: "Keep pending and escalate",
    OnSilence.FLAG: "Flag the access for removal",
    OnSilence.APPROVE: "Approve the access",
}
# The keyboard shortcut of each decision in the workspace.
KEYS: Mapping[Decision, str] = {
    Decision.KEEP: "a",
    Decision.KEEP_UNTIL: "u",
    Decision.CHANGE: "c",
    Decision.REVOKE: "r",
    Decision.NOT_MINE: "n",
    Decision.UNSURE: "s",
}
# Facts that have the same text in every item, each with this text and the colour of its chip.
_WORDS: Mapping[ItemFact, tuple[str, Tone]] = {
    ItemFact.NO_RECORD: ("No request or model on record", "warn"),
    ItemFact.CONFLICT: ("Part of an open conflict of duties", "bad"),
    ItemFact.UNUSED: ("Account unused for 90 days", "warn"),
    ItemFact.NEW: ("New since the last review", "warn"),
    ItemFact.KEPT_BEFORE: ("Kept in the last review", ""),
    ItemFact.REVOKED_BEFORE: ("Revoked in the last review", "bad"),
    ItemFact.LEAVER: ("The person has left", "bad"),
    ItemFact.UNMATCHED: ("The account has no person", "warn"),
    ItemFact.PRIVILEGED: ("Privileged", ""),
}


class FactInWords(msgspec.Struct, frozen=True):
    text: str
    tone: Tone = ""


def name_of(item: Item) -> str:
    """Return the name of the item: the entitlement, the account, or the model."""
    if item.model:
        return item.model.name
    if item.entitlement:
        return item.entitlement.display_name or item.entitlement.name or item.entitlement.section
    return f"Account {item.account.username}" if item.account else f"Item #{item.number}"


def holder_of(item: Item) -> str:
    """Return the name of the holder: the person, the group, or the account."""
    if item.identity:
        return item.identity.name
    if item.group:
        return item.group.name
    return item.account.username if item.account else ""


def facts_of(item: Item) -> list[FactInWords]:
    """Return the facts about an item in words, the most serious first."""
    words = [FactInWords(*_WORDS[fact]) for fact in item.reasons if fact in _WORDS]
    words += explanations(item)
    if item.peers:
        tone: Tone = "warn" if ItemFact.RARE in item.reasons else ""
        words.append(FactInWords(f"{item.peers.holding} of {item.peers.total} peers", tone))
    order = {"bad": 0, "warn": 1, "": 2, "cool": 3}
    return sorted(words, key=lambda one: order[one.tone])


def explanations(item: Item) -> list[FactInWords]:
    """Return the models and requests that explained the access when the review was opened."""
    models = [FactInWords(f"Model {model.name}") for model in item.why.access_models]
    return models + [
        FactInWords(
            f"Request #{request.number}"
            + (f", approved by {', '.join(by.words for by in request.approved_by)}" if request.approved_by else "")
        )
        for request in item.why.access_requests
    ]


def because(item: Item) -> list[FactInWords]:
    """Return the facts behind the recommendation in words."""
    facts = [FactInWords(*_WORDS[fact]) for fact in item.recommendation.facts if fact in _WORDS]
    if {ItemFact.RARE, ItemFact.COMMON} & {*item.recommendation.facts} and item.peers:
        facts.append(FactInWords(f"{item.peers.holding} of {item.peers.total} peers hold it"))
    explained = {ItemFact.MODEL, ItemFact.REQUEST} & {*item.recommendation.facts}
    return facts + (explanations(item) if explained else [])


def drift_of(item: Item) -> str:
    """Describe the drift: how imports changed the access after the review was opened."""
    drift = item.drift
    number = f" by import #{drift.application_import}" if drift.application_import else ""
    match drift.state:
        case Drift.UNCHANGED:
            return "Unchanged"
        case Drift.CHANGED:
            return f"Changed from {item.access} to {drift.access}{number}"
        case Drift.GONE:
            return f"Gone, closed{number}"


def lower_accesses(item: Item) -> list[Access]:
    """Return the lower levels of access that an item can be changed to; only permissions have levels."""
    if item.entitlement is None or item.entitlement.kind != EntitlementKind.PERMISSION:
        return []
    return [access for access in Access if 0 < RANK[access] < RANK[item.access]]


def decisions_of(item: Item) -> Mapping[Decision, str]:
    """Return the possible decisions for an item, each with its keyboard shortcut."""
    return {one: key for one, key in KEYS.items() if one is not Decision.CHANGE or lower_accesses(item)}


def needs_comment(item: Item) -> str:
    """Return the decision that requires a comment because it contradicts the recommendation; empty if there is none."""
    opposite = {Decision.KEEP: Decision.REVOKE, Decision.REVOKE: Decision.KEEP}
    verdict = item.recommendation.verdict
    return opposite.get(verdict, "") if verdict else ""
