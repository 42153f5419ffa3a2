-- Changes to reports are audited. The shipped reports are ordinary rows: people may change or delete them.

CREATE OR REPLACE FUNCTION ship_reports() RETURNS void LANGUAGE sql BEGIN ATOMIC
    INSERT INTO reports (id, name, description, list, filters, period, created_date)
    SELECT gen_random_uuid(), shipped.name, shipped.description, shipped.list, shipped.filters::jsonb, shipped.period, written_on()
    FROM (VALUES
        ('Everyone''s access', 'Who can do what, in which application, since when and why.', 'access', '{}', 'Now'),
        ('Application roster', 'All accounts with the people behind them; filter it by application for one roster.', 'all-accounts', '{}', 'Now'),
        ('Privileged access', 'Who holds an entitlement that is marked as privileged.', 'access', '{"privileged": "true"}', 'Now'),
        ('Unexplained access', 'Access that no request and no access model explains.', 'access', '{"explained": "false"}', 'Now'),
        ('Leavers'' accounts', 'Active accounts of people who have left.', 'all-accounts', '{"leaver": "true", "isActive": "true"}', 'Now'),
        ('Unmatched accounts', 'Accounts without a person behind them.', 'all-accounts', '{"match": "Unmatched"}', 'Now'),
        ('Dormant accounts', 'Active accounts without a login in the last 90 days.', 'all-accounts', '{"dormantDays": "90", "isActive": "true"}', 'Now'),
        ('Approvals of a period', 'Who approved or rejected which requests.', 'approvals', '{}', 'Last Month'),
        ('Changes of a period', 'Who gained and who lost which access.', 'access-changes', '{}', 'Last Month'),
        ('Open conflicts of duties', 'Who holds duties that a rule keeps apart, since when and through what.', 'conflicts', '{"status": "Open"}', 'Now'),
        ('Exceptions of conflicts', 'Who may keep a conflict, until when and under which control.', 'conflict-exceptions', '{"status": "Approved"}', 'Now')
    ) AS shipped (name, description, list, filters, period)
    WHERE NOT EXISTS (SELECT FROM reports r WHERE lower(r.name) = lower(shipped.name));
END;

-- Insert the shipped reports only when this file is applied for the first time.
SELECT ship_reports() WHERE NOT EXISTS (SELECT FROM schema_files WHERE name = 'schema/reports.sql');

CALL keep_audit('reports', '''Report''', 'r.id', $$to_jsonb(r) - '{id}'::text[]$$);
