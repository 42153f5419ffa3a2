-- Personnel events react to changes of their access requests. The requests do not depend on events.
--
-- INSERT of access_request_events fires `note_event_news`, which wakes the worker's loop for personnel events. INSERT and UPDATE of a leave of
-- absence fire `keep_absences`.

-- Queue a personnel event when one of its requests makes progress or is canceled, in the transaction that changes the request.
-- personnel_events/stages.py removes it from the queue.
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

-- Keep `absences` up to date with current and planned leaves, because stand-ins respond for people on leave.
CREATE OR REPLACE FUNCTION keep_absences() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status IN ('Completed', 'Canceled') THEN
        DELETE FROM absences WHERE event_id = NEW.id;
    ELSE
        INSERT INTO absences (event_id, identity_id, starts_on, ends_on, entered_by)
        VALUES (NEW.id, NEW.identity_id, NEW.needed_on, NEW.needed_until,
                coalesce((SELECT t.owner_id FROM tokens t WHERE t.id = NEW.reporter_id), NEW.reporter_id))
        ON CONFLICT (event_id) DO UPDATE SET starts_on = EXCLUDED.starts_on, ends_on = EXCLUDED.ends_on;
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER keep_absences AFTER INSERT OR UPDATE OF status, needed_on, needed_until ON personnel_events FOR EACH ROW
    WHEN (NEW.type = 'Absence') EXECUTE FUNCTION keep_absences();

CALL keep_list('personnel_events', 'type', 'status');
CALL keep_audit('personnel_events', '''Personnel Event''', 'r.id', $$to_jsonb(r) - '{id,list_key}'::text[]$$, name => $$'#' || r.number$$);
CALL keep_audit('stages', '''Personnel Event''', 'r.event_id', $$to_jsonb(r) - '{event_id,sequence}'::text[]$$, $$'stages.' || r.sequence$$);
