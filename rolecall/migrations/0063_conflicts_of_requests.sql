-- Store the people for whom a request would create a conflict, with the duties and the response of the rule at that
-- time. `owner_id` is the owner of the rule at that time. `requirement` is the rule of `responses` by which the owner
-- approves, if the response of the rule requires an approval.
CREATE TABLE request_conflict_people (
    request_id  uuid NOT NULL REFERENCES access_requests,
    rule_id     uuid NOT NULL,
    identity_id uuid NOT NULL,
    duty_ids    uuid[] NOT NULL,
    response    text NOT NULL,
    owner_id    uuid,
    requirement int,
    PRIMARY KEY (request_id, rule_id, identity_id)
);
-- The people of earlier requests about groups were not stored, so the owner of the rule is asked once more about these
-- requests.
INSERT INTO request_conflict_people (request_id, rule_id, identity_id, duty_ids, response, owner_id)
SELECT c.request_id, c.rule_id, r.identity_id, ARRAY(SELECT d.id FROM duties d WHERE d.name = ANY (c.duties)), c.response, (u.definition ->> 'ownerId')::uuid
FROM request_conflicts c JOIN access_requests r ON r.id = c.request_id JOIN duty_rules u ON u.id = c.rule_id
WHERE r.identity_id IS NOT NULL;
