#!/bin/bash
# Builds for aarch64 on a machine that is not, and runs the tests under qemu-user. They run on one
# processor with dot products and on one without. Where the real model is there, its text must be
# the native one's.
# The arm64 libraries come from this machine's Debian sources into the build folder. The machine's
# own package state stays as it is.
# usage: tests/arm.sh
# Environment: CUTTLE, a native build to compare with; CUTTLE_MODEL.
set -euo pipefail
cd "$(dirname "$0")/.."
./setup.sh arm
build="build-arm"
debian=$PWD/$build/debian
libraries=$debian/root/usr/lib/aarch64-linux-gnu
native=${CUTTLE:-build/cuttle} model=${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}
export CUTTLE_TEST_SHORT=1 QEMU_LD_PREFIX=/usr/aarch64-linux-gnu

fetch() {
	rm -rf "$debian"
	mkdir -p "$debian"/{state/lists/partial,cache/archives/partial,root}
	: >"$debian/status"
	local apt=(apt-get -qq -o APT::Architecture=amd64 -o APT::Architectures::=arm64 -o APT::Sandbox::User=root -o Dir::State="$debian/state"
		-o Dir::State::status="$debian/status" -o Dir::Cache="$debian/cache") package
	"${apt[@]}" update
	(cd "$debian" && for package in $packages; do "${apt[@]}" download "$package:arm64"; done)
	for package in "$debian"/*.deb; do dpkg-deb -x "$package" "$debian/root"; done
	# The package lists are a hundred megabytes.
	rm -rf "$debian/state" "$debian/cache"
	echo "$packages" >"$debian/complete"
}
# The -dev packages that the Makefile links, and the library behind each.
packages="libcmocka-dev libcmocka0 libjansson-dev libjansson4 libcsv-dev libcsv3 libsodium-dev libsodium23 libsqlite3-dev libsqlite3-0 libutf8proc-dev libutf8proc2"
[ "$(cat "$debian/complete" 2>/dev/null)" = "$packages" ] || fetch

kernels=("$build"/tests/test_{kernels,laws,types,isolation,generate,model})
rest=("$build"/tests/test_{chat,dp_invisibleink,dp_topk,gguf,io_journal,io_output,io_receipt,io_records})
make --no-print-directory -j2 CC=aarch64-linux-gnu-gcc BLAS=0 CURL=0 BUILD="$build" CPPFLAGS="-I$debian/root/usr/include" \
	LDFLAGS="-L$libraries -Wl,-rpath,$libraries" "$build/cuttle" "${kernels[@]}" "${rest[@]}"

run_on() { # CPU, its tiers, programs
	CUTTLE_TEST_CLI=0 CUTTLE_TEST_RUNNER="qemu-aarch64 -cpu $1" tests/run.sh "${@:3}" | tee "$build/log"
	grep -q "tiers: $2\$" "$build/log" || { echo "arm: $1 has other tiers than $2" >&2; exit 1; }
}
run_on neoverse-n1 "scalar neon dotprod" "${kernels[@]}"
run_on cortex-a53 "scalar neon" "${kernels[@]}" "${rest[@]}"

if [ -e "$model" ] && [ -x "$native" ]; then
	rm -rf "$build/run" && mkdir "$build/run"
	echo '{"text":"Ada Brook, 41, gardener. Sprained the left ankle on wet steps. Rest, ice, elastic bandage."}' >"$build/run/in.jsonl"
	generate() { # name, program...
		"${@:2}" generate -q -m "$model" -i "$build/run/in.jsonl" -o "$build/run/$1.jsonl" --clip 0.5 -B 1 -N 1 -n 4 --insecure-seed 7 2>&1 |
			grep -v '^NOT PRIVATE' || true
	}
	generate native "$native"
	generate arm qemu-aarch64 -cpu neoverse-n1 "$build/cuttle"
	cmp "$build/run/native.jsonl" "$build/run/arm.jsonl"
else
	echo "arm: no model or no native build, texts not compared"
fi
echo "arm: passed"
