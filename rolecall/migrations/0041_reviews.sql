-- Create the tables of access reviews: who reviews which access until when (reviews), what is reviewed (items), and
-- what was decided. docs/reviews.md explains reviews.
CREATE TABLE reviews (
    id             uuid PRIMARY KEY,
    number         bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    name           text NOT NULL,
    description    text NOT NULL DEFAULT '',
    type           text NOT NULL,
    status         text NOT NULL DEFAULT 'Draft',
    scope          jsonb NOT NULL DEFAULT '{}',
    -- `stages` are the groups of reviewers who decide in turn; `fallback` says who reviews if none of these can.
    stages         jsonb NOT NULL,
    fallback       jsonb,
    due_on         timestamptz NOT NULL,
    period_from    timestamptz,
    period_until   timestamptz,
    explained      text NOT NULL,
    on_silence     text NOT NULL,
    statement      text NOT NULL,
    owner_id       uuid,
    created_by     text NOT NULL,
    created_at     timestamptz NOT NULL,
    opened_on      timestamptz,
    closed_on      timestamptz,
    completed_on   timestamptz,
    canceled_on    timestamptz,
    reminded_on    timestamptz,
    -- The reason why closing the review waits for a person; null if it does not wait.
    held           text,
    -- The SHA-256 digest of the sorted items, and the number of items.
    digest         text,
    item_count     int NOT NULL DEFAULT 0,
    template_id    uuid,
    -- The import that opened this review because it showed unexplained access; null for other reviews.
    surprise_of    int,
    list_key       text COLLATE "C" NOT NULL GENERATED ALWAYS AS (time_key(created_at, number)) STORED,
    CONSTRAINT type_is_known CHECK (type IN ('Application', 'Supervisor', 'Entitlement', 'Group Contents', 'Privileged', 'Unexplained',
                                             'Changed', 'Unmatched', 'Leavers', 'Model')),
    CONSTRAINT status_is_known CHECK (status IN ('Draft', 'Open', 'Closed', 'Completed', 'Canceled')),
    CONSTRAINT explained_is_known CHECK (explained IN ('each', 'by model', 'carry over')),
    CONSTRAINT on_silence_is_known CHECK (on_silence IN ('escalate', 'flag', 'approve')),
    CONSTRAINT opened_reviews_are_pinned CHECK ((opened_on IS NULL) = (digest IS NULL))
);
CREATE UNIQUE INDEX reviews_listed_ ON reviews (list_key);
CREATE INDEX reviews_listed_status ON reviews (status, list_key);
CREATE INDEX reviews_listed_type ON reviews (type, list_key);
CREATE INDEX reviews_listed_status_type ON reviews (status, type, list_key);
CREATE INDEX reviews_open ON reviews (due_on) WHERE status = 'Open';

-- For each application, the import from which the items were taken, and the counts of its accounts, of their access, of
-- items, and of excluded access by reason.
CREATE TABLE review_populations (
    review_id      uuid NOT NULL REFERENCES reviews,
    position       int NOT NULL,
    -- Null in a Model review, which counts models.
    application_id uuid REFERENCES applications,
    import_number  int,
    file_rows      int,
    accounts       int NOT NULL,
    held           int NOT NULL,
    items          int NOT NULL,
    excluded       jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (review_id, position)
);
CREATE INDEX ON review_populations (application_id);

-- The records that the scope excluded when the review was opened. They are stored because imports do not show the
-- departments, types and ratings of that time.
CREATE TABLE review_scopes (
    review_id uuid NOT NULL REFERENCES reviews,
    kind      text NOT NULL,
    id        uuid NOT NULL,
    reason    text NOT NULL,
    PRIMARY KEY (review_id, kind, id),
    CONSTRAINT kind_is_known CHECK (kind IN ('Entitlement', 'Identity', 'Model'))
);

-- There are no foreign keys to imported records, because opening a review writes up to millions of items.
CREATE TABLE review_items (
    id                uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    number            bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    review_id         uuid NOT NULL REFERENCES reviews,
    status            text NOT NULL DEFAULT 'Pending',
    subject           text NOT NULL,
    application_id    uuid,
    account_number    int,
    -- For a review of the contents of groups, the group that holds the entitlement.
    group_number      int,
    entitlement_id    uuid,
    model_id          uuid,
    identity_id       uuid,
    access            text NOT NULL DEFAULT 'None',
    since_import      int,
    -- The requests and the models that explained the access when the review was opened.
    request_ids       uuid[] NOT NULL DEFAULT '{}',
    model_ids         uuid[] NOT NULL DEFAULT '{}',
    -- The item about the model that explains this access; the decision about the model counts for this item too.
    under_id          uuid,
    facts             text[] NOT NULL DEFAULT '{}',
    recommendation    text,
    peers             int,
    peers_holding     int,
    -- The item of an earlier review about the same access.
    previous_id       uuid,
    is_carried        boolean NOT NULL DEFAULT false,
    is_sample         boolean NOT NULL DEFAULT false,
    stage             int NOT NULL DEFAULT 1,
    reviewer_id       uuid NOT NULL,
    -- The reason why the reviewer is not the person whom the stage names; empty if the reviewer is this person.
    moved             text NOT NULL DEFAULT '',
    -- When the reviewer first read the details of the item.
    read_on           timestamptz,
    decision          text,
    until             timestamptz,
    new_access        text,
    comment           text NOT NULL DEFAULT '',
    decided_on        timestamptz,
    decided_by        uuid,
    bulk_id           uuid,
    submission_id     uuid,
    request_id        uuid,
    remediated_on     timestamptz,
    remediated_import int,
    reopened_on       timestamptz,
    reopened_import   int,
    accepted_until    timestamptz,
    -- The key sorts the items of a review by person, application and entitlement.
    list_key          text COLLATE "C" NOT NULL,
    CONSTRAINT status_is_known CHECK (status IN ('Pending', 'Approved', 'Flagged', 'Remediated', 'Withdrawn')),
    CONSTRAINT subject_is_known CHECK (subject IN ('Access', 'Account', 'Group', 'Model')),
    CONSTRAINT decision_is_known CHECK (decision IN ('Keep', 'Keep Until', 'Change', 'Revoke', 'Not Mine', 'Unsure'))
);
CREATE UNIQUE INDEX review_items_listed_review_id ON review_items (review_id, list_key);
CREATE INDEX review_items_listed_review_id_status ON review_items (review_id, status, list_key);
CREATE INDEX review_items_listed_review_id_reviewer_id ON review_items (review_id, reviewer_id, list_key);
CREATE INDEX review_items_listed_review_id_application_id ON review_items (review_id, application_id, list_key);
CREATE INDEX review_items_listed_review_id_status_reviewer_id ON review_items (review_id, status, reviewer_id, list_key);
CREATE INDEX review_items_listed_review_id_status_application_id ON review_items (review_id, status, application_id, list_key);
CREATE INDEX review_items_listed_review_id_reviewer_id_application_id ON review_items (review_id, reviewer_id, application_id, list_key);
CREATE INDEX review_items_listed_review_id_status_reviewer_id_application_id
    ON review_items (review_id, status, reviewer_id, application_id, list_key);
CREATE INDEX ON review_items (identity_id, list_key);
CREATE INDEX ON review_items (account_number, entitlement_id);
CREATE INDEX review_items_waiting ON review_items (reviewer_id) WHERE status = 'Pending';
CREATE INDEX ON review_items (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX ON review_items (under_id) WHERE under_id IS NOT NULL;

-- Every decision, even if it was changed or withdrawn later. A withdrawal is a row without a decision.
CREATE TABLE review_decisions (
    number          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    review_id       uuid NOT NULL REFERENCES reviews,
    item_id         uuid NOT NULL,
    stage           int NOT NULL,
    reviewer_id     uuid NOT NULL,
    decision        text,
    until           timestamptz,
    new_access      text,
    comment         text NOT NULL,
    -- The reviewer, their stand-in, or the token that recorded the decision.
    decided_by      uuid NOT NULL,
    decided_by_name text NOT NULL,
    decided_on      timestamptz NOT NULL,
    bulk_id         uuid
);
CREATE INDEX ON review_decisions (item_id, number);
CREATE INDEX ON review_decisions (review_id, number);

-- The decisions about several items at once: which items were selected, and the SHA-256 digest of these items.
CREATE TABLE review_bulks (
    id              uuid PRIMARY KEY,
    number          bigint GENERATED ALWAYS AS IDENTITY,
    review_id       uuid NOT NULL REFERENCES reviews,
    reviewer_id     uuid NOT NULL,
    selection       jsonb NOT NULL,
    decision        text NOT NULL,
    comment         text NOT NULL,
    item_count      int NOT NULL,
    digest          text NOT NULL,
    decided_by      uuid NOT NULL,
    decided_by_name text NOT NULL,
    decided_on      timestamptz NOT NULL
);
CREATE INDEX ON review_bulks (review_id, number);

-- The statements that reviewers signed when they submitted their items.
CREATE TABLE review_submissions (
    id                uuid PRIMARY KEY,
    number            bigint GENERATED ALWAYS AS IDENTITY,
    review_id         uuid NOT NULL REFERENCES reviews,
    reviewer_id       uuid NOT NULL,
    reviewer_name     text NOT NULL,
    statement         text NOT NULL,
    counts            jsonb NOT NULL,
    digest            text NOT NULL,
    submitted_by      uuid NOT NULL,
    submitted_by_name text NOT NULL,
    submitted_on      timestamptz NOT NULL
);
CREATE INDEX ON review_submissions (review_id, number);

-- The items that went to another reviewer after the review was opened.
CREATE TABLE review_moves (
    number        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    review_id     uuid NOT NULL REFERENCES reviews,
    item_id       uuid NOT NULL,
    from_id       uuid NOT NULL,
    to_id         uuid NOT NULL,
    stage         int NOT NULL,
    reason        text NOT NULL,
    moved_by_name text NOT NULL,
    moved_on      timestamptz NOT NULL
);
CREATE INDEX ON review_moves (item_id, number);
CREATE INDEX ON review_moves (review_id, number);

-- Flagged access that the owner of the application accepts until a date.
CREATE TABLE review_acceptances (
    number           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    item_id          uuid NOT NULL,
    reason           text NOT NULL,
    until            timestamptz NOT NULL,
    accepted_by      uuid NOT NULL,
    accepted_by_name text NOT NULL,
    accepted_on      timestamptz NOT NULL
);
CREATE INDEX ON review_acceptances (item_id);

-- The events of reviews, as in the webhook payload.
CREATE TABLE review_events (
    number         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name           text NOT NULL,
    review_id      uuid NOT NULL REFERENCES reviews,
    item_id        uuid,
    application_id uuid,
    created_at     timestamptz NOT NULL,
    subject        json NOT NULL
);
CREATE INDEX ON review_events (review_id, number);

-- A queue of finished imports that were not compared with review items yet. The worker deletes the rows that it takes.
CREATE TABLE imports_to_review (
    import_number  int PRIMARY KEY,
    application_id uuid NOT NULL
);

-- A queue of requests of review items that were completed or canceled. The worker deletes the rows that it takes.
CREATE TABLE review_news (
    number     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    request_id uuid NOT NULL,
    name       text NOT NULL,
    -- Whether an import, and no person, completed the request.
    is_proved  boolean NOT NULL
);

-- The templates of reviews that are repeated.
CREATE TABLE review_templates (
    id             uuid PRIMARY KEY,
    name           text NOT NULL,
    every_months   int NOT NULL,
    days_to_review int NOT NULL,
    next_on        timestamptz NOT NULL,
    opens          boolean NOT NULL,
    body           jsonb NOT NULL,
    last_review_id uuid,
    fault          text NOT NULL DEFAULT '',
    created_at     timestamptz NOT NULL,
    CONSTRAINT every_is_positive CHECK (every_months > 0)
);
CREATE UNIQUE INDEX review_templates_by_name ON review_templates (lower(name));

-- Allow notifications about reviews.
ALTER TABLE notifications DROP CONSTRAINT item_kind_is_known;
ALTER TABLE notifications ADD CONSTRAINT item_kind_is_known
    CHECK (item_kind IN ('Access Request', 'Personnel Event', 'Import', 'Webhook', 'Channel', 'Exception', 'Report',
                         'Application', 'Stand-In', 'Duty Rule', 'Review'));

-- How often an application must be reviewed, and whether access that an import shows without an explanation is reviewed
-- at once.
ALTER TABLE applications ADD COLUMN review_every_months int, ADD COLUMN surprise_reviews boolean NOT NULL DEFAULT false,
    ADD CONSTRAINT review_every_is_positive CHECK (review_every_months > 0);
