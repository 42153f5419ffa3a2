-- Changes to saved connector templates are audited.

CALL keep_audit('connector_templates', '''Connector Template''', 'r.id', $$to_jsonb(r) - '{id}'::text[]$$);
