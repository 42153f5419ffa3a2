-- Stand-ins: who responds for whom at a given time. They are named by hand (stand_ins/actions.py), or automatic during a leave of absence:
-- `keep_absences` (schema/personnel_events.sql) writes `absences`.

CREATE OR REPLACE FUNCTION is_absent(person uuid, moment timestamptz) RETURNS boolean STABLE LANGUAGE sql RETURN
    EXISTS (SELECT FROM absences a WHERE a.identity_id = person AND a.starts_on <= moment AND (a.ends_on IS NULL OR a.ends_on > moment));

-- Return why a person must not decide: they are not active, cannot sign in, or are an Auditor, who makes no decisions. Return null if
-- nothing prevents it, and for an unknown id.
CREATE OR REPLACE FUNCTION obstacle_of(person uuid) RETURNS text STABLE LANGUAGE sql RETURN
    (SELECT CASE WHEN i.status <> 'Active' THEN 'is ' || i.status
                 WHEN c.role IS NULL AND i.type = ANY (types_without_sign_in()) THEN 'cannot sign in'
                 WHEN c.role = 'Auditor' THEN 'is an auditor' END
     FROM identities i LEFT JOIN console_roles c ON c.identity_id = i.id WHERE i.id = person);

CREATE OR REPLACE FUNCTION may_decide(person uuid) RETURNS boolean STABLE LANGUAGE sql RETURN
    EXISTS (SELECT FROM identities i WHERE i.id = person) AND obstacle_of(person) IS NULL;

-- Return whether `author` entered or prolonged a current or planned leave of `person`.
CREATE OR REPLACE FUNCTION entered_leave_of(author uuid, person uuid) RETURNS boolean STABLE LANGUAGE sql RETURN
    EXISTS (SELECT FROM absences a WHERE a.identity_id = person AND author = ANY (a.entered_by || a.prolonged_by));

-- Return the person who stands in during a leave: the supervisor or, if the supervisor entered or prolonged the leave, the supervisor's
-- supervisor, so that supervisors cannot take over the authority of a person by sending them on leave. Return null if the person is not on
-- leave. Also return null if this stand-in must not decide, also entered or prolonged the leave, or is the person on leave.
CREATE OR REPLACE FUNCTION automatic_stand_in(person uuid, moment timestamptz) RETURNS uuid STABLE LANGUAGE sql RETURN
    (SELECT above.id FROM identities p LEFT JOIN identities s ON s.id = p.supervisor_id
     CROSS JOIN LATERAL (SELECT CASE WHEN entered_leave_of(p.supervisor_id, p.id) THEN s.supervisor_id ELSE p.supervisor_id END AS id) AS above
     WHERE p.id = person AND above.id <> p.id AND NOT entered_leave_of(above.id, p.id) AND is_absent(person, moment) AND may_decide(above.id));

-- Return the stand-in of a person: the person chosen for this type of response, else for every type, else the automatic stand-in during a
-- leave. Return null for an inactive person, who has no authority to pass on.
CREATE OR REPLACE FUNCTION stand_in_of(person uuid, response_type text, moment timestamptz) RETURNS uuid STABLE LANGUAGE sql RETURN
    (SELECT coalesce(
        (SELECT s.stand_in_id FROM stand_ins s
         WHERE s.identity_id = person AND may_decide(s.stand_in_id) AND (s.type IS NULL OR s.type = response_type) AND s.starts_on <= moment AND s.ends_on > moment
         ORDER BY s.type NULLS LAST, s.number LIMIT 1),
        automatic_stand_in(person, moment))
     FROM identities p WHERE p.id = person AND p.status = 'Active');

-- Return whether one of the authors entered or prolonged the leave that one of the people is on.
CREATE OR REPLACE FUNCTION entered_current_leave(authors uuid[], people uuid[], moment timestamptz) RETURNS boolean STABLE LANGUAGE sql RETURN
    EXISTS (SELECT FROM absences a WHERE a.identity_id = ANY (people) AND (a.entered_by || a.prolonged_by) && authors AND a.starts_on <= moment
                                     AND (a.ends_on IS NULL OR a.ends_on > moment));

-- Return everyone who may decide for a person, directly or through a chain of stand-ins; `excluded` are the people who must not decide. The
-- chain ends at the first of these:
-- * a cycle
-- * an excluded person, because they must not choose who decides either
-- * a person who entered or prolonged the current leave of someone earlier in the chain. A direct stand-in is exempt, because `stand_in_of`
--   returns such a person only if the absent person named them.
CREATE OR REPLACE FUNCTION eligible_stand_ins(person uuid, response_type text, moment timestamptz, excluded uuid[]) RETURNS SETOF uuid STABLE ROWS 1 LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE chain AS (
        SELECT stand_in_of(person, response_type, moment) AS id, ARRAY[person] AS before WHERE person <> ALL (excluded)
        UNION ALL
        SELECT following.id, c.before || c.id
        FROM chain c CROSS JOIN LATERAL (SELECT stand_in_of(c.id, response_type, moment) AS id) AS following
        WHERE c.id <> ALL (c.before || excluded) AND NOT entered_current_leave(ARRAY[following.id], c.before, moment))
    SELECT c.id FROM chain c WHERE c.id <> ALL (c.before || excluded);
END;

-- Return everyone who responds for a person, directly or through others.
CREATE OR REPLACE FUNCTION stand_ins_for(person uuid, response_type text, moment timestamptz) RETURNS SETOF uuid STABLE ROWS 1 LANGUAGE sql BEGIN ATOMIC
    SELECT eligible_stand_ins(person, response_type, moment, '{}');
END;

-- Return the people in the chain of stand-ins between a person and `last`.
CREATE OR REPLACE FUNCTION stand_ins_between(person uuid, last uuid, response_type text, moment timestamptz) RETURNS SETOF uuid STABLE ROWS 1 LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE chain AS (
        SELECT stand_in_of(person, response_type, moment) AS id
        UNION SELECT stand_in_of(c.id, response_type, moment) FROM chain c WHERE c.id NOT IN (person, last))
    SELECT c.id FROM chain c WHERE c.id NOT IN (person, last);
END;

-- Return everyone for whom a person responds, directly or through others, with the type of response: the inverse of `stand_ins_for`. A
-- supervisor stands in for direct reports on leave, and for those of a direct report who entered their leave; absences_authors_idx finds
-- these. OFFSET 0 keeps the planner from reading all identities.
CREATE OR REPLACE FUNCTION responds_for(person uuid, moment timestamptz) RETURNS TABLE (reviewer_id uuid, type text) STABLE ROWS 1 LANGUAGE sql BEGIN ATOMIC
    WITH RECURSIVE represented AS (
        SELECT person AS id, ARRAY['Approve', 'Resolve', 'Verify'] AS types, '{}'::uuid[] AS after
        UNION
        SELECT found.id, asked.types, r.after || r.id
        FROM represented r CROSS JOIN LATERAL (
            SELECT s.identity_id AS id FROM stand_ins s WHERE s.stand_in_id = r.id AND s.starts_on <= moment AND s.ends_on > moment
            UNION
            SELECT b.id FROM (SELECT i.id FROM identities i WHERE i.supervisor_id = r.id
                              UNION ALL SELECT e.identity_id FROM absences e
                              WHERE (e.entered_by || e.prolonged_by) && ARRAY(SELECT s.id FROM identities s WHERE s.supervisor_id = r.id)
                              OFFSET 0) AS b
            WHERE is_absent(b.id, moment)) AS found
        CROSS JOIN LATERAL (SELECT ARRAY(SELECT t FROM unnest(r.types) AS t WHERE stand_in_of(found.id, t, moment) = r.id) AS types) AS asked
        WHERE found.id <> person AND asked.types <> '{}' AND NOT entered_current_leave(r.after, ARRAY[found.id], moment))
    SELECT r.id, unnest(r.types) FROM represented r WHERE r.id <> person;
END;

-- Return whether the reviewer or a stand-in may decide and is present; `excluded` are the people who must not decide. A reviewer that is not
-- an identity means the administrators, who can always respond.
CREATE OR REPLACE FUNCTION can_be_answered(reviewer uuid, response_type text, moment timestamptz, excluded uuid[]) RETURNS boolean STABLE LANGUAGE sql RETURN
    reviewer <> ALL (excluded) AND NOT is_absent(reviewer, moment)
        AND (may_decide(reviewer) OR NOT EXISTS (SELECT FROM identities i WHERE i.id = reviewer))
    OR EXISTS (SELECT FROM eligible_stand_ins(reviewer, response_type, moment, excluded) AS s WHERE NOT is_absent(s, moment));

CALL keep_audit('stand_ins', '''Stand-In''', 'r.id', $$to_jsonb(r) - '{id,number}'::text[]$$);
