#!/bin/bash
# The x86-64 build on old processors, under qemu-user: no illegal instruction, the right tiers, the same bits. Conroe (2006) has SSSE3 and
# no more, Haswell has AVX2 and no AVX-512. usage: tests/baseline.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/.."
./setup.sh arm
build=${1:-build}
export CUTTLE_TEST_SHORT=1
unset OPENBLAS_CORETYPE # OpenBLAS must look at the processor, too
programs=()
for name in test_kernels test_isolation test_generate test_model; do programs+=("$build/tests/$name"); done
make --no-print-directory -j2 BUILD="$build" "$build/cuttle" "${programs[@]}"

run_on() { # CPU, its tiers
	local program
	for program in "${programs[@]}" "$build/cuttle budget epsilon --clip 0.5 -B 7 -n 100 --temperature 1"; do
		echo "== $program on $1"
		# shellcheck disable=SC2086
		qemu-x86_64 -cpu "$1" $program || return 1
	done >"$build/$1.log" 2>&1
	grep -q "tiers: $2\$" "$build/$1.log"
}
run_on Conroe "scalar" &
old=$!
run_on Haswell "scalar avx2" &
middle=$!
bad=0
wait $old || { cat "$build/Conroe.log"; bad=1; }
wait $middle || { cat "$build/Haswell.log"; bad=1; }
[ $bad = 0 ] || { echo "baseline: FAILED" >&2; exit 1; }
echo "baseline: passed"
