#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds what an appliance gets: the command as one file, and the library with musl. Both run in a folder where nothing else is, and the
# command as tests/cli/memory.sh asks. It prints what docs/PACKAGES.md says of it: size, time to start, memory. It fails if a file needs a loader,
# if something does not run there, if the command is larger than 6 MB, or if three references take more than 160 MiB of memory.
# usage: tests/appliance.sh
# Environment: CUTTLE_MODEL.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS
make --no-print-directory static musl
model=$(realpath "${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}")
[ -r "$model" ] || { echo "skipped: appliance.sh: there is no model (set CUTTLE_MODEL)" && exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
	echo "FAILED: appliance.sh: $*"
	exit 1
}

strip -o "$scratch/cuttle" build-static/cuttle
strip -o "$scratch/example" build-musl/example
for program in cuttle example; do
	if readelf -lW "$scratch/$program" | grep -q INTERP; then fail "$program needs a loader"; fi
done
bytes=$(stat -c %s "$scratch/cuttle")
echo "the command: $bytes bytes; the example with musl: $(stat -c %s "$scratch/example")"
[ "$bytes" -lt 6000000 ] || fail "the command has $bytes bytes"

for ((i = 0; i < 21; i++)); do
	begin=${EPOCHREALTIME/./}
	"$scratch/cuttle" --version >/dev/null
	echo $((${EPOCHREALTIME/./} - begin))
done | sort -n | awk 'NR == 11 { printf "it starts in %.1f ms, the median of 21\n", $1 / 1000 }'

alone=()
if [ "$(id -u)" = 0 ]; then
	alone=(chroot "$scratch")
	cp "$model" "$scratch/model.gguf"
	"${alone[@]}" /example /model.gguf >"$scratch/texts" || fail "the example does not run alone"
	grep -q 'differentially private for each reference' "$scratch/texts" || fail "the example says: $(cat "$scratch/texts")"
else
	echo "SKIPPED: only root may enter a folder where nothing else is"
fi

for i in {1..31}; do echo '{"text":"Patient '"$i"' has coughed for a week. Lungs clear. Rest and fluids."}'; done >"$scratch/notes.jsonl"
# run B: with so many references. Sets `addresses` and `memory`, the most that it had, in MiB.
run() {
	local pid most line
	head -n "$1" "$scratch/notes.jsonl" >"$scratch/in.jsonl"
	rm -f "$scratch"/out.*
	(
		cd "$scratch"
		options=(-B "$1" -N 1 -n 200 -c 512 --parallel 1 -t 1 -e 10 --kind note -q)
		if [ ${#alone[@]} -gt 0 ]; then exec "${alone[@]}" /cuttle generate -m /model.gguf -i /in.jsonl -o /out.jsonl "${options[@]}"; fi
		exec ./cuttle generate -m "$model" -i in.jsonl -o out.jsonl "${options[@]}"
	) 2>"$scratch/err" &
	pid=$!
	while line=$(grep -E 'VmPeak|VmHWM' "/proc/$pid/status" 2>/dev/null); do
		most=$line
		sleep 0.02
	done
	wait $pid || fail "exit $? with B = $1: $(cat "$scratch/err")"
	read -r addresses memory < <(awk '{ printf "%d ", $2 / 1024 + 1 } END { print "" }' <<<"$most")
}
for batch in 3 7 31; do
	run $batch
	echo "B = $batch: $memory MiB of memory, $addresses of addresses"
	[ $batch != 3 ] || [ "$memory" -le 160 ] || fail "B = 3 takes $memory MiB"
done
CUTTLE=build-static/cuttle CUTTLE_MODEL=$model CUTTLE_TEST_SHORT=1 tests/cli/memory.sh
echo "appliance: passed"
