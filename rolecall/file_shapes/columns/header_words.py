"""List the words of headers for each field, and the words that change the meaning of a header."""

from rolecall.applications.model import Content
from rolecall.file_shapes.columns.header_languages import TRANSLATED, TRANSLATED_INACTIVE

# Headers of each field, in order of preference: earlier ones score higher. Case, spaces, dashes and underscores are
# ignored.
_PERSON = {
    "Name": "name,fullname,displayname,cn,commonname,name.formatted,formattedname,employeename,realname,gecos"
    ",anzeigename,nomcomplet,nombrecompleto,nomecompleto,employee",
    "First Name": "firstname,givenname,first,forename,fn,name.givenname,vorname,prenom,fname,profile.firstname,nombre"
    ",legalfirstname,preferredfirstname",
    "Last Name": "lastname,surname,sn,last,familyname,ln,name.familyname,nachname,nom,lname,profile.lastname,apellido"
    ",apellidos,cognome,familienname,nomdefamille,legallastname",
    "Email": "email,mail,emailaddress,e-mail,primaryemail,workemail,emails,usermail,smtp,useremail,profile.email"
    ",emailid,emailadresse,mailadresse,courriel,adressemail,adresseemail,correo,correoelectronico,primaryworkemail",
    "Employee ID": "employeeid,employeenumber,empnum,empno,empid,employeeno,personnelnumber,staffid,workerid,pernr"
    ",personid,personalnummer,externalid,badge,hrid,mitarbeiternummer,matricule,numeroempleado,emplid,associateid,employeecode"
    ",eecode,employee",
}
_USERNAME = (
    "username,samaccountname,samaccount,login,loginname,loginid,logonname,userlogin,accountname,account,accountid,userid,uid,user"
    ",samid,upuprf,signonname,userprincipalname,upn,profile.login,subjectsname,granteename,principal,principalname,principalid,subject,identity,bname,benutzer,member,membername"
    ",nickname,handle,useridentifier,assignedto,actor,grantee,benutzername,benutzerkennung,anmeldename,kennung"
    ",identifiant,utilisateur,nomutilisateur,usuario,nombredeusuario,utente,nomeutente,uname,signinname,nativeidentity,memberupn"
    ",memberuserprincipalname,membersamaccountname,userupn,key,oprid,roleuser,identityreference,usename,racfid,operid"
    ",operatorid,networkid,logonid,useraccount,authorizationname,touser"
)
_GROUP = (
    "group,groupname,groname,role,rolename,agrname,team,teamname,profile,profilename,permissionset,memberof,groups,roles,teams"
    ",groupdisplayname,securitygroup,gruppe,rolle,assignedgroups,assignedroles,assignedapps,apps,organization,orgs"
    ",responsibilityname,responsibility,usergroup,usergroups,userrole,license,licenses,membership,memberships,groupid,roleid,jobrole,grantedrole"
    ",gruppen,rollen,benutzergruppe,gruppenname,groupe,groupes,grupo,grupos,gruppo,gruppi,rol,roleassigned,groupprofilename,groupprofile,profileid,cohort,upgrpf,upsupg,accesslevels,fromuser"
)
_ACTIVE = (
    "active,status,enabled,isactive,accountstatus,accountenabled,state,userstatus,isenabled,useraccountcontrol"
    ",employmentstatus,accountstate,lifecyclestate,activated,canlogin,rolcanlogin,aktiv,aktiviert,kontostatus,actif,statut,etat,activo"
    ",estado,stato,workerstatus,loginaccess,loginenabled,loginallowed,enable,accountflags,upstat"
    ",giveaccess,login"
)
# Headers that mean the opposite of active.
_INACTIVE = (
    "disabled,isdisabled,suspended,issuspended,blocked,isblocked,block,blocksignin,deactivated,inactive,isinactive,archived"
    ",disable,frozen,isfrozen,barred,isbarred,onhold,blockcredential,blockcredentials,deleted,isdeleted,terminated,nsaccountlock,accountdisabled,revoked,isarchived,deaktiviert,kontodeaktiviert,inaktiv,desactive,inactif"
    ",prohibitlogin,loginprohibited,logindisabled,disablelogin,denylogin,signinblocked,signindisabled,loginblocked"
)
_DESCRIPTION = "description,desc,comment,comments,details,notes,note,remark,remarks,beschreibung,bemerkung,descripcion"
WORDS: dict[Content, dict[str, str]] = {
    Content.USERS: {
        "Username": _USERNAME,
        **_PERSON,
        "Active": f"{_ACTIVE},{_INACTIVE}",
        "Locked": "locked,lockedout,islocked,uflag,accountlocked,acctlock,lockout,gesperrt,sperre"
        ",snowflakelock,verrouille,benutzersperre,kontosperre,sperrgrund",
        "Last Login": "lastlogin,lastlogindate,logindate,lastlogon,lastlogondate,lastsignin,lastsignindate,lastactivity"
        ",lastactive,lastlogontimestamp,lastauthentication,lastaccess,lastseen,passwordlastused,lastsignindatetime"
        ",signinactivity.lastsignindatetime,lastlogintime,lastsignedin,lastsignon,trdat,latest,lastlogonat,letzteanmeldung,letzteanm,lastsuccesslogin,letzterlogin,derniereconnexion,ultimoacceso"
        ",lastauthenticated,lastconnected,lastconnection,lastconnectiondate,lastsignondttm",
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
        "Permission": "roledefinitionname,rolerefname,entitlementvalue,entitlementname,"
        "permission,permissionname,permissions,privilege,privileges,entitlement,entitlements,right,rights"
        ",authorization,action,actions,permissionid,tcode,transaction,operation,scope,scopes,capability,function,object"
        ",berechtigung,berechtigungen,recht,rechte,droit,droits,permiso,permisos,privilegetype"
        ",permissionsetlabel,permissionsetname,accesslevel,permissionlevel,accessright,accessrights,filesystemrights,registryrights,groupuseraccessright",
        "Header": "header,heading,category,module,system,area,application,app,applicationname,appname,systemname"
        ",owner,schema,schemaname,database,tableschema"
        ",grantedon,entity,entityname,workspace,workspacename,sitetitle,mailbox,server,servername,computer"
        ",pscomputername,hostname,cluster",
        "Section": "section,resource,resourcename,resourceid,screen,safename,safe,spacekey,spacename"
        ",namespace,object,field,target,path,folder,folderpath,foldername,filepath,directory,share,sharename,tablename,table"
        ",objectname,scope,project,repository,collection,collectionname,vault,vaultname,site,environment,entitlementattribute,permissiontype,permissioncategory",
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
        "Title": "title,jobtitle,businesstitle,job,position,jobname,jobrole,role,poste,cargo",
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
NOT_ACTIVE = TRANSLATED_INACTIVE.union(_INACTIVE.split(","))
ABOUT_PERSON = {word for each in (_USERNAME, *_PERSON.values()) for word in each.split(",")}.union(
    *(TRANSLATED[field] for field in ("Username", *_PERSON))
)
KNOWN = {word for words in WORDS.values() for each in words.values() for word in each.split(",")}.union(
    *TRANSLATED.values()
)
# Words in headers of columns with groups or permissions.
HELD = {"permission", "permissions", "role", "roles", "group", "groups", "team", "teams", "set", "sets", "profile"}
# Words in headers that are not known as a whole: a header means a field if it has all words of one entry.
TOKENS: dict[str, str] = {
    "Username": "username,opr id,oper id,operator id,user id,usr id,usr,login,logon,acct,account no,account name,user"
    ",operator,badge id,badge number,card number"
    ",mitglied,membre,miembro",
    "Employee ID": "associate id,emp no,emp id,emp nr,emp number,employee no,employee id,staff no,staff id,pers no"
    ",pers nr,personal nr,mitarbeiter nr"
    ",worker id",
    "Name": "opr name,operator name,user name,usr name,emp name,full name,person name,member name,display name",
    "Active": "sts,stat,status,user state,acct status,enabled,active,disabled,suspended,deactivated,blocked"
    ",aktiv,actif,activo,activa,attivo,actief,ativo,ativa,aktywny,aktywne,habilitado,abilitato"
    f",{','.join(sorted(TRANSLATED_INACTIVE))}",
    "Supervisor ID": "manager id,manager emp,manager number,supervisor id,supervisor emp",
    "Locked": "locked,lock,lockout,gesperrt,verrouille,bloque,bloqueado,bloqueada,bloccato,geblokkeerd,vergrendeld"
    ",zablokowany,zablokowane",
    "Last Login": "last on,last login,last logon,last sign,last signed,last signon,last seen,last access"
    ",last authenticated,last connected,last connection,last sign on,last successful,latest login",
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
# Words in headers of columns that say who is locked out.
LOCKS = {"locked", "lock", "lockout", "lockedout", "islocked", "accountlocked", "gesperrt", "verrouille", "sperre"}
# Words for inactive accounts. They are ignored if the header also has a word in WHEN or FEATURES.
ENDED = {
    "disabled", "suspended", "deactivated", "inactive", "blocked", "terminated", "archived", "revoked", "deaktiviert",
    *TRANSLATED_INACTIVE,
}  # fmt: skip
# Words that may follow a word in ENDED without changing its meaning.
OF_ACCOUNTS = {
    "konto", "benutzer", "compte", "utilisateur", "cuenta", "usuario", "utente", "gebruiker", "conta", "utilizador",
    "account", "accounts", "user", "users", "login", "logon", "sign", "signin", "credential", "credentials", "status",
    "state", "flag", "employee", "person", "member", "worker", "or", "and", "in", "for", "from", "yn",
    "indicator", "ind",
}  # fmt: skip
WHEN = {
    "date", "on", "at", "time", "by", "reason", "days", "count", "until", "since", "am", "datum", "seit", "bis",
    "grund", "fecha", "data", "le", "depuis", "motif", "motivo", "desde", "dal", "op", "sinds", "od", "dnia",
}  # fmt: skip
# Words in headers of dates, such as `Compte désactivé le`.
DATED = {
    "date",
    "on",
    "at",
    "am",
    "datum",
    "seit",
    "le",
    "depuis",
    "fecha",
    "desde",
    "data",
    "dal",
    "op",
    "sinds",
    "dnia",
    "od",
}
# Words in headers of columns about people other than the person of the row, such as the manager.
OTHER_PEOPLE = {
    "manager", "supervisor", "reporting", "reports", "approver", "owner", "sponsor", "by", "boss", "chef",
    "responsable", "responsabile", "responsável", "verantwortlich", "verantwortliche", "verantwortlicher", "besitzer",
    "eigentümer", "ansprechpartner", "vorgesetzter", "propriétaire", "propietario", "proprietario", "proprietário",
    "encargado", "eigenaar", "ansvarlig", "właściciel",
}  # fmt: skip
# Words in headers for things, other than the account, that can be enabled or active.
FEATURES = {
    "password", "pwd", "mfa", "fa", "sv", "factor", "tfa", "otp", "saml", "public", "key", "license", "billing", "sso",
    "email", "access", "cert", "sync", "security", "api", "voicemail", "vm", "forwarding", "recording", "fax",
}  # fmt: skip
# Words in headers of yes/no columns that describe an account or a grant.
FLAGS = {
    "is", "has", "option", "default", "common", "inherited", "delegate", "grantable", "hierarchy", "enabled", "active",
    "locked", "expired", "expires", "primary", "verified", "required", "synced",
}  # fmt: skip
STATES = {"locked", "expired", "verified", "enabled", "active"}
# Columns that occur only in files of groups.
OF_GROUPS = {"grouptypes", "grouptype", "groupscope", "groupcategory", "membershiptype", "securityenabled"}
# Words in headers of columns that say where access comes from, such as Privilege Source, and not what it is.
ORIGINS = {"source", "sources", "origin", "origins", "via", "through", "provenance", "herkunft", "quelle"}
GIVEN = {"granted", "assigned", "inherited", "inherits", "obtained", "acquired", "derived", "received"}
GIVEN_BY = {"via", "through", "from"}
# Words before "group" or "team" in headers of columns that say who looks after something, such as Support Group.
CARES = {
    "review", "reviewer", "reviewing", "reviewers", "approver", "approval", "approving", "approvers", "owner", "owners",
    "owning", "ownership", "owned", "support", "supporting", "supported", "notify", "notification", "escalation",
    "responsible", "certification", "certifier", "managing", "maintenance", "maintainer", "contact", "steward",
}  # fmt: skip
# Words in headers of columns that contain a type or category, such as Role Type.
OF_KIND = {"type", "kind", "category", "level", "scope"}
# Names of columns that say where a role applies.
SCOPES = {
    "app", "appname", "applabel", "application", "applicationname", "applicationlabel", "system", "systemname",
    "platform", "tenant", "project",
    "repository", "database", "entity", "entityname", "workspace", "cluster", "mailbox", "folder",
}  # fmt: skip
# Names of columns that say where a role applies, if rows of one account and role differ in them.
PLACES = SCOPES | {
    "scope", "site", "sitename", "location", "office", "region", "country", "city", "environment", "env",
    "store", "shop", "plant", "ward", "branch", "campus", "facility", "warehouse", "hospital", "clinic", "school",
    "company", "companycode", "legalentity", "subsidiary", "businessunit", "bu", "orgunit", "costcenter", "costcentre",
    "department", "dept", "division", "organization", "organisation", "organizationname", "customer", "client",
    "mandant", "subscription", "resourcegroup", "resource", "namespace", "domain", "realm", "space", "board", "channel",
    "library", "instance", "server", "zone", "territory", "market", "fund", "portfolio", "course", "cohort", "module",
    "werk", "standort", "filiale", "buchungskreis", "kostenstelle", "societe", "etablissement", "agence", "sede",
    "sucursal", "empresa", "filial", "vestiging", "scopename", "projectname", "projectkey", "tenantid", "projectid",
}  # fmt: skip
