"""An import that would change too much waits for a person."""

from rolecall.settings.model import Guard


def reason_to_hold(guard: Guard, before: dict[str, int], removed: dict[str, int], new_accounts: int) -> str | None:
    """`before` and `removed` count what there was and what would go, by kind: accounts, groups, assignments."""
    reasons = []
    for kind, were in before.items():
        gone = removed.get(kind, 0)
        if were >= guard.min_count and gone * 100 > guard.max_removed_percent * were:
            share = f"more than {guard.max_removed_percent:g} %"
            reasons.append(f"it would remove {gone:,} of {were:,} {kind}, {share}")
    were = before.get("accounts", 0)
    if were >= guard.min_count and new_accounts * 100 > guard.max_new_percent * were:
        reasons.append(f"it would add {new_accounts:,} accounts to {were:,}, more than {guard.max_new_percent:g} %")
    return " and ".join(reasons) or None
