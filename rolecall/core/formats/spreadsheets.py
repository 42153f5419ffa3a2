"""Prevent formula injection: a spreadsheet runs a cell that begins like a formula."""

# The characters that OWASP lists, and the full-width forms that some programs accept.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def harmless(text: str) -> str:
    """Return the text, with an apostrophe before it if a spreadsheet would run it as a formula."""
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text
