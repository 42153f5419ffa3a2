#!/bin/sh
# On a database host that is stopped: replace its data by a copy of the primary, and follow it. follow.sh 10.85.0.31
set -eu
: "${PGDATA:?}"
rm -rf "$PGDATA"
pg_basebackup --dbname="host=$1 user=replicator" --pgdata="$PGDATA" --write-recovery-conf --checkpoint=fast
