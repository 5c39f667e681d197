#!/bin/bash
# Runs each libFuzzer target for some seconds, or RUNS inputs when these are fewer; as many targets at
# once as there are processors. A target begins with its seeds and with what earlier runs found, which
# stays in BUILD/corpus. RUNS -1 is no limit. With SEED 0 each run looks elsewhere; another one makes
# the same inputs of the same code each time.
# usage: run.sh BUILD SECONDS RUNS SEED TARGET...
set -eu
build=$1 seconds=$2 runs=$3 seed=$4
shift 4

# fuzz TARGET: an input that makes it fail is left as BUILD/TARGET-crash-... To run it again:
# BUILD/replay/TARGET FILE. It is called where set -e does not hold.
fuzz() {
	local corpus=$build/corpus/$1 log=$build/$1.log
	mkdir -p "$corpus" && "$build/replay/$1" --write "$corpus" || return 1
	if "$build/fuzz/$1" -max_total_time="$seconds" -runs="$runs" -seed="$seed" -timeout=60 -rss_limit_mb=1024 -max_len=8192 \
		-print_final_stats=1 -artifact_prefix="$build/$1-" "$corpus" 2>"$log"; then
		echo "== $1: $(sed -n 's/^stat:://p' "$log" | grep -E '^(number_of_executed_units|average_exec_per_sec|peak_rss_mb)' | tr -s ' \n' ' ')"
	else
		echo "$(tail -60 "$log")"$'\n'"fuzz: $1 failed; the input is $build/$1-*" >&2
		return 1
	fi
}

rm -f "$build/failed"
trap 'kill 0' INT TERM
for target; do
	[ "$(jobs -rp | wc -l)" -lt "$(nproc)" ] || wait -n || true
	{ fuzz "$target" || touch "$build/failed"; } &
done
wait
[ ! -e "$build/failed" ]
