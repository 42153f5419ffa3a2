-- Carriers are audited as a part of their application. What a carrier does for a request is audited as a part of the request.

-- Wake the worker after an update of open requests whose application has a carrier, and after requests with steps were canceled. A canceled
-- request waits until the worker has undone its steps (carriers/undoing.py).
CREATE OR REPLACE FUNCTION nudge_carriers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE carried_requests k SET state = 'Waiting', reason = 'the request was canceled' WHERE k.request_id = ANY (ARRAY(
        SELECT id FROM new_rows WHERE status = 'Canceled' EXCEPT SELECT id FROM old_rows WHERE status = 'Canceled'))
        AND EXISTS (SELECT FROM carrier_steps s WHERE s.request_id = k.request_id);
    IF FOUND OR EXISTS (SELECT FROM new_rows n JOIN carriers c USING (application_id) WHERE n.status = 'Open') THEN
        PERFORM pg_notify(carriers_channel(), '');
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER nudge_carriers AFTER UPDATE ON access_requests REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION nudge_carriers();

CALL keep_audit('carriers', '''Application''', 'r.application_id', $$jsonb_build_object('definition', r.definition, 'modeSince', r.mode_since)$$, $$'carrier'$$);
CALL keep_audit('carried_requests', '''Access Request''', 'r.request_id', $$jsonb_build_object('state', r.state, 'reason', r.reason, 'isReleased', r.is_released)$$, $$'carrier'$$);
CALL keep_audit('carrier_steps', '''Access Request''', 'r.request_id', $$jsonb_build_object('step', r.step, 'state', r.state, 'answer', r.answer)$$, $$'carrier.' || r.position$$);
