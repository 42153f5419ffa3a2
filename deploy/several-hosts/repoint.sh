#!/bin/sh
# On the pooler, after promote.sh: send everyone to the new primary. repoint.sh 10.85.0.32
# PgBouncer ends, with all that still waits for the old primary, and systemd starts it again (Restart=always).
set -eu
sed -i "s/host=[^ ]*/host=$1/" /etc/pgbouncer/primary.ini
psql --quiet --host=/run/postgresql --port=6432 --username=pgbouncer --dbname=pgbouncer --command=SHUTDOWN || true
