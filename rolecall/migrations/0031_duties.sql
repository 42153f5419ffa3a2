-- Create the tables of separation of duties: duties (names for what people can do), rules (duties that must stay apart)
-- and conflicts (people who hold such duties). schema/duties.sql computes the holders of duties and the conflicts from
-- duties and rules, imports and matches.

CREATE TABLE duties (
    id          uuid PRIMARY KEY,
    name        text NOT NULL,
    description text NOT NULL DEFAULT '',
    patterns    jsonb NOT NULL DEFAULT '[]',
    name_key    text COLLATE "C" NOT NULL,
    created_at  timestamptz NOT NULL,
    changed_at  timestamptz NOT NULL
);
CREATE UNIQUE INDEX duties_by_name ON duties (lower(name));
CREATE INDEX duties_in_order ON duties (name_key, id);

-- The entitlements that the patterns of a duty match. `lowest` is the rank of the lowest access that gives the duty.
CREATE TABLE duty_entitlements (
    duty_id uuid NOT NULL REFERENCES duties ON DELETE CASCADE,
    kind    text NOT NULL,
    number  int NOT NULL,
    lowest  int NOT NULL,
    PRIMARY KEY (duty_id, kind, number)
);
CREATE INDEX ON duty_entitlements (kind, number);

-- The groups that give a duty to their members: groups that a pattern matches, groups that hold a matched permission,
-- and groups that are nested in such groups.
CREATE TABLE duty_groups (
    duty_id      uuid NOT NULL REFERENCES duties ON DELETE CASCADE,
    group_number int NOT NULL,
    PRIMARY KEY (duty_id, group_number)
);
CREATE INDEX ON duty_groups (group_number);

-- The people who hold a duty now, through any of their matched accounts.
CREATE TABLE duty_holders (
    duty_id     uuid NOT NULL REFERENCES duties ON DELETE CASCADE,
    identity_id uuid NOT NULL,
    -- The key of the identity in the list of all identities.
    list_key    text COLLATE "C" NOT NULL,
    PRIMARY KEY (duty_id, identity_id)
);
CREATE INDEX ON duty_holders (identity_id);
CREATE INDEX duty_holders_listed_duty_id ON duty_holders (duty_id, list_key);

-- A queue of people whose accounts changed outside an import. The evaluation of duties deletes the rows that it takes.
CREATE TABLE identities_to_evaluate (
    number      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    identity_id uuid NOT NULL
);

-- `definition` is the rule as it was last committed, null before the first commit. `draft` is the rule with changes
-- that are not committed yet.
CREATE TABLE duty_rules (
    id           uuid PRIMARY KEY,
    version      int NOT NULL DEFAULT 0,
    definition   jsonb,
    draft        jsonb,
    name_key     text COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    changed_at   timestamptz NOT NULL,
    name         text NOT NULL GENERATED ALWAYS AS (coalesce(definition, draft) ->> 'name') STORED,
    is_in_effect boolean NOT NULL GENERATED ALWAYS AS (coalesce((definition ->> 'enabled')::boolean, false)) STORED
);
CREATE UNIQUE INDEX ON duty_rules (name);
CREATE INDEX duty_rules_in_order ON duty_rules (name_key, id);

CREATE TABLE duty_rule_versions (
    rule_id      uuid NOT NULL REFERENCES duty_rules,
    version      int NOT NULL,
    definition   jsonb NOT NULL,
    committed_at timestamptz NOT NULL,
    caller_id    uuid NOT NULL,
    caller_name  text NOT NULL,
    PRIMARY KEY (rule_id, version)
);

-- The duties of the rules in effect. A control duty makes the combination of the others acceptable.
CREATE TABLE duty_rule_duties (
    rule_id    uuid NOT NULL REFERENCES duty_rules,
    duty_id    uuid NOT NULL REFERENCES duties,
    is_control boolean NOT NULL,
    PRIMARY KEY (rule_id, duty_id)
);
CREATE INDEX ON duty_rule_duties (duty_id);

-- The people who hold duties that a rule keeps apart, from when to when. An import number is null if something other
-- than an import began or ended the conflict. There are no foreign keys to identities, because a commit may write
-- thousands of rows and identities are never deleted.
CREATE TABLE conflicts (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    number       bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    rule_id      uuid NOT NULL REFERENCES duty_rules,
    identity_id  uuid NOT NULL,
    since        timestamptz NOT NULL,
    since_import int,
    until        timestamptz,
    until_import int,
    found_on     timestamptz NOT NULL,
    status       text NOT NULL DEFAULT 'Open',
    list_key     text COLLATE "C" NOT NULL GENERATED ALWAYS AS (time_key(since, number)) STORED,
    CONSTRAINT status_is_known CHECK (status IN ('Open', 'Excepted', 'Ended')),
    CONSTRAINT an_end_ends_it CHECK ((status = 'Ended') = (until IS NOT NULL))
);
CREATE UNIQUE INDEX one_current_conflict ON conflicts (rule_id, identity_id) WHERE until IS NULL;
CREATE UNIQUE INDEX conflicts_listed_ ON conflicts (list_key);
CREATE INDEX conflicts_listed_status ON conflicts (status, list_key);
CREATE INDEX conflicts_listed_rule_id ON conflicts (rule_id, list_key);
CREATE INDEX conflicts_listed_status_rule_id ON conflicts (status, rule_id, list_key);
CREATE INDEX ON conflicts (identity_id, list_key);
CREATE INDEX ON conflicts (until) WHERE until IS NOT NULL;

-- The conflicts that a request would create, as found when the request was created or checked again.
CREATE TABLE request_conflicts (
    request_id uuid NOT NULL REFERENCES access_requests,
    rule_id    uuid NOT NULL,
    rule       text NOT NULL,
    risk       text NOT NULL,
    response   text NOT NULL,
    duties     text[] NOT NULL,
    PRIMARY KEY (request_id, rule_id)
);

-- Exceptions, which let a person keep a conflict until a date, under a compensating control. Only an exception with the
-- status Approved is in force.
CREATE TABLE conflict_exceptions (
    id               uuid PRIMARY KEY,
    number           bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    conflict_id      uuid NOT NULL REFERENCES conflicts,
    rule_id          uuid NOT NULL REFERENCES duty_rules,
    identity_id      uuid NOT NULL,
    reason           text NOT NULL,
    control          text NOT NULL,
    control_owner_id uuid NOT NULL REFERENCES identities,
    until            timestamptz NOT NULL,
    status           text NOT NULL,
    asked_by         uuid NOT NULL,
    asked_by_name    text NOT NULL,
    created_at       timestamptz NOT NULL,
    approved_on      timestamptz,
    ended_on         timestamptz,
    CONSTRAINT status_is_known CHECK (status IN ('Pending', 'Approved', 'Withdrawn', 'Expired'))
);
-- A person may have one pending and one approved exception from a rule, so that the next one can be requested before
-- the current one ends.
CREATE UNIQUE INDEX one_current_exception ON conflict_exceptions (rule_id, identity_id, status) WHERE status IN ('Pending', 'Approved');
CREATE INDEX ON conflict_exceptions (conflict_id);
CREATE INDEX ON conflict_exceptions (until) WHERE status IN ('Pending', 'Approved');

CREATE TABLE exception_approvals (
    exception_id  uuid NOT NULL REFERENCES conflict_exceptions,
    position      int NOT NULL,
    -- The part of the approver: Rule Owner or Second Approver.
    part          text NOT NULL,
    approver_id   uuid NOT NULL,
    approver_name text NOT NULL,
    approved_on   timestamptz NOT NULL,
    PRIMARY KEY (exception_id, position)
);
