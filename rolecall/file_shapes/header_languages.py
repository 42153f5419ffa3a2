"""List words of headers in other languages. The usual German, French and Spanish ones are in `header_words`.

Words are compared without accents, spaces, dashes and underscores.
"""

from rolecall.core.text import without_accents

# Headers that mean the opposite of active.
_INACTIVE = "inactief,uitgeschakeld,disabilitato,nieaktywny,wylaczony,inativo,desativado,無効"
_WORDS = {
    "Username": "benutzerprinzipalname,nomdutilisateur,codeutilisateur,gebruikersnaam,gebruiker,codiceutente"
    ",nazwauzytkownika,uzytkownik,uzivatelskejmeno,uzivatel,nomedeusuario,utilizador,nomedeutilizador,anvandarnamn"
    ",anvandare,brukernavn,brugernavn,логин,пользователь,имяпользователя"
    ",ログイン名,ログインid,ユーザー名,ユーザーid,用户名,登录名",
    "Name": "volledigenaam,nominativo,nome,imieinazwisko,celejmeno,fulltnavn,фио,氏名,表示名,姓名",
    "First Name": "voornaam,imie,jmeno,fornamn,fornavn,имя",
    "Last Name": "achternaam,nazwisko,prijmeni,sobrenome,apelido,efternamn,etternavn,efternavn,фамилия",
    "Email": "adresseelectronique,mailadres,postaelettronica,adresemail,epost,электроннаяпочта,почта"
    ",メールアドレス,メール,电子邮件,邮箱",
    "Employee ID": "personeelsnummer,numerpracownika,社員番号",
    "Group": "benutzergruppen,profil,profils,groep,groepen,ruolo,ruoli,grupa,grupy,rola,skupina,skupiny,perfil,perfis"
    ",perfiles,grupp,grupper,roller,группа,группы,роль,роли,グループ,ロール,角色",
    "Active": "kontoaktiviert,actief,attivo,abilitato,aktywny,aktivni,stav,ativo,situacao,статус,активен"
    f",状態,ステータス,有効,状态,{_INACTIVE}",
    "Locked": "bloque,geblokkeerd,vergrendeld,bloccato,zablokowany,zablokowane,zablokovan,blokovan,bloqueado,sparrad"
    ",laast,заблокирован",
    "Last Login": "zuletztangemeldet,laatsteaanmelding,ultimoaccesso,ultimologin,ostatnielogowanie"
    ",dataostatniegologowania,posledniprihlaseni,ultimoacesso,senastinloggad,senesteinnlogging,последнийвход"
    ",最終ログイン,最終ログイン日時,最終ログイン日,最后登录时间",
}
TRANSLATED = {field: frozenset(without_accents(words).split(",")) for field, words in _WORDS.items()}
TRANSLATED_INACTIVE = frozenset(without_accents(_INACTIVE).split(","))
