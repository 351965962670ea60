#!/bin/sh
# Sends by the email driver to Postfix, with TLS and a password, and by Postfix to the front for mail: in a folder of its own, on a free
# port of 127.0.0.1. Postfix changes users, so it wants root: without that, or without apt, it says so and runs nothing.
set -eu
if [ "$(id -u)" != 0 ]; then
	echo "test-mta: Postfix wants root, so it was not tried; make sdks tries the mail server of npm's smtp-server, which wants none" >&2
	exit 0
fi
if ! command -v postfix >/dev/null || ! command -v saslpasswd2 >/dev/null; then
	command -v apt-get >/dev/null || { echo "test-mta: neither Postfix nor apt-get is here, so no real mail server was tried" >&2; exit 0; }
	DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends postfix sasl2-bin libsasl2-modules >/dev/null
fi
# The folder of tests must be one that Postfix's users may enter.
TMPDIR=/tmp ${GO:-go} test -tags mta -count=1 -timeout=5m -v -run TestARealMailServer ./channel/email
TMPDIR=/tmp ${GO:-go} test -tags mta -count=1 -timeout=5m -v -run TestAMailServerComesAgain ./torture/senders
