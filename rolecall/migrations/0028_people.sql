-- Add the role `People`, and add indexes for people without a role, who sign in too and see their own records.
CREATE INDEX sign_in_links_identity_id_idx ON sign_in_links (identity_id);
CREATE INDEX access_requests_reporter_id_list_key_idx ON access_requests (reporter_id, list_key);
ALTER TABLE console_roles DROP CONSTRAINT role_is_known;
ALTER TABLE console_roles ADD CONSTRAINT role_is_known
    CHECK (role IN ('Administrator', 'People', 'Operator', 'Reviewer', 'Provisioner', 'Auditor'));
