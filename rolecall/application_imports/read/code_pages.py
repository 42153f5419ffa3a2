"""Guess the code page of a text that is not UTF-8: decode it and judge the words."""

import re
import unicodedata
from itertools import pairwise

# Code pages, each with the codec to try. A codec may be a subset of its code page, so that rare letters count as
# errors. If scores are equal, the first code page is used.
CODE_PAGES = {
    "windows-1252": "windows-1252", "windows-1250": "windows-1250", "windows-1251": "windows-1251",
    "windows-1253": "windows-1253", "windows-1254": "windows-1254", "cp850": "cp850", "cp852": "cp852",
    "cp866": "cp866", "koi8-r": "koi8-r", "mac-roman": "mac-roman", "shift_jis": "shift_jis", "gb18030": "gb2312",
    "big5": "big5", "euc_kr": "euc_kr", "euc_jp": "euc_jp",
}  # fmt: skip
_LATIN = ("windows-1252", "windows-1250", "windows-1254", "cp850", "cp852", "mac-roman")
# The non-ASCII letters of languages that use a Latin code page: Danish, Dutch, Finnish, French, German, Italian,
# Portuguese, Spanish.
_WESTERN = (
    "æøåéÆØÅ", "éëïöüèó", "äöåÄÖÅé", "àâæçéèêëîïôœùûüÿÉÈÀÂÇÊÎÔ", "äöüßÄÖÜé", "àèéìíòóùÀÈÉ", "ãâáàçéêíóôõúüÃÁÉÍÓÚÇ",
    "áéíñóúüÁÉÍÑÓÚ",
)  # fmt: skip
# Croatian, Czech, Hungarian, Polish, Romanian, Slovak, German.
_CENTRAL = (
    "čćđšžČĆĐŠŽ", "áčďéěíňóřšťúůýžÁČĎÉĚÍŇÓŘŠŤÚŮÝŽ", "áéíóöőúüűÁÉÍÓÖŐÚÜŰ", "ąćęłńóśźżĄĆĘŁŃÓŚŹŻ", "ăâîșțşţĂÂÎȘȚŞŢ",
    "áäčďéíĺľňóôŕšťúýžÁČĎÉÍĹĽŇÓÔŔŠŤÚÝŽ", "äöüßÄÖÜ",
)  # fmt: skip
_TURKISH = ("çğıöşüâÇĞİÖŞÜ",)
# The factor that lowers the score of a text if its words are in several languages.
_MIXED = 0.7
_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщъыьэюяёіїєґАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЁІЇЄҐ"
_ORDINALS, _SHORT = "ºª°", 3
_EAST_ASIAN = ("shift_jis", "gb18030", "big5", "euc_kr", "euc_jp")
_KANA = {"HIRAGANA", "KATAKANA"}
_LANGUAGES = {"windows-1250": _CENTRAL, "cp852": _CENTRAL, "windows-1254": (*_WESTERN, *_TURKISH)}
_ENOUGH, _CLEARLY = 0.5, 0.2
_SAMPLE = 64 * 1024
_LONGEST = 30
_LETTER, _ASCII, _SPACE = r"[^\s\x00-\x2f:-@\[-`{-~]", r"[0-9A-Za-z\x7f]", r"[^\S\x00-\x7f]"
# A word with a letter or space that is not ASCII. A match starts only at the beginning of a word or at such a space:
# starting at every character of a long word would take quadratic time.
_WORD = re.compile(
    rf"(?<!{_LETTER}){_ASCII}*+[^\s\x00-\x7f]{_LETTER}*+(?:{_SPACE}{_LETTER}*+)?"
    rf"|(?:(?<!{_LETTER}){_ASCII}++)?{_SPACE}{_LETTER}*+"
)
# The bytes BC to BE are letters such as the ligature OE in ISO 8859-15, and fractions in windows-1252.
_LATIN_9 = re.compile(rb"(?<![0-9])[\xbc-\xbe](?=[A-Za-z])|(?<=[A-Za-z])[\xbc-\xbe](?![0-9])")
_ONLY_WINDOWS = re.compile(rb"[\x80-\x9f]")
_SCRIPTS = ("LATIN", "CYRILLIC", "GREEK", "HIRAGANA", "KATAKANA", "CJK", "HANGUL SYLLABLE")


def likely_code_page(content: bytes) -> str | None:
    """Return the code page in which most words with non-ASCII letters are plausible; None if there is none."""
    scores = _scores(content)
    best = max(scores, key=lambda name: scores[name])
    if scores[best] < _ENOUGH:
        return None
    is_latin_9 = best == "windows-1252" and _LATIN_9.search(content) and not _ONLY_WINDOWS.search(content)
    return "iso8859-15" if is_latin_9 else best


def is_western(content: bytes) -> bool:
    """Return whether windows-1252 fits: no other script is likely, and no similar code page is clearly better."""
    scores = _scores(content)
    best = max(scores, key=lambda name: scores[name])
    if scores[best] < _ENOUGH:
        return True
    # These code pages share many letters with windows-1252, so their scores must be clearly higher.
    is_similar = best in ("windows-1250", "windows-1254")
    return best in _LATIN and not (is_similar and scores[best] > scores["windows-1252"] + _CLEARLY)


def _scores(content: bytes) -> dict[str, float]:
    sample = content[:_SAMPLE]
    sample = sample[: sample.rfind(b"\n") + 1] or sample
    return {name: _score(_words(sample, codec), name) for name, codec in CODE_PAGES.items()}


def example_in(content: bytes, code_page: str) -> str:
    """Return a word with non-ASCII letters, as an example of how the text is read."""
    return next(iter(_words(content[:_SAMPLE], code_page)), "")[:_LONGEST]


def _words(sample: bytes, codec: str) -> list[str]:
    try:
        text = sample.decode(codec, "strict")
    except UnicodeDecodeError as error:
        # A multibyte character may be cut at the end of a sample.
        if error.start < len(sample) - 4 or len(sample) < _SAMPLE:
            return []
        text = sample[: error.start].decode(codec, "replace")
    return _WORD.findall(text)


def _score(words: list[str], name: str) -> float:
    """Return how plausible words are, as a score of at most 1; 0 if the code page cannot decode the text."""
    distinct = list(dict.fromkeys(words))
    if not distinct:
        return 0.0
    ratings = [_rating(word, name) for word in distinct]
    rest = [[c for c in word if c > "\x7f"] for word, rating in zip(distinct, ratings, strict=True) if rating is None]
    languages = _LANGUAGES.get(name, _WESTERN) if name in _LATIN else [_CYRILLIC]
    shares = [_share(letters, rest) for letters in languages]
    mixed = _MIXED * _share("".join(languages), rest)
    return (sum(each for each in ratings if each is not None) + max(*shares, mixed)) / len(distinct)


def _share(letters: str, words: list[list[str]]) -> float:
    """Return the sum, over all words, of the share of characters that are in `letters`."""
    return sum(sum(c in letters for c in word) / len(word) for word in words)


def _rating(word: str, name: str) -> float | None:
    """Return how plausible a word is, from -1 to 1; None if that depends on the language.

    A plausible word has letters of one script, and no uppercase letter after a lowercase one.
    """
    if name in _LATIN and len(word) <= _SHORT and word.rstrip(_ORDINALS).isascii():
        # A sign such as Nº or 1ª.
        return 1.0
    scripts = {_script(c) for c in word if not (c.isdecimal() and c.isascii()) and not _is_wide_sign(c, name)}
    if not scripts:
        return 0.0
    if None in scripts or any(first.islower() and second.isupper() for first, second in pairwise(word)):
        return -1.0
    if scripts == {"LATIN"} and name not in _LATIN:
        return -1.0
    if scripts in ({"LATIN"}, {"CYRILLIC"}):
        return None
    if scripts & _KANA:
        # Other code pages contain kana too, but only Japanese uses them.
        return 1.0 if name in ("shift_jis", "euc_jp") and scripts <= {*_KANA, "CJK", "LATIN"} else 0.0
    if scripts == {"CJK"}:
        return 0.7
    return 1.0 if len(scripts) == 1 else -1.0


def _is_wide_sign(character: str, name: str) -> bool:
    """Return whether a character is CJK punctuation or a full-width form of ASCII, which East Asian texts contain."""
    return name in _EAST_ASIAN and ("\u3000" <= character <= "\u303f" or "\uff01" <= character <= "\uff5e")


def _script(character: str) -> str | None:
    if character.isascii():
        return "LATIN" if character.isalpha() else None
    name = unicodedata.name(character, "")
    if name.startswith("KATAKANA-HIRAGANA"):
        return "KATAKANA"
    return next((script for script in _SCRIPTS if name.startswith(script)), None)
