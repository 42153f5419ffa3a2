#!/bin/sh
# On the primary, once the replica streams: acknowledge a write only when both hosts have it on disk. When this ends,
# the replica has every write that was acknowledged before.
set -eu
sql() { psql --quiet --no-align --tuples-only --dbname=postgres --command="$1"; }
sql "ALTER SYSTEM SET synchronous_standby_names = '*'"
sql "SELECT pg_reload_conf()" >/dev/null
written=$(sql "SELECT pg_current_wal_flush_lsn()")
until [ "$(sql "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND flush_lsn >= '$written'")" = 1 ]
do sleep 0.2; done
