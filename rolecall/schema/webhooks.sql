-- Triggers insert webhook deliveries, so that no recorded event is missed (docs/decisions/0034).
--
-- INSERT of access_request_events fires `fan_out_on_insert`, and INSERT of review_events fires `fan_out_on_review_event`. Both insert
-- deliveries and wake the sender. Only test deliveries are inserted by Python code (webhooks/actions.py).

-- Return the body of a delivery, exactly as it is signed and sent. `member` is the name under which the body contains `record`, the record that
-- the event is about. webhooks/payload.py describes the body for the OpenAPI document.
CREATE OR REPLACE FUNCTION webhook_envelope(id uuid, created timestamptz, event text, member text, record json) RETURNS bytea STABLE LANGUAGE sql AS $$
    SELECT convert_to(format(
        '{"id":"%s","createdDate":"%s","callback":%s,"event":{"name":"%s","display":"%s","description":"%s","%s":%s}}',
        id,
        replace(to_char(created AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '.000000', '') || 'Z',
        to_json(current_setting('rolecall.base_url') || '/webhooks/callback/' || id),
        event,
        event_display(event),
        event_description(event),
        member,
        record), 'UTF8')
$$;

-- Return the body of a delivery about an access request.
CREATE OR REPLACE FUNCTION webhook_body(id uuid, created timestamptz, event text, request json) RETURNS bytea STABLE LANGUAGE sql AS $$
    SELECT webhook_envelope(id, created, event, 'request', request)
$$;

-- Insert one delivery for each matching webhook, in the transaction that records the event, and wake the sender. Deliveries of a webhook
-- that the service disabled are parked, so that they can be recovered; a webhook that a person disabled gets none.
CREATE OR REPLACE FUNCTION fan_out_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_deliveries (id, webhook_id, access_request_id, event, status, body, created_date, next_attempt_on)
    SELECT d.id, d.webhook_id, d.request_id, d.name, CASE WHEN d.enabled THEN 'Pending' ELSE 'Parked' END,
           webhook_body(d.id, d.created_at, d.name, d.request), d.created_at, CASE WHEN d.enabled THEN d.created_at END
    FROM (SELECT gen_random_uuid() AS id, h.id AS webhook_id, h.enabled, e.request_id, e.number, e.name, e.created_at, e.request
          FROM new_events e
          JOIN webhooks h ON (h.enabled OR h.disabled_reason IS NOT NULL) AND e.name = ANY (h.events)
                         AND (h.application_id IS NULL OR h.application_id = e.application_id)
          WHERE h.deleted_on IS NULL) AS d
    ORDER BY d.number, d.webhook_id;
    IF FOUND THEN
        PERFORM pg_notify(deliveries_channel(), '');
    END IF;
    RETURN NULL;
END $$;

-- Return the body of a delivery about a review or one of its items.
CREATE OR REPLACE FUNCTION webhook_review_body(id uuid, created timestamptz, event text, subject json) RETURNS bytea STABLE LANGUAGE sql AS $$
    SELECT webhook_envelope(id, created, event, 'subject', subject)
$$;

-- Insert deliveries of review events as fan_out_events does for access requests. A webhook for one application gets only events about items
-- of that application and about reviews that cover it.
CREATE OR REPLACE FUNCTION fan_out_review_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO webhook_deliveries (id, webhook_id, event, status, body, created_date, next_attempt_on)
    SELECT d.id, d.webhook_id, d.name, CASE WHEN d.enabled THEN 'Pending' ELSE 'Parked' END,
           webhook_review_body(d.id, d.created_at, d.name, d.subject), d.created_at, CASE WHEN d.enabled THEN d.created_at END
    FROM (SELECT gen_random_uuid() AS id, h.id AS webhook_id, h.enabled, e.number, e.name, e.created_at, e.subject
          FROM new_events e JOIN webhooks h ON (h.enabled OR h.disabled_reason IS NOT NULL) AND e.name = ANY (h.events)
               AND (h.application_id IS NULL OR h.application_id = e.application_id OR e.application_id IS NULL AND EXISTS (
                   SELECT FROM review_populations p WHERE p.review_id = e.review_id AND p.application_id = h.application_id))
          WHERE h.deleted_on IS NULL) AS d
    ORDER BY d.number, d.webhook_id;
    IF FOUND THEN
        PERFORM pg_notify(deliveries_channel(), '');
    END IF;
    RETURN NULL;
END $$;
CREATE OR REPLACE TRIGGER fan_out_on_review_event AFTER INSERT ON review_events REFERENCING NEW TABLE AS new_events
    FOR EACH STATEMENT EXECUTE FUNCTION fan_out_review_events();

CREATE OR REPLACE TRIGGER fan_out_on_insert AFTER INSERT ON access_request_events REFERENCING NEW TABLE AS new_events
    FOR EACH STATEMENT EXECUTE FUNCTION fan_out_events();

CALL keep_list('webhook_deliveries', 'webhook_id', 'status');
CALL keep_audit('webhooks', '''Webhook''', 'r.id', $$to_jsonb(r) - '{id,secret,previous_secret,failures,failing_since}'::text[]$$);
-- The entry of a callback must not contain the id of the delivery, because readers of the audit log could use it to send callbacks.
CALL keep_audit('webhook_callbacks', '''Webhook''', '(SELECT d.webhook_id FROM webhook_deliveries d WHERE d.id = r.delivery_id)',
                $$jsonb_build_object('content', r.content, 'accessRequestId', (SELECT d.access_request_id FROM webhook_deliveries d WHERE d.id = r.delivery_id))$$,
                $$'callbacks.' || r.number$$);
