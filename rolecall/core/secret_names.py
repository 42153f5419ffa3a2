"""Recognize secrets by the names of their columns or attributes; hide them in JSON and in text.

This is the only list of such names. It covers directories, databases, SAP and web applications, in several languages.
"""

import re
import unicodedata
from functools import lru_cache
from typing import Any

import msgspec

from rolecall.core.nested_json import decode_json
from rolecall.core.text import without_accents

# Shown and stored instead of a secret.
HIDDEN = "•••"


def _letters(text: str) -> str:
    """Return the letters and digits of a string, case-folded and without accents."""
    return re.sub(r"[\W_]", "", without_accents(text.casefold()).replace("ł", "l"))


# A header that contains one of these strings, at any position, is that of a secret, unless an exception below applies.
_ANYWHERE = tuple(map(_letters, (
    "password", "passwd", "passphrase", "passcode", "pwd", "pswd", "apikey", "privatekey", "secretkey", "accesstoken",
    "refreshtoken", "clientsecret", "sharedsecret", "activationkey", "encryptionkey", "signingkey", "masterkey",
    "principalkey", "krbextradata", "authenticationstring", "authstring", "connectionstring",
    "recoverycode", "backupcode", "scratchcode", "unlockcode", "securityanswer", "recoveryanswer", "socialsecurity",
    "authkey", "otpsecret", "mfasecret", "otpseed", "mfaseed", "tokenseed", "sessionid", "sessionkey", "zugangscode",
    "sicherheitsantwort",
    # The word for password in other languages.
    "kennwort", "passwort", "losungswort", "mot de passe", "phrase secrète", "contraseña", "clave de acceso",
    "palavra-passe", "wachtwoord", "lösenord", "adgangskode", "passord", "salasana", "lozinka", "slaptažodis",
    "jelszó", "mật khẩu", "kata sandi", "пароль", "κωδικός πρόσβασης", "סיסמ", "كلمة المرور", "كلمة السر", "รหัสผ่าน",
    "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "패스워드",
)))  # fmt: skip
# Words of a header that name a secret, such as a token.
_KEYS = {
    "credential", "credentials", "secret", "secrets", "token", "tokens", "hash", "hashes", "salt", "otp", "totp",
    "hotp", "pin", "pins", "puk", "cvv", "cvc", "jwt", "bearer", "cookie", "cookies", "ssn", "geheimnis",
}  # fmt: skip
# Words of a header that name a password.
_PASSWORDS = {
    "pass", "passw", "psw", "pw", "pword", "mdp", "senha", "parola", "haslo", "heslo", "geslo", "zaporka", "parool",
    "sifre", "kodeord",
}  # fmt: skip
# Whole headers without separators: columns of hashes and salts, as in SAP and Oracle, and compounds such as `userpass`.
_WHOLE = re.compile(r"bcode|dstec|ocod\d|spare4|.*hash(?:ed)?|(?:user|login|admin|root|db|web|mail|smtp|ftp)pass")
# Parts of headers that describe a secret without containing it, such as when it was used or whether it expires.
_ABOUT = (
    "lastused",
    "expir",
    "never",
    "enabled",
    "rotat",
    "policy",
    "attempt",
    "notrequired",
    "requiredfor",
    "sentat",
    "blockcredential",
)
_ABOUT_WORDS = {"has", "provider", "count", "status", "length", "strength", "used", "type"}
# Parts of headers that describe a password, such as when it was changed or what its rules are.
_ABOUT_PASSWORDS = (
    "change", "lastset", "lastmod", "lastupdat", "lastreset", "passwordset", "passwordreset", "reversible", "cannot",
    "badpassword", "badpwd", "replicat", "strongpassword", "chgdat", "geandert", "anderung",
    "andern", "ablauf", "abgelauf", "lauftab", "gultig", "richtlinie", "modifi", "cambio", "caduc", "vencim", "fecha",
)  # fmt: skip
_ABOUT_PASSWORD_WORDS = {"set", "date", "time", "age", "lock", "locked", "lockout", "reset"}
# Attributes of directories and columns of SAP that describe the state of a password.
_STATES = re.compile(r"pwd.*(?:date|time|state|initial|reset|count|subentry|attempts)")
# Words that contain one of the parts above but mean something else: `time` in one-time password, `change` in Exchange.
_OTHERS = re.compile(r"(?:one|first)time|exchange")
# Fields of a credentials object that are not secret, such as credentials.userName.
_NAMING = {"username", "login", "name", "id", "type"}
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def looks_secret(header: str) -> bool:
    """Return whether a column or JSON member with this name contains a secret, such as `apiToken`."""
    # Cached names must be short, because the cache lives as long as the process.
    return _is_known_secret(header) if len(header) <= _LONGEST_NAME else _names_secret(header)


def _names_secret(header: str) -> bool:
    # Treat full-width letters like ASCII letters.
    plain = without_accents(unicodedata.normalize("NFKC", header).replace("ł", "l"))
    words = {part.lower() for part in _PARTS.findall(plain)}
    folded = _letters(plain)
    if not (words & (_KEYS | _PASSWORDS) or _WHOLE.fullmatch(folded) or any(part in folded for part in _ANYWHERE)):
        return False
    outer, _, member = plain.lower().rpartition(".")
    if outer.endswith("credentials") and member in _NAMING:
        return False
    folded, words = _OTHERS.sub("", folded), words - ({"time"} if _OTHERS.search(folded) else set())
    if words & _ABOUT_WORDS or any(part in folded for part in _ABOUT):
        return False
    # A column of keys is secret even if its name also describes a password, such as `passwordResetToken`.
    if words & _KEYS:
        return True
    about = _STATES.fullmatch(folded) or words & _ABOUT_PASSWORD_WORDS
    return not about and not any(part in folded for part in _ABOUT_PASSWORDS)


_is_known_secret = lru_cache(maxsize=65_536)(_names_secret)
# Known forms of password hashes. Most have a prefix that names the method, as in $2b$12$… and {SSHA}….
_HASH = re.compile(
    r"\$(?:\d|2[abxy]|y|gy|7|P|H|S|apr1|md5|sha\d+|argon2\w{0,2}|scrypt|bcrypt[\w-]*|pbkdf2[\w-]*)\$\S+"
    r"|\{(?:S?SHA(?:\d{3})?|S?MD5|CRYPT|PBKDF2[\w-]*|ARGON2\w{0,2}|BCRYPT|x-issha[\w, -]*)\}\S+"
    r"|(?:pbkdf2_sha\d+|bcrypt(?:_sha256)?|argon2\w{0,2}|scrypt(?::[\d:]+)?|pbkdf2:[\w:]+|sha\d+|md5)\$\S+"
    r"|SCRAM-SHA-\d+\$\S+|md5[0-9a-f]{32}|\*[0-9A-F]{40}|0x0[12]00[0-9A-Fa-f]{48,}|[0-9A-Fa-f]{32}:[0-9A-Fa-f]{32}",
    re.IGNORECASE,
)


def is_password_hash(value: str) -> bool:
    """Return whether a value has a known form of a password hash."""
    return _HASH.fullmatch(value) is not None


# Treat a longer path of members as secret without reading it: reading long paths would take quadratic time.
_LONGEST_NAME = 500


def _is_secret(name: str) -> bool:
    return len(name) > _LONGEST_NAME or looks_secret(name)


# The members that contain the name, in an object that stores a name with its value: {"name": "password", "value": "…"}.
NAMES_OF_PAIRS = (
    "name", "key", "k", "type", "attribute", "attributename", "attr", "field", "fieldname", "property", "label",
)  # fmt: skip
_VALUES_OF_PAIRS = (
    "value", "values", "val", "vals", "v", "attributevalue", "attributevalues", "fieldvalue", "data", "text", "content",
)  # fmt: skip
# The patterns take linear time: parts are possessive (`*+`), and no two attempts read the same characters.
# If a backslash precedes the opening quotation mark of a name, the name ends at the next backslash.
_NAME = r"""(?:(?<!\\)"(?:[^"\\]|\\.)*+"|(?<=\\)"[^"\\]*+")"""
# The name of a JSON member, and its value, which may be truncated. A list or an object ends at the first closing
# bracket.
_MEMBER = re.compile(rf"({_NAME})\s*+:\s*+")
_VALUE = re.compile(r"""("(?:[^"\\]|\\.)*+"?)|\[[^\]]*+\]?|\{[^}]*+\}?|[^\s,\]}]++""")
# A JSON string, which may be truncated. The match then ends before an incomplete escape such as `\u00`.
_STRING = re.compile(r"""("(?:[^"\\]|\\[^u]|\\u[0-9a-fA-F]{4})*+)("?)""", re.DOTALL)
# In text that is not JSON: a name with its value, such as `name=value` or `name: value`. A match starts at the first
# letter, dot or dash of a word, not inside it.
_ASSIGNED = re.compile(r"((?<![\w.-])[.-]*+(\w[\w.-]*+)\s*+[=:]{1,2}\s*+)(\"[^\"]*+\"?|[^\s,;|\"]++)")


def mask_secrets(value: Any, name: str = "") -> Any:
    """Return a JSON value with its secrets hidden; `name` is the dotted name of the value."""
    match value:
        case dict():
            named = (each for key, each in value.items() if key.lower() in NAMES_OF_PAIRS)
            # `decode_json` returns the values of a repeated name as a list.
            words = (word for each in named for word in (each if isinstance(each, list) else [each]))
            is_pair = any(isinstance(word, str) and _is_secret(word[:_LONGEST_NAME]) for word in words)
            return {
                key: _masked(
                    # Cut a long path, but keep it longer than the limit, so that it still counts as too long.
                    (f"{name}.{key}" if name else key)[: _LONGEST_NAME + 1],
                    each,
                    is_secret=is_pair and key.lower() in _VALUES_OF_PAIRS,
                )
                for key, each in value.items()
            }
        case list():
            return [mask_secrets(each, name) for each in value]
        case str():
            # JSON may contain JSON as text.
            return mask_json(value)
    return value


def _masked(name: str, value: object, *, is_secret: bool) -> object:
    is_secret = is_secret or (not isinstance(value, dict) and _is_secret(name))
    return HIDDEN if is_secret and value not in (None, "", [], {}) else mask_secrets(value, name)


def mask_json(text: str) -> str:
    """Hide secrets in a string that is JSON or contains members of JSON; return any other string unchanged."""
    if '"' not in text or ":" not in text:
        return text
    try:
        value = decode_json(text)
        masked = mask_secrets(value)
        # Keep the white space of JSON without secrets; encoding it again would remove it.
        return text if masked == value else msgspec.json.encode(masked).decode()
    except msgspec.DecodeError:
        return _mask_members(text)
    except RecursionError:
        return HIDDEN


def _mask_members(text: str) -> str:
    """Redact secret values in JSON that is truncated or embedded in other text."""
    parts: list[str] = []
    done = at = 0
    while found := _MEMBER.search(text, at):
        at = found.end()
        is_secret = _is_secret(found[1].strip('"'))
        # Mask a list or an object as a whole only if it is secret; otherwise continue with its members.
        value = None if not is_secret and text.startswith(("[", "{"), at) else _VALUE.match(text, at)
        if value:
            hidden = HIDDEN if is_secret else _mask_string(value[1]) if value[1] else value[0]
            parts += text[done:at], hidden
            done = at = value.end()
    return "".join([*parts, text[done:]])


def _mask_string(quoted: str) -> str:
    """Hide secrets in a JSON string that contains JSON; the string may be truncated."""
    string = _STRING.match(quoted)
    assert string
    try:
        text = msgspec.json.decode(f'{string[1]}"', type=str)
    except msgspec.DecodeError:
        return quoted
    masked = mask_json(text)
    return quoted if masked == text else msgspec.json.encode(masked).decode()[:-1] + string[2]


def mask_text(text: str) -> str:
    """Redact the values of names that look like names of secrets, in JSON or in plain text such as `password=…`."""
    masked = _ASSIGNED.sub(_hide, mask_json(text))
    # CSV doubles quotes inside a cell, so search the text with undoubled quotes too.
    single = masked.replace('""', '"')
    again = mask_json(single)
    return masked if again == single else again


def _hide(found: re.Match[str]) -> str:
    return f"{found[1]}{HIDDEN}" if _is_secret(found[2].strip('"')) else found[0]
