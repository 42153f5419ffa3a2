-- Evaluate the duties of people with access in archived applications, because this access no longer gives a duty.
INSERT INTO identities_to_evaluate (identity_id)
SELECT DISTINCT a.identity_id FROM accounts a JOIN applications o ON o.id = a.application_id
WHERE o.is_archived AND a.identity_id IS NOT NULL AND EXISTS (SELECT FROM duties);
