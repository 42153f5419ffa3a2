"""List the files to mutate: files that decide who may do what, and files that auditors rely on."""

from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("access_requests", "audit", "evidence", "personnel_events", "tokens")
TARGETS = sorted(
    [
        "rolecall/accounts/matching.py",
        "rolecall/settings/policy.py",
        *(str(path.relative_to(_ROOT)) for name in _PACKAGES for path in (_ROOT / "rolecall" / name).glob("*.py")),
    ]
)
