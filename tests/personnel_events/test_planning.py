from datetime import UTC, datetime
from uuid import UUID

from rolecall.access_requests.model import NewPrivilege, NewRequest
from rolecall.accounts.model import Access
from rolecall.personnel_events.planning import Grants, HeldAccount, Situation, Times, key, planned_requests
from rolecall.settings.policy import EventType

ADA, LEDGER, WIKI = UUID(int=1), UUID(int=2), UUID(int=3)
START, END = datetime(2026, 12, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
FOR_GOOD, FOR_A_MONTH = Times(START, None), Times(START, END)
MODELS = frozenset({UUID(int=9)})


def group(name: str, access: Access = Access.GRANT) -> NewPrivilege:
    return NewPrivilege(header="Group", permission=name, requested_access=access)


def holding(*groups: str, username: str = "ada") -> HeldAccount:
    return HeldAccount(LEDGER, username, True, frozenset(key(group(name)) for name in groups))


def gives(application: UUID, *privileges: NewPrivilege) -> Grants:
    return {application: {key(privilege): privilege for privilege in privileges}}


def plan(type: EventType, situation: Situation, times: Times = FOR_GOOD) -> list[tuple[object, ...]]:
    requests = planned_requests(type, ADA, times, situation)
    assert {(request.identity_id, request.models_in_effect) for request in requests} <= {(ADA, situation.models_after)}
    return [told(request) for request in requests]


def told(request: NewRequest) -> tuple[object, ...]:
    names = [f"{p.permission} {p.requested_access}" for p in request.privileges]
    return str(request.action), request.application_id, request.target_name, names, request.scheduled_start


def test_a_joiner_gets_one_add_an_application_with_all_that_models_give_there() -> None:
    after = {**gives(LEDGER, group("Posters"), group("Closers")), **gives(WIKI, group("Readers"))}

    assert plan(EventType.ONBOARD, Situation([], after=after, models_after=MODELS)) == [
        ("Add", LEDGER, None, ["Posters Grant", "Closers Grant"], START),
        ("Add", WIKI, None, ["Readers Grant"], START),
    ]


def test_a_leaver_loses_every_account_and_an_absentee_the_active_ones() -> None:
    accounts = [HeldAccount(LEDGER, "ada", True), HeldAccount(WIKI, "old", False)]

    assert plan(EventType.OFFBOARD, Situation(accounts)) == [
        ("Remove", LEDGER, "ada", [], START),
        ("Remove", WIKI, "old", [], START),
    ]
    assert plan(EventType.ABSENCE, Situation(accounts)) == [("Suspend", LEDGER, "ada", [], START)]


def test_a_gain_without_an_account_is_an_add_and_a_loss_without_one_is_nothing() -> None:
    situation = Situation([], before=gives(LEDGER, group("Posters")), after=gives(WIKI, group("Readers")))

    assert plan(EventType.ROLE_TRANSITION, situation) == [("Add", WIKI, None, ["Readers Grant"], START)]


def test_a_difference_where_there_is_an_account_is_one_change() -> None:
    before = gives(LEDGER, group("Posters"), group("Everyone"))
    after = gives(LEDGER, group("Closers"), group("Everyone"))
    situation = Situation([holding("Posters", "Everyone")], before=before, after=after)

    assert plan(EventType.ROLE_TRANSITION, situation) == [
        ("Change", LEDGER, "ada", ["Closers Grant", "Posters None"], START)
    ]


def test_with_an_end_date_the_loss_waits_for_it() -> None:
    before, after = gives(LEDGER, group("Posters")), gives(LEDGER, group("Closers"))
    situation = Situation([holding("Posters")], before=before, after=after)

    assert plan(EventType.ROLE_TRANSITION, situation, FOR_A_MONTH) == [
        ("Change", LEDGER, "ada", ["Closers Grant"], START),
        ("Change", LEDGER, "ada", ["Posters None"], END),
    ]


def test_losing_all_that_models_gave_somewhere_is_a_remove() -> None:
    situation = Situation([holding("Posters")], before=gives(LEDGER, group("Posters")))

    assert plan(EventType.ROLE_TRANSITION, situation) == [("Remove", LEDGER, "ada", ["Posters None"], START)]
    assert plan(EventType.ROLE_TRANSITION, situation, FOR_A_MONTH) == [("Remove", LEDGER, "ada", ["Posters None"], END)]


def test_what_the_account_does_not_hold_is_not_removed() -> None:
    before = gives(LEDGER, group("Posters"), group("Closers"))
    some, none = Situation([holding("Closers")], before=before), Situation([holding("Else")], before=before)
    gaining = Situation([holding()], before=before, after=gives(LEDGER, group("Readers")))

    assert plan(EventType.ROLE_TRANSITION, some) == [("Remove", LEDGER, "ada", ["Closers None"], START)]
    assert plan(EventType.ROLE_TRANSITION, none) == []
    assert plan(EventType.ROLE_TRANSITION, gaining) == [("Change", LEDGER, "ada", ["Readers Grant"], START)]
    assert plan(EventType.ROLE_TRANSITION, gaining, FOR_A_MONTH) == [
        ("Change", LEDGER, "ada", ["Readers Grant"], START)
    ]


def test_only_a_loss_among_more_is_a_change() -> None:
    before = gives(LEDGER, group("Posters"), group("Everyone"))
    situation = Situation([holding("Posters")], before=before, after=gives(LEDGER, group("Everyone")))

    assert plan(EventType.ROLE_TRANSITION, situation) == [("Change", LEDGER, "ada", ["Posters None"], START)]


def test_another_level_of_the_same_access_is_a_change() -> None:
    before, after = gives(LEDGER, group("Books")), gives(LEDGER, group("Books", Access.MODIFY))
    situation = Situation([HeldAccount(LEDGER, "ada", True)], before=before, after=after)

    assert plan(EventType.ROLE_TRANSITION, situation) == [("Change", LEDGER, "ada", ["Books Modify"], START)]


def test_what_both_roles_give_is_left_alone() -> None:
    both = gives(LEDGER, group("Posters"))

    assert plan(EventType.ROLE_TRANSITION, Situation([HeldAccount(LEDGER, "a", True)], before=both, after=both)) == []


def test_of_several_accounts_the_first_active_one_changes() -> None:
    accounts = [HeldAccount(LEDGER, "a-old", False), HeldAccount(LEDGER, "z", True), HeldAccount(LEDGER, "b", True)]
    situation = Situation(accounts, after=gives(LEDGER, group("Posters")))

    assert plan(EventType.ROLE_TRANSITION, situation) == [("Change", LEDGER, "b", ["Posters Grant"], START)]
