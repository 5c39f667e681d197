#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests every verb that reads records with a table that is called JSONL, of which it would read nothing.
# It fails if one of them goes on, charges, writes, or does not say what to do.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny
printf 'text,ward\nA note.,1\nAnother.,2\nCaf\xe9.,1\nMore.,2\n' >table.jsonl
for i in 1 2 3 4 5 6; do echo "{\"text\":\"Note $i.\",\"ward\":1}"; done >real.jsonl
echo '{"type":"object","properties":{"text":{"type":"string","maxLength":9},"ward":{"enum":[1,2]}},"required":["text","ward"]}' >s.json
for w in note another more; do echo "$w 0.1 0.${#w}"; done >glove.txt
exits 0 words --vectors glove.txt --format glove -o w.cw
exits 0 ledger init --ledger l --dataset d --epsilon-limit 90 --delta 1e-6
ledger=(--ledger l --dataset d)
generate=(generate -B 1 -N 2 -n 4 -e 3 "${ledger[@]}" -o x.jsonl)
wards=(--category-field ward --categories "1,2")
touch before after
ls -A >before

# stops ARGUMENT...: with exit code 4 and one line, besides what an audit says of its own before it reads, which tells what a table is
# called.
stops() {
	exits 4 "$@"
	[ ! -s out ] || fail "cuttle $*: output besides the error"
	[ "$(grep -cvE '^PRIVATE: |nothing shows that these records were kept aside by lot' err)" = 1 ] || fail "cuttle $*: not one line of error: $(cat err)"
	says err 'table.jsonl: (no record has a field text: name it with |no line is a JSON object\. |line 1: it is not a JSON object; cuttle tag reads CSV where)'
	says err '(Is it CSV\? Then name it|the name ends in) \.csv$'
}
stops "${generate[@]}" -i table.jsonl
stops "${generate[@]}" -i table.jsonl --schema s.json
stops "${generate[@]}" -i table.jsonl --lots on
stops "${generate[@]}" -i table.jsonl --lots off "${wards[@]}" --category-public
stops "${generate[@]}" -i table.jsonl "${wards[@]}"
stops "${generate[@]}" -i table.jsonl "${wards[@]}" --schema s.json
stops generate -B 1 -N 2 -n 4 -e 3 -o x.jsonl -i table.jsonl --unit-key ward --one-per-unit
for schema in '' '--schema s.json'; do
	# shellcheck disable=SC2086 # none, or two words
	stops learn -i table.jsonl --tokens 12 -e 3 "${ledger[@]}" -o x.bias $schema
	# shellcheck disable=SC2086
	stops evolve -i table.jsonl -n 4 -N 2 -e 3 "${ledger[@]}" -o x.jsonl $schema
	# shellcheck disable=SC2086
	stops evaluate -i real.jsonl --against table.jsonl --private $schema
done
stops evaluate -i real.jsonl --against table.jsonl --private -e 1 "${ledger[@]}"
stops evaluate -i table.jsonl --against real.jsonl --public
stops perturb --words w.cw -i table.jsonl -k 2 -o x.jsonl
stops extract -i table.jsonl --replies real.jsonl -o x.jsonl
stops sanitize -i table.jsonl -o x.jsonl -e 8 -n 8
stops tag -i table.jsonl -o x.jsonl
stops score -i table.jsonl -o x.jsonl
stops tokenize -i table.jsonl -o x.jsonl
stops clusters -i table.jsonl -o x.clusters --clusters 2
stops audit overlap --texts real.jsonl -i table.jsonl --held-out real.jsonl --private
stops audit overlap --texts table.jsonl -i real.jsonl --held-out real.jsonl --private
stops audit holdout --texts real.jsonl -i real.jsonl --held-out table.jsonl --private
stops audit holdout -i table.jsonl --private --split z
stops audit invariant -i table.jsonl --private -B 1 -n 4 -e 3
stops shard open -i table.jsonl -o x --shards 2 -B 1 -N 2 -n 4 -e 3 "${ledger[@]}"
infer=(infer --words w.cw -i table.jsonl -k 2 --remote-model far --remote-tokens 6 -n 6 --endpoint http://127.0.0.1:9/v1 -o x.jsonl)
"$CUTTLE" "${infer[@]}" 2>&1 | grep -q 'without libcurl' || stops "${infer[@]}"
# A table without a column of the schema: of each row nothing would be read, and an object of nothing fits.
sed 's/,"required.*/}/' s.json >optional.json
printf 'body;station\na;1\nb;2\nc;1\n' >foreign.csv
exits 4 "${generate[@]}" -i foreign.csv --schema optional.json
says err "foreign.csv, line 1: the header row has no column of the schema and no comma, but ';': give --delimiter ';'$"
exits 4 "${generate[@]}" -i foreign.csv --schema optional.json --delimiter ';'
says err 'foreign.csv, line 1: the header row has no column of the schema$'
exits 4 "${generate[@]}" -i foreign.csv --schema s.json
says err "has no column text and no comma, but ';'"
rm optional.json foreign.csv
ls -A >after
same after before "a refused command left something"
exits 0 ledger show "${ledger[@]}"
says out '^spent +rho 0 '
says out '^runs +0$'
# From a pipe it has no name.
exits 4 generate -B 1 -N 2 -n 4 -e 3 -i - -o x.jsonl <table.jsonl
says err '^cuttle generate: standard input: .* Then give --input-format csv$'
# inspect is for the owner, and says what all lines are.
exits 0 inspect -i table.jsonl
says out '^ +no line is a JSON object\. Is it CSV\? Then name it \.csv$'
# By its own name it is read.
sed 's/\xe9/e/' table.jsonl >table.csv
exits 0 generate -B 1 -N 2 -n 4 -e 3 -i table.csv -o x.jsonl -q
exits 0 generate -B 1 -N 2 -n 4 -e 3 -i - --input-format csv -o y.jsonl -q <table.csv
exit 0
