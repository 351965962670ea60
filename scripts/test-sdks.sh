#!/bin/sh
# Installs the programs of torture/sdks/testdata/package-lock.json into bin/sdks and runs the test that is driven by them.
# Without npm, or without a registry that it reaches, it says so and runs nothing: no other test needs them.
set -eu
place=$PWD/bin/sdks
listed=torture/sdks/testdata
if ! command -v npm >/dev/null || ! command -v node >/dev/null; then
	echo "test-sdks: Node.js is missing, so providers' own programs were not tried" >&2
	exit 0
fi
if ! cmp -s "$listed/package-lock.json" "$place/package-lock.json" || [ ! -f "$place/complete" ]; then
	mkdir -p "$place"
	rm -f "$place/complete"
	cp "$listed/package.json" "$listed/package-lock.json" "$place"
	if ! (cd "$place" && npm ci --silent --no-audit --no-fund --ignore-scripts); then
		echo "test-sdks: npm could not install them, so providers' own programs were not tried" >&2
		exit 0
	fi
	touch "$place/complete"
fi
POSTHOUSE_SDKS=$place ${GO:-go} test -tags sdks -count=1 -timeout=5m -v ./torture/sdks
