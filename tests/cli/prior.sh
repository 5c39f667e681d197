#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle generate --token-prior`: noisy counts of the records' tokens. It fails if they are
# not paid for, are drawn twice, or count a record that is null or an owner's further records; if
# anything but them shows a record that stands in no text; or if a receipt does not hold together.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
# 3,000 records of as many owners but for the last: he has 1,001, and only they say "zzz".
awk 'BEGIN { for (i = 1; i <= 3000; i++)
	printf "{\"text\":\"%s\",\"who\":%d}\n", i < 2000 ? "Note about the weather." : "zzz", i < 2000 ? i : 2000 }' >refs.jsonl
for i in $(seq 1 20); do echo "{\"text\":\"A note about $i.\"}"; done >open.jsonl
run=(generate --kind note -q -n 6 -B 2 -N 2 -i refs.jsonl --public-examples open.jsonl --examples-per-text 1)
prior=("${run[@]}" --token-prior 0.05)
seeded=("${prior[@]}" -e 3 --insecure-seed 7)
# The counts of a run that stopped behind them.
counts_of() {
	(prlimit --fsize=1500 --pid "$BASHPID" && exits 6 "$@" -n 200 -o stopped.jsonl) || exit 1
	sed -n '2s/^counts //; 2s/ [0-9a-f]*$//p' stopped.jsonl.journal
	rm stopped.*
}

exits 0 "${prior[@]}" -e 3 -o out.jsonl
nothing_left out.jsonl
exits 0 receipt verify out.receipt.json --output out.jsonl
says out.receipt.json '"accountant": "zcdp"'
says out.receipt.json '"epsilon_exact": null'
says out.receipt.json '"kept": [1-9]'
says out.receipt.json '"public_texts": 20'
edits_noticed out.receipt.json <<-'END'
	s/"rho": 0.050[0-9]*/"rho": 0.04/
	/"token_prior"/,/}/d
	/"token_prior"/,/}/s/"kept": [0-9]*/"kept": -1/
	s/"public_sha256": "./&0/
	s/"accountant": "zcdp"/"accountant": "exact"/
	s/"unit_weight": 1/"unit_weight": 2/
END
# epsilon pays for both: at equal epsilon the clip is smaller, at an equal clip rho is 0.05 more.
number() { sed -n "s/^  \"$2\": \([0-9.]*\),/\1/p" "$1"; }
exits 0 "${run[@]}" -e 3 --accountant zcdp --lots off -o without.jsonl
awk -v a="$(number out.receipt.json clip)" -v b="$(number without.receipt.json clip)" 'BEGIN { exit !(a < b) }' ||
	fail "the prior is not paid for by the clip"
exits 0 "${run[@]}" --clip 0.1 --accountant zcdp --lots off -o without.jsonl --overwrite
exits 0 "${prior[@]}" --clip 0.1 -o with.jsonl
awk -v a="$(number with.receipt.json rho)" -v b="$(number without.receipt.json rho)" \
	'BEGIN { d = a - b - 0.05; exit !(d >= 0 && d < 1e-9) }' || fail "rho is not 0.05 more"
exits 0 receipt verify with.receipt.json --output with.jsonl

# The counts are those of all records, and of one of each owner where owners are units. A record that
# is null counts nothing. Noise has a standard deviation of 25; with equal seeds it is equal.
all=$(counts_of "${seeded[@]}")
sed '1,1000s/"text":"[^"]*"/"text":" "/' refs.jsonl >fewer.jsonl
fewer=$(counts_of "${seeded[@]}" -i fewer.jsonl)
owners=$(counts_of "${seeded[@]}" --unit-key who --one-per-unit)
most() { tr ' ' '\n' <<<"$1" | awk 'NR > 1 && NR % 2 && $1 > m { m = $1 } END { print m }'; }
(($(most "$all") > 1850 && $(most "$all") < 2150)) || fail "not 2,000 records: $all"
(($(most "$fewer") > 850 && $(most "$fewer") < 1150)) || fail "null records are counted: $fewer"
# "z" is of 1,001 records and of one owner: its count stands in the first, and not in the second.
[ "$(wc -w <<<"$all")" -gt "$(wc -w <<<"$owners")" ] || fail "further records of an owner count: $owners"

# Stopped behind the counts: the same counts, and with a seed the same bytes.
exits 0 "${seeded[@]}" -o seeded.jsonl
[ "$(wc -l <seeded.jsonl)" = 2 ] || fail "not two texts"
(prlimit --fsize=1500 --pid "$BASHPID" && exits 6 "${prior[@]}" -e 3 -n 200 -o tight.jsonl) || exit 1
before=$(sed -n 2p tight.jsonl.journal)
[ "${before%% *}" = counts ] || fail "no counts: $before"
(prlimit --fsize=3000 --pid "$BASHPID" && exits 6 "${prior[@]}" -e 3 -n 200 -o tight.jsonl) || exit 1
[ "$(sed -n 2p tight.jsonl.journal)" = "$before" ] || fail "the counts were drawn twice"
exits 0 "${prior[@]}" -e 3 -n 200 -o tight.jsonl
[ "$(sed -n '/"token_prior"/,/}/s/.*"kept": \([0-9]*\).*/\1/p' tight.receipt.json)" = "$(cut -d' ' -f2 <<<"$before")" ] ||
	fail "the receipt has other counts"
(prlimit --fsize=1500 --pid "$BASHPID" && exits 6 "${seeded[@]}" -n 200 -o again.jsonl) || exit 1
exits 0 "${seeded[@]}" -n 200 -o again.jsonl --parallel 1
exits 0 "${seeded[@]}" -n 200 -o whole.jsonl
same again.jsonl whole.jsonl "other bytes after a stop"

# Two worlds: record 2,500, which stands in no text, is null in one of them. With equal noise and far from the threshold nothing differs but
# counts; with a record of its own words not even they do.
mkdir one two
cp refs.jsonl open.jsonl one
cp open.jsonl two
sed '2500s/.*/{}/' refs.jsonl >two/refs.jsonl
for world in one two; do
	cd $world || exit 1
	CUTTLE_MODEL=$PWD/../tiny.gguf exits 0 "${seeded[@]/-q/--progress=off}" -o out.jsonl
	rm out
	stat -c '%n %a' ./* >../$world.files
	sed -E 's/"[0-9a-f]{64}"/"*"/' out.receipt.json >../$world.receipt
	cp err ../$world.err
	cd ..
done
for what in files err receipt; do same one.$what two.$what "a record shows in $what"; done
# Another input than the run was begun with is refused, also where the difference is in no text.
(prlimit --fsize=1500 --pid "$BASHPID" && exits 6 "${prior[@]}" -e 3 -n 200 -o other.jsonl) || exit 1
cp refs.jsonl kept.jsonl
cp two/refs.jsonl refs.jsonl
refused 2 "${prior[@]}" -e 3 -n 200 -o other.jsonl
cp kept.jsonl refs.jsonl

# A ledger is charged for all lines, or for all owners, whoever stands in a text.
exits 0 ledger init --ledger l --dataset lines --rho-limit 1
exits 0 "${prior[@]}" -e 3 -o lines.jsonl --ledger l --dataset lines
exits 0 receipt verify lines.receipt.json --output lines.jsonl --ledger l
rho=$(number lines.receipt.json rho)
left=$(awk -v r="$rho" 'BEGIN { print 1 - r + 0.001 }')
exits 3 ledger check --ledger l --dataset lines --rho "$left" --first 2999
exits 0 ledger check --ledger l --dataset lines --rho "$left" --first 3000
exits 0 ledger init --ledger l --dataset owners --rho-limit 0.3 --unit-key who
exits 0 "${prior[@]}" -e 3 -o owners.jsonl --ledger l --dataset owners --unit-key who --one-per-unit
exits 0 receipt verify owners.receipt.json --output owners.jsonl --ledger l
for who in 1999 2001; do
	for i in 1 2 3 4; do echo "{\"text\":\"Note $i.\",\"who\":$who}"; done >$who.jsonl
	exits $((who == 1999 ? 3 : 0)) "${run[@]}" -e 3 -i $who.jsonl -o $who.out.jsonl --ledger l --dataset owners --unit-key who --one-per-unit
done

# What does not go with it.
head -2999 refs.jsonl >few.jsonl
head -19 open.jsonl >small.jsonl
refused 4 "${prior[@]}" -e 3 -o x.jsonl -i few.jsonl
pace
exits 4 "${prior[@]}" -e 3 -i few.jsonl --dry-run --bench pace.json
exits 0 "${prior[@]}" -e 3 --dry-run --bench pace.json
says out '^token prior +rho 0\.05 of it'
refused 2 "${prior[@]}" -e 3 -o x.jsonl --public-examples small.jsonl
refused 2 "${prior[@]}" -e 3 -o x.jsonl --accountant exact
refused 2 "${prior[@]}" -e 3 -o x.jsonl --lots on
refused 2 "${prior[@]}" -e 3 -o x.jsonl --unit-key who
refused 2 "${prior[@]}" -e 3 -o x.jsonl --category-field who --categories 1,2
refused 2 "${prior[@]}" -e 0.2 -o x.jsonl --token-prior 5
refused 2 "${prior[@]}" -e 3 -o x.jsonl --token-prior 101
refused 2 generate --kind note -q -i refs.jsonl -e 3 --token-prior 0.05 -o x.jsonl
compgen -G 'x.*' >/dev/null && fail "a run that did not begin left something"
exit 0
