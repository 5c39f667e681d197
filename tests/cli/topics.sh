#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle generate --clusters`. It fails if a record's cluster shows anywhere but in its own
# count and its cluster's texts, if prompts show examples of another cluster, if a file of another
# model is taken, or if a run goes on with other clusters.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
words=('sail rope anchor tide' 'rope deck sail harbour' 'oven flour butter dough' 'yeast oven sugar flour' 'cello choir chord melody' 'melody tempo choir cello')
for i in {1..60}; do echo "{\"text\":\"${words[i % 6]}\"}"; done >public.jsonl
for i in {1..12}; do echo "{\"text\":\"${words[i % 6]} example $i\"}"; done >examples.jsonl
# 300 records: 200 of ships, 100 of bread.
for i in {1..300}; do echo "{\"text\":\"Note $i: ${words[i % 3]}\"}"; done >refs.jsonl
exits 0 clusters -i public.jsonl --clusters 3 -o topics.clusters -q
run=(generate --kind note -n 12 -i refs.jsonl -B 4 -N 10 -e 3 --clusters topics.clusters --public-examples examples.jsonl --examples-per-text 2)

exits 0 "${run[@]}" -q -o out.jsonl
exits 0 receipt verify out.receipt.json --output out.jsonl
says out.receipt.json "\"clusters_sha256\": \"$(hash_of topics.clusters)\""
says out.receipt.json '"replace one reference by null, its category with it"'
[ ! -s out.jsonl ] || grep -qE '"cluster":"[a-z ]+"' out.jsonl || fail "texts without their cluster: $(head -1 out.jsonl)"

# Two worlds: record 61 (of ships) is null in one of them, with equal noise and lots. One count is less by one; texts of other clusters, and all
# that is said, are the same. (With seed 8 neither count is where another number of batches begins.)
mkdir one two
cp refs.jsonl topics.clusters examples.jsonl one
cp topics.clusters examples.jsonl two
sed '61s/.*/{"text":" "}/' refs.jsonl >two/refs.jsonl
for world in one two; do
	cd $world || exit 1
	CUTTLE_MODEL=$PWD/../tiny.gguf exits 0 "${run[@]}" --progress off --insecure-seed 8 -o out.jsonl
	rm out
	stat -c '%n %a' ./* >../$world.files
	sed -E 's/"[0-9a-f]{64}"/"*"/' out.receipt.json >../$world.receipt
	grep -vE '"cluster":"[a-z ]*\brope\b' out.jsonl >../$world.rest
	cp err ../$world.err
	cd ..
done
for what in files err rest; do same one.$what two.$what "a record's cluster shows in $what"; done
[ -s one.rest ] || fail "there is no text of another cluster: $(cut -c1-200 one/out.jsonl)"
[ "$(diff one.receipt two.receipt | grep -c '^[<>]')" = 2 ] || fail "more than a count: $(diff one.receipt two.receipt)"
diff one.receipt two.receipt | awk '/^</ { a = $2 + 0 } /^>/ { b = $2 + 0 } END { exit a != b + 1 }' ||
	fail "not one less: $(diff one.receipt two.receipt)"

# A run that was stopped goes on with the same clusters, and with no others.
(prlimit --fsize=300 --pid "$BASHPID" && exits 6 "${run[@]}" -q --insecure-seed 8 -o tight.jsonl) || exit 1
cat public.jsonl public.jsonl >twice.jsonl
exits 0 clusters -i twice.jsonl --clusters 3 -o others.clusters -q
exits 0 clusters show topics.clusters
grep -o '[a-z ]*$' out | tail -3 >names
exits 0 clusters show others.clusters
grep -o '[a-z ]*$' out | tail -3 | cmp -s - names || fail "not the same names: $(cat names out)"
refused 2 "${run[@]}" -q --insecure-seed 8 -o tight.jsonl --clusters others.clusters
exits 0 "${run[@]}" -q --insecure-seed 8 -o tight.jsonl
same tight.jsonl one/out.jsonl "other bytes after a stop"

# By the model of the run, and by no other.
exits 0 clusters -i public.jsonl --clusters 3 --by model -o model.clusters -q
exits 0 "${run[@]}" -q -o model.jsonl --clusters model.clusters
exits 0 receipt verify model.receipt.json --output model.jsonl
"$(dirname "$CUTTLE")/tests/gen_tiny" other.gguf Q8_0 64 || fail "no other model"
refused 4 "${run[@]}" -q -o x.jsonl --clusters model.clusters -m other.gguf
says err '^cuttle generate: model.clusters was made with another model: '

# What clusters exclude.
for wrong in '--unit-key who' '--lots off' '--category-field kind --categories a,b' '-e 0.00001'; do
	# shellcheck disable=SC2086 # an option and its value
	refused 2 "${run[@]}" -o x.jsonl $wrong
done
refused 2 generate --kind note -n 12 -i refs.jsonl -B 4 -N 10 --clip 1 --clusters topics.clusters -o x.jsonl
refused 2 generate --kind note -n 12 -B 4 -N 10 -e 3 --clusters topics.clusters -i - -o x.jsonl <refs.jsonl
refused 4 "${run[@]}" -o x.jsonl --clusters public.jsonl
refused 4 "${run[@]}" -o x.jsonl --clusters nowhere
compgen -G 'x.*' >/dev/null && fail "a run that did not begin left something"
exit 0
