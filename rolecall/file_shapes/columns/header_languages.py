"""List header words in languages other than English. `header_words` has English words, and some common foreign ones.

Words are compared without accents, spaces, dashes and underscores.
"""

from rolecall.core.text import without_accents

# Headers that mean the opposite of active.
_INACTIVE = (
    "ausgetreten,ausgeschieden,suspendu,desactive,inactivo,desactivado,deshabilitado,suspendido,disattivato,inattivo"
    ",sospeso,cessato,gedeactiveerd,uitdienst,suspenso,desligado,dezaktywowany,nieaktywne,wylaczone"
    ",inactief,uitgeschakeld,disabilitato,nieaktywny,wylaczony,inativo,desativado,無効,pasif,inaktív,inactiv,неактивний"
)
_WORDS = {
    "Username": "benutzerprinzipalname,nomdutilisateur,codeutilisateur,gebruikersnaam,gebruiker,codiceutente"
    ",nazwauzytkownika,uzytkownik,uzivatelskejmeno,uzivatel,nomedeusuario,utilizador,nomedeutilizador,anvandarnamn"
    ",anvandare,brukernavn,brugernavn,логин,пользователь,имяпользователя"
    ",ログイン名,ログインid,ユーザー名,ユーザーid,用户名,登录名,kullanıcıadı,kullanıcıkodu,kullanıcı,사용자id,아이디"
    ",사용자아이디,로그인id,felhasználónév,felhasználó,utilizator,numeutilizator,käyttäjätunnus,käyttäjänimi,käyttäjä"
    ",όνομαχρήστη,χρήστης,korisničkoime,korisnik,логін,користувач,імякористувача"
    ",benutzerid,benutzerkonto,kontoname,anmeldekennung,userkennung,identifiantutilisateur"
    ",identifiantdeconnexion,nomdeconnexion,compteutilisateur,idusuario,iddeusuario,codigousuario"
    ",codigodeusuario,cuentausuario,cuentadeusuario,idutente,accountutente,nomeaccount,gebruikersid"
    ",gebruikerscode,inlognaam,loginnaam,accountnaam,nomeusuario,nomeutilizador,idutilizador"
    ",codigoutilizador,loginuzytkownika,iduzytkownika,identyfikatoruzytkownika,nazwakonta",
    "Name": "volledigenaam,nominativo,nome,imieinazwisko,nazwiskoiimie"
    ",celejmeno,fulltnavn,фио,氏名,表示名,姓名,adısoyadı,adsoyad"
    ",사용자명,성명,이름,teljesnév,név,numecomplet,nimi,kokonimi,ονοματεπώνυμο,imeiprezime,піб,apellidosynombre"
    ",vollername,vollständigername,mitarbeitername,nometprenom,nomprenom,prenometnom,prenomnom"
    ",nombreyapellidos,nombreapellidos,cognomenome,cognomeenome,nomecognome,nomeecognome,naam"
    ",weergavenaam,medewerker,nazwiskoimie",
    "First Name": "voornaam,imie,jmeno,fornamn,fornavn,имя,keresztnév,prenume,etunimi,όνομα,ime,імя"
    ",rufname,prenoms,nombres,primernombre,voornamen,roepnaam,primeironome,nomeproprio,imiona",
    "Last Name": "achternaam,nazwisko,prijmeni,sobrenome,apelido,efternamn,etternavn,efternavn,фамилия,soyadı"
    ",primerapellido,vezetéknév,sukunimi,επώνυμο,prezime,прізвище"
    ",zuname,nomfamille,nomusage,nomdusage,apellido,familienaam,ultimonome,apelidos",
    "Email": "adresseelectronique,mailadres,postaelettronica,adresemail,epost,электроннаяпочта,почта"
    ",メールアドレス,メール,电子邮件,邮箱,eposta,epostaadresi,이메일,sähköposti,электроннаяадреса,електроннапошта"
    ",emaildienstlich,dienstlicheemail,courrielprofessionnel,emailprofessionnel,adressecourriel"
    ",correocorporativo,emailcorporativo,direcciondecorreo,indirizzoemail,indirizzomail,emailaziendale"
    ",emailadres,enderecoemail,enderecodeemail,correioeletronico,correioelectronico"
    ",adrespocztyelektronicznej,emailsluzbowy",
    "Employee ID": "personeelsnummer,numerpracownika,社員番号,matricula,sicilno,사번,사원번호,törzsszám,marca"
    ",henkilönumero,noempleado,nodeempleado,nomatricule,nodematricule,numempleado,numerodeempleado,codigoempleado,legajo,personalnr,matricola,osobnicislo"
    ",numeroempregado,numerofuncionario,anstallningsnummer,ansattnummer,medarbejdernummer,табельныйномер"
    ",persnr,personalnr.,persnr.,personalid,mitarbeiternr,mitarbeiternr.,mitarbeiterid"
    ",matriculesalarie,numeroemploye,numerodemploye,noemploye,idemploye,idempleado,codigodeempleado"
    ",numerotrabajador,numerodetrabajador,idtrabajador,codicedipendente,numeromatricola,iddipendente"
    ",personeelsnr,personeelsid,medewerkernummer,medewerkersnummer,medewerkerid,numerodefuncionario"
    ",idfuncionario,codigofuncionario,numeromecanografico,numerewidencyjny,nrpracownika,idpracownika"
    ",nrewidencyjny,numerkadrowy",
    "Group": "benutzergruppen,profil,profils,groep,groepen,ruolo,ruoli,grupa,grupy,rola,skupina,skupiny,perfil,perfis"
    ",perfiles,grupp,grupper,roller,группа,группы,роль,роли,グループ,ロール,角色,yetkigrubu,kullanıcıgrubu,grup,그룹"
    ",권한그룹,역할,csoport,csoportok,szerepkör,szerepkörök,grupuri,roluri,ryhmä,ryhmät,rooli,roolit,ομάδα,ομάδες"
    ",ρόλος,ρόλοι,grupe,uloga,uloge,група,групи,ролі"
    ",benutzerrolle,benutzerrollen,berechtigungsgruppe,berechtigungsrolle,berechtigungsprofil"
    ",profilutilisateur,groupeutilisateur,grupodeusuarios,perfilusuario,perfildeusuario,gruppoutenti"
    ",profilo,profili,profiloutente,gebruikersgroep,gebruikersgroepen,gebruikersrol,gebruikersrollen"
    ",perfildeacesso,perfilacesso,papel,papeis,grupauzytkownikow,rolauzytkownika"
    ",rollenname,rollenbezeichnung,gruppenbezeichnung,profilname,nomdurole,nomrole,nomdugroupe,nomgroupe,nombredelrol"
    ",nombrederol,nombrerol,nombredelgrupo,nombregrupo,nombredelperfil,nombreperfil,nomeruolo,nomegruppo,nomeperfil"
    ",nomedoperfil,nomedogrupo,nomegrupo,nomepapel,rolnaam,groepsnaam,nazwaroli,nazwagrupy",
    "Permission": "uprawnienie,uprawnienia,habilitation,habilitations,autorisation,autorisations,autorizacion"
    ",autorizaciones,permesso,permessi,autorizzazione,autorizzazioni,permissao,permissoes,opravneni,opravnenie"
    ",behorighet,rettighet,rettighed,rettigheder,jogosultság,право,права,полномочия,yetki,yetkiler,rechten,drept"
    ",drepturi,oikeus,oikeudet,δικαίωμα,δικαιώματα,повноваження",
    "Status": "situacion,situacao,статус,状態,状态,durum,durumu,상태,재직여부,재직상태,állapot,státusz,stare,tila"
    ",κατάσταση,стан,stav",
    "Title": "puesto,mansione,qualifica,stanowisko,functie,stilling,befattning,funktion,stelle,unvan,직급,직책,職位"
    ",职位,beosztás,funcție,tehtävänimike"
    ",stellenbezeichnung,berufsbezeichnung,tätigkeit,fonction,intituledeposte,intituleposte"
    ",puestodetrabajo,functietitel,functienaam,funcao,nazwastanowiska",
    "Department": "departamento,reparto,afdeling,avdelning,dzial,oddelení,bölüm,부서,부서명,部署,部门,osztály,osasto"
    ",departement,odjel"
    ",organisationseinheit,dipartimento,wydzial,setor",
    "Created": "fechadealta,fechaalta,fechaingreso,dataassunzione,datazatrudnienia,indienst,anställningsdatum,işegiriş"
    ",입사일,入社日,入职日期,eintritt"
    ",eintrittam,einstellungsdatum,datedentree,dateentree,datedembauche,fechadeingreso"
    ",fechacontratacion,fechadecontratacion,datadiassunzione,datumindienst,indiensttreding"
    ",datumindiensttreding,dataadmissao,datadeadmissao,admissao,dataprzyjecia",
    "Active": "kontoaktiviert,actief,attivo,abilitato,aktywny,aktivni,stav,ativo,situacao,статус,активен"
    f",状態,ステータス,有効,状态,durum,durumu,aktif,사용여부,상태,재직여부,계정상태,állapot,státusz,aktív,stare,activ,tila"
    f",aktiivinen,κατάσταση,ενεργός,aktivan,активний,стан,situacion,{_INACTIVE}"
    ",kontoaktiv,benutzeraktiv,aktivkennzeichen,compteactif,statutcompte,statutducompte,etatcompte"
    ",etatducompte,habilitado,estadousuario,estadodelusuario,estadocuenta,statoutente,statoaccount"
    ",ingeschakeld,contaativa,estadoutilizador,statususuario,aktywne,statuskonta,kontoaktywne"
    ",czyaktywny",
    "Locked": "bloque,geblokkeerd,vergrendeld,bloccato,zablokowany,zablokowane,zablokovan,blokovan,bloqueado,sparrad"
    ",laast,заблокирован,kilitli,잠금,잠금여부,zárolt,zárolva,blocat,lukittu,zaključan,заблокований",
    "Last Login": "zuletztangemeldet,laatsteaanmelding,ultimoaccesso,ultimologin,ostatnielogowanie"
    ",dataostatniegologowania,posledniprihlaseni,ultimoacesso,senastinloggad,senesteinnlogging,последнийвход"
    ",最終ログイン,最終ログイン日時,最終ログイン日,最后登录时间,songiriş,songiriştarihi,최종로그인,최종접속일시"
    ",최근접속일,마지막로그인,utolsóbejelentkezés,ultimaautentificare,ultimaconectare,viimeisinkirjautuminen"
    ",τελευταίασύνδεση,zadnjaprijava,posljednjaprijava,останнійвхід"
    ",letzteslogin,letzterzugriff,letzteanmeldungam,datederniereconnexion,datedederniereconnexion,dernieracces,dernierlogin"
    ",fechaultimoacceso,ultimaconexion,fechaultimaconexion,ultimoiniciodesesion,dataultimoaccesso"
    ",ultimaconnessione,laatstelogin,laatstingelogd,laatsteinlog,dataultimoacesso,ultimaconexao",
    "Supervisor ID": "vorgesetzter,vorgesetzte,vorgesetztennr,vorgesetztennummer,persnrvorgesetzter"
    ",personalnrvorgesetzter,superieur,superieurhierarchique,responsablehierarchique,jefe,jefedirecto"
    ",jefeinmediato,responsabile,responsabilediretto,superiorediretto,leidinggevende,chefia"
    ",superiorhierarquico,gestor,przelozony,bezposredniprzelozony,kierownik",
    "Office": "standort,niederlassung,filiale,lieudetravail,etablissement,oficina,sucursal,centrodetrabajo,sede"
    ",vestiging,standplaats,oddzial,lokalizacja",
    "Company": "firma,gesellschaft,unternehmen,societe,entreprise,empresa,sociedad,azienda,societa,bedrijf,spolka",
}
TRANSLATED = {field: frozenset(without_accents(words).split(",")) for field, words in _WORDS.items()}
TRANSLATED_INACTIVE = frozenset(without_accents(_INACTIVE).split(","))
