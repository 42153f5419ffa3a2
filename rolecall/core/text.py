"""Text rules: how names sort, when words match, how logs show them."""

import unicodedata

# Letters that the Unicode root collation sorts with a base letter but that do not decompose into it.
_BASE = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"})


def sort_key(name: str) -> str:
    """Return a key that orders by letters, then accents, ignoring case: `Élan` sorts among the E's."""
    letters = unicodedata.normalize("NFKD", name.casefold()).translate(_BASE)
    base = "".join(c for c in letters if not unicodedata.combining(c))
    return base if base == letters else f"{base}\x02{letters}"


def fold(text: str) -> str:
    """Fold case and remove spaces, for matching words that people type."""
    return "".join(text.split()).casefold()


def in_one_line(text: str) -> str:
    """Escape line breaks and control characters for logs (log injection)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or unicodedata.category(c) == "Zs" else repr(c)[1:-1] for c in text)
