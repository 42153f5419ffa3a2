-- Carriers are audited as a part of their application. What a carrier does for a request is audited as a part of the request.

-- Wake the worker after an update of open requests whose application has a carrier.
CREATE OR REPLACE FUNCTION nudge_carriers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM new_rows n JOIN carriers c USING (application_id) WHERE n.status = 'Open') THEN
        PERFORM pg_notify(carriers_channel(), '');
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER nudge_carriers AFTER UPDATE ON access_requests REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION nudge_carriers();

CALL keep_audit('carriers', '''Application''', 'r.application_id', $$jsonb_build_object('definition', r.definition, 'modeSince', r.mode_since)$$, $$'carrier'$$);
CALL keep_audit('carried_requests', '''Access Request''', 'r.request_id', $$jsonb_build_object('state', r.state, 'reason', r.reason, 'isReleased', r.is_released)$$, $$'carrier'$$);
CALL keep_audit('carrier_steps', '''Access Request''', 'r.request_id', $$jsonb_build_object('step', r.step, 'state', r.state, 'answer', r.answer)$$, $$'carrier.' || r.position$$);
