#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Measures what bench/METHODS.md has tables of: the methods of generate side by side. Whatever was measured stays in FOLDER. So the same
# command goes on, or measures more: each table is made of what is there. References are DATA's, and nothing protects what is printed: use
# data that may be shown.
# usage: bench/methods.sh MODEL DATA.jsonl KIND FOLDER [likelihood|steps|mauve]...   without a table, all three
# Environment: TEXTS (likelihood: texts at B 7, a quarter of them at B 31 and an eighth at B 127; default 80), LENGTH (of each, tokens;
# default 20), ROUNDS (steps; default 5), N and T (mauve: texts of each run, and their tokens; default 200 and 64), CUTTLE (default
# build/cuttle), METHODS (default build/methods).
set -eu -o pipefail
[ $# -ge 4 ] || { sed -n 's/^# usage: /usage: /p' "$0" >&2 && exit 2; }
model=$1 data=$2 kind=$3 folder=$4
shift 4
[ $# -gt 0 ] || set -- likelihood steps mauve
cuttle=${CUTTLE:-build/cuttle} methods=${METHODS:-build/methods}
mkdir -p "$folder"

# ---- likelihood of held-out texts ----------------------------------------------------------------
# One text in one process, and its lines are kept together: a stop loses one text.
likelihood() {
	local texts=${TEXTS:-80} length=${LENGTH:-20} batch of i
	for batch in 7 31 127; do
		of=$((batch == 7 ? texts : batch == 31 ? texts / 4 : texts / 8))
		for ((i = 0; i < of; i++)); do
			grep -q "^$i	" "$folder/likelihood-$batch.tsv" 2>/dev/null && continue
			"$methods" "$model" "$data" "$kind" $batch 100 1 "$length" 100 $i >"$folder/part"
			cat "$folder/part" >>"$folder/likelihood-$batch.tsv"
		done
		rm -f "$folder/part"
		echo
		echo "B $batch: nats a token over the public prompt alone, mean of texts ± standard error; against InvisibleInk, paired"
		awk -F '\t' '
			$4 == "none" { why[$2 "\t" $3] = $5; next }
			{ sum[$2 "\t" $3] += $5; square[$2 "\t" $3] += $5 ^ 2; n[$2 "\t" $3]++; found[$1, $2, $3] = $5; text[$1] }
			$3 == "public prompt alone" { alone += $4 }
			END {
				print "| epsilon | method | texts | over the public prompt | over InvisibleInk |\n|---|---|---|---|---|"
				for (row in n) {
					split(row, of, "\t")
					if (of[1] == "-") { printf "|  | %s | %d | %.3f |  |\n", of[2], n[row], alone / n[row]; continue }
					mean = sum[row] / n[row]
					d = q = m = 0
					for (t in text) if ((t, of[1], of[2]) in found && (t, of[1], "invisibleink") in found) {
						x = found[t, of[1], of[2]] - found[t, of[1], "invisibleink"]
						d += x; q += x ^ 2; m++
					}
					printf "| %s | %s | %d | %+.4f ± %.4f |", of[1], of[2], n[row], mean, error(square[row], mean, n[row])
					if (m && of[2] != "invisibleink") printf " %+.4f ± %.4f |\n", d / m, error(q, d / m, m)
					else print "  |"
				}
				for (row in why) { split(row, of, "\t"); printf "| %s | %s |  | no parameters: %s |  |\n", of[1], of[2], why[row] }
			}
			function error(squares, mean, n) { return n > 1 ? sqrt((squares / n - mean ^ 2) / (n - 1)) : 0 }
		' "$folder/likelihood-$batch.tsv" | { IFS= read -r one; IFS= read -r two; printf '%s\n%s\n' "$one" "$two"; sort -t'|' -k2,2g -k3,3; }
	done
}

# ---- time and memory of a step -------------------------------------------------------------------
# step N ARGUMENT...: seconds of the process, KiB, and tokens of three texts, which may end by themselves.
step() {
	local n=$1
	shift
	rm -f "$folder"/step.*
	/usr/bin/time -o "$folder/step.time" -f '%U %M' "$cuttle" generate -m "$model" -i "$data" -o "$folder/step.jsonl" -q --kind "$kind" \
		-N 3 -n "$n" -t 1 --parallel 1 --lots off --insecure-seed 3 "${@//TOKENS/$n}" 2>/dev/null
	echo "$(tail -1 "$folder/step.time") $(sed 's/.*"tokens":\([0-9]*\).*/\1/' "$folder/step.jsonl" | awk '{ sum += $1 } END { print sum }')"
}
steps() {
	[ -x /usr/bin/time ] || { echo "skipped: steps: there is no /usr/bin/time" >&2 && return; }
	local batch round line name short long ink
	for batch in 7 31; do
		for ((round = 0; round < ${ROUNDS:-5}; round++)); do
			while IFS=: read -r name line; do
				grep -q "^$round	$batch	$name	" "$folder/steps.tsv" 2>/dev/null && continue
				# shellcheck disable=SC2086 # a line has several words
				short=$(step 4 -B $batch $line) long=$(step 100 -B $batch $line)
				ink=$(step 4 -B $batch -e 10) && ink="$ink $(step 100 -B $batch -e 10)"
				echo "$round	$batch	$name	$short $long $ink" >>"$folder/steps.tsv"
			done <<-'END'
				invisibleink:-e 10
				invisibleink, k 0:-e 10 -k 0
				pmixed, order infinity:-e 10 --method pmixed
				pmixed, order 16:-e 10 --method pmixed --order 16
				amin, k 100:-e 1000 --method amin --units TOKENS --svt-noise 3
				amin, k 0:-e 1000 --method amin --units TOKENS --svt-noise 3 -k 0
				adapmixed:--method adapmixed --not-private
				none:--method none --not-private
			END
		done
	done
	rm -f "$folder"/step.*
	echo
	echo "| B | method | pairs | time of a step, of InvisibleInk's: median (least, most) | ms a step | MiB, of InvisibleInk's |"
	echo "|---|---|---|---|---|---|"
	awk -F '\t' '{
		split($4, x, " ")
		own = (x[4] - x[1]) / (x[6] - x[3]); ink = (x[10] - x[7]) / (x[12] - x[9])
		printf "%s\t%s\t%.4f\t%.2f\t%.4f\n", $2, $3, own / ink, own * 1000, x[5] / x[11] }' "$folder/steps.tsv" |
		sort -t'	' -k1,1n -k2,2 -k3,3g | awk -F '\t' '
		function tell() { if (m) printf "| %s | %s | %d | %.3f (%.3f, %.3f) | %.1f | %.3f |\n", b, name, m, x[int((m + 1) / 2)], x[1], x[m], t / m, k / m }
		$1 != b || $2 != name { tell(); m = t = k = 0; b = $1; name = $2 }
		{ x[++m] = $3; t += $4; k += $5 }
		END { tell() }'
}

# ---- MAUVE, with both anchors --------------------------------------------------------------------
mauve() {
	local n=${N:-200} tokens=${T:-64} batch epsilon runs=()
	# References first; what the texts are compared with comes behind them.
	head -n $((n * 31)) "$data" >"$folder/refs.jsonl"
	[ "$(wc -l <"$folder/refs.jsonl")" -le $(($(wc -l <"$data") - 2 * n)) ] || head -n $((n * 7)) "$data" >"$folder/refs.jsonl"
	tail -n $((2 * n)) "$data" >"$folder/held.jsonl"
	seq "$n" | sed 's/.*/{"text":""}/' >"$folder/blank.jsonl"
	# drawn NAME ARGUMENT...: one run; it goes on where it was stopped.
	drawn() {
		local name=$1
		shift
		[ -e "$folder/$name.receipt.json" ] || "$cuttle" generate -m "$model" -i "$folder/refs.jsonl" --kind "$kind" -n "$tokens" \
			-N "$n" --lots off -q -o "$folder/$name.jsonl" "$@" || return 0
		[ "$name" = public ] || runs+=(-i "$folder/$name.jsonl")
	}
	drawn public -i "$folder/blank.jsonl" -B 1 -e 10
	for batch in 7 31; do
		[ $((n * batch)) -le "$(wc -l <"$folder/refs.jsonl")" ] || continue
		for epsilon in 10 1 3; do
			drawn ink-$batch-$epsilon -B $batch -e $epsilon
			drawn pmixed-$batch-$epsilon -B $batch -e $epsilon --method pmixed
		done
		drawn none-$batch -B $batch --method none --not-private
	done
	drawn pmixed16-7-10 -B 7 -e 10 --method pmixed --order 16
	drawn dpprompt-10 -B 1 -e 10 --method dp-prompt
	# Numbers of two clusterings cannot be compared, so all runs are in one table, which takes sixteen files: 32 words, as each has its -i.
	[ ${#runs[@]} -ge 32 ] || drawn adapmixed-7 -B 7 --method adapmixed --not-private
	"$cuttle" evaluate -m "$model" "${runs[@]}" --baseline "$folder/public.jsonl" --against "$folder/held.jsonl" --public -q \
		-o "$folder/mauve.md" --overwrite
	cat "$folder/mauve.md"
}

for table; do
	case $table in
	likelihood | steps | mauve) "$table" ;;
	*) echo "bench/methods.sh: no table $table" >&2 && exit 2 ;;
	esac
done
