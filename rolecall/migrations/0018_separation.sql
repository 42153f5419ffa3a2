-- Add the person who created a token or supplied an import, whether an import lowers ratings, and keys to find
-- usernames that look alike.
--
-- The person who created the token: people act through their tokens too. Null for tokens that were created at the
-- command line or before this version.
ALTER TABLE tokens ADD COLUMN owner_id uuid;

-- The token or the person who chose the data of an import by uploading files or by a rollback; null if a schedule
-- fetched the files.
ALTER TABLE application_imports ADD COLUMN supplied_by uuid;

-- Whether a held import would lower high risk ratings: it must then be continued by a person who did not supply it.
ALTER TABLE import_runs ADD COLUMN lowers_risk boolean NOT NULL DEFAULT false;

-- Return what a username looks like: one Unicode form without case, with Latin letters instead of characters that look
-- like them, and without dots and spaces at the end. The characters are those of skeleton_table() in core/text.py; a
-- test compares them. The function is here because an index stores its results: a migration that changes it must also
-- rebuild the index.
CREATE FUNCTION username_skeleton(username text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN rtrim(
    CASE WHEN octet_length(username) = char_length(username) THEN translate(lower(username COLLATE "C"), '01', 'ol')
         ELSE lower(translate(normalize(username, NFKC),
                              'µÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖØÙÚÛÜÝÞĀĂĄĆĈĊČĎĐĒĔĖĘĚĜĞĠĢĤĦĨĪĬĮıĲĴĶĹĻĽĿŁŃŅŇŊŌŎŐŒŔŖŘŚŜŞŠŢŤŦŨŪŬŮŰŲŴŶŸŹŻŽſƁƂƄƆƇƉƊƋƎƏƐƑƓƔƖƗƘƜƝƟƠƢƤƦƧƩƬƮƯƱƲƳƵƷƸƼǄǅǇǈǊǋǍǏǑǓǕǗǙǛǞǠǢǤǦǨǪǬǮǱǲǴǶǷǸǺǼǾȀȂȄȆȈȊȌȎȐȒȔȖȘȚȜȞȠȢȤȦȨȪȬȮȰȲȺȻȽȾɁɃɄɅɆɈɊɌɎɑɡɩɪʋͅͰͲͶͿΆΈΉΊΌΎΏΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩΪΫαβγεζηικμνορςστυχωϏϐϑϕϖϘϚϜϞϠϢϤϦϨϪϬϮϰϱϲϳϴϵϷϹϺϽϾϿЀЁЂЃЄЅІЇЈЉЊЋЌЍЎЏАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯавгекмнорстухёѕіїјѠѢѤѦѨѪѬѮѰѲѴѵѶѸѺѼѾҀҊҌҎҐґҒҔҖҘҚҜҞҠҢҤҦҨҪҬҮҰҲҴҶҸҺһҼҾӀӁӃӅӇӉӋӍӏӐӒӔӖӘӚӜӞӠӢӤӦӨӪӬӮӰӲӴӶӸӺӼӾԀԁԂԄԆԈԊԌԎԐԒԔԖԘԚԛԜԝԞԠԢԤԦԨԪԬԮԱԲԳԴԵԶԷԸԹԺԻԼԽԾԿՀՁՂՃՄՅՆՇՈՉՊՋՌՍՎՏՐՑՒՓՔՕՖհոսցօ01',
                              'màáâãäåæçèéêëìíîïðñòóôõöøùúûüýþāăąćĉċčďđēĕėęěĝğġģĥħĩīĭįiĳĵķĺļľŀłńņňŋōŏőœŕŗřśŝşšţťŧũūŭůűųŵŷÿźżžsɓƃƅɔƈɖɗƌǝəɛƒɠɣiɨƙɯɲɵơƣƥʀƨʃƭʈưʊvƴƶʒƹƽǆǆǉǉǌǌǎǐǒǔǖǘǚǜǟǡǣǥǧǩǫǭǯǳǳǵƕƿǹǻǽǿȁȃȅȇȉȋȍȏȑȓȕȗșțȝȟƞȣȥȧȩȫȭȯȱȳⱥȼƚⱦɂƀʉʌɇɉɋɍɏagiiviͱͳͷjάέήίόύώabyδeznθikλmvξoπpotuφxψwϊϋabyeznikmvopootuxwϗbθφπϙϛϝϟϡϣϥϧϩϫϭϯkpcjθeϸcϻͻͼͽѐëђѓєsiïjљњћќѝўџaбbrдeжзийkлmhoпpctyфxцчшщъыьэюяabrekmhopctyxësiïjѡѣѥѧѩѫѭѯѱѳvvѷѹѻѽѿҁҋҍҏrrғҕҗҙқҝҟҡңҥҧҩҫҭүұҳҵҷҹhhҽҿlӂӄӆӈӊӌӎlӑӓӕӗәӛӝӟӡӣӥӧөӫӭӯӱӳӵӷӹӻӽӿddԃԅԇԉԋԍԏԑԓԕԗԙqqwwԟԡԣԥԧԩԫԭԯաբգդեզէըթժիլխծկhձղճմյնշnչպջռuվտրgւփքoֆhnugool') COLLATE "C")
    END, '. ');
CREATE INDEX accounts_by_skeleton ON accounts (application_id, username_skeleton(username));
-- Keep the function username_key, because the previous version of the service calls it.
DROP INDEX accounts_by_username_key;
