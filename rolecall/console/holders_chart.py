"""Draw the number of accounts that hold an entitlement as a step chart, and as a sparkline in the catalogue."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from markupsafe import Markup

from rolecall.console.charts import ChartLevel, sparkline, step_line
from rolecall.core.db import Db
from rolecall.core.text import some_of
from rolecall.effective_access.over_time import HolderCount, HolderStep, counts_over_time, holders_over_time
from rolecall.entitlements.shapes import EntitlementItem


class ChartPeriod(StrEnum):
    QUARTER = "3 months"
    YEAR = "13 months"
    ALL = "All"


_DAYS = {ChartPeriod.QUARTER: 92, ChartPeriod.YEAR: 396}


async def holders_chart(
    db: Db, entitlement: EntitlementItem, period: ChartPeriod, first: datetime, now: datetime
) -> Markup | None:
    """Draw the number of holders in the period, from the first import on. Return None if there was never a holder."""
    steps = await holders_over_time(db, entitlement.id, now)
    if not steps:
        return None
    start = max(first, now - timedelta(days=_DAYS[period])) if period in _DAYS else first
    before = [step for step in steps if step.moment <= start]
    # Begin with the number of holders at the start of the period.
    levels = [ChartLevel(start, before[-1].accounts, "", "", f"#{before[-1].number}")] if before else []
    levels += [_level(step) for step in steps if step.moment > start]
    counts = [level.value for level in levels]
    name = entitlement.display_name or entitlement.name or entitlement.section
    span = f"{min(counts):,} to {max(counts):,}" if min(counts) < max(counts) else f"{counts[0]:,}"
    title = f"Accounts that hold {name}: {counts[-1]:,} now, {span} since {start.day} {start:%b %Y}"
    return step_line(title, "accounts", levels, start, now)


def _level(step: HolderStep) -> ChartLevel:
    # If as many accounts lost the access as gained it, show names of both.
    names = step.gained if step.change > 0 else step.lost if step.change < 0 else [*step.gained, *step.lost]
    who = some_of(names, len(names), abs(step.change))
    # `_step_label` in charts.py recognizes a decrease by this typographic minus.
    change = f"{step.change:+,}".replace("-", "−") if step.change else "±0"
    return ChartLevel(step.moment, step.accounts, change, who, f"#{step.number}")


_YEAR = timedelta(days=365)
# If the entitlements of a page have more holders than this, its sparklines are loaded after the page is shown.
_MOST_AT_ONCE = 20_000


async def sparklines(
    db: Db, items: Sequence[EntitlementItem], end: datetime, now: datetime, *, can_wait: bool
) -> dict[UUID, Markup | None]:
    """Draw the number of accounts that hold each entitlement in the year before `end`.

    The value is None for an entitlement that no account held in that year. If the entitlements have many holders and
    `can_wait` is False, omit the entitlements whose counts are not stored yet.
    """
    is_late = not can_wait and sum(item.holders.accounts for item in items) > _MOST_AT_ONCE
    counts = await counts_over_time(db, [item.id for item in items], now, is_stored_only=is_late)
    return {id: _sparkline(each, end) for id, each in counts.items()}


def _sparkline(counts: Sequence[HolderCount], end: datetime) -> Markup | None:
    start = end - _YEAR
    before = [count for count in counts if count.moment <= start]
    levels = [(count.moment, count.accounts) for count in counts if start < count.moment <= end]
    levels = [(start, before[-1].accounts), *levels] if before else levels
    low, high = min((value for _, value in levels), default=0), max((value for _, value in levels), default=0)
    if high == 0:
        return None
    accounts = f"{low:,} to {high:,}" if low < high else f"{high:,}"
    return sparkline(f"{accounts} account{'' if high == 1 else 's'} in 12 months", levels, start, end)
