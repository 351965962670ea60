#!/bin/sh
set -e
# deb says "remove", rpm 0; an upgrade ("upgrade", 1) restarts afterwards.
case "$1" in
remove | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now posthouse.service || true
	fi
	;;
esac
