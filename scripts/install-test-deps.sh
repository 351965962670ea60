#!/bin/sh
# Installs the servers that the tests run on, PostgreSQL, MariaDB and Redis, where
# they are missing; on Linux strace too, which sees what a power cut could lose, pgbouncer, Galera,
# libfaketime, which gives a server a clock of its own, and Alertmanager, apprise and swaks, which drive the fronts. It starts none of them: the
# tests start their own. With the word "browser" it installs Chromium and Chinese fonts
# instead, for the tests of the console, with the word "release" what tries a release:
# nginx, promtool, and what reads images and rpm, and with the word "torture" what the long tests alone need:
# Patroni and etcd.
#
# Where it cannot install it says so and ends well, because the tests of a server
# that is not there are skipped; with CI=true that is a failure, but for the browser.
set -eu

# has PROGRAM...: all of them are here, on PATH or where servers usually are.
# internal/dbtest looks in the same places.
has() {
	for program; do
		found=
		for dir in $(echo "$PATH" | tr ':' ' ') /usr/sbin /usr/local/bin /usr/local/sbin /usr/libexec \
			/usr/lib/postgresql/[1-9][0-9]/bin /usr/pgsql-[1-9][0-9]/bin \
			/opt/homebrew/bin /opt/homebrew/sbin \
			/opt/homebrew/opt/postgresql@[1-9][0-9]/bin /usr/local/opt/postgresql@[1-9][0-9]/bin; do
			if [ -x "$dir/$program" ]; then
				found=yes
				break
			fi
		done
		[ -n "$found" ] || return 1
	done
}

what=${1:-servers}

missing() {
	if [ "$what" = browser ]; then
		has chromium || has chromium-browser || has google-chrome || echo chromium
		! command -v apt-get >/dev/null || [ -d /usr/share/fonts/opentype/noto ] || echo fonts
		return
	fi
	if [ "$what" = torture ]; then
		[ "$(uname)" != Linux ] || has etcd || echo etcd
		[ "$(uname)" != Linux ] || has patroni || echo patroni
		return
	fi
	if [ "$what" = release ]; then
		for name in nginx promtool skopeo umoci rpm; do
			has $name || echo $name
		done
		! command -v apt-get >/dev/null || [ -e /usr/lib/nginx/modules/ngx_stream_module.so ] || echo nginx-stream
		return
	fi
	has initdb postgres || echo postgresql
	has mariadbd mariadb-install-db || echo mariadb
	has mariadb-dump || echo mariadb-client
	has redis-server || echo redis
	has pgbouncer || echo pgbouncer
	[ "$(uname)" != Linux ] || [ -e /usr/lib/galera/libgalera_smm.so ] || [ -e /usr/lib64/galera-4/libgalera_smm.so ] || echo galera
	[ "$(uname)" != Linux ] || ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1 || echo faketime
	[ "$(uname)" != Linux ] || has strace || echo strace
	[ "$(uname)" != Linux ] || has prometheus-alertmanager || echo alertmanager
	[ "$(uname)" != Linux ] || has apprise || echo apprise
	[ "$(uname)" != Linux ] || has swaks || echo swaks
}

say() { echo "install-test-deps: $*" >&2; }

# as_root runs a command as root, without ever asking for a password.
as_root() {
	if [ "$(id -u)" = 0 ]; then env "$@"; else sudo -n env "$@"; fi
}

may_be_root() {
	[ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && sudo -n true 2>/dev/null; }
}

apt_get() {
	as_root DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "$@"
}

# What Debian and Ubuntu call it. The core packages of MariaDB hold its programs and
# no system service.
deb_packages() {
	for name; do
		case $name in
		postgresql) echo postgresql ;;
		mariadb)
			if apt-cache show mariadb-server-core >/dev/null 2>&1; then
				echo mariadb-server-core mariadb-client-core
			else
				echo mariadb-server
			fi
			;;
		mariadb-client) echo mariadb-client ;;
		redis) echo redis-server ;;
		galera) echo galera-4 ;;
		etcd) echo etcd-server ;;
		patroni) echo patroni ;;
		faketime) echo libfaketime ;;
		strace) echo strace ;;
		alertmanager) echo prometheus-alertmanager ;;
		apprise | swaks | pgbouncer) echo "$name" ;;
		chromium) echo chromium ;;
		fonts) echo fonts-noto-cjk ;;
		promtool) echo prometheus ;;
		nginx-stream) echo libnginx-mod-stream ;;
		nginx | skopeo | umoci | rpm) echo "$name" ;;
		esac
	done
}

policy=/usr/sbin/policy-rc.d
clusters=/etc/postgresql-common/createcluster.conf

# forbid_services lets packages install without starting anything, and PostgreSQL
# without making a cluster. What the machine has decided itself stays.
forbid_services() {
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
		as_root chmod 755 $policy
		trap 'as_root rm -f $policy' EXIT
	fi
	if [ ! -e $clusters ]; then
		as_root mkdir -p "$(dirname $clusters)"
		printf '# Written by the tests of Posthouse, which make their own.\ncreate_main_cluster = false\n' |
			as_root tee $clusters >/dev/null
	fi
}

with_apt() {
	may_be_root || { say "installing needs root, or sudo without a password"; return 1; }
	apt_get update || say "apt-get update failed; going on with the lists there are"
	forbid_services
	# shellcheck disable=SC2046 # one word each
	apt_get install -y --no-install-recommends $(deb_packages "$@") </dev/null >/dev/null || return 1
	if [ -d /run/systemd/system ]; then # nor shall they start with the machine
		for name; do
			case $name in
			redis) service=redis-server ;;
			pgbouncer) service=pgbouncer ;;
			etcd) service=etcd ;;
			patroni) service=patroni ;;
			alertmanager) service=prometheus-alertmanager ;;
			promtool) service=prometheus ;;
			nginx) service=nginx ;;
			*) continue ;;
			esac
			as_root systemctl disable --quiet $service || true
		done
	fi
}

with_brew() {
	for name; do
		case $name in
		postgresql) HOMEBREW_NO_AUTO_UPDATE=1 brew install --quiet postgresql@17 ;;
		chromium) HOMEBREW_NO_AUTO_UPDATE=1 brew install --quiet --cask chromium ;;
		mariadb-client) HOMEBREW_NO_AUTO_UPDATE=1 brew install --quiet mariadb ;;
		*) HOMEBREW_NO_AUTO_UPDATE=1 brew install --quiet "$name" ;;
		esac || return 1
	done
}

# shellcheck disable=SC2046 # one word each
set -- $(missing)
if [ $# -gt 0 ]; then
	say "missing: $*; installing"
	if command -v apt-get >/dev/null; then
		with_apt "$@" || say "apt-get could not install all of it"
	elif command -v brew >/dev/null; then
		with_brew "$@" || say "brew could not install all of it"
	else
		say "neither apt-get nor brew is here: install them yourself"
	fi
fi

left=$(missing | tr '\n' ' ')
if [ -n "$left" ]; then
	say "still missing: $left"
	if [ "${CI:-}" = true ] && [ "$what" = servers ]; then
		say "with CI=true that is a failure"
		exit 1
	fi
	say "the tests that need it are skipped, all others run"
fi
