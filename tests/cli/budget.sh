#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle budget`. It fails if the paper's numbers do not come out, if an unknown does not
# follow from the others, or if a wrong request is not refused.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
model=$CUTTLE_MODEL
unset CUTTLE_MODEL # plan would measure it
sampling=(-n 500 --temperature 1.2)
common=(--delta 1e-6 -B 7 "${sampling[@]}")

# answer: the number of the last request.
answer() { head -1 out; }
# between LOW HIGH: the answer is above LOW and at most HIGH.
between() {
	awk -v a="$(answer)" -v low="$1" -v high="$2" 'BEGIN { exit !(a > low && a <= high) }' || fail "$(answer) is not in ($1, $2]"
}

# near VALUE [TIMES]: the answer is that, to nine digits.
near() {
	awk -v a="$(answer)" -v b="$1" -v times="${2-1}" 'BEGIN { exit !((a / b / times - 1) ^ 2 < 1e-18) }' || fail "$(answer) is not $1 times ${2-1}"
}

for pair in 1:0.0829 3:0.2285 5:0.3615 10:0.6591; do
	exits 0 budget clip -e "${pair%:*}" "${common[@]}"
	says out "^${pair#*:}[0-9]*$"
done

# There and back: the clip's epsilon is at most what was asked for, and almost that.
exits 0 budget clip -e 3 "${common[@]}"
clip=$(answer)
exits 0 budget epsilon --clip "$clip" "${common[@]}"
between 2.999999999 3
exits 0 budget tokens -e 3 --clip "$clip" --delta 1e-6 -B 7 --temperature 1.2
between 498 500
exits 0 budget batch -e 3 --clip "$clip" --delta 1e-6 "${sampling[@]}"
between 6 8
exits 0 budget delta -e 3 --clip "$clip" -B 7 "${sampling[@]}"
between 0.9999e-6 1e-6
exits 0 budget rho --clip "$clip" -B 7 "${sampling[@]}"
between 0.18506 0.18508
exits 0 budget clip -e 3 "${common[@]}" --json
says out '^\{"epsilon":3\.0,"delta":9\.9999999999999995e-0?7,"rho":0\.18506[0-9]*,"clip":0\.2285[0-9]*,"batch":7,"tokens":500,"temperature":1\.2,"accountant":"zcdp","group":1,"spread":false\}$'
# The exact accountant: what the paper's clips cost, and the clips that cost as much.
exact=("${common[@]}" --accountant exact)
# epsilon_is CLIP TOKENS LOW HIGH, clip_is EPSILON TOKENS CLIP
epsilon_is() {
	exits 0 budget epsilon --clip "$1" "${exact[@]}" -n "$2"
	between "$3" "$4"
}
clip_is() {
	exits 0 budget clip -e "$1" "${exact[@]}" -n "$2"
	[ "$(printf %.5f "$(answer)")" = "$3" ] || fail "clip for $1, $2 tokens: $(answer)"
}
epsilon_is 0.13109376 200 0.92736 0.92738
says out 'by exact composition'
clip_is 1 200 0.14060
if ! short; then
	epsilon_is 0.0829 500 0.92729 0.92750
	epsilon_is 0.6591 500 9.39037 9.39084
	epsilon_is 1.04216841 200 9.37685 9.37693
	clip_is 10 500 0.69474
	clip_is 3 200 0.38496
fi
# The table's other cells, which test_dp_exact has as well.
if nightly; then
	epsilon_is 0.2285 500 2.79760 2.79835
	epsilon_is 0.3615 500 4.67630 4.67665
	while read -r -a numbers; do clip_is "${numbers[@]}"; done <<-'END'
		1 500 0.08891
		3 500 0.24335
		5 500 0.38342
		5 200 0.60668
		10 200 1.09993
	END
fi
# Coarser is larger, never smaller.
exits 0 budget epsilon --clip 0.6591 "${exact[@]}" --grid 32
between 9.3904 9.3952
# Fewer tokens take less time.
few=(--delta 1e-6 -B 7 -n 50 --temperature 1.2 --accountant exact)
exits 0 budget clip -e 3 "${few[@]}"
clip=$(answer)
exits 0 budget epsilon --clip "$clip" "${few[@]}"
between 2.999999 3
exits 0 budget tokens -e 3 --clip "$clip" --delta 1e-6 -B 7 --temperature 1.2 --accountant exact
between 48 50
exits 0 budget batch -e 3 --clip "$clip" --delta 1e-6 -n 50 --temperature 1.2 --accountant exact
between 6 8
exits 0 budget delta -e 3 --clip "$clip" -B 7 -n 50 --temperature 1.2 --accountant exact
between 0.9999e-6 1e-6
exits 0 budget rho --clip "$clip" "${few[@]}"
cp out first
exits 0 budget rho --clip "$clip" -B 7 -n 50 --temperature 1.2
[ "$(head -1 first)" = "$(answer)" ] || fail "rho depends on the accountant"
exits 0 budget clip -e 3 "${few[@]}" --json
says out '"accountant":"exact","group":1,"spread":false\}$'
refused 2 budget clip --rho 1 "${few[@]}"
refused 2 budget clip -e 3 "${few[@]}" -n 32769
says err 'use zcdp'
refused 2 budget clip -e 1e6 "${few[@]}"
refused 2 budget clip -e 3 "${few[@]}" --accountant best

# A person with several references: g of them in one text cost g^2 rho, as one at g times the clip, in g texts g rho, as g times the tokens.
for accountant in zcdp exact; do
	with=(--delta 1e-6 -B 7 --temperature 1.2 --accountant "$accountant")
	exits 0 budget epsilon --clip 0.3 "${with[@]}" -n 60
	together=$(answer)
	exits 0 budget epsilon --clip 0.1 "${with[@]}" -n 60 --group 3
	near "$together"
	says out 'per person with 3 records, all in one text'
	exits 0 budget epsilon --clip 0.3 "${with[@]}" -n 20 -g 3 --spread
	[ "$(answer)" = "$together" ] || fail "spread: $(answer), not $together"
	exits 0 budget clip -e 2 "${with[@]}" -n 60
	alone=$(answer)
	exits 0 budget clip -e 2 "${with[@]}" -n 60 -g 3
	between "$(awk -v x="$alone" 'BEGIN { printf "%.17g", x / 3 * (1 - 1e-9) }')" "$(awk -v x="$alone" 'BEGIN { printf "%.17g", x / 3 }')"
done
exits 0 budget rho --clip 0.1 -B 7 -n 60 --temperature 1.2
alone=$(answer)
exits 0 budget rho --clip 0.1 -B 7 -n 60 --temperature 1.2 -g 3
near "$alone" 9
exits 0 budget rho --clip 0.1 -B 7 -n 60 --temperature 1.2 -g 3 --spread
near "$alone" 3
exits 0 budget clip -e 2 --delta 1e-6 -B 7 -n 60 --temperature 1.2 -g 3 --json
says out '"group":3,"spread":false\}$'

# plan: both accountants, rounded to the safe side, what it takes, and in every format.
if ! short; then
	exits 0 budget plan "${sampling[@]}" -e 3 -B 7
	says out '^\| 3 \| 1e-06 \| 7 \| 500 \| 1\.2 \| 0\.228547 \| 0\.243352 \| 0\.18507 \| 0\.209824 \| 700 \| - \| - \|$'
	says out '^hours and memory need -m MODEL, .* or --bench FILE'
	grep -qi 'clipped' out && fail "plan speaks of what is private"
fi
quick=(--temperature 1.2 -n 50)
exits 0 budget plan "${quick[@]}"
[ "$(grep -c '^| [0-9]' out)" = 16 ] || fail "plan has not 4 x 4 rows"
exits 0 budget plan "${quick[@]}" -e 2 -B 8,16 -N 40 --rows-per-second 900 --json
says out '^\[\{"epsilon":2\.0,"delta":9\.9999999999999995e-0?7,"batch":8,"tokens":50,.*"references":320,"seconds":20\.0,"rows_per_s":900\.0,'
says out '"batch":16,.*"references":640,"seconds":37\.7'
cp out json
exits 0 budget plan "${quick[@]}" -e 2 -B 8,16 -N 40 --rows-per-second 900 -o json
same json out "plan -o json is not --json"
exits 0 budget plan "${quick[@]}" -e 2 -B 8,16 -o csv
[ "$(wc -l <out)" = 3 ] || fail "plan -o csv: $(cat out)"
says out '^epsilon,delta,batch,tokens,temperature,clip_zcdp,clip_exact,rho_zcdp,rho_exact,texts,references,seconds,'
awk -F, 'NR > 1 { if (NF != 17 || $12 != "") exit 1; share[NR] = $7 / $3 }
	END { exit (share[2] / share[3] - 1) ^ 2 > 1e-20 }' out || fail "csv: $(cat out)"
exits 0 budget clip -e 2 -B 8 "${quick[@]}" --accountant exact
clip=$(answer)
exits 0 budget plan "${quick[@]}" -e 2 -B 8 -o csv
[ "$(awk -F, -v clip="$clip" 'NR == 2 { print $7 == clip }' out)" = 1 ] || fail "plan and clip differ: $(cat out)"
exits 0 budget plan --temperature 1.2 -n 40000 -e 2 -B 8
says out '^\| 2 \| 1e-06 \| 8 \| 40000 \| 1\.2 \| 0\.[0-9]* \| - \|'
exits 0 budget plan "${quick[@]}" -e 2 -B 8 --group 4
says out '^epsilon, delta and rho are those of a person with 4 references, all in one text'

# Two runs of a bench: B = 9 takes the faster one with B = 7, whose contexts of 400 tokens are read at 1,000 tokens a second.
run='"prompt":400,"prompt_tokens_per_s":1000,"rows_per_s":'
echo "{\"runs\":[{\"batch\":31,${run}1300},{\"batch\":7,${run}800.5},{\"batch\":7,${run}1000}]}" >bench.json
exits 0 budget plan "${quick[@]}" -e 2 -B 9 -N 40 --bench bench.json --json
says out '"seconds":180\.0,"rows_per_s":1000\.0,"bench_batch":7,"bench_prompt":400,"prompt_tokens_per_s":1000\.0'
exits 0 budget plan "${quick[@]}" -e 2 -B 9 -N 40 --bench bench.json
says out '\| 360 \| 0\.05 \| - \|$'
says out '^hours: 40 texts, every one to its cap, .*bench\.json'
exits 4 budget plan "${quick[@]}" -e 2 -B 9 --bench absent.json
for broken in '' '[]' '{}' '{"runs":[]}' '{"runs":[{}]}' '{"runs":3' \
	'{"runs":[{"batch":7,"prompt":4,"prompt_tokens_per_s":0,"rows_per_s":9}]}'; do
	echo "$broken" >broken.json
	refused 4 budget plan "${quick[@]}" -e 2 -B 9 --bench broken.json
done

# With what the bench says of memory: 4 texts of 8 contexts of 400 + 50 tokens at 1 MB a token, less 1 of 100 + 20 that are in the 2 GB.
run='"parallel":1,"steps":20,"rss_bytes":2e9,"step_ms":10,"prompt_tokens_per_s":1000,"rows_per_s":1000'
echo "{\"model\":{\"kv_bytes_per_token\":1000000},\"runs\":[{\"batch\":7,\"prompt\":100,$run}]}" >memory.json
exits 0 budget plan "${quick[@]}" -e 2 -B 7,40 --bench memory.json --json
says out '"batch":7,.*"memory_bytes":5840000000\.0\},\{.*"batch":40,.*"memory_bytes":7190000000\.0\}'
sed -i 's/"prompt":100,/&"shared":16,/' memory.json # of contexts that share tokens memory does not follow
exits 0 budget plan "${quick[@]}" -e 2 -B 7 --bench memory.json --json
says out '"memory_bytes":null'
# Half of a step is attention, which grows from 110 tokens to 125: 100 texts of 8 contexts, 50 steps of a row in 1 / 1000 s and prompts.
echo "{\"runs\":[{\"batch\":7,\"prompt\":100,\"parts_ms\":{\"attention\":5},$run}]}" >attention.json
exits 0 budget plan "${quick[@]}" -e 2 -B 7 --bench attention.json --json
says out '"seconds":12[12]\.[0-9]*,.*"memory_bytes":null'

# Measured here, when there is a model and a machine that is not slow.
if [ -r "$model" ] && ! short; then
	exits 0 budget plan "${quick[@]}" -e 2 -B 2,5000 -N 1 -m "$model" --json
	awk -F'"seconds":|"memory_bytes":' '{ exit !($2 + 0 > 0 && $3 + 0 > 5e7) }' out || fail "not measured: $(cat out)"
	says out '"bench_batch":2,.*"bench_batch":31,.*"memory_bytes":null'
	make_tiny finite
	CUTTLE_MODEL=tiny.gguf exits 0 budget plan "${quick[@]}" -e 2 -B 2 -N 1
	says out '^hours: 1 texts, .* as measured now on [0-9]+ threads'
	refused 2 budget plan "${quick[@]}" -e 2 -B 2 -m "$model" --bench bench.json
fi
refused 5 budget plan "${quick[@]}" -e 2 -B 2 -m absent.gguf

# Everything wrong, by both accountants: one line, exit 2.
for accountant in zcdp exact; do
	while read -r -a wrong; do
		without=("${common[@]}")
		case ${wrong[0]} in
		delta) without=(-B 7 "${sampling[@]}") ;;
		tokens) without=(--delta 1e-6 -B 7 --temperature 1.2) ;;
		batch) without=(--delta 1e-6 -n 50 --temperature 1.2) ;;
		esac
		refused 2 budget "${wrong[0]}" "${without[@]}" "${wrong[@]:1}" --accountant "$accountant"
	done <<-'END'
		clip -e 0
		clip -e -1
		clip -e nan
		clip -e inf
		clip -e 3x
		clip -e 1e999
		clip -e 1e-310
		clip -e 3,5
		clip -e
		clip -e 3 --delta 1
		clip -e 3 --delta 1.5
		clip -e 3 --delta 0
		clip -e 3 --delta -1e-6
		clip -e 3 --delta nan
		clip -e 3 --delta inf
		clip -e 3 --delta 1e-310
		clip -e 1e-300 --delta 1e-305
		clip -e 3 -B 0
		clip -e 3 -B 7.5
		clip -e 3 -B -7
		clip -e 3 -B 4294967296
		clip -e 3 -n 0
		clip -e 3 -n -1
		clip -e 3 -n 1.5
		clip -e 3 -n 4294967296
		clip -e 3 -n 99999999999999999999
		clip -e 3 --temperature 0
		clip -e 3 --temperature -1
		clip -e 3 --temperature nan
		clip -e 3 --temperature inf
		clip -e 3 --temperature 1e-310
		clip -e 3 --clip 1
		clip -e 3 --group 0
		clip -e 3 --group -1
		clip -e 3 --group 4294967296
		clip -e 3 --group 4294967295 --spread
		clip -e 3 --grid 7
		clip -e 3 --grid 1025
		clip -e 3 --rho 1
		epsilon --clip 0
		epsilon --clip -1
		epsilon --clip nan
		epsilon --clip inf
		epsilon --clip 1e-310
		epsilon --clip 1e-300
		epsilon --clip 1e300
		epsilon --clip 1.7e308 --group 4
		epsilon --clip 1 --rho 1
		epsilon --rho 0
		epsilon --rho nan
		delta -e 3 --clip 1e300
		delta -e 0 --clip 1
		delta -e 3
		rho --clip 1e300
		rho --clip 1e-300
		tokens -e 1e-9 --clip 100
		tokens -e 300 --clip 1e-9
		tokens -e 3
		batch -e 1e-9 --clip 1e9
		batch -e 3
	END
done
refused 2 budget clip -e 3 -B 7 --temperature 1.2
refused 2 budget epsilon --clip 0 "${common[@]}"
refused 2 budget delta -e 3 "${common[@]}"
refused 2 budget
refused 2 budget clap "${common[@]}"
says err 'did you mean cuttle budget clip\?'
# All that is missing is named at once; rho stands for what it follows from.
refused 2 budget clip
says err 'missing: -e EPS or --rho RHO, --temperature TAU, -B B, -n T; for example: cuttle budget '
refused 2 budget batch -e 3
says err 'missing: --clip C, --temperature TAU, -n T;'
refused 2 budget rho
says err 'missing: --clip C or -e EPS, --temperature TAU, -B B, -n T;'
refused 2 budget plan
says err 'missing: --temperature TAU, -n T;'
exits 0 budget epsilon --rho 0.2
exits 0 budget delta -e 3 --rho 0.2
exits 0 budget rho -e 3
exits 0 budget clip --rho 0.2 "${common[@]}"
refused 2 budget clip epsilon "${common[@]}"
refused 2 budget plan "${sampling[@]}" -e 1,,3
refused 2 budget plan "${sampling[@]}" -e ,
refused 2 budget plan "${sampling[@]}" -e 1, --json
refused 2 budget plan "${sampling[@]}" -B 7,x
refused 2 budget plan "${sampling[@]}" -B 0
refused 2 budget plan "${sampling[@]}" --clip 1
refused 2 budget plan "${quick[@]}" -e 3,-1
refused 2 budget plan --temperature 1.2
refused 2 budget plan -n 500
refused 2 budget plan "${sampling[@]}" -e 3 -B "$(seq -s, 1 33)"
refused 2 budget plan "${sampling[@]}" -e 3 -B 7.5
refused 2 budget plan "${sampling[@]}" -e 3 -N 0
refused 2 budget plan "${sampling[@]}" -e 3 --rows-per-second 0
refused 2 budget plan "${sampling[@]}" -e 3 --rows-per-second -1
refused 2 budget plan "${sampling[@]}" -e 3 --rows-per-second 900 --bench bench.json
refused 2 budget plan "${sampling[@]}" -e 3 -o xml
refused 2 budget plan "${sampling[@]}" -e 3 -o md --json
refused 2 budget plan "${sampling[@]}" -e 3 --delta 0
refused 2 budget amplify --q 0.1
says err 'for example: cuttle budget amplify '
# q as a decimal, with an exponent, or as a fraction: the same number.
exits 0 budget amplify -e 1 --q 1/1000
mv out fraction
for q in 0.001 1e-3 .01e-1 10E-4 0.00001e+2; do
	exits 0 budget amplify -e 1 --q "$q"
	same <(head -1 out) <(head -1 fraction) "--q $q"
done
for q in 1e 1e-19 0e1 2e0 1e1e1 e-3 1/1e-3; do refused 2 budget amplify -e 1 --q "$q"; done

# An option that would do nothing is refused where it was typed; in the environment it may be for another verb.
idle() { # QUESTION OPTIONS
	local words=$1
	shift
	for option in "$@"; do
		# shellcheck disable=SC2086 # words
		refused 2 budget $words $option
	done
}
machine=('-m absent.gguf' '-t 1' '-N 5' '--records 500' '--rows-per-second 9' '--bench absent.json')
idle 'clip -e 3 -B 7 -n 50 --temperature 1' "${machine[@]}" '--grid 64' --spread '-o csv' '-o md' '-o json' '--mix average' '--q 0.1'
idle 'plan -n 50 --temperature 1' '--accountant exact' '-t 1' --spread --inverse
idle 'fusion -e 8 -n 50' "${machine[@]}" '--grid 64' '-o csv' --inverse
idle 'amplify -e 1 --q 0.1' "${machine[@]}" '--clip 1' '--rho 1' '-B 7' '-n 5' '--temperature 1' '--accountant exact' '--grid 64' '-g 2' '-o json' '--alpha 2' '--groups 2'
says err '^cuttle budget: --divergence, --alpha, --groups and --mix belong to fusion$'
refused 2 budget clip -e 3 -B 7 -n 50 --temperature 1 -N 5
says err '^cuttle budget: clip takes no --num$'
CUTTLE_MODEL=absent.gguf CUTTLE_NUM=5 exits 0 budget clip -e 3 -B 7 -n 50 --temperature 1

# ---- split: a bias, and references ---------------------------------------------------------------
split=(budget split -N 10 -B 15 -n 100)
# By hand: rho .0243559; s = M / (M + 576 / (2 .7 rho) + 1000), M = 1000^2 / 55; x = 15 sqrt(.6 rho / 100).
exits 0 "${split[@]}" -e 1 --records 1000 --json
says out '"share":0\.69999999'
says out '"nats":0\.045615'
says out '"nats_references_alone":0\.02466'
says out '"nats_bias_alone":0\.03283'
# With few records all goes to references; with more of them a bias needs less than half.
for row in '1 200 0' '1 1000 0.7' '3 2500 0.3' '10 2500 0.15'; do
	read -r epsilon records share <<<"$row"
	exits 0 "${split[@]}" -e "$epsilon" --records "$records"
	[ "$(answer)" = "$share" ] || fail "a share of $(answer), not $share: $epsilon, $records"
	says out 'by a formula fitted to measurements of a 135M model \(bench/SPENDING.md\); not a promise\.$'
done
exits 0 "${split[@]}" -e 1 --records 200
says out '^A bias of 200 records would be little more than noise: spend all on references\.$'
says out '^cuttle generate -e 1 --delta 1e-06 -N 10 -B 15 -n 100 --accountant zcdp --lots off$'
exits 0 budget split -e 0.01 -N 1 -B 1 -n 100000 --records 60000
near 1
says out '^cuttle generate -B 0 --bias FILE -N 1 -n 100000$'
# A wider model needs more of rho for the same bias.
exits 0 "${split[@]}" -e 3 --records 2500 --width 2048
between 0.3 1
refused 2 "${split[@]}" -e 3 --records 149
says err '^cuttle budget: --records: too few for so many texts; -N times -B are needed$'
refused 2 budget split
says err 'missing: -e EPS, -B B, -n T, --records R.* cuttle budget split -e 3'
refused 2 "${split[@]}" -e x --records 500
refused 2 "${split[@]}" -e 3 --records 500 -B 0
refused 2 "${split[@]}" -e 3 --records 500 --width 0
idle 'split -e 3 -N 9 -B 7 -n 50 --records 500' '--rho 1' '--clip 1' '--temperature 1' '--accountant exact' '--grid 64' '-g 2' --spread '--shots 2' '-o csv' '--q 0.1' '--mix average' '-t 1'
refused 2 budget plan -n 50 --temperature 1 --width 64
# Both commands as they are printed: their receipts promise that epsilon together, and no more.
make_tiny finite
for ((i = 1; i <= 200; i++)); do echo "{\"text\":\"the patient coughs at night $i\"}"; done >recs.jsonl
exits 0 budget split -e 3 -N 2 -B 15 -n 8 --records 200
together=$(sed -n 's/^Together: epsilon \([0-9.]*\) .*/\1/p' out)
for verb in learn generate; do
	read -ra words <<<"$(sed -n "s/^cuttle $verb //p" out.kept out 2>/dev/null | head -1 | sed 's/FILE/notes.bias/')"
	[ $verb = learn ] && cp out out.kept && words+=(--texts 8 --tokens 12 -o notes.bias)
	[ $verb = generate ] && words+=(-o split.jsonl)
	exits 0 $verb -m tiny.gguf -i recs.jsonl -q "${words[@]}"
done
said=$(sed -n 's/.*"epsilon_together": \([0-9.]*\).*/\1/p' split.receipt.json)
awk -v d="$(sed -n 's/.*"delta_together": \([-0-9.e]*\).*/\1/p' split.receipt.json)" 'BEGIN { exit !(d > 9.9e-7 && d <= 1e-6) }' || fail "together: $(cat split.receipt.json)"
awk -v a="$said" -v b="$together" 'BEGIN { exit !(a <= 3 && a > 2.99 && (a - b) ^ 2 < 1e-6) }' || fail "together $said, and not $together"
