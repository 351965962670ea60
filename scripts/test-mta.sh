#!/bin/sh
# Sends by the email driver to Mailpit, which Go builds into bin/mta, and to Postfix, with TLS and a password, and by Postfix to the front for
# mail: in folders of their own, on free ports of 127.0.0.1. Postfix changes users, so it wants root: without that, or without apt, the
# script says so and tries Mailpit alone.
set -eu
place=$PWD/bin/mta
version=v1.33.1
[ -x "$place/mailpit" ] || GOBIN=$place CGO_ENABLED=0 ${GO:-go} install github.com/axllent/mailpit@$version
POSTHOUSE_MAILPIT=$place/mailpit ${GO:-go} test -tags mta -count=1 -timeout=5m -v -run TestMailpit ./channel/email
if [ "$(id -u)" != 0 ]; then
	echo "test-mta: Postfix wants root, so it was not tried: Mailpit was, and make sdks tries npm's smtp-server" >&2
	exit 0
fi
if ! command -v postfix >/dev/null || ! command -v saslpasswd2 >/dev/null; then
	command -v apt-get >/dev/null || { echo "test-mta: neither Postfix nor apt-get is here, so no real mail server was tried" >&2; exit 0; }
	DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y --no-install-recommends postfix sasl2-bin libsasl2-modules >/dev/null
fi
# The folder of tests must be one that Postfix's users may enter.
TMPDIR=/tmp ${GO:-go} test -tags mta -count=1 -timeout=5m -v -run TestARealMailServer ./channel/email
TMPDIR=/tmp ${GO:-go} test -tags mta -count=1 -timeout=5m -v -run TestAMailServerComesAgain ./torture/senders
