-- Once, on the primary: psql -v base_url=https://rolecall.example.com -f role.sql
-- What the program sends as session settings where no pooler is between; \password sets the passwords.
CREATE ROLE rolecall LOGIN;
CREATE ROLE replicator LOGIN REPLICATION;
CREATE DATABASE rolecall OWNER rolecall;
ALTER ROLE rolecall SET timezone = 'UTC';
ALTER ROLE rolecall SET jit = off;
ALTER ROLE rolecall SET synchronous_commit = on;
ALTER ROLE rolecall SET enable_incremental_sort = off;
ALTER ROLE rolecall SET rolecall.base_url = :'base_url';
