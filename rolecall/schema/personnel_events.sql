-- Personnel events follow their access requests, which know nothing of them.
--
-- INSERT INTO access_request_events (access_requests/moving.py) fires `note_event_news`, which wakes the worker's loop for personnel events.

-- Queue the personnel events whose requests moved, in the transaction of the move; personnel_events/stages.py takes them by deleting them.
CREATE OR REPLACE FUNCTION note_event_news() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO event_news (event_id, caller_id, caller_name)
    SELECT DISTINCT l.item_id, n.caller_id, n.caller_name
    FROM new_rows n JOIN related_items l ON l.request_id = n.request_id
    WHERE l.kind = 'Personnel Event'
      AND n.name IN ('AccessRequestApproved', 'AccessRequestResolved', 'AccessRequestCompleted', 'AccessRequestCanceled');
    IF FOUND THEN
        PERFORM pg_notify(personnel_events_channel(), '');
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER note_event_news AFTER INSERT ON access_request_events REFERENCING NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION note_event_news();

CALL keep_list('personnel_events', 'type', 'status');
CALL keep_audit('personnel_events', '''Personnel Event''', 'r.id', $$to_jsonb(r) - '{id,list_key}'::text[]$$);
CALL keep_audit('stages', '''Personnel Event''', 'r.event_id', $$to_jsonb(r) - '{event_id,sequence}'::text[]$$, $$'stages.' || r.sequence$$);
