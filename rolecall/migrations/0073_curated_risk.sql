-- Store the curated rating that counts for an entitlement: all names of one entitlement share the rating of its latest
-- name.
ALTER TABLE entitlements ADD COLUMN curated_risk text,
    ADD CONSTRAINT curated_risk_is_known CHECK (curated_risk IN ('None', 'Low', 'Moderate', 'High', 'Critical'));
WITH RECURSIVE shared (id, risk_rating) AS (
    SELECT c.entitlement_id, c.risk_rating FROM curations c
    WHERE NOT EXISTS (SELECT FROM curations l WHERE l.same_as = c.entitlement_id)
    UNION
    SELECT c.same_as, s.risk_rating FROM shared s JOIN curations c ON c.entitlement_id = s.id WHERE c.same_as IS NOT NULL
)
UPDATE entitlements e SET curated_risk = s.risk_rating FROM shared s WHERE s.id = e.id AND s.risk_rating IS NOT NULL;
CREATE INDEX entitlements_by_curated_risk ON entitlements (id) WHERE curated_risk IS NOT NULL;
