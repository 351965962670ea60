#!/bin/sh
# Installs the senders by which make fronts drives fronts: apprise, swaks and msmtp by apt, shoutrrr and a newer Alertmanager
# from their sources by Go, the others by npm, these into bin/senders. What cannot be installed is named, and make fronts
# says in its table that it was not there.
set -u
place=$PWD/bin/senders
mkdir -p "$place"
say() { echo "install-senders: $*" >&2; }

for program in apprise swaks msmtp; do
	command -v $program >/dev/null && continue
	command -v apt-get >/dev/null || { say "no apt-get for $program"; continue; }
	DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends $program >/dev/null || say "$program could not be installed"
done

[ -x "$place/shoutrrr" ] || GOBIN=$place ${GO:-go} install github.com/containrrr/shoutrrr/shoutrrr@v0.8.0 || say "shoutrrr could not be built"

# Its web page is made by Node.js and is no part of the module: a line stands for it.
version=v0.35.0
if [ ! -x "$place/alertmanager-$version" ]; then
	source=$(mktemp -d)
	dir=$(cd "$source" && ${GO:-go} mod download -json github.com/prometheus/alertmanager@$version | sed -n 's/.*"Dir": "\(.*\)",/\1/p')
	if [ -n "$dir" ] && cp -r "$dir/." "$source" && chmod -R u+w "$source"; then
		for page in elm mantine; do
			mkdir -p "$source/ui/app/dist/$page" && echo "The page is left out." >"$source/ui/app/dist/$page/index.html"
		done
		(cd "$source" && GOFLAGS=-mod=mod ${GO:-go} build -o "$place/alertmanager-$version" ./cmd/alertmanager) || say "Alertmanager $version could not be built"
	else
		say "Alertmanager $version could not be fetched"
	fi
	rm -rf "$source"
fi

if command -v npm >/dev/null; then
	(cd "$place" && npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$place" push-all-in-one serverchan-sdk android-sms-gateway nodemailer) || say "what npm has could not be installed"
else
	say "no npm for push-all-in-one, serverchan-sdk, android-sms-gateway and nodemailer"
fi
