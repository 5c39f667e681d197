#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages for arm64 on a machine that is not, and runs what is in them under qemu-user. It fails if a package is of
# another architecture, has other files than this machine's would, or depends on something else than its libraries' packages; if the
# command does not write the native one's text, or the library's example does not run with either library.
# The command has no OpenBLAS here: its packages for arm64 are not fetched. So --isa blas is refused.
# usage: tests/arm_packages.sh
# Environment: CUTTLE, a native build, which prints manual pages and completions and whose text is compared.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS
./setup.sh arm
./setup.sh deb
native=$(realpath "${CUTTLE:-build/cuttle}")
built=$(realpath --relative-to=. "$(dirname "$native")") # make knows its files by their names from here
make --no-print-directory -j2 "$built/cuttle" "$built/tests/gen_tiny"
debian=$PWD/build-arm/debian
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
	echo "FAILED: arm_packages.sh: $*"
	exit 1
}

libraries=$debian/root/usr/lib/aarch64-linux-gnu
# The image is made of the same packages: make oci.
CUTTLE=$native packaging/debs.sh arm64 build-oci/arm64/debs || fail "dpkg-buildpackage"
cp build-oci/arm64/debs/*.deb "$scratch"
root=$PWD
cd "$scratch"
for package in cuttle libcuttle0 libcuttle-dev; do
	[ "$(dpkg-deb -f ${package}_*_arm64.deb Architecture)" = arm64 ] || fail "$package is not for arm64"
	dpkg-deb -x ${package}_*_arm64.deb root
	echo "$package: $(dpkg-deb -f ${package}_*_arm64.deb Depends)"
done
library=root/usr/lib/aarch64-linux-gnu
for file in root/usr/bin/cuttle $library/libcuttle.so.0; do
	[ "$(readelf -h "$file" | awk '/Machine:/ { print $2 }')" = AArch64 ] || fail "$file is of another machine"
done
[ "$(dpkg-deb -f libcuttle0_*.deb Depends | tr ',' '\n' | grep -cv libc6)" = 0 ] || fail "the library needs more than the C library"
for name in libc6 libcsv3 libjansson4 libsodium23 libsqlite3-0 libutf8proc2; do
	dpkg-deb -f cuttle_*.deb Depends | grep -q "$name " || fail "the command does not depend on $name"
done
while read -r verb; do
	[ -s "root/usr/share/man/man1/cuttle-$verb.1.gz" ] || fail "no manual page for $verb"
done < <("$native" help --verbs)

emulated() { qemu-aarch64 -cpu neoverse-n1 -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH="$libraries:$library" "$@"; }
[ "$(emulated root/usr/bin/cuttle --version)" = "$("$native" --version)" ] || fail "the command does not run"
"$(dirname "$native")/tests/gen_tiny" tiny.gguf finite
printf '{"text":"%s"}\n' "Ada Brook, 41, gardener." "Sprained the left ankle." "Rest, ice, bandage." >in.jsonl
generate() { # NAME COMMAND...
	"${@:2}" generate -q -m tiny.gguf -i in.jsonl -o "$1.jsonl" --clip 0.5 -B 3 -N 1 -n 20 --insecure-seed 7 2>log || { cat log && fail "$1: exit $?"; }
}
generate native "$native"
generate arm emulated root/usr/bin/cuttle
cmp native.jsonl arm.jsonl || fail "the command writes another text than the native one"

sed 's,"engine/cuttle.h",<cuttle.h>,' "$root/examples/generate.c" >example.c
for kind in "-lcuttle" "-l:libcuttle.a -lm -pthread"; do
	# shellcheck disable=SC2086 # these are words
	aarch64-linux-gnu-gcc -D_GNU_SOURCE -o example example.c -Iroot/usr/include -L$library $kind || fail "no example with $kind"
	emulated ./example tiny.gguf >texts 2>&1 || fail "the example does not run with $kind: $(cat texts)"
	grep -q 'differentially private for each reference' texts || fail "the example says: $(cat texts)"
done
echo "arm_packages: passed"
