"""Score which field each column contains: by the words of its header, then by its values."""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from weakref import WeakKeyDictionary

import msgspec

from rolecall.applications.model import Content, same_header
from rolecall.core.secret_names import looks_secret
from rolecall.core.text import without_accents
from rolecall.file_shapes.header_languages import TRANSLATED, TRANSLATED_INACTIVE
from rolecall.file_shapes.profiles import Profile

# Words of headers for each field, the most specific first. Case, spaces, dashes and underscores do not matter.
_PERSON = {
    "Name": "name,fullname,displayname,cn,commonname,name.formatted,formattedname,employeename,realname,gecos"
    ",anzeigename,nomcomplet,nombrecompleto,nomecompleto",
    "First Name": "firstname,givenname,first,forename,name.givenname,vorname,prenom,fname,profile.firstname,nombre"
    ",legalfirstname,preferredfirstname",
    "Last Name": "lastname,surname,sn,last,familyname,name.familyname,nachname,nom,lname,profile.lastname,apellido"
    ",apellidos,cognome,familienname,nomdefamille,legallastname",
    "Email": "email,mail,emailaddress,e-mail,primaryemail,workemail,emails,usermail,smtp,useremail,profile.email"
    ",emailid,emailadresse,mailadresse,courriel,adressemail,adresseemail,correo,correoelectronico,primaryworkemail",
    "Employee ID": "employeeid,employeenumber,empnum,empid,employeeno,personnelnumber,staffid,workerid,pernr,personid"
    ",personalnummer,externalid,badge,hrid,mitarbeiternummer,matricule,numeroempleado,emplid,associateid,employeecode"
    ",eecode,employee",
}
_USERNAME = (
    "username,samaccountname,login,loginname,loginid,logonname,userlogin,accountname,account,accountid,userid,uid,user"
    ",userprincipalname,upn,profile.login,subjectsname,granteename,principal,principalname,principalid,subject,identity,bname,benutzer,member,membername"
    ",nickname,handle,useridentifier,assignedto,actor,grantee,benutzername,benutzerkennung,anmeldename,kennung"
    ",identifiant,utilisateur,nomutilisateur,usuario,nombredeusuario,utente,nomeutente,uname,signinname,nativeidentity,memberupn"
    ",memberuserprincipalname,membersamaccountname,userupn,key,oprid,roleuser,identityreference,usename,racfid,operid"
    ",operatorid,networkid,logonid,useraccount,authorizationname,samid"
)
_GROUP = (
    "group,groupname,role,rolename,agrname,team,teamname,profile,profilename,permissionset,memberof,groups,roles,teams"
    ",groupdisplayname,securitygroup,gruppe,rolle,assignedgroups,assignedroles,assignedapps,apps,organization,orgs"
    ",responsibilityname,responsibility,usergroup,usergroups,userrole,license,licenses,membership,memberships,groupid,roleid,jobrole,grantedrole"
    ",gruppen,rollen,benutzergruppe,gruppenname,groupe,groupes,grupo,grupos,gruppo,gruppi,rol,roleassigned,groupprofilename,groupprofile"
)
_ACTIVE = (
    "active,status,enabled,isactive,accountstatus,accountenabled,state,userstatus,isenabled,useraccountcontrol"
    ",employmentstatus,accountstate,lifecyclestate,activated,canlogin,rolcanlogin,aktiv,aktiviert,kontostatus,actif,statut,etat,activo"
    ",estado,stato,workerstatus,loginaccess,loginenabled,loginallowed,enable,accountflags"
)
# Headers that say the opposite of active.
_INACTIVE = (
    "disabled,isdisabled,suspended,issuspended,blocked,isblocked,block,blocksignin,deactivated,inactive,isinactive,archived"
    ",blockcredential,blockcredentials,deleted,isdeleted,terminated,nsaccountlock,accountdisabled,revoked,isarchived,deaktiviert,kontodeaktiviert,inaktiv,desactive,inactif"
)
_DESCRIPTION = "description,desc,comment,comments,details,notes,note,remark,remarks,beschreibung,bemerkung,descripcion"
WORDS: dict[Content, dict[str, str]] = {
    Content.USERS: {
        "Username": _USERNAME,
        **_PERSON,
        "Active": f"{_ACTIVE},{_INACTIVE}",
        "Locked": "locked,lockedout,islocked,uflag,accountlocked,acctlock,lockout,gesperrt,sperre"
        ",snowflakelock,verrouille",
        "Last Login": "lastlogin,lastlogindate,logindate,lastlogon,lastlogondate,lastsignin,lastsignindate,lastactivity"
        ",lastactive,lastlogontimestamp,lastauthentication,lastaccess,lastseen,passwordlastused,lastsignindatetime"
        ",signinactivity.lastsignindatetime,lastlogintime,lastsignedin,lastsignon,trdat,latest,lastlogonat,letzteanmeldung,letzteanm,lastsuccesslogin,letzterlogin,derniereconnexion,ultimoacceso"
        ",lastauthenticated,lastconnection,lastconnectiondate,lastsignondttm",
        "Password Changed": "passwordchanged,passwordlastset,passwordlastchanged,pwdlastset,passwordchangedate"
        ",lastpasswordchange,lastpasswordchangedatetime,passwordset",
    },
    Content.GROUPS: {
        "Group": f"{_GROUP},name,displayname,cn",
        "Description": _DESCRIPTION,
        "Parent": "parent,parentgroup,parentrole,parentname,memberof",
        "Nomenclature": "nomenclature,type,grouptype,category",
    },
    Content.MEMBERSHIPS: {
        "Username": f"{_USERNAME},memberemail,useremail,email,mail,members,users,name",
        "Group": _GROUP,
    },
    Content.PERMISSIONS: {
        "Username": f"{_USERNAME},email,mail,emailaddress,useremail",
        "Group": f"{_GROUP},name",
        "Permission": "roledefinitionname,rolerefname,entitlementvalue,"
        "permission,permissionname,permissions,privilege,privileges,entitlement,entitlements,right,rights"
        ",authorization,action,actions,permissionid,tcode,transaction,operation,scope,scopes,capability,function,object"
        ",berechtigung,berechtigungen,recht,rechte,droit,droits,permiso,permisos,privilegetype"
        ",permissionsetlabel,permissionsetname,accesslevel,permissionlevel,accessright,accessrights,filesystemrights,registryrights,groupuseraccessright",
        "Header": "header,heading,category,module,system,area,application,app,owner,schema,database,tableschema"
        ",grantedon,entity,entityname,workspace,workspacename,sitetitle,mailbox,server,servername,computer"
        ",pscomputername,hostname,cluster",
        "Section": "section,resource,resourcename,resourceid,screen,safename,safe,spacekey,spacename"
        ",namespace,object,field,target,path,folder,folderpath,foldername,filepath,directory,share,sharename,tablename,table"
        ",objectname,scope,project,repository,site,environment,entitlementattribute,permissiontype,permissioncategory",
        "Access": "access,accesslevel,level,granted,allow,allowed,effect,permissiontype,accesstype,permissionstate"
        ",accesscontroltype"
        ",statedesc,zugriff",
        "Value": "value,limit,amount",
        "Description": _DESCRIPTION,
        "Risk Rating": "riskrating,risk,risklevel,severity,criticality,sensitivity",
    },
    Content.IDENTITIES: {
        **{field: words for field, words in _PERSON.items() if field != "Name"},
        "Type": "type,emptype,employeetype,employmenttype,workertype,persontype,usertype,contracttype",
        "Title": "title,jobtitle,job,position,jobname,jobrole,role,businesstitle,poste,cargo",
        "Company": "company,companyname,organization,organisation,legalentity,employer",
        "Division": "division,businessunit,unit,bu",
        "Department": "department,dept,departmentname,costcenter,abteilung,team",
        "Office": "office,location,site,locality,city,branch,officelocation,worklocation",
        "Supervisor ID": "supervisorid,managerid,manageremployeeid,supervisor,manager,reportsto,manageremployeenumber",
        "Created": "created,startdate,hiredate,joindate,dateofhire,hiredon,joined,eintrittsdatum,dateembauche",
        "Updated": "updated,modified,lastmodified,lastupdated",
        "Status": "status,employmentstatus,state,active,employeestatus,workerstatus,statut,estado",
    },
}
_NOT_ACTIVE = TRANSLATED_INACTIVE.union(_INACTIVE.split(","))
_ABOUT_PERSON = {word for each in (_USERNAME, *_PERSON.values()) for word in each.split(",")}.union(
    *(TRANSLATED[field] for field in ("Username", *_PERSON))
)
_CERTAIN = 0.9
_MOST_CODES = 4
_KNOWN = {word for words in WORDS.values() for each in words.values() for word in each.split(",")}.union(
    *TRANSLATED.values()
)
# A type that an export declares behind a header, such as String(32).
_TYPED = re.compile(r":(?:string|boolean|integer|int|long|date|number|text|varchar|char)\b.*", re.IGNORECASE)
_NOISE = {"required", "readonly", "optional", "yesno", "truefalse", "ldap"}
_LONGEST_HEADER = 500
_BRACKETED = re.compile(r"[\[(]([^\[\]()]*)[\])]")


# In a path the name of a role or of a profile is not the name of a person.
_THING = re.compile(r"(?:profile|role|group|team|department|permissionset|organi[sz]ation|company|definition|license)$")
_NAMES_OF_THINGS = {"name", "displayname", "label"}
_SHOWN = {"displayvalue", "display"}
_LINKS = {"link", "href", "self", "$ref"}
# Words of columns that name what a person holds.
_HELD = {"permission", "permissions", "role", "roles", "group", "groups", "team", "teams", "set", "sets", "profile"}


class Meaning(msgspec.Struct, frozen=True):
    """A field that a column may be."""

    header: str
    field: str
    score: float
    evidence: str


@lru_cache(maxsize=65_536)
def names_of(header: str) -> list[str]:
    """Return the names that a header may have: `Block sign in (Yes/No) [accountEnabled]` has two."""
    header = _TYPED.sub("", header.replace("(s)", "s"))
    plain = _BRACKETED.sub(" ", header)
    words = " ".join(word for word in plain.split() if same_header(word) not in _NOISE)
    parts = [words, header, *_BRACKETED.findall(header)]
    if "." in header or ":" in header:
        parts += _names_of_path(header)
    if header.startswith("@"):
        parts.append(header[1:])
    names = [re.sub(r"[^\w.]", "", without_accents(same_header(part))) for part in parts]
    return [name for name in dict.fromkeys(names) if name and name not in _NOISE]


def _names_of_path(header: str) -> list[str]:
    """Return the names of a path: user.user_name is a username, but role.name is the name of a role."""
    steps = re.split(r"[.:]", re.sub(r"\[[^\[\]]*\]", "", header))
    if len(steps) == 1:
        return []
    owner, last = same_header(steps[-2]), same_header(steps[-1])
    # A path into a list, such as groups[].name, is about the list.
    is_of_thing = last in _NAMES_OF_THINGS and _THING.search(owner) and (owner, last) != ("profile", "displayname")
    names = ["" if "[]" in header or is_of_thing else steps[-1], "".join(steps[-2:])]
    # A reference, such as {"display_value": "Sales", "link": "…"}, stands for what it refers to.
    if last in _SHOWN:
        names.insert(0, steps[-2])
    elif last == "value":
        names.append(steps[-2])
    if is_of_thing:
        names.append(f"{steps[-2]}name")
    return [*names, re.sub(r"\[[^\[\]]*\](?:\.\w+)?", "", header)]


def is_link(header: str) -> bool:
    """Return whether a column has the address of what a reference refers to."""
    return "." in header and same_header(header.rpartition(".")[2]) in _LINKS


def is_known_header(cell: str) -> bool:
    """Return whether a text is one of the usual headers of any field."""
    if len(cell) > _LONGEST_HEADER or "=" in cell:
        return False
    words = words_of(cell)
    return any(name in _KNOWN for name in names_of(cell)) or any(
        set(tokens.split()) <= words for each in _TOKENS.values() for tokens in each.split(",")
    )


def is_flag(header: str) -> bool:
    """Return whether a column of yes and no is about the account or the grant itself, and no permission."""
    return bool(words_of(header) & (_FLAGS | _FEATURES))


def is_about_person(header: str) -> bool:
    """Return whether a header names something that a person has once: a login, a name, an address."""
    return any(name in _ABOUT_PERSON for name in names_of(header))


def names_access(header: str) -> bool:
    """Return whether a header names groups or permissions."""
    known = _known_for("Group") | _known_for("Permission")
    return bool(known.intersection(names_of(header))) or bool(words_of(header) & _HELD)


def is_feature(header: str) -> bool:
    """Return whether a column is about a password, a key or another feature, and not about the account itself."""
    return bool(words_of(header) & _FEATURES)


def is_state(header: str) -> bool:
    """Return whether a column of yes and no says what state an account is in."""
    return bool(words_of(header) & _STATES)


def is_inverted(header: str) -> bool:
    """Return whether a column says the opposite of active, such as `IIQDisabled` and `Block sign in`."""
    words = words_of(header)
    is_about_account = bool(words & _ENDED) and not words & (_FEATURES | _WHEN) and not _ends_feature(header)
    return is_about_account or any(name in _NOT_ACTIVE for name in names_of(header)[:1])


def _ends_feature(header: str) -> bool:
    """Return whether a header says what is disabled, such as `Disabled Multifactor`, and not that the account is."""
    words = [word.lower() for word in _WORD.findall(without_accents(_BRACKETED.sub(" ", header)))]
    behind = [after for word, after in pairwise(words) if word in _ENDED]
    return any(not after.isdecimal() and after not in _OF_ACCOUNTS for after in behind)


def meanings(content: Content, profiles: Sequence[Profile]) -> list[Meaning]:
    """Return what each column may mean, the best first."""
    found = [meaning for profile in profiles for meaning in _known_meanings(content, profile)]
    return sorted(found, key=lambda meaning: -meaning.score)


def _known_meanings(content: Content, profile: Profile) -> Sequence[Meaning]:
    """Return what a column may mean; many rules ask, so it is found once."""
    known = _KNOWN_MEANINGS.setdefault(profile, {})
    if content not in known:
        known[content] = tuple(_meanings(content, profile))
    return known[content]


_KNOWN_MEANINGS: WeakKeyDictionary[Profile, dict[Content, tuple[Meaning, ...]]] = WeakKeyDictionary()


def _meanings(content: Content, profile: Profile) -> Iterable[Meaning]:
    if looks_secret(profile.header) or profile.is_useless or is_link(profile.header):
        return
    names = names_of(profile.header)
    for field, words in WORDS[content].items():
        known = words.split(",")
        for at, name in enumerate(names):
            if name in known:
                score = 1 - known.index(name) * 0.008 - at * 0.05
                yield _judged(Meaning(profile.header, field, score, f"its header says {field}"), profile)
                break
        else:
            if TRANSLATED.get(field, frozenset()).intersection(names):
                yield _judged(Meaning(profile.header, field, 0.9, f"its header says {field}"), profile)
            else:
                yield from _by_tokens(field, profile)
    yield from _by_values(content, profile)


# Parts of abbreviated headers: all of a group must occur as words.
_TOKENS: dict[str, str] = {
    "Username": "username,opr id,oper id,operator id,user id,usr id,usr,login,logon,acct,account no,account name,user"
    ",operator,badge id,badge number,card number"
    ",mitglied,membre,miembro",
    "Employee ID": "associate id,emp no,emp id,emp nr,emp number,employee no,employee id,staff no,staff id,pers no"
    ",worker id",
    "Name": "opr name,operator name,user name,usr name,emp name,full name,person name,member name,display name",
    "Active": "sts,stat,status,user state,acct status,enabled,active,disabled,suspended,deactivated,blocked",
    "Supervisor ID": "manager id,manager emp,manager number,supervisor id,supervisor emp",
    "Locked": "locked,lock,lockout",
    "Last Login": "last on,last login,last logon,last sign,last signed,last signon,last seen,last access"
    ",last authenticated,last connection,last sign on,last successful",
    "First Name": "first name,given name",
    "Last Name": "last name,family name",
    "Email": "email,mail",
    "Created": "hire date,start date",
    "Type": "worker type,employee type,employment type",
    "Title": "job title,business title",
    "Status": "worker status,employee status,employment status,active status,status",
    "Group": "roles,role,group,groups,grp,team,profile",
    "Permission": "perm,permission,privilege,entitlement",
}
# Words for accounts that are not active, unless the column says when or why.
_ENDED = {
    "disabled", "suspended", "deactivated", "inactive", "blocked", "terminated", "archived", "revoked", "deaktiviert",
}  # fmt: skip
# Words behind them that do not change their meaning.
_OF_ACCOUNTS = {
    "account", "accounts", "user", "users", "login", "logon", "sign", "signin", "credential", "credentials", "status",
    "state", "flag", "employee", "person", "member", "worker", "or", "and", "in", "for", "from", "yn",
}  # fmt: skip
_WHEN = {"date", "on", "at", "time", "by", "reason", "days", "count", "until", "since"}
# Words for people that a row mentions beside the one that it is about.
_OTHER_PEOPLE = {"manager", "supervisor", "reporting", "reports", "approver", "owner", "sponsor", "by", "boss", "chef"}
# What may be enabled or active beside an account.
_FEATURES = {
    "password", "pwd", "mfa", "fa", "sv", "factor", "tfa", "otp", "saml", "public", "key", "license", "billing", "sso",
    "email", "access", "cert", "sync", "security", "api",
}  # fmt: skip
# Words of yes and no columns about an account, or about a grant.
_FLAGS = {
    "is", "has", "option", "default", "common", "inherited", "delegate", "grantable", "hierarchy", "enabled", "active",
    "locked", "expired", "expires", "primary", "verified", "required", "synced",
}  # fmt: skip
_STATES = {"locked", "expired", "verified", "enabled", "active"}
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def _by_tokens(field: str, profile: Profile) -> Iterable[Meaning]:
    words = words_of(profile.header)
    if field in ("Active", "Locked") and (words & (_FEATURES | _WHEN) or _ends_feature(profile.header)):
        return
    # A header that is known as a whole says what it is; its words alone do not.
    known = names_of(profile.header)[:1]
    if field in ("Username", "Group", "Permission", "Locked") and _known_for_others(field).intersection(known):
        return
    # IsGroup says whether a row is about a group, and names none.
    if field in ("Username", "Group", "Permission") and profile.ticks and is_flag(profile.header):
        return
    for at, tokens in enumerate(_TOKENS.get(field, "").split(",")):
        if tokens and set(tokens.split()) <= words:
            score = 0.75 - at * 0.005 - 0.05 * (len(words) - len(tokens.split()))
            yield _judged(Meaning(profile.header, field, score, f"its header contains {tokens}"), profile)
            return


@cache
def _known_for(field: str) -> frozenset[str]:
    known = (word for words in WORDS.values() for word in words.get(field, "").split(","))
    return TRANSLATED.get(field, frozenset()).union(known)


@cache
def _known_for_others(field: str) -> frozenset[str]:
    return frozenset(_KNOWN - _known_for(field))


@lru_cache(maxsize=65_536)
def words_of(header: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(without_accents(_BRACKETED.sub(" ", header)))}


def _by_values(content: Content, profile: Profile) -> Iterable[Meaning]:
    """Yield the fields that values alone indicate, with less confidence than a header."""
    fields = WORDS[content]
    if "Email" in fields and profile.emails > 0.9:
        yield Meaning(profile.header, "Email", 0.5, "its values are e-mail addresses")
    is_status = profile.statuses == 1 and 1 < len(profile.distinct) <= 8 and not profile.ticks
    # Owner and member are states of an account in some exports, and roles in others.
    is_status = is_status and not _known_for("Group").intersection(names_of(profile.header))
    if "Active" in fields and is_status and not words_of(profile.header) & _FEATURES:
        yield Meaning(profile.header, "Active", 0.45, f"its values are {', '.join(profile.distinct[:3])}")
    words = words_of(profile.header)
    is_known = any(name in _KNOWN for name in names_of(profile.header)) or words & (_OTHER_PEOPLE | _HELD)
    if "Name" in fields and not is_known and profile.names > 0.9 and len(profile.distinct) > len(profile.values) / 2:
        yield Meaning(profile.header, "Name", 0.4, "its values look like names")


def _judged(meaning: Meaning, profile: Profile) -> Meaning:
    """Lower or raise a score by what the values look like."""
    score, evidence = meaning.score, meaning.evidence
    if not profile.values:
        return msgspec.structs.replace(meaning, score=score * 0.6, evidence=f"{evidence}; the sample has no value")
    match meaning.field:
        case "Group" | "Permission" | "Header" | "Section" if profile.is_dated:
            score *= 0.1
        case "Username":
            # A column of full names is a username only where no other is.
            score *= 0.45 if profile.names > 0.5 else 1
            # GUIDs and paths identify a row rather than name an account.
            score *= 0.5 if profile.is_opaque and profile.numbers < 1 else 1
            # Words for yes, no or a status are not usernames.
            score *= 0.1 if profile.ticks or profile.statuses == 1 else 1
        case "Email":
            score *= 0.3 + 0.7 * profile.emails
        case "Active" | "Status" if profile.numbers == 1 and profile.statuses < 1:
            # Few codes of a column that is surely a status become questions; many numbers are something else.
            score *= 0.6 if score > _CERTAIN and len(profile.distinct) <= _MOST_CODES else 0.2
        case "Active" | "Status":
            score *= 0.35 + 0.65 * profile.statuses if profile.statuses or len(profile.distinct) > 12 else 0.8
            if profile.statuses == 1:
                shown = ", ".join(profile.distinct[:3])
                evidence = f"{evidence}, and its values are words for active and inactive: {shown}"
        case "Last Login" | "Password Changed" | "Created" | "Updated" if not profile.date_formats:
            score *= 0.6
        case "Name":
            score *= 0.3 if profile.emails > 0.5 else 0.6 + 0.4 * profile.names
            # Names of people differ.
            score *= 0.3 if 2 * len(profile.distinct) <= len(profile.values) else 1
        case "Locked" if not profile.is_lock:
            score *= 0.2
        case "Access" if not profile.ticks:
            score *= 0.4
    return msgspec.structs.replace(meaning, score=score, evidence=evidence)


def assigned(found: Sequence[Meaning], taken: Iterable[str] = ()) -> dict[str, Meaning]:
    """Give each field its best column, and each column one field."""
    fields: dict[str, Meaning] = {}
    columns = set(taken)
    for meaning in found:
        if meaning.field not in fields and meaning.header not in columns and meaning.score > 0.2:
            fields[meaning.field] = meaning
            columns.add(meaning.header)
    return fields
