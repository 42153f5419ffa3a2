-- A head of heads: docs/decisions/0181. Whenever a chain is written, its checkpoint keeps what the heads of all chains were then. Sixteen rows, always: one that is
-- missing was removed. A chain cannot be cut or rewritten together with its head without contradicting its own checkpoint and those of the chains written later.

CREATE TABLE audit_checkpoints (
    chain   int PRIMARY KEY,
    -- The heads that the last writer of this chain saw, its own among them, as three lists side by side.
    chains  int[] NOT NULL DEFAULT '{}',
    numbers bigint[] NOT NULL DEFAULT '{}',
    hashes  bytea[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 20);

INSERT INTO audit_checkpoints (chain, chains, numbers, hashes)
SELECT c.chain, h.chains, h.numbers, h.hashes
FROM generate_series(1, 16) AS c (chain)
CROSS JOIN (SELECT coalesce(array_agg(chain ORDER BY chain), '{}') AS chains, coalesce(array_agg(number ORDER BY chain), '{}') AS numbers,
                   coalesce(array_agg(hash ORDER BY chain), '{}') AS hashes FROM audit_heads) h;

-- The first chain that nobody is writing to; when all are taken, wait for one of them. The setting says which one this transaction writes to.
CREATE OR REPLACE FUNCTION take_chain() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    chains CONSTANT int := 16;
    chain int;
BEGIN
    FOR chain IN 1 .. chains LOOP
        IF pg_try_advisory_xact_lock(hashtext('audit chain'), chain) THEN
            PERFORM set_config('rolecall.chain', chain::text, true);
            RETURN chain;
        END IF;
    END LOOP;
    chain := 1 + floor(random() * chains);
    PERFORM pg_advisory_xact_lock(hashtext('audit chain'), chain);
    PERFORM set_config('rolecall.chain', chain::text, true);
    RETURN chain;
END $$;

-- Only while entries are being chained: a head that is changed by hand contradicts its checkpoint. And only from a checkpoint that fits the heads: one that
-- contradicts them stays as it is, so that later entries do not hide what was done.
CREATE FUNCTION keep_checkpoint() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('rolecall.chain', true) = NEW.chain::text THEN
        PERFORM set_config('rolecall.chain', '', true);
        UPDATE audit_checkpoints c SET chains = s.chains, numbers = s.numbers, hashes = s.hashes
        FROM (SELECT array_agg(h.chain) AS chains, array_agg(h.number) AS numbers, array_agg(h.hash) AS hashes FROM audit_heads h) s
        WHERE c.chain = NEW.chain AND c.hashes[array_position(c.chains, NEW.chain)] IS NOT DISTINCT FROM OLD.hash AND NOT EXISTS (
            SELECT FROM unnest(c.chains, c.numbers, c.hashes) AS seen (chain, number, hash) LEFT JOIN audit_heads h ON h.chain = seen.chain
            WHERE h.number IS NULL OR h.number < seen.number OR h.number = seen.number AND h.hash <> seen.hash);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER keep_checkpoint AFTER INSERT OR UPDATE ON audit_heads FOR EACH ROW EXECUTE FUNCTION keep_checkpoint();
