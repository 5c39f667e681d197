#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fetches Debian's packages of what the image has beside the command, from this machine's Debian sources, unless they are there: newer ones
# come when FOLDER is gone. The machine's own package state stays as it is.
# usage: packaging/image_packages.sh ARCHITECTURE FOLDER
set -euo pipefail
arch=$1 folder=$2
# What the command is linked with, and what it loads: libcurl for infer and health, libmicrohttpd and GnuTLS for serve, libcrypto for hashes.
libraries="libc6 libjansson4 libcsv3 libsodium23 libsqlite3-0 libutf8proc2 libcurl4 libgnutls30 libmicrohttpd12 libssl3"
# Certificates of authorities for infer; texts of licences, and the system's name.
others="ca-certificates base-files"
[ "$(cat "$folder/complete" 2>/dev/null)" != "$libraries $others" ] || exit 0
rm -rf "$folder"
mkdir -p "$folder"/{state/lists/partial,cache,partial}
: >"$folder/status"
# With an empty status file no package counts as installed. So apt fetches all that these need.
apt=(apt-get -qq -o APT::Architecture="$arch" -o APT::Architectures::="$arch" -o APT::Sandbox::User=root -o Debug::NoLocking=1
	-o Dir::State="$folder/state" -o Dir::State::status="$folder/status" -o Dir::Cache="$folder/cache" -o Dir::Cache::archives="$folder")
"${apt[@]}" update
# shellcheck disable=SC2086 # these are words
"${apt[@]}" -y --no-install-recommends --download-only install $libraries
# shellcheck disable=SC2086
(cd "$folder" && "${apt[@]}" download $others)
# The package lists are a hundred megabytes.
rm -rf "$folder"/{state,cache,partial,status,lock}
echo "$libraries $others" >"$folder/complete"
