#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the arm64 libraries that cuttle is built with, from this machine's Debian sources into FOLDER, unless they are there. The
# machine's own package state stays as it is. FOLDER/root has the files of all; FOLDER/packages has those of each library by itself, with what
# its package says of it, which is how packages that are built with it learn its name.
# usage: tests/arm_libraries.sh FOLDER
set -euo pipefail
# The -dev packages that the Makefile links, and the library behind each; of libcurl, libmicrohttpd and GnuTLS the header, of libc what packages depend on.
packages="libcmocka-dev libcmocka0 libjansson-dev libjansson4 libcsv-dev libcsv3 libsodium-dev libsodium23 libsqlite3-dev libsqlite3-0
libutf8proc-dev libutf8proc2 libcurl4-openssl-dev libmicrohttpd-dev libgnutls28-dev libc6"
[ "$(cat "$1/complete" 2>/dev/null)" != "$packages" ] || exit 0
rm -rf "$1"
mkdir -p "$1"/{state/lists/partial,cache/archives/partial,root,packages}
: >"$1/status"
apt=(apt-get -qq -o APT::Architecture=amd64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root -o Dir::State="$1/state"
	-o Dir::State::status="$1/status" -o Dir::Cache="$1/cache")
"${apt[@]}" update
(cd "$1" && for package in $packages; do "${apt[@]}" download "$package:arm64"; done)
for package in "$1"/*.deb; do
	name=${package##*/}
	[[ $name == libc6_* ]] || dpkg-deb -x "$package" "$1/root"
	dpkg-deb -R "$package" "$1/packages/${name%%_*}"
done
# The package lists are a hundred megabytes.
rm -rf "$1/state" "$1/cache"
echo "$packages" >"$1/complete"
