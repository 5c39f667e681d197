#!/bin/bash
# Builds for aarch64 on a machine that is not, and runs the tests under qemu-user. They run on one
# processor with dot products and on one without. Where the real model is there, its text must be
# the native one's.
# The arm64 libraries come into the build folder (tests/arm_libraries.sh).
# usage: tests/arm.sh
# Environment: CUTTLE, a native build to compare with; CUTTLE_MODEL; CUTTLE_TEST_NIGHTLY=1 for the slow ones, too.
set -euo pipefail
cd "$(dirname "$0")/.."
./setup.sh arm
build="build-arm"
debian=$PWD/$build/debian
libraries=$debian/root/usr/lib/aarch64-linux-gnu
native=${CUTTLE:-build/cuttle} model=${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}
export CUTTLE_TEST_SHORT=1 QEMU_LD_PREFIX=/usr/aarch64-linux-gnu

tests/arm_libraries.sh "$debian"

# Kernels run on both processors. What is above them runs on one, as emulated steps are slow.
kernels=("$build"/tests/test_{kernels,laws,types})
steps=("$build"/tests/test_{isolation,model})
rest=("$build"/tests/test_{chat,dp_invisibleink,dp_topk,gguf,io_journal,io_output,io_receipt,io_records})
# Five minutes of a processor.
[ -z "${CUTTLE_TEST_NIGHTLY-}" ] || rest+=("$build/tests/test_generate")
make --no-print-directory -j2 CC=aarch64-linux-gnu-gcc BLAS=0 CURL=0 BUILD="$build" CPPFLAGS="-I$debian/root/usr/include" \
	LDFLAGS="-L$libraries -Wl,-rpath,$libraries" "$build/cuttle" "${kernels[@]}" "${steps[@]}" "${rest[@]}"

run_on() { # CPU, its tiers, programs
	CUTTLE_TEST_CLI=0 CUTTLE_TEST_RUNNER="qemu-aarch64 -cpu $1" tests/run.sh "${@:3}" | tee "$build/log"
	grep -q "tiers: $2\$" "$build/log" || { echo "arm: $1 has other tiers than $2" >&2; exit 1; }
}
run_on neoverse-n1 "scalar neon dotprod" "${kernels[@]}" "${steps[@]}"
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
