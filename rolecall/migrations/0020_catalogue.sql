-- What requests read from the catalogue: risk, usual values, metadata, and accounts by a normalised name.

-- Only what was given can be frozen: requests from before this version keep an empty list.
ALTER TABLE privileges ADD COLUMN metadata jsonb NOT NULL DEFAULT '[]';

-- Rate a group as the riskiest permission that it or a group above it gives, now or after the import `as_of`.
-- UNION drops groups that were met before, so a cycle of parents ends.
CREATE FUNCTION group_risk_at(number int, as_of int) RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE above (number) AS (
        SELECT group_risk_at.number
        UNION
        SELECT parent.number FROM above
        JOIN group_versions v ON v.group_number = above.number AND v.parent <> ''
             AND v.from_import <= coalesce(as_of, v.from_import) AND (v.until_import IS NULL OR v.until_import > as_of)
        JOIN groups child ON child.number = above.number
        JOIN groups parent ON parent.application_id = child.application_id
             AND in_any_case(parent.name) = in_any_case(v.parent)
    )
    SELECT coalesce((
        SELECT v.risk_rating FROM above
        JOIN assignments s ON s.holder_number = above.number AND s.access <> 'None'
             AND s.from_import <= coalesce(as_of, s.from_import) AND (s.until_import IS NULL OR s.until_import > as_of)
        JOIN permission_versions v ON v.permission_number = s.permission_number
             AND v.from_import <= coalesce(as_of, v.from_import) AND (v.until_import IS NULL OR v.until_import > as_of)
        ORDER BY risk_rank(v.risk_rating) DESC LIMIT 1), 'None');
END;
CREATE OR REPLACE FUNCTION group_risk(number int) RETURNS text STABLE LANGUAGE sql RETURN group_risk_at(number, NULL);

-- Rate a privilege by the permission and the group that its name stands for; null when the catalogue has neither.
CREATE FUNCTION known_risk(permission int, membership int) RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT rated.risk FROM (
        SELECT v.risk_rating AS risk FROM permission_versions v
        WHERE v.permission_number = permission AND v.until_import IS NULL
        UNION ALL
        SELECT group_risk(v.group_number) FROM group_versions v
        WHERE v.group_number = membership AND v.until_import IS NULL
    ) AS rated ORDER BY risk_rank(rated.risk) DESC LIMIT 1;
END;
-- What the catalogue does not have counts as Critical.
CREATE FUNCTION privilege_risk(permission int, membership int) RETURNS text STABLE LANGUAGE sql
    RETURN coalesce(known_risk(permission, membership), 'Critical');

CREATE OR REPLACE VIEW access_model_privileges AS
    SELECT g.model_id, g.application_id, group_header(v.nomenclature) AS header, g.section, g.permission,
           g.access, coalesce(v.description, '') AS description, privilege_risk(NULL, o.number) AS risk_rating
    FROM access_model_grants g
    LEFT JOIN groups o ON o.application_id = g.application_id AND o.name = g.permission
    LEFT JOIN group_versions v ON v.group_number = o.number AND v.until_import IS NULL
    WHERE g.is_group
    UNION ALL
    SELECT g.model_id, g.application_id, g.header, g.section, g.permission, g.access, coalesce(v.description, ''),
           privilege_risk(o.number, NULL)
    FROM access_model_grants g
    LEFT JOIN permissions o ON o.application_id = g.application_id AND o.header = g.header AND o.section = g.section
                               AND o.permission = g.permission
    LEFT JOIN permission_versions v ON v.permission_number = o.number AND v.until_import IS NULL
    WHERE NOT g.is_group;

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

-- The value most holders of this access have; where none holds it so, of another access that gives something.
CREATE FUNCTION usual_value(permission int, wanted text) RETURNS text STABLE LANGUAGE sql BEGIN ATOMIC
    SELECT found.value FROM unnest(ARRAY[wanted, 'Grant', 'Modify', 'Unrestricted']) WITH ORDINALITY AS a (access, place)
    CROSS JOIN LATERAL (
        SELECT v.value FROM permission_values v
        WHERE v.permission_number = permission AND v.access = a.access::access AND v.holders > 0
        ORDER BY v.holders DESC, v.digest LIMIT 1
    ) AS found ORDER BY a.place LIMIT 1;
END;

-- What usernames are compared by: one Unicode form, no case. The same in every locale of the server.
CREATE FUNCTION username_key(username text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE RETURN
    CASE WHEN octet_length(username) = char_length(username) THEN lower(username COLLATE "C")
         ELSE lower(translate(normalize(username, NFKD),
                              'ÆØŁĐÐÞŒΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩςАБВГДЕЖЗИЙКЛМНОПРСТУФХЦЧШЩЪЫЬЭЮЯЄІЇЉЊЋЏҐ',
                              'æøłđðþœαβγδεζηθικλμνξοπρστυφχψωσабвгдежзийклмнопрстуфхцчшщъыьэюяєіїљњћџґ') COLLATE "C")
    END;
CREATE INDEX accounts_by_username_key ON accounts (application_id, username_key(username));
