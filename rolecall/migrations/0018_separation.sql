-- Who made a token: a person acts through their tokens too. Null for tokens made at the command line, or before this version.
ALTER TABLE tokens ADD COLUMN owner_id uuid;

-- The token or person who chose an import's data by uploading files or by rolling back; null for files of a schedule.
ALTER TABLE application_imports ADD COLUMN supplied_by uuid;

-- A held import that would lower high risk ratings is continued by another person.
ALTER TABLE import_runs ADD COLUMN lowers_risk boolean NOT NULL DEFAULT false;

-- What usernames look like: one Unicode form, no case, look-alikes of Latin letters as those, no dots at the end. The characters are
-- skeleton_table() of rolecall/core/text.py, which a test compares. Here, because an index stores its results: a change must rebuild it.
CREATE FUNCTION username_skeleton(username text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN rtrim(
    CASE WHEN octet_length(username) = char_length(username) THEN translate(lower(username COLLATE "C"), '01', 'ol')
         ELSE lower(translate(normalize(username, NFKC),
                              'µÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮıĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽſƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬƮƯƱƲƳƵƷƸƼǄǅǇǈǊǋǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǱǲǴǶǷǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢȤȦȨȪȬȮȰȲȺȻȽȾɁɃɄɅɆɈɊɌɎɑɡɩɪʋͅͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫαβγεζηικμνορςστυχωϏϐϑϕϖϘϚϜϞϠϢϤϦϨϪϬϮϰϱϲϳϴϵϷϹϺϽϾϿЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯавгекмнорстухёѕіїјѠѢѤѦѨѪѬѮѰѲѴѵѶѸѺѼѾҀҊҌҎҐґҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺһҼҾӀӁӃӅӇӉӋӍӏӐӒӔӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԁԂԄԆԈԊԌԎԐԒԔԖԘԚԛԜԝԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖհոսցօ01',
                              'màáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįiĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžsɓƃƅɔƈɖɗƌǝəɛƒɠɣiɨƙɯɲɵơƣƥʀƨʃƭʈưʊvƴƶʒƹƽǆǆǉǉǌǌǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǳǳǵƕƿǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣȥȧȩȫȭȯȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍɏagiiviͱͳͷjάέήίόύώabyδeznθikλmvξoπpotuφxψwϊϋabyeznikmvopootuxwϗbθφπϙϛϝϟϡϣϥϧϩϫϭϯkpcjθeϸcϻͻͼͽѐëђѓєsiïjљњћќѝўџaбbrдeжзийkлmhoпpctyфxцчшщъыьэюяabrekmhopctyxësiïjѡѣѥѧѩѫѭѯѱѳvvѷѹѻѽѿҁҋҍҏrrғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹhhҽҿlӂӄӆӈӊӌӎlӑӓӕӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿddԃԅԇԉԋԍԏԑԓԕԗԙqqwwԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկhձղճմյնշnչպջռuվտրgւփքoֆhnugool') COLLATE "C")
    END, '. ');
CREATE INDEX accounts_by_skeleton ON accounts (application_id, username_skeleton(username));
-- username_key stays for the version before, which calls it.
DROP INDEX accounts_by_username_key;
