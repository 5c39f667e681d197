#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests that no file of the user's is destroyed. It fails if a verb writes over a file that it
# reads, under whatever name. It fails if work begins before a file that cannot be read or written
# is refused. It fails if a scratch file hits another file or is left in the end, or if a demo that
# was stopped does not continue.
tools=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")/tools
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
references 4
# Names, modes and bytes of all that is here, by one process.
all() { tar -c --sort=name --mtime=@0 --exclude=out --exclude=err --exclude=before --exclude=after .; }

# spares WANTED ARG...: refused; every file stands as it was, and none is added.
spares() {
	all >before
	refused "$@"
	all >after
	cmp -s before after || fail "cuttle ${*:2}: files changed: $(diff <(tar -tvf before) <(tar -tvf after))"
}
# collides ARG...: spares, because two paths are the same.
collides() {
	local line
	spares 2 "$@"
	read -r line <err
	[[ $line =~ would\ overwrite\ .*,\ which\ .*\ (reads|writes):\ choose\ another\ name$ ]] || fail "cuttle $* says: $line"
}
# paths_of NAME: what leads to it. By day the one that is least like it.
paths_of() { if short; then echo "./here/./$1"; else echo "$1 ./$1 $PWD/$1 here/$1 ./here/./$1"; fi; }
# names_of FILE: these, and other names of the file.
names_of() {
	ln -f "$1" hard
	ln -sf "$1" soft
	echo "$(paths_of "$1") hard soft"
}
ln -s . here

# ---- generate
run=(generate -e 10 -B 2 -N 2 -n 4 -c 96 --kind note -q)
for written in z z.part z.part-0123456789abcdef z.tmp z.journal z.journal.key z.run z.run.before z.run.part-0123456789abcdef z.receipt.json \
	z.receipt.json.tmp z.receipt.json.tmp-2; do
	cp refs.jsonl $written
	for name in $(paths_of $written); do
		collides "${run[@]}" -i "$name" -o z
		collides "${run[@]}" -i "$name" -o here/z --overwrite
	done
	rm $written
done
for written in z z.journal z.receipt.json; do
	cp refs.jsonl $written
	for name in $(names_of $written); do collides "${run[@]}" -i "$name" -o z --overwrite; done
	collides "${run[@]}" -i - -o z --overwrite <$written
	collides "${run[@]}" -i /dev/stdin -o z --overwrite <$written
	rm $written hard soft
done
for input in --public-examples --prompt-public --prompt-private --categories --clusters --sign --ledger -m; do
	more=()
	case $input in
	--prompt-public) more=(--prompt-private refs.jsonl) ;;
	--prompt-private) more=(--prompt-public refs.jsonl) ;;
	--categories) more=(--category-field ward --category-public) ;;
	--ledger) more=(--dataset d) ;;
	esac
	for output in "-o x.jsonl" "-o x --receipt x.jsonl" "-o x --trace x.jsonl"; do
		cp refs.jsonl x.jsonl
		# shellcheck disable=SC2086 # two options
		collides "${run[@]}" -i refs.jsonl $input x.jsonl "${more[@]}" $output --overwrite
		rm x.jsonl
	done
done
cp refs.jsonl x.receipt.json
collides "${run[@]}" -i x.receipt.json -o x.jsonl --overwrite
says err '^cuttle generate: -o x.jsonl would overwrite x.receipt.json, which -i reads: choose another name$'
rm x.receipt.json
collides "${run[@]}" -i refs.jsonl -o tiny.gguf --overwrite
collides "${run[@]}" -i refs.jsonl -o x --receipt x
collides "${run[@]}" -i refs.jsonl -o x --receipt x.journal
collides "${run[@]}" -i refs.jsonl -o x --trace here/x.part
collides "${run[@]}" -i refs.jsonl -o x --receipt y --trace ./y
for beside in l-wal l-shm l-journal; do collides "${run[@]}" -i refs.jsonl -o $beside --ledger l --dataset d; done
cp refs.jsonl out
"$CUTTLE" "${run[@]}" -i refs.jsonl -o - --trace here/shown >shown 2>err
[ $? = 2 ] || fail "standard output and the trace are one file: $(cat err)"
cp refs.jsonl appended
# shellcheck disable=SC2094 # that is the point
"$CUTTLE" "${run[@]}" -i appended -o - >>appended 2>err
[ $? = 2 ] || fail "appends to its input: $(cat err)"
same appended refs.jsonl "the input was appended to"
rm shown appended

# What only looks alike is right.
for input in z.parted z.jsonl z.journals zz.part; do
	cp refs.jsonl $input
	exits 0 "${run[@]}" -i $input -o z
	same $input refs.jsonl "the input has changed"
	rm z z.receipt.json $input
done
mkdir other
cp refs.jsonl other/z.part
exits 0 "${run[@]}" -i other/z.part -o z
nothing_left z
rm -r other z z.receipt.json

# ---- learn
for written in z z.part z.journal z.journal.key z.run z.run.before z.receipt.json; do
	cp refs.jsonl $written
	for name in $(paths_of $written); do collides learn -e 1 -q -i "$name" -o z --overwrite; done
	rm $written
done
for input in --public-examples --categories --sign --ledger -m; do
	more=()
	[ $input != --ledger ] || more=(--dataset d)
	[ $input != --categories ] || more=(--category-field ward --category-public)
	for output in "-o x.jsonl" "-o x --receipt x.jsonl"; do
		cp refs.jsonl x.jsonl
		# shellcheck disable=SC2086 # two options
		collides learn -e 1 -q -i refs.jsonl $input x.jsonl "${more[@]}" $output --overwrite
		rm x.jsonl
	done
done

# ---- a learnt bias: neither it nor its receipt, whichever verb reads them
exits 0 learn -i refs.jsonl --public --texts 4 --tokens 4 -o n.bias -q
exits 0 generate -i refs.jsonl -B 2 -N 2 -n 4 --clip 1 -o kept.jsonl -q
for written in n.bias n.bias.receipt.json here/n.bias.receipt.json; do
	collides "${run[@]}" -i refs.jsonl --bias n.bias -o "$written" --overwrite
	collides generate -B 0 --bias n.bias -N 2 -n 4 -o x --receipt "$written" --overwrite
	collides expand -i kept.jsonl --bias n.bias -N 2 -o "$written" --overwrite
	collides score -i refs.jsonl --bias n.bias -o "$written"
	collides audit canary -e 1 -B 1 -N 4 --bias n.bias -o "$written" --overwrite
done
rm n.bias n.bias.receipt.json kept.jsonl kept.receipt.json

# ---- sanitize
echo '{"text":"Ann","spans":[{"start":0,"end":3,"type":"P"}]}' >docs.jsonl
echo 'Again: {document}' >asked
over=(sanitize -e 5 -n 4 --template continue -q)
for written in z z.part z.journal z.journal.key z.run z.receipt.json; do
	cp docs.jsonl $written
	for name in $(paths_of $written); do collides "${over[@]}" -i "$name" -o z --overwrite; done
	rm $written
done
for input in --names --instruction --sign --ledger -m; do
	more=()
	[ $input != --ledger ] || more=(--dataset d)
	for output in "-o x.jsonl" "-o x --receipt x.jsonl"; do
		cp docs.jsonl x.jsonl
		# shellcheck disable=SC2086 # two options
		collides "${over[@]}" -i docs.jsonl $input x.jsonl "${more[@]}" $output --overwrite
		rm x.jsonl
	done
done
for option in -m -i -o --receipt --sign --names --instruction; do
	spares 2 "${over[@]}" -i docs.jsonl -o e $option ''
done
spares 4 "${over[@]}" -i docs.jsonl -o e --names nowhere
spares 4 "${over[@]}" -i docs.jsonl -o e --instruction nowhere
spares 4 "${over[@]}" -i nowhere -o e
exits 0 "${over[@]}" -i <(cat docs.jsonl) -o e --instruction <(cat asked)
# A foreign format is refused by its name, before a model or a list of names is opened.
for name in d.xlsx d.parquet d.json d.JSONL.GZ d.txt; do
	cp docs.jsonl $name
	spares 4 "${over[@]}" -i $name -o x -m absent.gguf
	says err "^cuttle sanitize: $name is .*, neither JSONL nor CSV: "
	spares 4 "${over[@]}" -i $name --dry-run -m absent.gguf
	spares 4 tag -i $name -o x --names absent
	says err "^cuttle tag: $name is .*, neither JSONL nor CSV: "
	spares 4 tag -i $name
	rm $name
done
spares 2 "${over[@]}" -i d.json -o d.json -m absent.gguf
spares 2 tag -i d.json -o d.json

# ---- JSON lines are not called a table
for verb in "evolve -e 3 -i" "sanitize -e 3 -i" "infer --words w.cw -k 3 --endpoint http://localhost:1/v1 --remote-model far -i" \
	"extract --replies replies -i" "tokenize -i" "detokenize -i" "score -i"; do
	# shellcheck disable=SC2086 # words of a command
	spares 2 $verb docs.jsonl -m absent.gguf -o x.csv
	says err '^cuttle [a-z]*: -o x\.csv: the output is JSONL: name it \.jsonl$'
done
for verb in generate evolve; do
	spares 2 $verb -i docs.jsonl -e 3 -m absent.gguf -o x.tsv
	says err "^cuttle $verb: -o x\.tsv: cuttle writes no tabs between cells; "
done

# ---- perturb
printf 'ann 1 0\nbob 0 1\nzoe 1 1\n' >glove.txt
exits 0 words --vectors glove.txt --format glove -o w.cw
echo ann >words.list
perturb=(perturb --words w.cw -k 1 -q)
for written in z z.part z.journal z.journal.key z.run z.receipt.json; do
	cp docs.jsonl $written
	for name in $(paths_of $written); do collides "${perturb[@]}" -i "$name" -o z --overwrite; done
	rm $written
done
for input in --words --sensitive --stop-words --sign --ledger -m; do
	more=()
	case $input in
	--sensitive) more=(--method santext+) ;;
	--stop-words) more=(--method custext+) ;;
	--ledger) more=(--dataset d -N 3 --pad) ;;
	esac
	for output in "-o x.jsonl" "-o x --receipt x.jsonl"; do
		cp words.list x.jsonl
		# shellcheck disable=SC2086 # two options
		collides perturb --words w.cw -q -i docs.jsonl $input x.jsonl "${more[@]}" $output --overwrite
		rm x.jsonl
	done
done
for option in --words -i -o --receipt --sign; do spares 2 "${perturb[@]}" -i docs.jsonl -o e $option ''; done
spares 4 "${perturb[@]}" -i docs.jsonl -o e --words nowhere
spares 4 "${perturb[@]}" -i nowhere -o e
rm e e.receipt.json

# ---- infer. Nobody listens there, and no run comes so far.
echo 'Go on: {text}' >asked
ask=(infer -k 1 -q -i docs.jsonl --endpoint http://127.0.0.1:9/v1 --remote-model far -N 3 --pad)
for written in z.jsonl z.perturbed.jsonl z.perturbed.jsonl.part z.perturbed.jsonl.journal z.perturbed.jsonl.journal.key z.perturbed.jsonl.run \
	z.perturbed.receipt.json z.replies.jsonl; do
	for input in -i --words --instruction --prompt --sign --ledger --api-key-file --ca-file -m; do
		more=()
		[ $input != --ledger ] || more=(--dataset d)
		cp asked $written
		collides "${ask[@]}" --words w.cw $input here/$written "${more[@]}" -o z.jsonl --overwrite
		rm $written
	done
done
collides "${ask[@]}" --words w.cw -o z.jsonl --receipt z.replies.jsonl
collides "${ask[@]}" --words w.cw -o z.jsonl --receipt z.jsonl
for option in --words -m -i -o --receipt --sign --instruction --prompt --api-key-file --ca-file; do
	spares 2 "${ask[@]}" --words w.cw -o e.jsonl $option ''
done
spares 2 "${ask[@]}" --words w.cw -o nowhere/e.jsonl
for option in --words -i --instruction --prompt --api-key-file --ca-file; do
	spares 4 "${ask[@]}" --words w.cw -o e.jsonl $option nowhere
done
spares 5 "${ask[@]}" --words w.cw -o e.jsonl -m nowhere

# ---- extract
echo '{document}' >asked
cp refs.jsonl replies.jsonl
extend=(extract -n 2 -q)
for written in z z.part z.part-0123456789abcdef; do
	cp refs.jsonl $written
	for name in $(paths_of $written); do
		collides "${extend[@]}" -i "$name" --replies replies.jsonl -o z --overwrite
		collides "${extend[@]}" -i refs.jsonl --replies "$name" -o z --overwrite
	done
	rm $written
done
for input in --prompt -m; do
	cp asked x.jsonl
	collides "${extend[@]}" -i refs.jsonl --replies replies.jsonl $input x.jsonl -o x.jsonl --overwrite
	rm x.jsonl
done
for option in -m -i -o --replies --prompt; do
	spares 2 "${extend[@]}" -i refs.jsonl --replies replies.jsonl -o e $option ''
done
spares 2 "${extend[@]}" -i - --replies - -o e
spares 2 "${extend[@]}" -i refs.jsonl --replies replies.jsonl -o nowhere/e
spares 4 "${extend[@]}" -i refs.jsonl --replies nowhere -o e
spares 4 "${extend[@]}" -i refs.jsonl --replies replies.jsonl -o e --prompt nowhere
spares 2 "${extend[@]}" -i refs.jsonl --replies replies.jsonl -o replies.jsonl
rm replies.jsonl
# ---- expand
exits 0 "${run[@]}" -i refs.jsonl -o kept.jsonl
more=(expand -n 4 -N 2 -q --kind note)
for written in z z.part-0123456789abcdef z.journal.key z.dropped.jsonl; do
	cp kept.jsonl $written
	for name in $(paths_of $written); do
		collides "${more[@]}" -i "$name" --receipt kept.receipt.json -o z --drop loops --overwrite
		collides "${more[@]}" -i kept.jsonl --receipt "$name" -o z --drop loops --overwrite
	done
	rm $written
done
for input in --prompt-public --sign -m; do
	for output in "-o x.jsonl" "-o x --own-receipt x.jsonl"; do
		cp asked x.jsonl
		# shellcheck disable=SC2086 # two options
		collides "${more[@]}" -i kept.jsonl $input x.jsonl $output --overwrite
		rm x.jsonl
	done
done
for option in -m -i -o --receipt --own-receipt --prompt-public --sign; do spares 2 "${more[@]}" -i kept.jsonl -o e $option ''; done
spares 2 "${more[@]}" -i kept.jsonl -o nowhere/e
spares 4 "${more[@]}" -i nowhere -o e
spares 4 "${more[@]}" -i kept.jsonl --receipt nowhere -o e
spares 4 "${more[@]}" -i kept.jsonl -o e --prompt-public nowhere
# Beside the input its own receipt is read, so it is not written either.
spares 2 "${more[@]}" -i kept.jsonl -o kept.csv --overwrite
rm kept.jsonl kept.receipt.json

# ---- evaluate
judge=(evaluate --public -q)
for written in z z.features z.part z.part-0123456789abcdef; do
	cp refs.jsonl $written
	for name in $(paths_of $written); do
		collides "${judge[@]}" -i "$name" --against refs.jsonl -o z
		collides "${judge[@]}" -i refs.jsonl --against "$name" -o z
	done
	rm $written
done
for input in --baseline --lexicon --features-a -m; do
	cp refs.jsonl x.jsonl
	more=()
	[ $input != --features-a ] || more=(--features-b refs.jsonl)
	collides "${judge[@]}" -i asked --against refs.jsonl $input x.jsonl "${more[@]}" -o x.jsonl
	rm x.jsonl
done
for option in -m -i -o --against --baseline --lexicon; do
	spares 2 "${judge[@]}" -i asked --against refs.jsonl -o e $option ''
done
spares 2 "${judge[@]}" -i - --against - -o e
spares 4 "${judge[@]}" -i refs.jsonl --against nowhere -o e
exits 0 ledger init --ledger asks.db --dataset d --epsilon-limit 3
asks=(evaluate --private -e 1 --dataset d -q -i asked --against refs.jsonl)
for written in z z.features z.journal z.journal.key z.run; do
	cp refs.jsonl $written
	collides "${asks[@]}" --ledger asks.db --baseline $written -o z
	rm $written
done
collides "${asks[@]}" --ledger asks.db -o asks.db --overwrite
spares 2 "${asks[@]}" --ledger '' -o e
spares 7 "${asks[@]}" --ledger nowhere -o e

# ---- evolve
votes=(evolve -e 1 -n 12 -N 2 --variations 2 --generations 1 -q)
for written in z.jsonl z.jsonl.journal z.jsonl.journal.key z.jsonl.run z.receipt.json; do
	cp refs.jsonl $written
	for name in $(paths_of $written); do
		collides "${votes[@]}" -i "$name" -o z.jsonl
		collides "${votes[@]}" -i refs.jsonl --prompt-public "$name" -o z.jsonl --overwrite
		collides "${votes[@]}" -i refs.jsonl --prompt-variation "$name" -o z.jsonl --overwrite
	done
	rm $written
done
collides "${votes[@]}" -i refs.jsonl --ledger asks.db --dataset d -o asks.db --overwrite
for option in -m -i -o --receipt --sign --prompt-public --prompt-variation; do
	spares 2 "${votes[@]}" -i refs.jsonl -o e $option ''
done
spares 4 "${votes[@]}" -i nowhere -o e
spares 4 "${votes[@]}" -i refs.jsonl -o e --prompt-public nowhere
rm asks.db*
# ---- audit
judge=(audit overlap --public -q)
for written in z z.trials z.control.trials; do
	cp refs.jsonl $written
	for name in $(paths_of $written); do
		collides "${judge[@]}" -i "$name" --held-out refs.jsonl --texts asked -o z
		collides "${judge[@]}" -i refs.jsonl --held-out "$name" --texts asked -o z
		collides "${judge[@]}" -i refs.jsonl --held-out asked --texts "$name" -o z
	done
	rm $written
done
for input in --receipt --members --prompt-public -m; do
	cp refs.jsonl x.jsonl
	collides "${judge[@]}" -i refs.jsonl --held-out asked --texts asked $input x.jsonl -o x.jsonl
	rm x.jsonl
done
cp refs.jsonl x.jsonl
collides audit lot --public -q -i x.jsonl --draw x.jsonl --overwrite
spares 2 audit lot --public -q -i x.jsonl --draw e -o e
rm x.jsonl
for option in -m -i -o --held-out --texts --receipt; do
	spares 2 "${judge[@]}" -i refs.jsonl --held-out asked --texts asked -o e $option ''
done
spares 2 "${judge[@]}" -i - --held-out - --texts asked -o e
spares 4 "${judge[@]}" -i refs.jsonl --held-out nowhere --texts asked -o e
# ---- report
for name in $(names_of refs.jsonl); do
	collides report "$name" -o refs.jsonl --overwrite
	collides report receipt.json --texts "$name" -o refs.jsonl --overwrite
	collides report receipt.json --key "$name" -o refs.jsonl --overwrite
	collides report receipt.json --ledger "$name" -o refs.jsonl --overwrite
done
rm hard soft
for option in -o --texts --key --ledger; do spares 2 report receipt.json -o e $option ''; done
spares 4 report nowhere -o e
spares 4 report refs.jsonl -o e
spares 2 report refs.jsonl -o refs.jsonl

# ---- words
printf '%s\n' 'the 1 0' 'cat 0 1' 'dog 1 1' >vectors.txt
printf '%s\n' the cat dog >list.txt
for written in vectors.txt list.txt; do
	for name in $(names_of $written); do
		collides words --vectors vectors.txt --word-list list.txt -o "$name" --overwrite
	done
	rm hard soft
done
for option in -o --vectors --word-list; do
	spares 2 words --vectors vectors.txt -o e $option ''
done
spares 2 words --vectors vectors.txt -o vectors.txt
spares 4 words --vectors nowhere -o e
spares 4 words --vectors vectors.txt --word-list nowhere -o e
rm vectors.txt list.txt

# ---- clusters
for _ in {1..20}; do printf '{"text":"rope sail"}\n{"text":"oven flour"}\n'; done >public.jsonl
for name in $(names_of public.jsonl); do collides clusters -i public.jsonl --clusters 2 -o "$name" --overwrite; done
rm hard soft
for option in -o -i; do spares 2 clusters -i public.jsonl --clusters 2 -o e $option ''; done
spares 2 clusters -i public.jsonl --clusters 2 --by model -o tiny.gguf --overwrite
spares 2 clusters -i public.jsonl --clusters 2 -o refs.jsonl
spares 4 clusters -i nowhere --clusters 2 -o e
spares 5 clusters -i public.jsonl --clusters 2 --by model -m nowhere -o e
rm public.jsonl

# ---- verbs that read texts
# Each line has a text and ids, so that all three read it.
exits 0 tokenize -i refs.jsonl -o only_ids.jsonl
sed 's/^{/{"text":"a",/' only_ids.jsonl >ids.jsonl
for verb in tokenize detokenize score; do
	for written in q q.part q.part-0123456789abcdef; do
		cp ids.jsonl $written
		for name in $(names_of $written); do
			# A scratch file has a name of its own: links to what stands there are no danger.
			[ $written = q ] || [[ $name == */* ]] || [ "$name" = $written ] || continue
			collides $verb -i "$name" -o q
		done
		rm $written hard soft
	done
	cp ids.jsonl q
	# shellcheck disable=SC2094 # that is the point
	collides $verb -i - -o q <q
	rm q
	collides $verb -i ids.jsonl -o tiny.gguf
	echo old >q
	exits 0 $verb -i ids.jsonl -o q
	[ "$(cat q)" != old ] || fail "$verb: the named output is not replaced"
	nothing_left q
	rm q
done

# ---- models
small_folder hf
exits 0 model convert -i hf -o m.gguf
for written in x x.part x.part-1; do
	cp m.gguf $written
	collides model quantize -i $written -o x --type q8_0 --overwrite
	collides model quantize -i here/$written -o ./x --type q8_0 --overwrite
	rm $written
done
cp m.gguf x
for name in $(names_of x); do collides model quantize -i "$name" -o x --type q8_0 --overwrite; done
rm x hard soft
spares 2 model quantize -i m.gguf -o tiny.gguf --type q8_0
for file in config.json tokenizer.json tokenizer_config.json model.safetensors; do
	collides model convert -i hf -o hf/$file --overwrite
	ln -s hf/$file linked
	collides model convert -i here/hf -o linked --overwrite
	rm linked
	mv hf/$file hf/x.part
	ln -s x.part hf/$file
	collides model convert -i hf -o hf/x.part --overwrite
	mv hf/x.part hf/$file
done
exits 0 model convert -i hf -o hf/m.gguf
exits 0 model convert -i hf -o hf/m.gguf --overwrite
nothing_left hf/

# ---- keys and ledgers
for file in k k.pub; do
	cp refs.jsonl $file
	spares 2 ledger key --sign k
	says err "$file exists; a key is never replaced"
	rm $file
done
exits 0 ledger key --sign k
cp refs.jsonl notes
spares 7 ledger init --ledger notes --dataset d --rho-limit 1
exits 0 ledger init --ledger l --dataset d --rho-limit 1
collides "${run[@]}" -i refs.jsonl -o k --sign k --overwrite
collides "${run[@]}" -i refs.jsonl -o l --ledger l --dataset d --overwrite

# ---- empty paths, and folders that are not there or not ours
for option in -m -i -o --receipt --trace --sign --public-examples; do
	spares 2 "${run[@]}" -i refs.jsonl -o e $option ''
	says err 'empty|no model'
done
spares 2 "${run[@]}" -i refs.jsonl -o e --ledger '' --dataset d
spares 2 "${run[@]}" -i refs.jsonl -o e --prompt-public '' --prompt-private ''
for verb in tokenize detokenize score; do
	for option in -m -i -o; do spares 2 $verb -i ids.jsonl -o e $option ''; done
	spares 2 $verb -i ids.jsonl -o nowhere/e
	says err 'no folder nowhere;'
	spares 2 $verb -i ids.jsonl -o refs.jsonl/e
	says err 'no folder refs.jsonl;'
done
spares 2 model convert -i '' -o e
spares 2 model convert -i hf -o ''
spares 2 model quantize -i '' -o e --type q8_0
spares 2 model quantize -i m.gguf -o '' --type q8_0
spares 2 model quantize -i m.gguf -o nowhere/e --type q8_0
spares 2 model convert -i hf -o nowhere/e
spares 2 model verify ''
spares 2 model info -m ''
spares 2 bench -m ''
spares 2 ledger key --sign ''
spares 2 ledger key --sign nowhere/k
spares 2 ledger show --ledger '' --dataset d
spares 2 budget plan -e 1 -B 7 -n 5 --temperature 1 --bench ''
spares 2 receipt verify ''
exits 0 "${run[@]}" -i refs.jsonl -o r.jsonl
for option in --output --model --ledger --key; do spares 2 receipt verify r.receipt.json $option ''; done
for option in "-o nowhere/e" "-o e --receipt nowhere/e" "-o e --trace nowhere/e"; do
	# shellcheck disable=SC2086 # two options
	spares 2 "${run[@]}" -i refs.jsonl $option
	says err 'no folder nowhere; make it first$'
done
mkdir -m 555 locked
if setpriv --bounding-set=-all --inh-caps=-all true 2>/dev/null; then drop="setpriv --bounding-set=-all --inh-caps=-all"; else drop=; fi
if ! $drop test -w locked; then
	for options in "${run[*]} -i refs.jsonl" "tokenize -i refs.jsonl" "model quantize -i m.gguf --type q8_0"; do
		# shellcheck disable=SC2086 # words
		$drop "$CUTTLE" $options -o locked/e >out 2>err
		[ $? = 2 ] || fail "$options -o locked/e: $(cat err)"
		says err 'cannot write in the folder locked: '
	done
fi

# ---- pipes, devices and folders as inputs
mkfifo pipe
ends() { timeout 60 "$@"; }
waits_not() {
	local wanted=$1
	shift
	ends "$CUTTLE" "$@" </dev/null >out 2>err
	local code=$?
	[ $code = "$wanted" ] || fail "cuttle $*: exit $code instead of $wanted: $(cat err)"
	says err 'regular file|folder|device'
}
for odd in pipe /dev/null .; do
	waits_not 5 tokenize -m $odd -i refs.jsonl
	waits_not 5 "${run[@]}" -m $odd -i refs.jsonl -o e
	waits_not 5 model verify $odd
	waits_not 5 model info --tensors -m $odd
	waits_not 5 model quantize -i $odd -o e --type q8_0
	waits_not 7 ledger show --ledger $odd --dataset d
	waits_not 7 "${run[@]}" -i refs.jsonl -o e --ledger $odd --dataset d
	waits_not 4 "${run[@]}" -i refs.jsonl -o e --sign $odd
	waits_not 4 receipt verify $odd
	waits_not 4 receipt verify r.receipt.json --output $odd
	waits_not 5 receipt verify r.receipt.json --model $odd
	waits_not 7 receipt verify r.receipt.json --ledger $odd
	waits_not 4 receipt verify r.receipt.json --key $odd
	waits_not 2 "${run[@]}" -i refs.jsonl -o $odd
	waits_not 2 "${run[@]}" -i refs.jsonl -o e --receipt $odd
	waits_not 2 "${run[@]}" -i refs.jsonl -o e --trace $odd
done
waits_not 5 model convert -i pipe -o e
cp -r hf piped
rm piped/config.json
mkfifo piped/config.json
waits_not 5 model convert -i piped -o e
mkfifo e.journal
waits_not 2 "${run[@]}" -i refs.jsonl -o e
rm e.journal
for verb in tokenize detokenize score; do
	waits_not 4 $verb -i .
	waits_not 2 $verb -i ids.jsonl -o pipe
done
waits_not 4 "${run[@]}" -i . -o e
waits_not 4 "${run[@]}" -i refs.jsonl --public-examples . -o e
# Records are read once, from front to back: a pipe will do, by whatever name.
for name in - /dev/stdin /dev/fd/0; do
	exits 0 tokenize -i $name -o e < <(cat refs.jsonl)
	same e only_ids.jsonl "tokenize -i $name"
done
exits 0 tokenize -i <(cat refs.jsonl) -o e
same e only_ids.jsonl "tokenize of a pipe"
cat refs.jsonl >pipe &
exits 0 tokenize -i pipe -o e
same e only_ids.jsonl "tokenize of a named pipe"
rm e
exits 0 "${run[@]}" -i <(cat refs.jsonl) -o e
rm e e.receipt.json

# ---- what is stopped leaves nothing. (What a shell starts in the background ignores SIGINT.)
seq 1 200000 | sed 's/.*/{"ids":[1,2,3,4,5,6,7,8]}/' >many.jsonl
for signal in INT TERM HUP; do
	env --default-signal "$CUTTLE" detokenize -i many.jsonl -o stopped 2>err &
	pid=$!
	soon compgen -G 'stopped.part-*' >/dev/null
	kill -$signal $pid
	wait $pid 2>/dev/null
	code=$?
	[ $code = $((128 + $(kill -l $signal))) ] || [ $code = 0 ] || fail "SIG$signal ends with $code"
	compgen -G 'stopped.*' >/dev/null && fail "SIG$signal leaves $(compgen -G 'stopped.*')"
	rm -f stopped
done
(prlimit --fsize=100 --pid "$BASHPID" && exits 1 tokenize -i refs.jsonl -o full) || exit 1
compgen -G 'full*' >/dev/null && fail "a full disk leaves $(compgen -G 'full*')"
true

# ---- a demo that was stopped goes on, and says how to begin anew
mkdir -p tools demo
cp -r "$tools/samples" tools
head -1 refs.jsonl >shown.jsonl
cat >small <<END
#!/bin/sh
cp demo/messages.jsonl.journal found 2>/dev/null
[ -z "\$STOP" ] || { kill -INT \$PPID && exit 6; }
case \$1 in
generate) exec \$LIMIT "$CUTTLE" "\$@" -B 2 -N 8 -n \${LONG-40} -c 512 --public-examples shown.jsonl --drop duplicates ;;
*) exec "$CUTTLE" "\$@" ;;
esac
END
chmod +x small
demo() {
	"$tools/demo.sh" ./small tiny.gguf 2>&1 | cat >out
	return "${PIPESTATUS[0]}"
}
STOP=1 demo
[ $? = 6 ] || fail "a demo after Ctrl-C: $(cat out)"
says out '^make demo continues where it stopped; rm -r demo && make demo draws new ones$'
LIMIT='prlimit --fsize=1000' demo
[ $? = 6 ] || fail "a demo on a full disk: $(cat out)"
says out '^make demo continues where it stopped; rm -r demo && make demo draws new ones$'
cp demo/messages.jsonl.journal half
[ "$(wc -l <half)" -gt 3 ] || fail "nothing was drawn before the demo stopped"
demo || fail "a demo does not continue: $(cat out)"
same found half "what was drawn already is lost"
nothing_left demo/messages
cp demo/messages.jsonl first
demo || fail "a complete demo: $(cat out)"
says out 'is already complete'
says out '^again:   rm -r demo && make demo draws new ones$'
same demo/messages.jsonl first "a complete demo was drawn anew"
LONG=41 demo
[ $? = 2 ] || fail "another command's demo: $(cat out)"
says out 'rm -r demo && make demo'
same demo/messages.jsonl first "another command's demo was destroyed"
