#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests each verb where a process may have little address space. It fails if one does not end within
# seconds, with exit code 0 or 8 and one clear line; if a command starts a thread before it has work
# for it; or if it has OpenBLAS though nobody asked for --isa blas.
# shellcheck source=/dev/null
. "$(dirname "$0")/check.bash"
if nm "$CUTTLE" 2>/dev/null | grep -qE '__(asan|tsan)_init'; then
	echo "skipped: ${0##*/}: sanitizers take terabytes of address space"
	exit 0
fi
need_tiny finite
references 4

# within KIB ARG...: runs cuttle with that much address space. Its exit code is in `code`.
within() {
	local kib=$1
	shift
	(ulimit -v "$kib" && exec timeout -s KILL 60 "$CUTTLE" "$@" >out 2>err)
	code=$?
	[ $code != 137 ] || fail "cuttle $*: it does not end with $kib KiB of address space"
}

# told KIB WHAT: code 8 has one line that says so, 0 has none of an error.
told() {
	[ $code = 0 ] || { [ $code = 8 ] && [ "$(wc -l <err)" = 1 ] && grep -qiE 'memory|address space|MiB' err; } ||
		fail "$2 with $1 KiB: exit $code: $(cat err)"
}

for kib in 56000 64000 90000 120000 150000 180000 400000; do
	within $kib --version
	[ $code = 0 ] || fail "cuttle --version with $kib KiB: exit $code: $(cat err)"
	while read -r verb; do
		within $kib "$verb" --help
		[ $code = 0 ] || fail "cuttle $verb --help with $kib KiB: exit $code: $(cat err)"
	done < <("$CUTTLE" help --verbs)
	within $kib inspect -i refs.jsonl
	told $kib inspect
	within $kib generate -m tiny.gguf -i refs.jsonl -o out.jsonl -B 2 -N 1 -n 2 --ctx-size 64 -t 2 -e 10 --kind note -q --overwrite
	told $kib generate
	ran=$code
	within $kib generate -m tiny.gguf -i refs.jsonl -o out.jsonl -B 2 -N 1 -n 2 --ctx-size 64 -t 1 -e 10 --kind note -q --overwrite --isa blas
	# A build or a machine without OpenBLAS says that instead.
	grep -q '^cuttle generate: --isa blas: .*install' err || told $kib "generate --isa blas"
done
[ "$ran" = 0 ] || fail "generate has not run with 400000 KiB"

# Where the library cannot be loaded, or the build knows none, a line says what to install.
mkdir broken
: >broken/libopenblas.so.0
LD_LIBRARY_PATH=$PWD/broken refused 2 generate -m tiny.gguf -i refs.jsonl -o none.jsonl -B 2 -N 1 -n 2 -e 10 --kind note -q --isa blas
says err '^cuttle generate: --isa blas: .*install.*libopenblas'

# looked_at ARG...: runs cuttle until it waits for a reader of its output; its threads and libraries
# are then in the files status and maps.
mkfifo full
exec 8<>full
looked_at() {
	local pid tries asleep=0
	dd if=/dev/zero of=full bs=4096 count=1000 oflag=nonblock 2>dd.err
	"$CUTTLE" "$@" >&8 2>err &
	pid=$!
	for ((tries = 0; tries < 3000 && asleep < 3; tries++)); do
		sleep 0.02
		[[ $(cat "/proc/$pid/stat" 2>stat.err) == *') S '* ]] && asleep=$((asleep + 1)) || asleep=0
	done
	cat "/proc/$pid/status" >status && cat "/proc/$pid/maps" >maps
	kill $pid
	wait $pid 2>wait.err
	[ $asleep = 3 ] || fail "cuttle $* does not wait for its reader"
	says maps libsodium
}
for command in --version help 'generate --help' 'model info tiny.gguf'; do
	# shellcheck disable=SC2086 # an option and its value
	looked_at $command
	says status '^Threads:[[:space:]]*1$'
	grep -iE 'blas|gfortran|gomp' maps && fail "cuttle $command has OpenBLAS"
done
ldd "$CUTTLE" | grep -iE 'blas|gfortran|gomp' && fail "the command is linked with OpenBLAS"
exit 0
