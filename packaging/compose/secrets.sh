#!/bin/sh
# Writes .env for compose.yaml: which image to run, the password of PostgreSQL, the first API key, and the keyring. It never replaces one
# that is there. Usage: ./secrets.sh VERSION, where VERSION is the tag of the image.
set -eu
cd "$(dirname "$0")"
version=${1:?usage: ./secrets.sh VERSION}
if [ -e .env ]; then
	echo "secrets.sh: .env is there already and stays as it is" >&2
	exit 1
fi
# POSTHOUSE runs the program: the one of the image, where no other is named.
key=$(${POSTHOUSE:-docker run --rm "posthouse:$version"} key new | grep -o 'ph_[a-z0-9]*_[a-z0-9]*' | head -n 1)
[ -n "$key" ]
umask 077
cat >.env.new <<END
POSTHOUSE_VERSION=$version
POSTGRES_PASSWORD=$(openssl rand -hex 24)
POSTHOUSE_API_KEY=$key
POSTHOUSE_KEYRING=k1:$(openssl rand -base64 32)
END
mv .env.new .env
echo "secrets.sh: .env is written; keep a copy of it elsewhere"
