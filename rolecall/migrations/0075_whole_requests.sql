-- Store whether a Remove or Suspend is about a whole account. Such a request lists what the account holds, so its
-- privileges do not distinguish it from a request that names all of them.
ALTER TABLE access_requests ADD COLUMN is_whole boolean NOT NULL DEFAULT false;

-- Disable the triggers, because this only adds a detail to old requests: neither lists nor audit entries change. All
-- other old requests still count as requests about the privileges that they list.
ALTER TABLE access_requests DISABLE TRIGGER USER;
UPDATE access_requests r SET is_whole = true WHERE r.action IN ('Remove', 'Suspend') AND (
    NOT EXISTS (SELECT FROM privileges p WHERE p.request_id = r.id)
    OR EXISTS (SELECT FROM related_items i JOIN personnel_events e ON e.id = i.item_id
               WHERE i.request_id = r.id AND e.type IN ('Offboard', 'Absence'))
    OR EXISTS (SELECT FROM review_items c WHERE c.request_id = r.id AND c.subject = 'Account'));
ALTER TABLE access_requests ENABLE TRIGGER USER;
