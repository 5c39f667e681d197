#!/bin/sh
# Runs each libFuzzer target for some seconds, or RUNS inputs when these are fewer. It begins with its
# seeds and with what earlier runs found, which stays in BUILD/corpus. RUNS -1 is no limit. With SEED 0
# each run looks elsewhere; another one makes the same inputs of the same code each time.
# usage: run.sh BUILD SECONDS RUNS SEED TARGET...
set -eu
build=$1 seconds=$2 runs=$3 seed=$4
shift 4
for target; do
	corpus=$build/corpus/$target
	mkdir -p "$corpus"
	"$build/replay/$target" --write "$corpus"
	echo "== $target, $seconds s"
	# The input that makes a target fail is left as BUILD/TARGET-crash-... To run it again:
	# BUILD/replay/TARGET FILE.
	"$build/fuzz/$target" -max_total_time="$seconds" -runs="$runs" -seed="$seed" -timeout=60 -rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 \
		-artifact_prefix="$build/$target-" "$corpus" 2>"$build/$target.log" || {
		tail -60 "$build/$target.log"
		echo "fuzz: $target failed; the input is $build/$target-*" >&2
		exit 1
	}
	grep -E 'stat::number_of_executed_units|stat::average_exec_per_sec|stat::peak_rss_mb' "$build/$target.log"
done
