-- Prevent people from signing in with an e-mail address that an event set without the scope `identities:write`, until
-- the address is confirmed. Until then, the person signs in with the address stored here, or cannot sign in if it is
-- empty.
CREATE TABLE unconfirmed_emails (
    identity_id   uuid PRIMARY KEY REFERENCES identities,
    sign_in_email text NOT NULL,
    set_on        timestamptz NOT NULL
);
CREATE INDEX ON unconfirmed_emails (lower(sign_in_email)) WHERE sign_in_email <> '';
ALTER TABLE personnel_events ADD COLUMN confirms_email boolean NOT NULL DEFAULT false;

-- Requests on the sign-in page for a link by e-mail. The worker finds out whether the address belongs to a person.
CREATE TABLE sign_in_mails (
    id              uuid PRIMARY KEY,
    email           text NOT NULL,
    asked_at        timestamptz NOT NULL,
    next_attempt_on timestamptz,
    attempts        int NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX one_pending_mail_an_address ON sign_in_mails (lower(email)) WHERE next_attempt_on IS NOT NULL;
CREATE INDEX ON sign_in_mails (lower(email), asked_at);
CREATE INDEX ON sign_in_mails (next_attempt_on) WHERE next_attempt_on IS NOT NULL;
