#!/bin/sh
# Installs the Debian packages that a target needs, when it may; else prints the command. usage: ./setup.sh check|build|demo|test|arm|ci
# check installs nothing: it says what a build lacks.
set -eu
needed="gcc make libc6-dev libjansson-dev libcsv-dev libsodium-dev libsqlite3-dev"
build="$needed libopenblas-dev"
model="python3 python3-pip ca-certificates"
case "${1:-build}" in
check) wanted=$needed ;;
build) wanted=$build ;;
demo) wanted="$build $model" ;;
test) wanted="$build $model libcmocka-dev libutf8proc-dev" ;;
arm) wanted="$needed gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user" ;;
ci) wanted="$build $model libcmocka-dev libutf8proc-dev clang clang-format clang-tidy libclang-rt-14-dev shellcheck git" ;;
*) echo "usage: $0 check|build|demo|test|arm|ci" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null; then
	echo "setup: this is no Debian system; make sure these are there: $wanted" >&2
	exit 0
fi
missing=
for package in $wanted; do
	# A tool that came by another way than its package counts.
	case $package in
	python3-pip) python3 -m pip --version >/dev/null 2>&1 && continue ;;
	gcc | make | python3 | clang | clang-format | clang-tidy | shellcheck | git) command -v "$package" >/dev/null && continue ;;
	esac
	state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=none
	[ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

become=
[ "$(id -u)" = 0 ] || become="sudo"
if [ "${1:-build}" = check ] || { [ -n "$become" ] && ! sudo -n true 2>/dev/null && ! [ -t 0 ]; }; then
	echo "setup: missing packages:$missing" >&2
	echo "setup: install them with: ${become:+$become }apt-get install -y$missing" >&2
	exit 1
fi
echo "setup: installing$missing"
$become env DEBIAN_FRONTEND=noninteractive apt-get update -qq
# shellcheck disable=SC2086
$become env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
