#!/bin/sh
# On the primary, when the replica is gone: acknowledge writes that only this host has. Until together.sh the replica
# must not be promoted.
set -eu
psql --quiet --dbname=postgres --command="ALTER SYSTEM RESET synchronous_standby_names" \
    --command="SELECT pg_reload_conf()"
