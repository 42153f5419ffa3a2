from datetime import UTC, datetime
from uuid import UUID

from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.accounts.model import Access
from rolecall.personnel_events.planning import EventDates, Grants, HeldAccount, Situation, key, planned_requests
from rolecall.settings.policy import EventType

ADA, LEDGER, WIKI = UUID(int=1), UUID(int=2), UUID(int=3)
START, END = datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
FOR_GOOD, FOR_A_MONTH = EventDates(START, None), EventDates(START, END)
MODELS = frozenset({UUID(int=9)})


def group(name: str, access: Access = Access.GRANT) -> NewPrivilege:
    return NewPrivilege(header="Group", permission=name, requested_access=access)


def holding(*groups: str, username: str = "ada") -> HeldAccount:
    return HeldAccount(LEDGER, username, True, frozenset(key(group(name)) for name in groups))


def gives(application: UUID, *privileges: NewPrivilege) -> Grants:
    return {application: {key(privilege): privilege for privilege in privileges}}


def plan(type: EventType, situation: Situation, times: EventDates = FOR_GOOD) -> list[tuple[object, ...]]:
    requests = planned_requests(type, ADA, times, situation)
    assert {(request.identity_id, request.models_in_effect) for request in requests} <= {(ADA, situation.models_after)}
    return [summarized(request) for request in requests]


def summarized(request: NewRequest) -> tuple[object, ...]:
    names = [f"{p.permission} {p.requested_access}" for p in request.privileges]
    return str(request.action), request.application_id, request.target_name, names, request.scheduled_start


def test_joiner_gets_one_add_per_application_with_all_granted_privileges() -> None:
    after = {**gives(LEDGER, group("Posters"), group("Closers")), **gives(WIKI, group("Readers"))}

    assert plan(EventType.ONBOARD, Situation([], after=after, models_after=MODELS)) == [
        ("Add", LEDGER, None, ["Posters Grant", "Closers Grant"], START),
        ("Add", WIKI, None, ["Readers Grant"], START),
    ]


def test_offboarding_removes_all_accounts_and_absence_suspends_active_ones() -> None:
    accounts = [HeldAccount(LEDGER, "ada", True), HeldAccount(WIKI, "old", False)]

    assert plan(EventType.OFFBOARD, Situation(accounts)) == [
        ("Remove", LEDGER, "ada", [], START),
        ("Remove", WIKI, "old", [], START),
    ]
    assert plan(EventType.ABSENCE, Situation(accounts)) == [("Suspend", LEDGER, "ada", [], START)]


def test_gained_access_without_an_account_is_an_add_and_lost_access_is_ignored() -> None:
    situation = Situation([], before=gives(LEDGER, group("Posters")), after=gives(WIKI, group("Readers")))

    assert plan(EventType.ROLE_TRANSITION, situation) == [("Add", WIKI, None, ["Readers Grant"], START)]


def test_difference_for_an_existing_account_is_one_change() -> None:
    before = gives(LEDGER, group("Posters"), group("Everyone"))
    after = gives(LEDGER, group("Closers"), group("Everyone"))
    situation = Situation([holding("Posters", "Everyone")], before=before, after=after)

    assert plan(EventType.ROLE_TRANSITION, situation) == [
        ("Change", LEDGER, "ada", ["Closers Grant", "Posters None"], START)
    ]


def test_lost_access_is_removed_at_the_end_date() -> None:
    before, after = gives(LEDGER, group("Posters")), gives(LEDGER, group("Closers"))
    situation = Situation([holding("Posters")], before=before, after=after)

    assert plan(EventType.ROLE_TRANSITION, situation, FOR_A_MONTH) == [
        ("Change", LEDGER, "ada", ["Closers Grant"], START),
        ("Change", LEDGER, "ada", ["Posters None"], END),
    ]


def test_losing_all_granted_access_of_an_application_is_a_remove() -> None:
    situation = Situation([holding("Posters")], before=gives(LEDGER, group("Posters")))

    assert plan(EventType.ROLE_TRANSITION, situation) == [("Remove", LEDGER, "ada", ["Posters None"], START)]
    assert plan(EventType.ROLE_TRANSITION, situation, FOR_A_MONTH) == [("Remove", LEDGER, "ada", ["Posters None"], END)]


def test_access_that_the_account_does_not_hold_is_not_removed() -> None:
    before = gives(LEDGER, group("Posters"), group("Closers"))
    some, none = Situation([holding("Closers")], before=before), Situation([holding("Else")], before=before)
    gaining = Situation([holding()], before=before, after=gives(LEDGER, group("Readers")))

    assert plan(EventType.ROLE_TRANSITION, some) == [("Remove", LEDGER, "ada", ["Closers None"], START)]
    assert plan(EventType.ROLE_TRANSITION, none) == []
    assert plan(EventType.ROLE_TRANSITION, gaining) == [("Change", LEDGER, "ada", ["Readers Grant"], START)]
    assert plan(EventType.ROLE_TRANSITION, gaining, FOR_A_MONTH) == [
        ("Change", LEDGER, "ada", ["Readers Grant"], START)
    ]


def test_losing_only_part_of_the_access_is_a_change() -> None:
    before = gives(LEDGER, group("Posters"), group("Everyone"))
    situation = Situation([holding("Posters")], before=before, after=gives(LEDGER, group("Everyone")))

    assert plan(EventType.ROLE_TRANSITION, situation) == [("Change", LEDGER, "ada", ["Posters None"], START)]


def test_another_access_level_of_the_same_permission_is_a_change() -> None:
    before, after = gives(LEDGER, group("Books")), gives(LEDGER, group("Books", Access.MODIFY))
    situation = Situation([HeldAccount(LEDGER, "ada", True)], before=before, after=after)

    assert plan(EventType.ROLE_TRANSITION, situation) == [("Change", LEDGER, "ada", ["Books Modify"], START)]


def test_access_that_both_roles_grant_stays_unchanged() -> None:
    both = gives(LEDGER, group("Posters"))

    assert plan(EventType.ROLE_TRANSITION, Situation([HeldAccount(LEDGER, "a", True)], before=both, after=both)) == []


def test_first_active_account_is_changed_if_there_are_several() -> None:
    accounts = [HeldAccount(LEDGER, "a-old", False), HeldAccount(LEDGER, "z", True), HeldAccount(LEDGER, "b", True)]
    situation = Situation(accounts, after=gives(LEDGER, group("Posters")))

    assert plan(EventType.ROLE_TRANSITION, situation) == [("Change", LEDGER, "b", ["Posters Grant"], START)]
