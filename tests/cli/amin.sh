#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle generate --method amin` from outside: what it refuses, what its receipt says, and runs that are stopped inside a stretch of
# free tokens. With theta 2 no row is ever far enough from the public one, so that all tokens are free.
# It fails if parameters without a clip are drawn with; if a run that is continued twice inside one stretch leaves other than two marks in its
# journal, or goes on without a threshold; if receipt and ledger disagree; or if an edited receipt is believed.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
for i in $(seq 6); do echo "{\"text\":\"Note $i: a gardener who coughs.\"}"; done >in.jsonl
base=(generate -i in.jsonl --kind note --method amin -B 3 -N 2 -n 12 -q)
free=(-e 60000 --svt-noise 0.01 --svt-threshold 2)

# What there is no clip for: the thresholds of the paper's table, each parameter that would do alone.
for cell in '31 1' '31 3' '31 5' '31 10' '63 1' '63 3' '63 5' '127 1'; do
	read -r batch epsilon <<<"$cell"
	refused 3 "${base[@]}" -o out.jsonl -B "$batch" -N 1 -n 400 --units 100 -e "$epsilon" --dry-run
	says err "^cuttle generate: 100 thresholds of -B $batch and noise 0.3 cost epsilon [0-9.]+, and of $epsilon nothing is left for a clip\. The nearest that do: --units [0-9]+, --svt-noise [0-9.]+, -B [0-9]+, or -e above [0-9.]+$"
	[[ ! -e out.jsonl && ! -e out.jsonl.journal ]] || fail "drawn without a clip"
done
read -r units noise batch < <(sed -E 's/.*--units ([0-9]+), --svt-noise ([0-9.]+), -B ([0-9]+),.*/\1 \2 \3/' err)
for better in "-B 127 --units $units" "-B 127 --units 100 --svt-noise $noise" "-B $batch --units 100"; do
	# shellcheck disable=SC2086 # several words; six records are too few, which is known later
	exits 4 "${base[@]}" -o out.jsonl -n 400 -e 1 $better -N 1 --dry-run
done
refused 2 "${base[@]}" -o out.jsonl
says err 'method amin needs epsilon: give -e'
refused 2 "${base[@]}" -o out.jsonl -e 10 --units 13
says err '--units 13: a text of 12 tokens has no more units than that'
for wrong in '--token-bank' '--complete' '--public-when 0.9'; do
	# shellcheck disable=SC2086 # option and value
	refused 2 "${base[@]}" -o out.jsonl -e 10 $wrong
	says err 'method amin has no --public-when, --complete or --token-bank'
done
refused 2 "${base[@]}" -o out.jsonl -e 10 --svt-threshold 2.1
refused 2 "${base[@]}" -o out.jsonl -e 10 --temperature-public 17

# A run whose tokens are paid and free, its receipt and its charge.
exits 0 ledger init --ledger l --dataset notes --rho-limit 1e9
exits 0 "${base[@]}" -o out.jsonl -e 10 --units 4 --svt-noise 4 --ledger l --dataset notes
says out.receipt.json '"guarantee": ".* At most 4 thresholds a batch; by zCDP\."'
says out.receipt.json '"units": 4'
exits 0 receipt verify out.receipt.json --output out.jsonl --ledger l
says out 'at most 4 units per text, each of rho'
edits_noticed out.receipt.json <<-'END'
	s/"units": 4/"units": 3/
	s/"svt_noise": 4.0/"svt_noise": 5.0/
	s/"method": "amin"/"method": "pmixed"/
	s/"svt_threshold": 0.69999999999999996/"svt_threshold": 3.0/
	s/"epsilon": \([0-9]\)\./"epsilon": 1\1./
	s/At most 4 thresholds/At most 3 thresholds/
	s/"temperature_public": 1.0/"temperature_public": null/
	s/"temperature_public": 1.0/"temperature_public": 1e9/
	s/"svt_threshold": 0.69999999999999996/"svt_threshold": null/
END
# A threshold of 0 is one.
exits 0 "${base[@]}" -o zero.jsonl -e 10 --units 4 --svt-noise 4 --svt-threshold 0
exits 0 receipt verify zero.receipt.json

# stopped BYTES ARGUMENT...: a full disk stops the run after so many bytes of its journal; 147 are the first line.
stopped() {
	(
		ulimit -f unlimited
		prlimit --fsize="$1" "$CUTTLE" "${@:2}" >out 2>err
	)
	local code=$?
	[ $code = 6 ] || fail "not stopped but exit $code: $(cat err)"
}
# marks: of each batch's tokens, those that begin a threshold anew: ~(t + 2^30). A line that is torn has no check.
marks() { awk 'NF == 4 && NR > 1 && ($3 >= 1073741824 || $3 < -1073741824) { n[$1]++ } END { print n[0] + 0, n[1] + 0 }' "$1"; }
# tokens: of both batches.
tokens() { awk 'NF == 4 && NR > 1 && length($4) == 16 { n[$1]++ } END { print n[0] + 0, n[1] + 0 }' "$1"; }

# Two stops inside one stretch: a threshold each.
run=("${base[@]}" "${free[@]}" --units 4 -o a.jsonl --parallel 1 --insecure-seed 7)
stopped 300 "${run[@]}"
[ "$(marks a.jsonl.journal)" = '0 0' ] || fail "marks in a run that was never stopped: $(marks a.jsonl.journal)"
stopped 380 "${run[@]}"
[ "$(marks a.jsonl.journal)" = '1 0' ] || fail "not one mark after a stop: $(cat a.jsonl.journal)"
stopped 460 "${run[@]}"
[ "$(marks a.jsonl.journal)" = '2 0' ] || fail "not two marks after two stops: $(cat a.jsonl.journal)"
exits 0 "${run[@]}"
[ "$(grep -ac '"tokens":12,' a.jsonl)" = 2 ] || fail "a text that was stopped has not its tokens: $(cat a.jsonl)"
nothing_left a.jsonl

# The same with a ledger, whose file is larger: one charge, of all units of each text, whatever the stops cost of them.
for i in $(seq 30); do echo "{\"text\":\"Note $i: a gardener who coughs.\"}"; done >in.jsonl
run=("${base[@]}" "${free[@]}" --units 200 -o c.jsonl -B 1 -N 30 -e 1e7 -n 400 --parallel 1 --ledger l --dataset notes)
for stop in 0 1 2; do
	stopped $((70000 + 10000 * stop)) "${run[@]}"
	marked=$(awk 'NF == 4 && NR > 1 && ($3 >= 1073741824 || $3 < -1073741824)' c.jsonl.journal | wc -l)
	# None for a stop right behind the end of a text, which is rare.
	[ "$marked" -le $stop ] || fail "$marked marks after $stop stops"
done
[ "$marked" -ge 1 ] || fail "no mark after two stops"
exits 0 "${run[@]}"
exits 0 receipt verify c.receipt.json --output c.jsonl --ledger l
says c.receipt.json '"units": 200'
exits 0 ledger history --ledger l --dataset notes
[ "$(grep -c ' reserve ' out)" = 2 ] || fail "two runs, and other charges: $(cat out)"

# With as many units as stops a text ends: what went on would have no threshold. The next one has its own.
run=("${base[@]}" "${free[@]}" --units 1 -o b.jsonl --parallel 1 --insecure-seed 7)
stopped 300 "${run[@]}"
before=$(tokens b.jsonl.journal)
exits 0 "${run[@]}"
[ "$(sed -n '1s/.*"tokens":\([0-9]*\),.*/\1 0/p' b.jsonl)" = "$before" ] || fail "a text went on without a threshold: $before, $(cat b.jsonl)"
says b.jsonl '"index":1,.*"tokens":12,"finish":"length"'
