#!/bin/sh
# The user, and the state directory, for who starts the server by hand; systemd makes it too.
set -e
if ! getent group posthouse >/dev/null; then
	groupadd --system posthouse
fi
if ! getent passwd posthouse >/dev/null; then
	useradd --system --gid posthouse --home-dir /var/lib/posthouse --no-create-home --shell /usr/sbin/nologin --comment "Posthouse" posthouse
fi
install -d -o posthouse -g posthouse -m 0700 /var/lib/posthouse
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
	# An upgrade goes on with the new binary; a first installation is started by whoever has read the settings.
	systemctl try-restart posthouse.service || true
fi
