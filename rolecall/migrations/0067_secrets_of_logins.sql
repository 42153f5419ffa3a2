-- Bind a stored secret to the login and the encryption of its connection too, in the form that `place_of` in
-- sources/kinds.py returns.
ALTER TABLE source_secrets DISABLE TRIGGER USER;
UPDATE source_secrets k SET host = k.host
    || CASE WHEN d.definition ->> 'startTls' = 'true' THEN ' with StartTLS'
            WHEN d.definition ->> 'url' LIKE '%?sslmode=disable' THEN ' without encryption' ELSE '' END
    || coalesce(' as ' || nullif(d.definition ->> 'username', ''), '')
FROM (SELECT application_id, 'source' AS name, definition FROM sources
      UNION ALL SELECT application_id, 'carrier', definition FROM carriers) d
WHERE d.application_id = k.application_id AND d.name = k.name AND k.host <> '';
ALTER TABLE source_secrets ENABLE TRIGGER USER;
