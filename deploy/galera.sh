#!/bin/sh
# Unpack what a node of Galera needs to join another one, wsrep_sst_*, into .galera of the project.
# It is in Debian's package mariadb-server, which would start a server of its own if it were
# installed. Quick when it is there already.
set -eu

cd "$(dirname "$0")/.."
if command -v wsrep_sst_rsync >/dev/null || [ -x .galera/usr/bin/wsrep_sst_rsync ]; then
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
(cd "$work" && apt-get download -qq mariadb-server >log 2>&1 || { cat log >&2; exit 1; })
dpkg-deb -x "$work"/mariadb-server_*.deb "$work/root"
mkdir -p .galera/usr/bin
cp "$work"/root/usr/bin/wsrep_sst_* .galera/usr/bin/
