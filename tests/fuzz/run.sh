#!/bin/sh
# Runs each libFuzzer target for some seconds. It begins with its seeds and with what earlier runs
# found, which stays in BUILD/corpus.
# usage: run.sh BUILD SECONDS TARGET...
set -eu
build=$1 seconds=$2
shift 2
for target; do
	corpus=$build/corpus/$target
	mkdir -p "$corpus"
	"$build/replay/$target" --write "$corpus"
	echo "== $target, $seconds s"
	# The input that makes a target fail is left as BUILD/TARGET-crash-... To run it again:
	# BUILD/replay/TARGET FILE.
	"$build/fuzz/$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 \
		-artifact_prefix="$build/$target-" "$corpus" 2>"$build/$target.log" || {
		tail -60 "$build/$target.log"
		echo "fuzz: $target failed; the input is $build/$target-*" >&2
		exit 1
	}
	grep -E 'stat::number_of_executed_units|stat::average_exec_per_sec|stat::peak_rss_mb' "$build/$target.log"
done
