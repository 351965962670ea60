#!/bin/sh
# Lints docs/openapi/openapi.json and its copy in 3.0.3 by Redocly's strictest rules, makes a TypeScript client of the one and a Go
# client of the other, and compiles programs that use them. What it needs beside Go and Node.js it installs below bin/tools: none of it is ours.
set -eu
cd "$(dirname "$0")/.."

command -v npm >/dev/null || { echo "npm is not here: install Node.js 20 or later"; exit 1; }
spec=$PWD/docs/openapi/openapi.json older=$PWD/docs/openapi/openapi-3.0.json use=$PWD/docs/openapi/clients
dir=$PWD/bin/tools/clients
export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true GOFLAGS=

mkdir -p "$dir/ts" "$dir/go/api"
cd "$dir/ts"
[ -f package.json ] || echo '{"private": true, "type": "module"}' > package.json
npm install --no-audit --no-fund --silent @redocly/cli@2.77.0 openapi-typescript@7.13.0 openapi-fetch@0.17.0 typescript@5.9.3

echo "== Redocly"
npx --no-install redocly lint "$spec" "$older" --extends recommended-strict

echo "== TypeScript"
npx --no-install openapi-typescript "$spec" -o api.d.ts
cp "$use/use.ts" .
npx --no-install tsc --noEmit --strict --target es2022 --module esnext --moduleResolution bundler use.ts

echo "== Go"
cd "$dir/go"
GOBIN=$dir/bin go install github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@v2.8.2
"$dir/bin/oapi-codegen" -generate types,client -package api -o api/api.go "$older"
cp "$use/use.go.txt" main.go
[ -f go.mod ] || printf 'module generated\n\ngo 1.25\n' > go.mod
go mod tidy
go vet .
echo "Both clients compile."
