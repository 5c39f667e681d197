#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle clusters`: files from public texts, by words and by a model, and what it refuses. It
# fails if a file depends on kernels or threads, if a wrong one is taken, or if a file that stands
# is replaced.
tree=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"

unset CUTTLE_MODEL
for i in {1..30}; do
	printf '{"text":"Sail %d: the rope and the anchor"}\n{"text":"an OVEN with flour, sugar"}\n' "$i"
done >public.jsonl
exits 0 clusters -i public.jsonl --clusters 2 -o two.clusters
says out '^two.clusters: 2 clusters by words, made of 60 public texts$'
says out "^sha256 $(sha256sum two.clusters | cut -c1-64)\$"
grep -qE '^ +[01] +30  .*\b(sail|rope|anchor)\b' out || fail "no cluster is about sailing: $(cat out)"
grep -qE '^ +[01] +30  .*\boven\b' out || fail "no cluster is about baking: $(cat out)"
cp out made
exits 0 clusters show two.clusters
same out made "what was made and what is shown"
exits 0 clusters -i - --clusters 2 -o piped.clusters -q <public.jsonl
[ -z "$(cat out err)" ] || fail "clusters -q says something"
same two.clusters piped.clusters "a file and a pipe"
# The same bytes on every machine, and those of tests/oracle/clusters.py.
exits 0 clusters -i "$tree/tools/samples/notes.jsonl" --clusters 3 -o notes.clusters -q
sha256sum <notes.clusters | cut -c1-64 | cmp -s - "$tree/tests/golden/clusters.txt" || fail "the file by words is another"

refused 2 clusters -i public.jsonl --clusters 2 -o two.clusters
: >three.clusters
exits 0 clusters -i public.jsonl --clusters 2 -o three.clusters --overwrite -q
same two.clusters three.clusters "a file that was replaced and a new one"
refused 4 clusters -i public.jsonl --clusters 3 -o bad.clusters
says err "too much alike: they fall into 2 clusters, not 3"
refused 4 clusters -i public.jsonl --clusters 4 -o bad.clusters
says err 'public.jsonl: 60 public texts .* too few for 4 clusters\. Give at least 80, or ask for --clusters 3$'
refused 4 clusters -i public.jsonl -o bad.clusters
head -30 public.jsonl >few.jsonl
refused 4 clusters -i few.jsonl --clusters 2 -o bad.clusters
says err '30 public texts .* Give at least 40, 20 for each of 2'
: >empty
refused 4 clusters -i empty --clusters 2 -o bad.clusters
echo '{"note":"no text"}' | cat public.jsonl - >wrong.jsonl
refused 4 clusters -i wrong.jsonl --clusters 2 -o bad.clusters
says err 'record 60 has no text in its field text: without the field$'
refused 2 clusters -i public.jsonl --clusters 1 -o bad.clusters
refused 2 clusters -i public.jsonl --clusters 1025 -o bad.clusters
refused 2 clusters -i public.jsonl --clusters two -o bad.clusters
refused 2 clusters -i public.jsonl --by vectors -o bad.clusters
refused 2 clusters -i public.jsonl --clusters 2 --by model -o bad.clusters
says err '^cuttle clusters: missing: -m MODEL'
refused 2 clusters
says err '^cuttle clusters: missing: -i FILE, -o FILE; for example: cuttle clusters -i public.jsonl '
refused 2 clusters -i public.jsonl
refused 2 clusters show
refused 2 clusters show two.clusters three.clusters
refused 2 clusters show two.clusters -o bad.clusters
refused 2 clusters shown two.clusters
says err 'did you mean cuttle clusters show'
refused 4 clusters show public.jsonl
says err '^cuttle clusters: public.jsonl is no clusters file; cuttle clusters makes one from public texts$'
refused 4 clusters show nowhere
[ ! -e bad.clusters ] || fail "a refusal left a file"

# A clusters file that is cut or changed anywhere.
size=$(stat -c %s two.clusters)
for at in 0 10 26 60 120 $((size / 2)) $((size - 1)); do
	head -c "$at" two.clusters >cut.clusters
	refused 4 clusters show cut.clusters
	{ head -c "$at" two.clusters; printf '\377'; tail -c +$((at + 2)) two.clusters; } >changed.clusters
	refused 4 clusters show changed.clusters
done

# By a model: the same file with other kernels and threads.
make_tiny finite
exits 0 clusters -i public.jsonl --clusters 2 --by model -m tiny.gguf -o model.clusters
says out '^model.clusters: 2 clusters by model, made of 60 public texts$'
says out "^model $(sha256sum tiny.gguf | cut -c1-64), behind layer 1\$"
exits 0 clusters -i public.jsonl --clusters 2 --by model -m tiny.gguf -o again.clusters -t 1 --isa scalar -q
same model.clusters again.clusters "clusters with other kernels and threads"
refused 5 clusters -i public.jsonl --clusters 2 --by model -m public.jsonl -o bad.clusters
exits 0 clusters show model.clusters
