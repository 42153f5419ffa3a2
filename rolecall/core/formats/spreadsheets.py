"""Prevent formula injection: a spreadsheet runs a cell that begins like a formula."""

# The first characters of formulas according to OWASP, and their full-width forms, which some programs accept.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def harmless(text: str) -> str:
    """Return the text, with an apostrophe before it if a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
