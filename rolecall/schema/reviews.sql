-- Access reviews: who can review, which identity an account belonged to, what the worker has to compare or follow, and copies of item data
-- that triggers keep up to date.
--
-- UPDATE of application_imports to Finished fires `note_import_to_review`. INSERT of access_request_events fires `follow_review_requests`.
-- UPDATE of review_items fires `show_review_items`, `keep_item_reasons` and, for a forbidden change of status, `refuse_item_move`.

-- Return why an identity cannot review at this time, or null if it can. Unlike obstacle_of, also return one for unknown ids and leaves.
CREATE OR REPLACE FUNCTION review_obstacle(person uuid, moment timestamptz) RETURNS text STABLE LANGUAGE sql RETURN
    CASE WHEN NOT EXISTS (SELECT FROM identities i WHERE i.id = person) THEN 'does not exist'
         ELSE coalesce(obstacle_of(person), CASE WHEN is_absent(person, moment) THEN 'is absent' END) END;

-- Return the identity that an account was matched to at a time, or null. Unlike identity_then, this extends neither a pin nor the first match
-- to earlier times.
CREATE OR REPLACE FUNCTION matched_then(account accounts, moment timestamptz) RETURNS uuid STABLE LANGUAGE sql RETURN
    CASE WHEN account.matched_on <= moment THEN account.identity_id ELSE
        (SELECT m.identity_id FROM past_matches m WHERE m.account_number = account.number AND m.since <= moment AND m.until > moment
         ORDER BY m.since DESC LIMIT 1) END;

-- Queue a finished import, to be compared with review items.
CREATE OR REPLACE FUNCTION note_import_to_review() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO imports_to_review (import_number, application_id) VALUES (NEW.number::int, NEW.application_id) ON CONFLICT DO NOTHING;
    PERFORM pg_notify(reviews_channel(), '');
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_import_to_review AFTER UPDATE OF status ON application_imports FOR EACH ROW
    WHEN (NEW.status = 'Finished' AND OLD.status <> 'Finished') EXECUTE FUNCTION note_import_to_review();

-- Queue requests of review items for the worker: requests that were completed or canceled, and requests that reach provisioning although
-- their access was accepted. They are queued in the transaction that changes the status of the request.
CREATE OR REPLACE FUNCTION follow_review_requests() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO review_news (request_id, name) SELECT n.request_id, n.name FROM new_rows n
    WHERE n.name IN ('AccessRequestCompleted', 'AccessRequestCanceled')
      AND EXISTS (SELECT FROM related_items l WHERE l.request_id = n.request_id AND l.kind = 'Review Item')
       OR n.name = 'AccessRequestProvisioning'
      AND EXISTS (SELECT FROM review_items i WHERE i.request_id = n.request_id AND i.accepted_until IS NOT NULL) ORDER BY n.number;
    IF FOUND THEN
        PERFORM pg_notify(reviews_channel(), '');
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER follow_review_requests AFTER INSERT ON access_request_events REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION follow_review_requests();

-- Refuse a change of status that ITEM_MOVES (reviews/model.py) does not list.
CREATE OR REPLACE FUNCTION refuse_item_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A review item cannot change from % to %', OLD.status, NEW.status USING ERRCODE = 'check_violation';
END $$;
CREATE OR REPLACE TRIGGER refuse_item_move BEFORE UPDATE OF status ON review_items FOR EACH ROW
    WHEN (NEW.status <> OLD.status AND OLD.status || ' > ' || NEW.status <> ALL (review_item_moves())) EXECUTE FUNCTION refuse_item_move();

-- Copy the status of review items to the requests that carry them out.
CREATE OR REPLACE FUNCTION show_review_items() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE related_items l SET status = n.status FROM new_rows n
    WHERE n.request_id IS NOT NULL AND l.request_id = n.request_id AND l.item_id = n.id AND l.status <> n.status;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER show_review_items AFTER UPDATE ON review_items REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION show_review_items();

-- Copy the status and the reviewer of items to the lists by reason.
CREATE OR REPLACE FUNCTION keep_item_reasons() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    -- Use EXCEPT instead of a join: with a cached plan for few rows, a join of many rows would take quadratic time.
    UPDATE review_item_reasons x SET status = n.status, reviewer_id = n.reviewer_id
    FROM (SELECT review_id, list_key, status, reviewer_id, facts FROM new_rows
          EXCEPT SELECT review_id, list_key, status, reviewer_id, facts FROM old_rows) AS n
    WHERE x.review_id = n.review_id AND x.reason = ANY (n.facts) AND x.list_key = n.list_key;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER keep_item_reasons AFTER UPDATE ON review_items REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION keep_item_reasons();

CALL keep_list('reviews', 'status', 'type');
CALL keep_lists('review_items', '{review_id}', 'status', 'reviewer_id', 'application_id');
CALL keep_lists('review_item_reasons', '{review_id,reason}', 'status', 'reviewer_id', 'application_id');
CALL keep_audit('reviews', '''Review''', 'r.id', $$to_jsonb(r) - '{id,list_key}'::text[]$$);
CALL keep_audit('review_templates', '''Review Template''', 'r.id', $$to_jsonb(r) - '{id}'::text[]$$);
CALL keep_audit('review_bulks', '''Review''', 'r.review_id', $$to_jsonb(r) - '{id,number,review_id}'::text[]$$, $$'bulks.' || r.number$$);
CALL keep_audit('review_submissions', '''Review''', 'r.review_id', $$to_jsonb(r) - '{id,number,review_id}'::text[]$$, $$'submissions.' || r.number$$);
-- A bulk decision is one audit entry of its review, with a digest of its items.
CALL keep_audit('review_decisions', '''Review Item''', 'CASE WHEN r.bulk_id IS NULL THEN r.item_id END',
                $$to_jsonb(r) - '{number,review_id,item_id,bulk_id}'::text[]$$, $$'decisions.' || r.number$$);
CALL keep_audit('review_moves', '''Review Item''', 'r.item_id', $$to_jsonb(r) - '{number,review_id,item_id}'::text[]$$, $$'moves.' || r.number$$);
CALL keep_audit('review_acceptances', '''Review Item''', 'r.item_id', $$to_jsonb(r) - '{number,item_id}'::text[]$$, $$'acceptances.' || r.number$$);
CALL keep_audit('review_steps', '''Review''', 'r.review_id', $$to_jsonb(r) - '{number,review_id}'::text[]$$, $$'steps.' || r.number$$);
-- Audit the counts of each application (equation.py), and the changes that the service itself made (changes.py).
CALL keep_audit('review_populations', '''Review''', 'r.review_id', $$to_jsonb(r) - '{review_id,position}'::text[]$$, $$'populations.' || r.position$$);
CALL keep_audit('review_changes', '''Review''', 'r.review_id', $$to_jsonb(r) - '{number,review_id,items}'::text[]$$, $$'changes.' || r.number$$);
