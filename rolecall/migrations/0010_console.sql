-- Only digests of secrets are kept: of a session's cookie, of a one-time sign-in link.
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

-- Somebody whom we sent to the OpenID provider and who has not come back; found by the digest of the state.
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

-- What waits for a person, and people by their first names.
CREATE INDEX responses_to_give ON responses (reviewer_id, type) WHERE response = 'Pending';
CREATE INDEX identities_by_first_name ON identities (left(first_name_key, 300), list_key);
