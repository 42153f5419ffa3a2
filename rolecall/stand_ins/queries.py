from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from rolecall.core.caller import Caller
from rolecall.core.db import Db, fetch_rows, fetch_value
from rolecall.core.errors import Invalid, NotFound
from rolecall.core.paging import Page, fetch_page
from rolecall.settings.policy import RequirementType
from rolecall.stand_ins.model import StandInStatus
from rolecall.stand_ins.shapes import Represented, StandInItem
from rolecall.work_items.shapes import PersonReference

_COLUMNS = """s.id, i.id, i.first_name || ' ' || i.last_name, d.id, d.first_name || ' ' || d.last_name, s.type,
    s.starts_on, s.ends_on, s.comment, s.created_date, s.created_by"""
_FROM = "FROM stand_ins s JOIN identities i ON i.id = s.identity_id JOIN identities d ON d.id = s.stand_in_id"
# The casts give the parameters a type even if they are NULL.
_FILTERS = """WHERE (%(identity_id)s::uuid IS NULL OR s.identity_id = %(identity_id)s)
      AND (%(stand_in_id)s::uuid IS NULL OR s.stand_in_id = %(stand_in_id)s)"""


def _item(now: datetime) -> Callable[[Sequence[Any]], StandInItem]:
    def item(row: Sequence[Any]) -> StandInItem:
        id, identity_id, identity, stand_in_id, stand_in, type, starts_on, ends_on, comment, *created = row
        people = (PersonReference(identity_id, identity), PersonReference(stand_in_id, stand_in))
        status = StandInStatus.PLANNED if now < starts_on else StandInStatus.CURRENT
        status = StandInStatus.ENDED if ends_on <= now else status
        answered = RequirementType(type) if type else None
        return StandInItem(id, "Stand-In", *people, answered, starts_on, ends_on, status, comment, *created)

    return item


async def newest_first(
    db: Db, page: int, now: datetime, *, identity_id: UUID | None = None, stand_in_id: UUID | None = None
) -> Page[StandInItem]:
    return await fetch_page(
        db,
        _item(now),
        page,
        total=f"SELECT count(*) FROM stand_ins s {_FILTERS}",
        items=f"SELECT {_COLUMNS} {_FROM} {_FILTERS} ORDER BY s.number DESC",
        identity_id=identity_id,
        stand_in_id=stand_in_id,
    )


async def get(db: Db, id: UUID, now: datetime) -> StandInItem:
    rows = await fetch_rows(db, f"SELECT {_COLUMNS} {_FROM} WHERE s.id = %(id)s", id=id)
    if not rows:
        raise NotFound("Stand-in", id)
    return _item(now)(rows[0])


async def represented_by(db: Db, person_id: UUID, now: datetime) -> list[Represented]:
    """Return the people for whom a person responds now, ordered by name.

    A person on leave who named a stand-in for only some types may be returned twice: once with these types, and once
    with the types of the automatic stand-in.
    """
    rows = await fetch_rows(
        db,
        """SELECT i.id, i.first_name || ' ' || i.last_name, array_agg(r.type ORDER BY r.type), r.is_automatic
           FROM (SELECT f.reviewer_id, f.type, NOT EXISTS (
                     SELECT FROM stand_ins s WHERE s.identity_id = f.reviewer_id AND s.starts_on <= %(now)s
                     AND s.ends_on > %(now)s AND (s.type IS NULL OR s.type = f.type) AND may_decide(s.stand_in_id)
                 ) AS is_automatic FROM responds_for(%(id)s, %(now)s) f) AS r
           JOIN identities i ON i.id = r.reviewer_id
           GROUP BY i.id, r.is_automatic ORDER BY i.list_key, r.is_automatic""",
        id=person_id,
        now=now,
    )
    return [
        Represented(PersonReference(id, name), [RequirementType(type) for type in types], is_automatic)
        for id, name, types, is_automatic in rows
    ]


async def planned_for(db: Db, person_id: UUID, now: datetime) -> list[StandInItem]:
    """Return at most 20 future periods for which others named this person as their stand-in, soonest first."""
    rows = await fetch_rows(
        db,
        f"""SELECT {_COLUMNS} {_FROM}
            WHERE s.stand_in_id = %(id)s AND s.starts_on > %(now)s AND s.ends_on > s.starts_on
            ORDER BY s.starts_on LIMIT 20""",
        id=person_id,
        now=now,
    )
    return [_item(now)(row) for row in rows]


async def acting_for(db: Db, stand_in_id: UUID, person_id: UUID, type: RequirementType, now: datetime) -> Caller:
    """Return the stand-in as a caller who acts for the person; raise Invalid if the stand-in must not do so now."""
    rows = await fetch_rows(
        db,
        """SELECT i.first_name || ' ' || i.last_name FROM stand_ins_for(%(person)s, %(type)s, %(now)s) AS s
           JOIN identities i ON i.id = s WHERE i.id = %(id)s""",
        id=stand_in_id,
        person=person_id,
        type=type,
        now=now,
    )
    if not rows:
        said = f"Identity with id {stand_in_id} does not stand in for this person now; use a current stand-in"
        raise Invalid.on("standInId", said)
    pair = frozenset({(person_id, str(type))})
    return Caller(stand_in_id, rows[0][0], frozenset(), is_person=True, stands_in_for=pair)


async def as_person(db: Db, id: UUID, now: datetime) -> Caller:
    """Return a person as the caller that the console would create for them, but without scopes."""
    name, pairs = (
        await fetch_rows(
            db,
            """SELECT i.first_name || ' ' || i.last_name,
                      ARRAY(SELECT ARRAY[f.reviewer_id::text, f.type] FROM responds_for(i.id, %(now)s) f)
               FROM identities i WHERE i.id = %(id)s""",
            id=id,
            now=now,
        )
    )[0]
    represented = frozenset((UUID(reviewer), type) for reviewer, type in pairs)
    return Caller(id, name, frozenset(), is_person=True, stands_in_for=represented)


async def between(db: Db, person_id: UUID, stand_in: Caller, type: RequirementType, now: datetime) -> set[UUID]:
    """Return the people in the chain of stand-ins between a person and `stand_in`."""
    rows = await fetch_rows(
        db,
        "SELECT stand_ins_between(%(person)s, %(last)s, %(type)s, %(now)s)",
        person=person_id,
        last=stand_in.id,
        type=type,
        now=now,
    )
    return {id for (id,) in rows}


async def next_absence(db: Db, person_id: UUID, now: datetime) -> datetime | None:
    """Return the start of the person's current or next leave of absence, if any."""
    start: datetime | None = await fetch_value(
        db,
        "SELECT min(starts_on) FROM absences WHERE identity_id = %(id)s AND (ends_on IS NULL OR ends_on > %(now)s)",
        id=person_id,
        now=now,
    )
    return start


async def stand_ins_of(db: Db, person_id: UUID, now: datetime) -> list[PersonReference]:
    """Return the people who respond for a person now, for any type."""
    rows = await fetch_rows(
        db,
        """SELECT DISTINCT i.id, i.first_name || ' ' || i.last_name, i.list_key FROM unnest(%(types)s::text[]) AS each
           CROSS JOIN LATERAL stand_ins_for(%(id)s, each, %(now)s) AS s JOIN identities i ON i.id = s
           ORDER BY i.list_key""",
        id=person_id,
        now=now,
        types=list(RequirementType),
    )
    return [PersonReference(id, name) for id, name, _ in rows]
