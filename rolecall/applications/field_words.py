"""List the words that files use for flags, levels, types and missing values. The `values` of a shape add more words.

Case and spaces do not matter. A word of several parts may be written with spaces, underscores or dashes.
"""

import re
from collections.abc import Collection, Iterable, Mapping

from rolecall.core.text import fold
from rolecall.identities.model import IdentityStatus, IdentityType


def _all(value: object, words: str) -> dict[str, object]:
    """Map the comma-separated words to the value; spaces in them may also be underscores, dashes or nothing."""
    parts = [word.split() for word in words.split(",")]
    return {fold(joint.join(word)): value for word in parts for joint in ("", "_", "-")}


# Flags of userAccountControl in Active Directory: normal account, account of a computer or managed service, disabled,
# and flags that do not affect the status.
_NORMAL, _MACHINE, _DISABLED = 0x200, 0x1000, 0x2
_OTHER_FLAGS = (0x10, 0x20, 0x80, 0x10000, 0x40000, 0x100000, 0x400000, 0x800000)


def _account_controls() -> dict[str, object]:
    numbers = {_NORMAL, _MACHINE}
    for flag in (*_OTHER_FLAGS, _DISABLED):
        numbers |= {number | flag for number in numbers}
    return {str(number): not number & _DISABLED for number in sorted(numbers)}


# Spreadsheets write true and false in the user's language.
_YES = (
    "true,yes,y,t,1,on,ja,j,oui,si,sí,wahr,vrai,verdadero,vero,sì,tak,sim,verdadeiro,prawda,waar,はい,是,ano,да"
    ",evet,예,네,igen,kyllä,ναι,так"
)
_NO = (
    "false,no,n,f,0,off,nein,non,falsch,faux,falso,nie,não,nao,nee,fałsz,onwaar,いいえ,否,ne,nej,nei,нет"
    ",hayır,아니오,아니요,nem,nu,ei,όχι,ні"
)
YES_NO = _all(True, _YES) | _all(False, _NO)
# Roles that systems write in place of a status.
_ROLES = _all(True, "member,admin,owner,primary owner,guest") | dict.fromkeys(
    ("multi-channelguest", "single-channelguest"), True
)
# Roles that give more rights than plain membership.
ROLES_WITH_RIGHTS = {fold(word) for word in ("admin", "owner", "primary owner")}
ACTIVE = {
    **YES_NO,
    **_all(True, "active,enabled,live,current,employed,aktiv,actif,activo,password expired,locked out,recovery"),
    **_ROLES,
    **_all(True, "provisioned,not supported,bot"),
    **_all(False, "inactive,disabled,suspended,deactivated,deprovisioned,terminated,former,former employee,left"),
    **_all(False, "blocked,archived,deleted,removed,revoked,expired,staged,closed,retired,resigned,dismissed"),
    **_all(True, "aktiviert,activé,active employee,activated,open,expired(grace)"),
    # IBM i writes special values with an asterisk.
    "*enabled": True,
    "*disabled": False,
    **_all(False, "not active,inaktiv,gesperrt,inactif,inactivo,deaktiviert,ausgeschieden,gelöscht,désactivé,suspendu"),
    **_all(False, "bloqué,supprimé,desactivado,bloqueado,sospeso,expired & locked"),
    **_all(
        True, "ativo,attivo,aktywny,actief,abilitato,habilitado,有効,使用,使用中,利用中,启用,aktivní,активен,включен"
    ),
    **_all(
        False,
        "inativo,inattivo,nieaktywny,zablokowany,inactief,geblokkeerd,disabilitato,bloccato,desativado,neaktivní,zablokován,inaktiv,заблокирован,отключен,неактивен,уволен",
    ),
    **_all(False, "無効,停止,停止中,利用停止,退職,削除,禁用,停用"),
    **_all(
        True, "aktif,사용,사용중,재직,활성,정상,aktív,activ,aktiivinen,käytössä,ενεργός,aktivan,активний,alta,vigente"
    ),
    **_all(False, "pasif,미사용,사용안함,휴면,퇴직,퇴사,비활성,정지,중지,inaktív,inactiv,passiivinen,ei käytössä"),
    **_all(True, "aktívny"),
    **_all(False, "neaktívny"),
    **_all(False, "ανενεργός,neaktivan,неактивний,заблокований,звільнений,baja,cesado,cessato"),
    **_account_controls(),
}
# The single words that describe a state, except roles and the words for yes and no.
STATES_BUT_ROLES = {word for word in ACTIVE if word.isalpha()} - YES_NO.keys() - _ROLES.keys()
# The words for a state that a role may have behind it in parentheses, as in `member (deactivated)`. Words such as open
# and live may be part of a name.
_STATES_BEHIND_NAMES = ACTIVE.keys() - YES_NO.keys() - _ROLES.keys() - {fold(word) for word in (
    "live", "current", "open", "closed", "recovery", "bot", "left", "staged", "removed", "not supported", "provisioned",
)}  # fmt: skip
_BEHIND_NAME = re.compile(r"(.*\S)\s*[(\[]([^()\[\]]+)[)\]]\s*", re.DOTALL)
LOCKED = {
    **YES_NO,
    **_all(True, "x,locked,locked out,blocked,gesperrt"),
    **_all(False, "unlocked,not locked,open,active"),
}
ACCESS = {
    **{word.lower(): word for word in ("None", "Unrestricted", "Grant", "Deny", "Modify")},
    **_all("Grant", f"{_YES},x,✓,✔,☑,✅,granted,allow,allowed,assigned,permit,permitted,grant with grant option"),
    **_all("Deny", f"{_NO},✗,✘,❌,denied,disallow,disallowed,not allowed,prohibit,prohibited"),
    **_all("Deny", "verboten,interdit,interdite,prohibido,vietato,proibido,zabronione,zakázáno,förbjudet,forbudt"),
    **_all("None", "revoke,revoked"),
    "": "None",
}
# Words that mean None in languages other than English.
_NONE = (
    "keine", "keiner", "kein", "nichts", "entfällt", "aucun", "aucune", "néant", "sans objet", "ninguno", "ninguna",
    "nenhum", "nenhuma", "nessuno", "nessuna", "geen", "n.v.t.", "nvt", "ingen", "inget", "brak", "žádná", "yok", "нет",
)  # fmt: skip
# Cells of a matrix that mean no access. Blank cells mean no access too.
NO_ACCESS = {*_all("", _NO), "-", "–", "—", "none", "n/a", "✗", "✘", "❌", "☐", *_NONE}
# What systems write instead of a name if there is no group or permission.
NOTHING_HELD = (
    "none", "*none", "(none)", "<none>", "[none]", "-none-", "- none -", "--none--", "-- none --", "n/a", "na", "-",
    "--", "null", "nogroup", "*n", "no role", "no roles", "no group", "no groups", "unassigned", "unlicensed", *_NONE,
)  # fmt: skip
# The names of roles and levels that give no access.
REFUSES = ("no access", "noaccess", "no_access", "no-access", "kein zugriff", "aucun accès", "sin acceso")
# Folded names of groups, roles and levels that give nothing.
GIVES_NOTHING = {fold(word) for word in (*NOTHING_HELD, *REFUSES)}
RISKS = {
    **{word.lower(): word for word in ("None", "Low", "Moderate", "High", "Critical")},
    **_all("None", "0,no,n/a"),
    **_all("Low", "l,1,2,very low,minor"),
    **_all("Moderate", "m,3,medium,med,mid"),
    **_all("High", "h,4,major"),
    **_all("Critical", "c,5,very high,severe,extreme"),
    "": "None",
}
TYPES = {fold(type): type.value for type in IdentityType} | {"": IdentityType.EMPLOYEE.value}
STATUSES = {
    **{word: (IdentityStatus.ACTIVE if active else IdentityStatus.DISABLED).value for word, active in ACTIVE.items()},
    **{fold(status): status.value for status in IdentityStatus},
    "": IdentityStatus.ACTIVE.value,
}
# The words of each field that accepts only certain words.
WORDS: dict[str, Mapping[str, object]] = {
    "Active": ACTIVE,
    "Locked": LOCKED,
    "Access": ACCESS,
    "Risk Rating": RISKS,
    "Type": TYPES,
    "Status": STATUSES,
}
# The fields that `invert` accepts.
YES_NO_FIELDS = ("Active", "Locked")
DATE_FIELDS = ("Last Login", "Password Changed", "Created", "Updated")
_NEVER = "**never logged in**,never logged in,never logged on,never signed in,never accessed,never used"
# Words in a date column that mean that there is no date.
NO_DATE = {
    *_all("", f"never,none,null,nil,no information,not supported,no data,unknown,not available,{_NEVER}"),
    *_all("", "permanent,unlimited,indefinite,no expiration,no expiry,never expires"),
    *_NEVER.split(","),
    *(
        # Windows writes this number for "never".
        "9223372036854775807",
        "n/a",
        "na",
        "-",
        "--",
        "–",
        "0",
        "00000000",
        "0000-00-00",
        "00.00.0000",
        "0000-00-0000:00:00",
        "nie",
        "jamais",
        "nunca",
        # Google Workspace writes this date for "never".
        "1970-01-01t00:00:00.000z",
        "mai",
    ),
}


def parted_state(text: str, more: Collection[str] = ()) -> tuple[str, str]:
    """Part a text such as `member (deactivated)` into the name and the state; without a state, the second is empty.

    `more` has further words for states.
    """
    found = _BEHIND_NAME.fullmatch(text)
    word = fold(found[2]) if found else ""
    is_state = word in _STATES_BEHIND_NAMES or word in {fold(each) for each in more}
    return (found[1].strip(), found[2].strip()) if found and is_state and not word.isdecimal() else (text, "")


def is_status_like(words: Iterable[str]) -> bool:
    """Return whether all words except blanks describe an account as active or inactive; False if all are blank."""
    found = {fold(word) for word in words} - {""}
    return bool(found) and found <= ACTIVE.keys()
