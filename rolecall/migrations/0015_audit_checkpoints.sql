-- Create the checkpoints of the audit chains: docs/decisions/0089. A transaction that writes a chain stores the heads
-- of all chains in the checkpoint of that chain. There are always sixteen rows, so a missing row shows that it was
-- deleted. If someone cuts or rewrites a chain together with its head, the result contradicts the checkpoint of this
-- chain and those of the chains that were written later.

CREATE TABLE audit_checkpoints (
    chain   int PRIMARY KEY,
    -- The heads that the last writer of this chain saw, including its own head, as three parallel arrays.
    chains  int[] NOT NULL DEFAULT '{}',
    numbers bigint[] NOT NULL DEFAULT '{}',
    hashes  bytea[] NOT NULL DEFAULT '{}'
) WITH (fillfactor = 20);

INSERT INTO audit_checkpoints (chain, chains, numbers, hashes)
SELECT c.chain, h.chains, h.numbers, h.hashes
FROM generate_series(1, 16) AS c (chain)
CROSS JOIN (SELECT coalesce(array_agg(chain ORDER BY chain), '{}') AS chains, coalesce(array_agg(number ORDER BY chain), '{}') AS numbers,
                   coalesce(array_agg(hash ORDER BY chain), '{}') AS hashes FROM audit_heads) h;
