-- Comments on access requests and personnel events are audited as parts of these records.

CALL keep_audit('comments', $$CASE WHEN EXISTS (SELECT FROM access_requests a WHERE a.id = r.item_id) THEN 'Access Request' ELSE 'Personnel Event' END$$,
                'r.item_id', $$to_jsonb(r) - '{number,item_id,created_date}'::text[]$$, $$'comments.' || r.number$$);
