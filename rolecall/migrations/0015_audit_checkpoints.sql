-- A head of heads: docs/decisions/0089. Whenever a chain is written, its checkpoint keeps what the heads of all chains were then. Sixteen rows, always: one that is
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
