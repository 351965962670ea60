#!/usr/bin/env bash
# Tries what make dist has made, on this machine, as root, on Debian or Ubuntu: the sums; the image, as docker load and as others read it, and
# its program in its own root, as tar and as umoci unpack it, with a message; the archive's program; the rpm, installed into a root of its own, with a message; the deb, installed into a root of its own, started as its unit says and as its user, upgraded, with a message before and after.
# TRY_ROOT names a fresh Debian root, as debootstrap makes it, in which rpm and deb are installed in place of a copy of this machine's.
# It leaves nothing behind. Usage: try.sh DIST, and DIST2 made of the same commit with a later version for the upgrade.
set -euo pipefail

dist=$(realpath "$1")
later=$(realpath "$2")
work=$(mktemp -d)
server=
tidy() {
	[ -z "$server" ] || kill "$server" 2>/dev/null || true
	wait 2>/dev/null || true
	for root in "$work/root" "$work/red"; do
		umount "$root/dev" 2>/dev/null || true
		umount "$root" 2>/dev/null || true
	done
	rm -rf "$work"
}
trap tidy EXIT
say() { echo "try: $*"; }

# ready waits until the server answers whom a program asks for it.
ready() {
	for _ in $(seq 100); do
		"$@" healthy --addr 127.0.0.1:28080 >/dev/null 2>&1 && return
		kill -0 "$server" 2>/dev/null || break
		read -rt 0.2 <> <(:) || true
	done
	cat "$work/server.log"
	return 1
}
stop() { kill "$server" && wait "$server"; server=; }

(cd "$dist" && sha256sum --quiet --check SHA256SUMS)
say "sums hold"

arch=$(dpkg --print-architecture)
image=$(echo "$dist"/posthouse-*-image-"$arch".tar)
if command -v skopeo >/dev/null; then
	skopeo inspect "docker-archive:$image" | grep -q '"Architecture": "'"$arch"'"'
	skopeo inspect "oci-archive:$image" | grep -q '"org.opencontainers.image.title": "Posthouse"'
	say "the image is read both ways"
fi
mkdir "$work/layout" "$work/image"
tar -C "$work/layout" -xf "$image"
layer=$(grep -o '"Layers":\["[^"]*' "$work/layout/manifest.json" | cut -d'"' -f4)
tar -C "$work/image" -xzf "$work/layout/$layer"
chroot --userspec=65532:65532 "$work/image" /posthouse version | grep '^posthouse '
[ "$(stat -c '%u %a' "$work/image/data")" = "65532 700" ]
say "the image's program runs in its root as its user"

# As docker starts it: its own settings, and the key that its first start prints.
settings=$(grep -o '"Env":\[[^]]*' "$work/layout/$(grep -o '"Config":"[^"]*' "$work/layout/manifest.json" | cut -d'"' -f4)" | cut -d'[' -f2 | tr -d '"' | tr , ' ')
# shellcheck disable=SC2206 # a word each
with=(/usr/bin/env -i $settings POSTHOUSE_ADDR=127.0.0.1:28080 POSTHOUSE_URL=http://127.0.0.1:28080)
within=("$(command -v chroot)" --userspec=65532:65532 "$work/image" /posthouse)
key=
contained() { "${with[@]}" ${key:+POSTHOUSE_API_KEY=$key} "${within[@]}" "$@"; }
"${with[@]}" "${within[@]}" serve >"$work/server.log" 2>&1 &
server=$!
ready contained
key=$(grep -o 'ph_[a-z0-9]*_[a-z0-9]*' "$work/server.log" | sed -n 1p)
contained channel set desk --driver console >/dev/null
contained send --channel desk --to li.na --text "from an image" >/dev/null
stop
[ -s "$work/image/data/posthouse.db" ]
say "the image's server has printed a key, and has sent"

if command -v skopeo >/dev/null && command -v umoci >/dev/null; then
	skopeo copy --quiet "oci-archive:$image" "oci:$work/oci:posthouse"
	umoci unpack --image "$work/oci:posthouse" "$work/bundle" >/dev/null 2>&1
	entry=$(sed -n '/"args"/{n;s/[^"]*"\([^"]*\)".*/\1/p;q}' "$work/bundle/config.json")
	user=$(sed -n 's/.*"uid": \([0-9]*\),*$/\1/p' "$work/bundle/config.json" | sed -n 1p)
	[ "$user" = 65532 ]
	chroot --userspec="$user:$user" "$work/bundle/rootfs" "$entry" version | grep '^posthouse '
	[ -s "$work/bundle/rootfs/etc/ssl/certs/ca-certificates.crt" ]
	say "umoci unpacks the image, and its entry point runs as its user"
fi

mkdir "$work/archive"
tar -C "$work/archive" -xzf "$dist"/posthouse-*-linux-"$arch".tar.gz
"$(find "$work/archive" -type f -name posthouse -perm -u+x | sed -n 1p)" version | grep '^posthouse '
say "the archive's program runs"

# A root that begins as this machine's, or as TRY_ROOT, and changes nothing there.
begin_root() {
	mkdir "$1.upper" "$1.work" "$1"
	mount -t overlay overlay -o "lowerdir=${TRY_ROOT:-/},upperdir=$1.upper,workdir=$1.work" "$1"
	mount --bind /dev "$1/dev"
	rm -rf "$1/run/systemd" # as on a machine without it: nothing is started behind our back
}
begin_root "$work/root"

install_deb() { dpkg --root="$work/root" --force-confold --install "$1"/posthouse_*_"$arch".deb >"$work/log" 2>&1 || { cat "$work/log"; return 1; }; }
root=$work/root
inside() { chroot "$root" "$@"; }
start() {
	command=$(sed -n 's/^ExecStart=//p' "$root/usr/lib/systemd/system/posthouse.service")
	# shellcheck disable=SC2086 # the unit's words
	chroot --userspec=posthouse:posthouse "$root" /usr/bin/env -i HOME=/var/lib/posthouse POSTHOUSE_ADDR=127.0.0.1:28080 POSTHOUSE_API_KEY="$key" \
		/bin/sh -c 'cd /var/lib/posthouse && umask 077 && exec "$@"' sh $command >"$work/server.log" 2>&1 &
	server=$!
	ready inside posthouse
}
posthouse() { inside /usr/bin/env POSTHOUSE_URL=http://127.0.0.1:28080 POSTHOUSE_API_KEY="$key" posthouse "$@"; }

if command -v rpm >/dev/null; then
	begin_root "$work/red"
	rpm --root="$work/red" --nodeps --nosignature --install "$dist"/posthouse-*."$(uname -m)".rpm >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	rpm --root="$work/red" --verify --nodeps posthouse
	deb=$work/root
	root=$work/red
	key=$(inside posthouse key new | grep -o 'ph_[a-z0-9]*_[a-z0-9]*' | sed -n 1p)
	start
	posthouse channel set desk --driver console >/dev/null
	posthouse send --channel desk --to li.na --text "from an rpm" >/dev/null
	stop
	root=$deb
	say "the rpm is installed, and has sent"
fi

install_deb "$dist"
key=$(inside posthouse key new | grep -o 'ph_[a-z0-9]*_[a-z0-9]*' | sed -n 1p)
[ "$(inside stat -c '%U %a' /var/lib/posthouse)" = "posthouse 700" ]
start
posthouse channel set desk --driver console >/dev/null
posthouse send --channel desk --to li.na --text "before" >/dev/null
first=$(inside posthouse version | sed -n 1p)
stop
[ "$(inside stat -c '%U %a' /var/lib/posthouse/posthouse.db)" = "posthouse 600" ]
say "installed and sent: $first"

echo "# kept" >>"$work/root/etc/posthouse/posthouse.yaml"
install_deb "$later"
tail -n 1 "$work/root/etc/posthouse/posthouse.yaml" | grep -q '^# kept$'
second=$(inside posthouse version | sed -n 1p)
[ "$first" != "$second" ]
start
posthouse send --channel desk --to li.na --text "after" >/dev/null
for _ in $(seq 100); do
	[ "$(posthouse status --channel desk | grep -c 'sent 1')" = 2 ] && both=yes && break
	read -rt 0.2 <> <(:) || true
done
[ -n "${both:-}" ] || { posthouse status --channel desk; exit 1; }
stop
say "upgraded and sent: $second"
dpkg --root="$work/root" --remove posthouse >/dev/null 2>&1
[ -e "$work/root/var/lib/posthouse/posthouse.db" ]
say "removed, and the data stays"
