"""The command line cannot import the service's enumerations, because it must start quickly: it repeats their values."""

from enum import StrEnum

import pytest

from rolecall.access_requests.model import Response
from rolecall.accounts.model import Match
from rolecall.application_imports.model import ChangeType, RecordKind
from rolecall.cli.options import WORDS
from rolecall.duties.model import RuleResponse
from rolecall.notifications.model import MessageOutcome
from rolecall.reports.model import ReportPeriod
from rolecall.reviews.model import Explained, OnSilence, ReviewItemStatus, ReviewStatus, ReviewType
from rolecall.settings.policy import EventType, Level, RequestAction, RequirementType
from rolecall.webhooks.model import DeliveryStatus
from rolecall.work_items.model import WorkStatus

REPEATED: dict[tuple[str, str], list[type[StrEnum]]] = {
    ("", "priority"): [Level],
    ("", "risk_rating"): [Level],
    ("", "change"): [ChangeType],
    ("", "kind"): [RecordKind],
    ("", "match"): [Match],
    ("", "action"): [RequestAction],
    ("", "outcome"): [MessageOutcome],
    ("", "period"): [ReportPeriod],
    ("", "explained"): [Explained],
    ("", "on_silence"): [OnSilence],
    ("rule", "response"): [RuleResponse],
    ("review", "status"): [ReviewStatus, ReviewItemStatus],
    ("review", "type"): [ReviewType],
    ("stand-in", "type"): [RequirementType],
    ("delivery", "status"): [DeliveryStatus],
    ("request", "status"): [WorkStatus],
    ("event", "type"): [EventType],
}


@pytest.mark.parametrize("option", REPEATED, ids=" ".join)
def test_completion_offers_every_value_of_the_service(option: tuple[str, str]) -> None:
    values = {value.value.replace(" ", "") for each in REPEATED[option] for value in each}

    assert {word.replace(" ", "") for word in WORDS[option]} == values


def test_responses_offered_are_those_that_a_reviewer_gives() -> None:
    assert {*WORDS["", "response"], Response.PENDING} == set(Response)
