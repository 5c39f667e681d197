#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages in a folder of its own, from the files that git knows, for this machine or for arm64 on another one. A second
# call builds what has changed, and one over the same files nothing. No cache of a compiler is used.
# usage: packaging/debs.sh ARCHITECTURE FOLDER: the packages come into FOLDER, what was said into FOLDER/log
# Environment for arm64 on another machine: CUTTLE, a command of this machine, which prints manual pages (build/cuttle).
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS
arch=$1 folder=$(realpath -m "$2")
options=(-b -nc -uc -us)
if [ "$arch" != "$(dpkg --print-architecture)" ]; then
	[ "$arch" = arm64 ] || { echo "debs.sh: $arch: only arm64 is built on another machine" >&2 && exit 2; }
	./setup.sh arm
	debian=$PWD/build-arm/debian
	libraries=$debian/root/usr/lib/aarch64-linux-gnu
	tests/arm_libraries.sh "$debian"
	HELPER=$(realpath "${CUTTLE:-build/cuttle}")
	LIBRARIES=$(printf -- '-S%s ' "$debian"/packages/*)
	# OpenBLAS for arm64 is not fetched.
	export HELPER LIBRARIES BLAS=0 DEB_BUILD_OPTIONS=nocheck
	export DEB_CPPFLAGS_APPEND="-I$debian/root/usr/include -I$debian/root/usr/include/aarch64-linux-gnu"
	export DEB_LDFLAGS_APPEND="-L$libraries -Wl,-rpath-link,$libraries"
	options+=(-aarm64 -d)
fi
mkdir -p "$folder/cuttle"
files=$(git ls-files -z | xargs -0 sha256sum | sha256sum)
[ "$(cat "$folder/files" 2>/dev/null)" != "$files" ] || exit 0
# Objects stay; a source that is gone must not be built again.
find "$folder/cuttle" -mindepth 1 -maxdepth 1 ! -name 'build-deb*' -exec rm -rf {} +
rm -f "$folder"/{files,*.deb,*.buildinfo,*.changes}
git ls-files -z | tar --null -T - -cf - | tar -xf - -C "$folder/cuttle"
(cd "$folder/cuttle" && CCACHE_DISABLE=1 dpkg-buildpackage "${options[@]}") >"$folder/log" 2>&1 ||
	{ tail -30 "$folder/log" >&2 && echo "debs.sh: dpkg-buildpackage failed" >&2 && exit 1; }
echo "$files" >"$folder/files"
