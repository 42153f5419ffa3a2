"""Draw the number of accounts that hold an entitlement as a step chart."""

from datetime import datetime, timedelta
from enum import StrEnum

from markupsafe import Markup

from rolecall.console.charts import ChartLevel, step_line
from rolecall.core.db import Db
from rolecall.effective_access.over_time import HolderStep, holders_over_time
from rolecall.entitlements.shapes import EntitlementItem


class ChartPeriod(StrEnum):
    QUARTER = "3 months"
    YEAR = "13 months"
    ALL = "All"


_DAYS = {ChartPeriod.QUARTER: 92, ChartPeriod.YEAR: 396}


async def holders_chart(
    db: Db, entitlement: EntitlementItem, period: ChartPeriod, first: datetime, now: datetime
) -> Markup | None:
    """Draw the steps of a period, from the first import at the earliest; None if there has never been a holder."""
    steps = await holders_over_time(db, entitlement, now)
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
    names = step.gained if step.change > 0 else step.lost if step.change < 0 else [*step.gained, *step.lost]
    more = max(abs(step.change), len(names)) - len(names)
    who = ", ".join(names) + (f" and {more:,} more" if more else "")
    change = f"{step.change:+,}".replace("-", "−") if step.change else "±0"
    return ChartLevel(step.moment, step.accounts, change, who, f"#{step.number}")
