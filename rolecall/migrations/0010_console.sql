-- Create the tables of the console: sessions, sign-in links, sign-ins at an OpenID provider, and passwords. Of a
-- session's cookie and of a sign-in link, only a digest is stored.
CREATE TABLE console_sessions (
    sha256      bytea PRIMARY KEY,
    identity_id uuid NOT NULL REFERENCES identities,
    created_at  timestamptz NOT NULL,
    seen_at     timestamptz NOT NULL,
    notice      text,
    notice_kind text
);
CREATE INDEX ON console_sessions (identity_id);
CREATE INDEX ON console_sessions (seen_at);

CREATE TABLE sign_in_links (
    sha256      bytea PRIMARY KEY,
    identity_id uuid NOT NULL REFERENCES identities,
    expires_at  timestamptz NOT NULL,
    used_at     timestamptz
);

-- Sign-ins that were sent to the OpenID provider and have not come back yet. `sha256` is the digest of the OpenID
-- parameter `state`.
CREATE TABLE sign_in_attempts (
    sha256     bytea PRIMARY KEY,
    nonce      text NOT NULL,
    verifier   text NOT NULL,
    next       text NOT NULL,
    expires_at timestamptz NOT NULL
);

CREATE TABLE console_passwords (
    identity_id uuid PRIMARY KEY REFERENCES identities,
    argon2      text NOT NULL,
    set_at      timestamptz NOT NULL
);

-- These indexes find the responses that a person has not given yet, and people by their first names.
CREATE INDEX responses_to_give ON responses (reviewer_id, type) WHERE response = 'Pending';
CREATE INDEX identities_by_first_name ON identities (left(first_name_key, 300), list_key);
