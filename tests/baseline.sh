#!/bin/bash
# Runs the x86-64 build on old processors, under qemu-user. It fails on an illegal instruction, on
# the wrong kernels, or if texts differ. Conroe (2006) has SSSE3 and no more. Haswell has AVX2 and
# no AVX-512. Emulated vectors are slow, so the AVX2 kernels' own tests run on real processors.
# usage: tests/baseline.sh [BUILD]
set -euo pipefail
cd "$(dirname "$0")/.."
./setup.sh arm
build=${1:-build}
# OpenBLAS must choose its kernels by the emulated processor, too.
unset OPENBLAS_CORETYPE
make --no-print-directory -j2 BUILD="$build" "$build"/cuttle "$build"/tests/{gen_tiny,test_kernels}
folder=$build/baseline
rm -rf "$folder" && mkdir "$folder"
"$build/tests/gen_tiny" "$folder/tiny.gguf"
printf '{"text":"%s"}\n' "Ada Brook, 41, gardener." "Sprained the left ankle on wet steps." "Rest, ice, elastic bandage." >"$folder/in.jsonl"
generate() { # name, emulator...
	"${@:2}" "$build/cuttle" generate -q -m "$folder/tiny.gguf" -i "$folder/in.jsonl" -o "$folder/$1.jsonl" --clip 0.5 -B 3 -N 1 -n 40 \
		--insecure-seed 7 2>"$folder/log" || { cat "$folder/log"; exit 1; }
}
generate native
for processor in Conroe=scalar Haswell=avx2; do
	name=${processor%=*} kernels=${processor#*=}
	echo "== $name, $kernels"
	qemu-x86_64 -cpu "$name" "$build/cuttle" model info -m "$folder/tiny.gguf" 2>/dev/null | grep -x "kernels  *$kernels" ||
		{ echo "baseline: $name has other kernels than $kernels" >&2; exit 1; }
	generate "$name" qemu-x86_64 -cpu "$name"
	cmp "$folder/native.jsonl" "$folder/$name.jsonl"
	qemu-x86_64 -cpu "$name" "$build/cuttle" budget epsilon --clip 0.5 -B 7 -n 100 --temperature 1
done
CUTTLE_TEST_SHORT=1 qemu-x86_64 -cpu Conroe "$build/tests/test_kernels" 2>"$folder/log" || { cat "$folder/log"; exit 1; }
echo "baseline: passed"
