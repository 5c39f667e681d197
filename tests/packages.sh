#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages and looks at them as whoever installs them would. It fails if a package lacks a file or has a name too many,
# if the library needs more than the C library, if a program cannot be built against it, or if something stays behind when all is removed.
# usage: tests/packages.sh
# Environment: CUTTLE_TEST_NIGHTLY, also builds a second time in another folder, and wants the same bytes.
# It needs debhelper, installed by ./setup.sh deb. What else it would like (lintian, hardening-check) it says when it does not find it.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS
tree=$PWD
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
	echo "FAILED: packages.sh: $*"
	exit 1
}

arch=$(dpkg --print-architecture)
# build FOLDER: packages from a copy of the files that git knows, without a compiler's cache.
build() { "$tree/packaging/debs.sh" "$arch" "$scratch/$1" || fail "dpkg-buildpackage"; }
build a
cd "$scratch/a"
# The image is made of the same packages: make oci.
mkdir -p "$tree/build-oci/$arch/debs"
rm -f "$tree/build-oci/$arch/debs"/*.deb
cp ./*.deb files "$tree/build-oci/$arch/debs"
version=$(sed -n 's/^.define CUTTLE_VERSION "\(.*\)"/\1/p' cuttle/engine/cuttle/status.h)
for package in cuttle libcuttle0 libcuttle-dev cuttle-server; do
	[ -e "${package}_$version-1_$arch.deb" ] || fail "$package was not built as $version-1: debian/changelog has another version?"
	dpkg-deb -x "${package}_$version-1_$arch.deb" "$scratch/root"
done
root=$scratch/root/usr
library=$(echo "$root"/lib/*-linux-gnu)
[ "$("$root/bin/cuttle" --version)" = "cuttle $version" ] || fail "the command does not run"
for file in cuttle/packaging/examples/*; do
	cmp -s "$file" "$root/share/doc/cuttle/examples/${file##*/}" || fail "no $file as it stands, which the help of shard names"
done
[ "$(dpkg-deb -f libcuttle0_*.deb Depends | tr ',' '\n' | grep -cv libc6)" = 0 ] || fail "the library needs more than the C library"
"$root/bin/cuttle" bench -m none --isa blas 2>&1 | grep -q 'build has no OpenBLAS' && fail "the command has no way to OpenBLAS"
dpkg-deb -f cuttle_*.deb Depends | grep -qE 'curl|blas|microhttpd' && fail "the command depends on a library that it opens when it has to"

# Hardening: what the compiler was told, and what came of it. Debian 12's linker drops the note that says that all of a program has targets for
# indirect jumps, since the C library's first files have none. So these instructions are counted.
if [ "$arch" = amd64 ]; then
	[ "$(objdump -d "$root/bin/cuttle" | grep -c endbr64)" -ge 1000 ] || fail "indirect jumps have no targets: -fcf-protection is missing"
	[ "$(objdump -d "$root/bin/cuttle" | grep -c 'orq *.0x0,')" -ge 10 ] || fail "large frames are not probed: -fstack-clash-protection is missing"
fi
if command -v blhc >/dev/null; then
	# What joins the objects of libcuttle.a makes no program: there is nothing to harden.
	blhc --all --ignore-line '.* -r -nostdlib .*' log >hardening || fail "blhc: $(head -5 hardening)"
else
	echo "SKIPPED: blhc is not installed"
fi
if command -v hardening-check >/dev/null; then
	hardening-check --nocfprotection "$root/bin/cuttle" "$library/libcuttle.so.0" >hardening || fail "hardening-check: $(grep ' no' hardening)"
else
	echo "SKIPPED: hardening-check (devscripts) is not installed"
fi

# The library shows what its headers declare, and no other name.
nm -D --defined-only "$library/libcuttle.so.0" | awk '$3 != "CUTTLE_0" { sub(/@.*/, "", $3); print $3 }' | sort >shown
cat "$root"/include/cuttle/*.h | tr '\n' ' ' | grep -oE 'CUTTLE_API[^;]*\(' | grep -oE 'cuttle_[a-z0-9_]+\(' | tr -d '(' | sort -u >declared
[ "$(wc -l <declared)" -ge 80 ] || fail "found only $(wc -l <declared) functions in the headers"
diff declared shown || fail "headers (<) and library (>) differ"
nm -g --defined-only "$library/libcuttle.a" | awk 'NF == 3 { print $3 }' | sort | diff declared - || fail "headers (<) and libcuttle.a (>) differ"

# A program is built as pkg-config says, with either library, and runs.
export PKG_CONFIG_PATH=$library/pkgconfig PKG_CONFIG_SYSROOT_DIR=$scratch/root
cflags="-I$root/include" libs="-L$library"
if command -v pkg-config >/dev/null; then
	[ "$(pkg-config --modversion cuttle)" = "$version" ] || fail "cuttle.pc has another version"
	cflags=$(pkg-config --cflags cuttle) libs=$(pkg-config --libs-only-L cuttle)
else
	echo "SKIPPED: pkg-config is not installed, so cuttle.pc is not read"
fi
sed 's,"engine/cuttle.h",<cuttle.h>,' cuttle/examples/generate.c >example.c
for kind in "-lcuttle" "-l:libcuttle.a -lm -pthread"; do
	# shellcheck disable=SC2086 # these are words
	gcc -D_GNU_SOURCE -o example example.c $cflags $libs $kind || fail "no example with $kind"
	said=$(LD_LIBRARY_PATH=$library ./example 2>&1) || true
	[[ $said == *usage* ]] || fail "the example does not run with $kind: $said"
done

while read -r verb; do
	[ -s "$root/share/man/man1/cuttle-$verb.1.gz" ] || fail "no manual page for $verb"
done < <("$root/bin/cuttle" help --verbs)
for file in bash-completion/completions/cuttle zsh/vendor-completions/_cuttle fish/vendor_completions.d/cuttle.fish; do
	[ -s "$root/share/$file" ] || fail "no $file"
done
# The unit is one that systemd understands, and confines. systemd-analyze ends well though a key is misspelt, so it must be silent.
if command -v systemd-analyze >/dev/null; then
	units=$scratch/root/lib/systemd/system
	sed "s,/usr/bin/cuttle ,$root/bin/cuttle ," -i "$units/cuttle.service"
	said=$(systemd-analyze verify --man=no "$units/cuttle.service" "$units/cuttle.socket" 2>&1) || fail "systemd-analyze verify: $said"
	[ -z "$said" ] || fail "systemd-analyze verify: $said"
	said=$(systemd-analyze security --offline=true --threshold=15 "$units/cuttle.service" 2>&1) || fail "the unit is not confined: $said"
	# What the server needs: it starts its own command again, as a child, and listens on a socket that it is given.
	grep -qE '^(NoExecPaths|InaccessiblePaths|RootDirectory)=' "$units/cuttle.service" && fail "the unit hides the command from itself"
else
	echo "SKIPPED: systemd-analyze is not installed, so the server's unit is not looked at"
fi

# As the unit starts it: without a network of its own, on a socket that it is handed.
if [ "$(id -u)" = 0 ] && command -v systemd-socket-activate >/dev/null && command -v curl >/dev/null && /sbin/ldconfig -p | grep -q libmicrohttpd.so.12; then
	systemd-socket-activate -l "$scratch/socket" unshare -n -- "$root/bin/cuttle" serve --plain off >log 2>&1 &
	for ((tries = 0; tries < 100; tries++)); do [ ! -e "$scratch/socket" ] || break; sleep 0.1; done
	curl -sS --max-time 20 --unix-socket "$scratch/socket" http://localhost/ >page.html || { cat log && fail "the server does not answer"; }
	kill $! && { wait $! || true; }
	cmp page.html cuttle/serve/page/page.html || fail "the server has another page"
else
	echo "SKIPPED: no server is started as the unit would: that takes root, systemd-socket-activate, curl and libmicrohttpd12"
fi

if command -v lintian >/dev/null; then
	# Nobody's address stands in the packages: there is none.
	said=$(lintian --allow-root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs ./*.changes 2>&1 | grep -E '^[EW]:' |
		grep -vE 'malformed-contact|mail-host|email-address' || true)
	[ -z "$said" ] || fail "lintian: $said"
else
	echo "SKIPPED: lintian is not installed"
fi

# Installed and removed, where that is allowed and nothing of ours is there already. libmicrohttpd12 may be absent: --force-depends.
packages=(cuttle libcuttle0 libcuttle-dev cuttle-server) kept=(/etc/cuttle /var/lib/private/cuttle /var/lib/cuttle)
present=$(dpkg-query -W -f '${db:Status-Status}\n' "${packages[@]}" 2>/dev/null | grep -x installed || true)
for file in "${kept[@]}"; do [ ! -e "$file" ] || present=$file; done
if [ "$(id -u)" = 0 ] && [ -z "$present" ]; then
	dpkg -i --force-depends "${packages[@]/%/_$version-1_$arch.deb}" >log 2>&1 || { cat log && fail "dpkg -i"; }
	dpkg -L "${packages[@]}" | sort -u >files
	/usr/bin/cuttle --version >/dev/null || fail "the installed command does not run"
	mkdir -p "${kept[@]}"
	touch "${kept[@]/%//keys}"
	mkdir /var/lib/private/cuttle/server
	touch /var/lib/private/cuttle/{ledger.db,ledger.db-wal,server/trail.jsonl,server/trail.key,server/jobs.db}
	dpkg --purge "${packages[@]}" >log 2>&1 || { cat log && fail "dpkg --purge"; }
	while read -r file; do
		[ ! -e "$file" ] || [ -d "$file" ] || fail "$file stays behind"
	done <files
	# What was spent, and who did what, is not for a package to forget.
	left=$(cd /var/lib/private/cuttle && find . -type f | sort | paste -sd' ')
	rm -rf /var/lib/private/cuttle
	[ "$left" = './ledger.db ./ledger.db-wal ./server/trail.jsonl ./server/trail.key' ] || fail "a purge leaves $left"
	for file in /usr/include/cuttle "${kept[@]}"; do [ ! -e "$file" ] || fail "$file stays behind"; done
else
	echo "SKIPPED: packages are installed and removed by root alone, where they were not installed before"
fi

if [ -n "${CUTTLE_TEST_NIGHTLY:-}" ]; then
	build elsewhere/deeper
	for package in ./*.deb; do
		cmp "$package" "$scratch/elsewhere/deeper/$package" || fail "a second build has other bytes"
	done
fi
