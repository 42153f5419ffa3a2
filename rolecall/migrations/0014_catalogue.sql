-- What requests read from the catalogue: risk, usual values, metadata, and accounts by a normalised name.

-- Only what was given can be frozen: requests from before this version keep an empty list.
ALTER TABLE privileges ADD COLUMN metadata jsonb NOT NULL DEFAULT '[]';

-- How many hold a permission now with each raw value, kept by every import: a request must not read a million
-- assignments to find the usual one. The digest is the key because values may be too long for an index.
CREATE TABLE permission_values (
    permission_number int NOT NULL,
    access            access NOT NULL,
    digest            text NOT NULL,
    value             text NOT NULL,
    holders           bigint NOT NULL,
    PRIMARY KEY (permission_number, access, digest)
);
CREATE INDEX permission_values_by_use ON permission_values (permission_number, access, holders DESC, digest);
INSERT INTO permission_values (permission_number, access, digest, value, holders)
    SELECT permission_number, access, md5(value), value, count(*) FROM assignments
    WHERE until_import IS NULL AND value <> '' AND access NOT IN ('None', 'Deny') GROUP BY 1, 2, 4;

-- What usernames are compared by: one Unicode form, no case. The same in every locale of the server. Here, not in schema/accounts.sql:
-- an index stores its results, so a change of it must rebuild the index.
CREATE FUNCTION username_key(username text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN
    CASE WHEN octet_length(username) = char_length(username) THEN lower(username COLLATE "C")
         ELSE lower(translate(normalize(username, NFKD),
                              'ÆØŁĐÐÞŒΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЄІЇЉЊЋЏҐ',
                              'æøłđðþœαβγδεζηθικλμνξοπρστυφχψωσабвгдежзийклмнопрстуфхцчшщъыьэюяєіїљњћџґ') COLLATE "C")
    END;
CREATE INDEX accounts_by_username_key ON accounts (application_id, username_key(username));
