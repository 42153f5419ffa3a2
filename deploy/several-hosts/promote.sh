#!/bin/sh
# On the replica, when the primary is gone for good or switched off: become the primary, alone. Then repoint.sh.
set -eu
psql --quiet --dbname=postgres --command="ALTER SYSTEM RESET synchronous_standby_names" \
    --command="SELECT pg_reload_conf()" --command="SELECT pg_promote()"
