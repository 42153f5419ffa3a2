-- Store what requests read from the catalogue: metadata, usual values of permissions, and accounts by normalized
-- usernames.

-- The metadata of the privilege when the request was created; empty for requests that were created before this version.
ALTER TABLE privileges ADD COLUMN metadata jsonb NOT NULL DEFAULT '[]';

-- The number of current holders of a permission for each raw value, updated by every import, because a request must not
-- read a million assignments to find the usual value. The primary key has a digest instead of the value, which may be
-- too long for an index.
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

-- Return the form in which usernames are compared: one Unicode form without case, the same in every locale of the
-- server. The function is here and not in schema/accounts.sql, because indexes and generated columns store its results:
-- a migration that changes it must also rebuild them.
CREATE FUNCTION username_key(username text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN
    CASE WHEN octet_length(username) = char_length(username) THEN lower(username COLLATE "C")
         ELSE lower(translate(normalize(username, NFKD),
                              'ÆØŁĐÐÞŒΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЄІЇЉЊЋЏҐ',
                              'æøłđðþœαβγδεζηθικλμνξοπρστυφχψωσабвгдежзийклмнопрстуфхцчшщъыьэюяєіїљњћџґ') COLLATE "C")
    END;
CREATE INDEX accounts_by_username_key ON accounts (application_id, username_key(username));
