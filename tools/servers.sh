#!/bin/sh
# Installs the servers that optional tests need: PostgreSQL, from the package of Debian or Ubuntu.
#
# Nothing happens where its programs are found, on PATH or in /usr/lib/postgresql.  Nothing fails
# where they cannot be installed, either: the tests that need them skip then, and say so.
set -eu

found() {
    command -v "$1" && return
    for program in /usr/lib/postgresql/*/bin/"$1"; do
        if [ -x "$program" ]; then
            echo "$program"
            return
        fi
    done
    return 1
}

without() {
    echo "servers: $1; the tests of PostgreSQL will skip. Remedy: install its package postgresql." >&2
    exit 0
}

for program in postgres pg_ctl initdb; do
    found $program >/dev/null || missing=$program
done
if [ -z "${missing:-}" ]; then
    echo "servers: PostgreSQL is there: $(found postgres)."
    exit 0
fi
command -v apt-get >/dev/null || without "there is no $missing, and no apt-get to install it with"
[ "$(id -u)" = 0 ] || without "there is no $missing, and only root may install it"

echo "servers: there is no $missing: installing PostgreSQL with apt-get."
export DEBIAN_FRONTEND=noninteractive
# The package would start a server of its own for all users; tests start theirs.
mkdir -p /etc/postgresql-common
[ -e /etc/postgresql-common/createcluster.conf ] ||
    echo 'create_main_cluster = false' >/etc/postgresql-common/createcluster.conf
{ apt-get update --quiet --quiet && apt-get install --quiet --quiet --yes \
    --no-install-recommends postgresql; } || without "apt-get could not install PostgreSQL"
found initdb >/dev/null || without "apt-get has installed no PostgreSQL"
echo "servers: PostgreSQL is there: $(found postgres)."
