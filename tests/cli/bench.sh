#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle bench`. It fails if a setting of the lists is not measured, if one of the three
# formats is malformed, or if a wrong request is not refused.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"

exits 0 bench --help
says out 'usage: cuttle bench'
awk 'length > 110 { exit 1 }' out || fail "bench --help has long lines"
refused 2 bench --no-such-option
refused 2 bench -B 1,,2
refused 2 bench -B 1,x
says err '--batch-size: "1,x" is not a list of up to 32 whole numbers'
refused 2 bench -B ''
refused 2 bench -p 16, -B 1
refused 2 bench --groups 1,x
says err '--groups: "1,x" is not a list of up to 32 whole numbers'
refused 2 bench -r 0
refused 2 bench -o xml
refused 2 bench stray
(unset CUTTLE_MODEL && refused 2 bench) || exit 1
refused 5 bench -m /nonexistent
real=$CUTTLE_MODEL
need_tiny finite
refused 2 bench -p 3 --no-ceilings
refused 2 bench -n 0
refused 2 bench -p 100000000 --no-ceilings
refused 2 bench --groups 17 --no-ceilings
refused 2 bench --groups 2 -B 7
says err '^cuttle bench: --groups and --batch-size exclude each other$'

sizes=(-p 8 -n 4)
exits 0 bench "${sizes[@]}" -B 0,2 --parallel 1,2 -t 1,2 -r 2 -o json
[ "$(grep -c '^cuttle bench: [1-8] of 8: ' err)" = 8 ] || fail "progress: $(cat err)"
[ "$(grep -c '"batch": ' out)" = 8 ] || fail "not 8 runs: $(cat out)"
for key in machine cpu cores isa version others_share ceilings dram_bytes_per_s int8_multiply_adds_per_s load_s loaded_rss_bytes runs batch parallel \
	prompt threads prompt_tokens_per_s step_ms step_ms_min step_ms_max rows_per_s private_tokens_per_s parts_ms gemm attention rows head \
	dclip draw other weight_bytes multiply_adds dram_share int8_share nearer rss_bytes; do
	says out "\"$key\": "
done
# Our own reader of JSON is the judge: one line is one record.
tr -d '\n' <out | sed 's/^{/{"text":"x",/' >whole.jsonl
exits 0 tokenize -i whole.jsonl
[ "$(wc -l <out)" = 1 ] || fail "the JSON is not one document"

# Of two runs with as many threads each has what was measured beside it, which takes a second of each thread.
if ! short; then
	exits 0 bench "${sizes[@]}" -B 2 -t 2,2 -r 1 -o csv
	[ "$(wc -l <out)" = 3 ] || fail "csv: $(cat out)"
	[ "$(awk -F, '{ print NF }' out | uniq | wc -l)" = 1 ] || fail "csv lines differ: $(cat out)"
	column=$(head -1 out | tr , '\n' | grep -n '^dram_bytes_per_s$' | cut -d: -f1)
	[ "$(tail -2 out | cut -d, -f"$column" | sort -u | wc -l)" = 2 ] || fail "ceilings of another run: $(cat out)"
	exits 0 bench "${sizes[@]}" -B 2 --parallel 0 -t 2 -r 1
	[ "$(tail -3 out | awk -F'|' '{ print NF }' | uniq | wc -l)" = 1 ] || fail "md: $(cat out)"
fi
"$CUTTLE" bench "${sizes[@]}" -B 2 -r 1 -t 2 -o csv --no-ceilings >/dev/full 2>err
[ $? = 1 ] || fail "a full disk is not noticed"

# What all contexts begin with is computed once, as far as it fills sixteens: 2 contexts of 40 tokens, 39 of them shared, are 32 and 8 each.
exits 0 bench -p 40 -n 4 -B 1 -t 2 -r 1 --no-ceilings --shared 39 -o json
says out '"shared": 39,'
refused 2 bench "${sizes[@]}" -B 1 --shared 8 --no-ceilings
says err 'a bench needs prompts of more tokens than the 8 that are shared'

# Documents with marks, a row a group.
exits 0 bench "${sizes[@]}" --groups 1,2 -t 2 -r 1 --no-ceilings -o json
[ "$(grep -cE '"groups": [12],' out)" = 2 ] || fail "not 2 runs of groups: $(cat out)"

# Without the ceilings nothing that needs them has a value, in any format.
exits 0 bench "${sizes[@]}" -B 2 -t 2 -r 1 --no-ceilings -o json
for key in dram_bytes_per_s int8_multiply_adds_per_s dram_share int8_share nearer; do says out "\"$key\": null"; done
says out '"load_s": [0-9.]+'
exits 0 bench "${sizes[@]}" -B 2 -t 2 -r 1 --no-ceilings -o csv
[ "$(wc -l <out)" = 2 ] || fail "csv: $(cat out)"
[ "$(awk -F, '{ print NF }' out | uniq | wc -l)" = 1 ] || fail "csv lines differ: $(cat out)"
says out '^batch,parallel,prompt,.*,isa$'
grep -q nan out && fail "csv: $(cat out)"
exits 0 bench "${sizes[@]}" -B 2 --parallel 0 -t 2 -r 1 --no-ceilings
says out '^\| B \| G \| prompt \|'
[ "$(tail -3 out | awk -F'|' '{ print NF }' | uniq | wc -l)" = 1 ] || fail "md: $(cat out)"
says out ' \| - \| - \| [0-9]+ \| - \|$'
# Others at work are told of, with their share, when a measurement takes long enough to see them.
if ! short && [ -r /proc/stat ] && [ -r "$real" ]; then
	for ((i = 0; i < $(nproc); i++)); do
		while :; do :; done &
		busy+=($!)
	done
	exits 0 bench -m "$real" -p 64 -n 32 -B 2 -t 1 -r 1
	kill "${busy[@]}"
	says err "warning: others took [0-9]+ % of this machine's processor time"
fi
