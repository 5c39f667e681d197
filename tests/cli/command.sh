#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests what makes two runs of `cuttle generate`, `cuttle sanitize` or `cuttle perturb` the same command. Only the same command may
# continue a journal. So every option that changes what is read or drawn must change the command's
# fingerprint. It fails if one does not, if another option changes it, or if an option of the help
# is in neither of the two tables below.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny
"$(dirname "$CUTTLE")/tests/gen_tiny" other.gguf Q8_0 64 || fail "no other model"
for i in $(seq 8); do echo "{\"text\":\"note $i\",\"more\":\"more $i\",\"who\":\"p$((i % 4))\",\"kind\":\"sea\"}"; done >refs.jsonl
cp refs.jsonl others.jsonl
printf 'text,more\nCalm water.,Rough water.\n' >examples.csv
printf 'text\nCalm water.\nRough water.\n' >pair.csv
printf 'text,more\nCalm sea.,Rough water.\n' >calm.csv
for name in one two; do
	printf 'A note, %s:\n' $name >$name.public
	printf 'Like {reference}. A note, %s:\n' $name >$name.private
done
printf 'kind,share\nsea,1\nland,1\n' >even.csv
printf 'kind,share\nsea,3\nland,1\n' >uneven.csv
printf 'text\nCalm water.\nRough water.\n' >pair.csv
for i in $(seq 20); do printf '{"text":"sail %d rope"}\n{"text":"oven flour"}\n' "$i"; done >public.jsonl
exits 0 clusters -i public.jsonl --clusters 2 -o one.clusters -q
sed 's/rope/anchor/' public.jsonl >other.jsonl
exits 0 clusters -i other.jsonl --clusters 2 -o two.clusters -q
exits 0 learn --public -i refs.jsonl --texts 4 --tokens 4 -o one.bias -q
exits 0 learn --public -i refs.jsonl --texts 4 --tokens 4 -o two.bias -q --text-field more
sed '$s/flour/bread/' public.jsonl >later.jsonl
for word in one two; do
	echo "root ::= \"$word\" | \"word\"" >$word.gbnf
	echo "{\"type\": \"object\", \"properties\": {\"text\": {\"enum\": [\"$word\", \"word\"]}}}" >$word.json
done
pace
cp pace.json again.json
base=(generate -i refs.jsonl -o out.jsonl -B 2 -n 4 --bench pace.json)
declare -A known

# fingerprint OPTION...: of the command with these options. That the records are too few for some of them does not matter.
fingerprint() {
	"$CUTTLE" "${base[@]}" "$@" --dry-run >plan 2>err || [ $? = 4 ] || fail "$*: exit $?: $(cat err)"
	sed -nE 's/^command  *//p; s/.*"command_sha256":"([0-9a-f]*)".*/\1/p' plan
}

# commands: reads a line "OPTION | OPTIONS | OTHER OPTIONS" and sets `name`, `one` and `two`, the fingerprints of the two commands.
# The first command is nearly always the same, and is asked once.
declare -A asked
commands() {
	local first second key
	IFS='|' read -r name first second || return 1
	name=${name//[[:space:]]/}
	known[$name]=1
	read -r -a first <<<"$first"
	read -r -a second <<<"$second"
	key="${base[*]} | ${first[*]}"
	[ -n "${asked[$key]-}" ] || asked[$key]=$(fingerprint "${first[@]}") || fail "--$name: ${asked[$key]}"
	one=${asked[$key]}
	two=$(fingerprint "${second[@]}") || fail "--$name: $two"
	[ ${#one} = 64 ] || fail "--$name: no fingerprint: $one"
}

# changes: reads lines for `commands`, whose two commands must differ.
changes() {
	while commands; do
		[ "$one" != "$two" ] || fail "--$name is not in the command: a journal would be continued with another one"
	done
}
# keeps: the same, with "# REASON" at the end of each line; the two must be one command.
keeps() {
	local line
	while IFS= read -r line; do
		commands <<<"${line%% #*}" || fail "$line"
		[ "$one" = "$two" ] || fail "--$name is in the command, although ${line##*# }"
	done
}
# all_known VERB LEAST: each of the verb's options, at least so many, was in a table.
all_known() {
	exits 0 help "$1" --all
	options=$(sed -nE 's/^  (-[A-Za-z],|   ) --([a-z-]+).*/\2/p' out)
	[ "$(wc -w <<<"$options")" -gt "$2" ] || fail "the help shows too few options: $options"
	for name in $options; do
		[ -n "${known[$name]-}" ] || [ "$name" = help ] || fail "does --$name make another command? Add it to a table of ${0##*/}"
	done
}

# What is read or drawn depends on these.
changes <<-'END'
	model|-e 3|-e 3 -m other.gguf
	input|-e 3|-e 3 -i others.jsonl
	epsilon|-e 3|-e 4
	clip|--clip 1|--clip 1.1
	accountant|-e 3 --accountant zcdp|-e 3 --accountant exact
	accountant|--clip 1 --accountant zcdp|--clip 1 --accountant exact
	delta|-e 3|-e 3 --delta 1e-5
	delta|--clip 1|--clip 1 --delta 1e-5
	batch-size|--clip 1|--clip 1 -B 3
	bias|-e 3|-e 3 --bias one.bias
	bias|-e 3 --bias one.bias|-e 3 --bias two.bias
	shots|--clip 1 -N 1|--clip 1 -N 1 --shots 2
	grammar|-e 3|-e 3 --grammar one.gbnf
	grammar|-e 3 --grammar one.gbnf|-e 3 --grammar two.gbnf
	schema|-e 3|-e 3 --schema one.json
	schema|-e 3 --schema one.json|-e 3 --schema two.json
	num|-e 3|-e 3 -N 3
	max-tokens|--clip 1|--clip 1 -n 5
	temperature|--clip 1|--clip 1 --temperature 1.1
	top-k|-e 3|-e 3 -k 99
	center|-e 3|-e 3 --center none
	lots|-e 3 -N 2 --lots off|-e 3 -N 2 --lots on
	gain|-e 3|-e 3 --gain 1.5
	trim|-e 3|-e 3 --trim none
	stop|-e 3|-e 3 --stop none
	stop|-e 3 --stop a|-e 3 --stop b
	stop|-e 3 --stop a|-e 3 --stop a --stop auto
	rounds|-e 3|-e 3 --rounds 2
	examples-per-text|-e 3 --rounds 2|-e 3 --rounds 2 --examples-per-text 2
	drop|-e 3|-e 3 --drop loops
	drop|-e 3 --drop duplicates|-e 3 --drop loops,duplicates
	gain|--clip 1|--clip 1 --gain 2
	token-bank|-e 3|-e 3 --token-bank
	public-when|-e 3 --public-when 0.5|-e 3 --public-when 0.6
	public-when|-e 3 --complete|-e 3 --complete --public-when 0.6
	complete|-e 3 --public-when 0.5|-e 3 --public-when 0.5 --complete
	free-tokens|-e 3 --complete|-e 3 --complete --free-tokens 3
	ctx-size|-e 3|-e 3 -c 300
	text-field|-e 3|-e 3 --text-field more
	unit-key|-e 3 -N 1|-e 3 -N 1 --unit-key who --records-per-unit all
	unit-key|-e 3 -N 1 --unit-key who --records-per-unit all|-e 3 -N 1 --unit-key more --records-per-unit all
	unit-key|-e 3 --unit-key who --one-per-unit|-e 3 --unit-key more --one-per-unit
	one-per-unit|-e 3 -N 1 --unit-key who --records-per-unit all|-e 3 -N 1 --unit-key who --one-per-unit
	one-per-unit|--clip 1 -N 1 --unit-key who --records-per-unit all|--clip 1 -N 1 --unit-key who --one-per-unit
	records-per-unit|--clip 1 -N 1 --unit-key who --records-per-unit all|--clip 1 -N 1 --unit-key who --records-per-unit 2
	records-per-unit|--clip 1 --unit-key who --records-per-unit 3|--clip 1 --unit-key who --records-per-unit 2
	category-field|-e 3|-e 3 --category-field kind --categories sea --category-public
	category-field|-e 3 --category-field kind --categories sea --category-public|-e 3 --category-field who --categories sea --category-public
	categories|-e 3 --category-field kind --categories sea,land --category-public|-e 3 --category-field kind --categories land,sea --category-public
	categories|-e 3 --category-field kind --categories even.csv --category-public|-e 3 --category-field kind --categories uneven.csv --category-public
	category-public|-e 3 -N 2 --category-field kind --categories sea,land|-e 3 -N 2 --category-field kind --categories sea,land --category-public
	clusters|-e 3 -N 2 --lots on|-e 3 -N 2 --clusters one.clusters
	clusters|-e 3 -N 2 --clusters one.clusters|-e 3 -N 2 --clusters two.clusters
	num-per-category|-e 3 --category-field kind --categories sea --category-public --num-per-category 2|-e 3 --category-field kind --categories sea --category-public --num-per-category 3
	input-format|-e 3|-e 3 --input-format csv
	delimiter|-e 3 --input-format csv|-e 3 --input-format csv --delimiter ;
	output-format|-e 3|-e 3 --output-format csv
	template|-e 3|-e 3 --template instruct --chat-format chatml
	chat-format|-e 3 --template instruct --chat-format chatml|-e 3 --template instruct --chat-format zephyr
	kind|-e 3|-e 3 --kind letter
	system|-e 3 --template instruct --chat-format chatml|-e 3 --template instruct --chat-format chatml --system Write.
	public-examples|-e 3|-e 3 --public-examples examples.csv
	public-examples|-e 3 --public-examples examples.csv|-e 3 --public-examples calm.csv
	examples-per-text|-e 3 --public-examples pair.csv|-e 3 --public-examples pair.csv --examples-per-text 1
	examples-field|-e 3 --public-examples examples.csv|-e 3 --public-examples examples.csv --examples-field more
	prompt-public|-e 3 --prompt-public one.public --prompt-private one.private|-e 3 --prompt-public two.public --prompt-private one.private
	prompt-private|-e 3 --prompt-public one.public --prompt-private one.private|-e 3 --prompt-public one.public --prompt-private two.private
	insecure-seed|-e 3|-e 3 --insecure-seed 1
	insecure-seed|-e 3 --insecure-seed 1|-e 3 --insecure-seed 2
	trace|-e 3|-e 3 --trace trace.jsonl
	method|-e 3|--method none --not-private
	preset|-e 3|--preset table2-ink-7-3
	preset|--preset table2-ink-7-1|--preset table2-ink-all-7-1
	method|-e 3|-e 3 --method pmixed
	order|-e 20 --method pmixed|-e 20 --method pmixed --order 3
	kv-type|-e 3|-e 3 --kv-type q8
	method|-e 3|--method adapmixed --not-private
	epsilon|--method adapmixed --not-private -e 5|--method adapmixed --not-private -e 6
	epsilon|--method adapmixed --not-private|--method adapmixed --not-private -e 6
	divergence|--method pmixed --divergence 0.1|--method pmixed --divergence 0.2
	record-filter|-e 9 --method pmixed --order 4|-e 9 --method pmixed --order 4 --record-filter
	mix|--method dp-decoding -B 1 --mix 0.5|--method dp-decoding -B 1 --mix 0.25
	method|-e 90|-e 90 --method amin
	units|-e 90 --method amin --units 1|-e 90 --method amin --units 2
	svt-noise|-e 90 --method amin --svt-noise 1|-e 90 --method amin --svt-noise 2
	svt-threshold|-e 90 --method amin|-e 90 --method amin --svt-threshold 0.5
	temperature-public|-e 90 --method amin|-e 90 --method amin --temperature-public 1.5
	not-private|-e 3|--method none --not-private
	clip-width|-B 1 --method dp-prompt -e 3|-B 1 --method dp-prompt --clip-width 5
	clip-width|-B 1 --method dp-prompt --clip-width 6|-B 1 --method dp-prompt --clip-width 5
END
if "$CUTTLE" "${base[@]}" -e 3 --isa blas --dry-run >/dev/null 2>&1; then
	[ "$(fingerprint -e 3)" != "$(fingerprint -e 3 --isa blas)" ] || fail "--isa blas gives other bits, but is the same command"
fi

# Nothing that is read or drawn depends on these, for the reason at the end of the line.
exits 0 ledger init --ledger l --dataset notes --epsilon-limit 30
exits 0 ledger key --sign k
keeps <<-'END'
	threads|-e 3 -t 1|-e 3 -t 2 # results do not depend on it
	isa|-e 3|-e 3 --isa scalar # all tiers but blas give the same bits
	cpu-mask|-e 3|-e 3 -C 1 # it says where, not what
	mlock|-e 3|-e 3 # it says where, not what; not everybody may lock memory
	output|-e 3|-e 3 -o elsewhere.jsonl # the journal stands beside the output
	receipt|-e 3|-e 3 --receipt r.json # it is the same receipt in another place
	ledger|-e 3 --accountant zcdp|-e 3 --accountant zcdp --ledger l --dataset notes # a run begun without one is charged when it goes on
	dataset|-e 3 --ledger l --dataset notes|-e 3 --ledger l --dataset n # the run must be in the data set that is named now
	sign|-e 3|-e 3 --sign k # it signs the same receipt
	overwrite|-e 3|-e 3 --overwrite # it says what becomes of another command's files
	dry-run|-e 3|-e 3 --dry-run # it draws nothing
	json|-e 3|-e 3 --json # it says the same in another form
	reference-tokens|-e 3|-e 3 --reference-tokens 90 # it says how long the run will take
	charge|-e 3|-e 3 --charge epsilon # it says what a ledger counts of the same run
	approved|-e 3 --ledger l --dataset notes|-e 3 --ledger l --dataset notes --approved 0000000000000000000000000000000000000000000000000000000000000000:1 # it says what the run must be
	bench|-e 3|-e 3 --bench again.json # it says how long the run will take
	progress|-e 3|-e 3 --progress json # it is about standard error
	quiet|-e 3|-e 3 -q # it is about standard error
	parallel|-e 3|-e 3 --parallel 1 # results do not depend on it
	prompt-chunk|-e 3|-e 3 --prompt-chunk 5 # results do not depend on it
	no-sharing|-e 3|-e 3 --no-sharing # results do not depend on it
END

# A mask may have a digit for every processor that Linux can have: here it has room for 1,200.
[ "$(fingerprint -e 3)" = "$(fingerprint -e 3 -C "$(printf '%0300d' 1)")" ] || fail "a long mask is another command"
refused 2 "${base[@]}" -e 3 -C "$(printf '%02049d' 1)"
says err '--cpu-mask: must be a hexadecimal number'

# Of a run's shards each is a command of its own, and needs that run: test_shards and shards.sh.
for name in shard shards wait redraw nobody-saw; do known[$name]=1; done
all_known generate 40

# What a fingerprint is for: neither an output nor half of one is another command's.
seeded=("${base[@]}" -N 2 -e 3 -q --insecure-seed 1)
exits 0 "${seeded[@]}"
for other in '--unit-key who --records-per-unit all' '--unit-key who --one-per-unit' '--text-field more' '-B 1'; do
	# shellcheck disable=SC2086 # options and their values
	refused 2 "${seeded[@]}" $other
	says err "not this command's output"
done
rm out.*
(prlimit --fsize=200 --pid "$BASHPID" && exits 6 "${seeded[@]}") || exit 1
refused 2 "${seeded[@]}" --unit-key who --one-per-unit
says err 'belongs to another command'
exits 0 "${seeded[@]}"

# ---- sanitize ------------------------------------------------------------------------------------
known=()
for i in 1 2; do echo "{\"id\":$i,\"who\":$i,\"text\":\"Ann and Bob\",\"more\":\"Bob, Ann\",\"spans\":[{\"start\":0,\"end\":3,\"type\":\"P\"}],\"own\":[{\"start\":4,\"end\":7,\"type\":\"P\"}]}"; done >docs.jsonl
cp docs.jsonl copy.jsonl
printf 'Say it again: {document}\n' >one.asked
printf 'Once more: {document}\n' >two.asked
echo Ann >names
base=(sanitize -i docs.jsonl -n 4)
chat='-e 5 --chat-format chatml'
changes <<END
	model|$chat|$chat -m other.gguf
	input|$chat|$chat -i copy.jsonl
	text-field|$chat|$chat --text-field more
	id-field|$chat|$chat --id-field who
	spans-field|$chat|$chat --spans-field own
	spans-format|$chat|$chat --spans-format presidio
	offsets|$chat|$chat --offsets bytes
	leave-identifier|$chat|$chat --leave-identifier NO_MASK
	tagger|$chat|$chat --tagger rules
	names|$chat|$chat --names names
	no-sweep|$chat|$chat --no-sweep
	unit-key|$chat|$chat --unit-key who
	stop|$chat|$chat --stop none
	stop|$chat --stop a|$chat --stop b
	epsilon|$chat|$chat -e 6
	divergence|--chat-format chatml --divergence 1|--chat-format chatml --divergence 1.1
	alpha|$chat|$chat --alpha 3
	delta|$chat|$chat --delta 1e-4
	mix|$chat|$chat --mix average
	mix|--divergence 1 --alpha 2 --chat-format chatml --mix average|--divergence 1 --alpha 2 --chat-format chatml --mix capped
	group|$chat|$chat --group P
	group|$chat --group P|$chat --group N=P
	group|$chat --mix average --group P --group Q:3|$chat --mix average --group P --group Q:4
	leave|$chat|$chat --leave Q
	max-tokens|--chat-format chatml --divergence 1|--chat-format chatml --divergence 1 -n 5
	max-length|$chat|$chat --max-length 9
	grammar|$chat|$chat --grammar one.gbnf
	grammar|$chat --grammar one.gbnf|$chat --grammar two.gbnf
	schema|$chat --schema one.json|$chat --schema two.json
	temperature|$chat|$chat --temperature 0.6
	top-k|$chat|$chat -k 9
	public-when|$chat|$chat --public-when 0.9
	complete|$chat|$chat --complete
	free-tokens|$chat --complete|$chat --complete --free-tokens 2
	paper|--chat-format chatml --divergence 1|--chat-format chatml --divergence 1 --paper
	placeholder|$chat|$chat --placeholder _
	template|$chat|-e 5 --template continue
	chat-format|$chat|-e 5 --chat-format zephyr
	system|$chat|$chat --system Write.
	instruction|$chat --instruction one.asked|$chat --instruction two.asked
	prefill|$chat|$chat --prefill So:
	ctx-size|$chat|$chat -c 300
	kv-type|$chat|$chat --kv-type q8
	insecure-seed|$chat --insecure-seed 1|$chat --insecure-seed 2
END
keeps <<END
	tagger-seconds|$chat|$chat --tagger-seconds 9 # it says how long, not what
	sweep|$chat|$chat --sweep # it is the default
	hide-other|$chat|$chat --hide-other # it is the default
	threads|$chat -t 1|$chat -t 2 # results do not depend on it
	isa|$chat|$chat --isa scalar # all tiers but blas give the same bits
	cpu-mask|$chat|$chat -C 1 # it says where, not what
	mlock|$chat|$chat # it says where, not what; not everybody may lock memory
	output|$chat|$chat -o elsewhere.jsonl # the journal stands beside the output
	receipt|$chat|$chat --receipt r.json # it is the same receipt in another place
	ledger|$chat|$chat --ledger l --dataset notes # a run begun without one is charged when it goes on
	dataset|$chat --ledger l --dataset notes|$chat --ledger l --dataset n # the run must be in the data set that is named now
	approved|$chat --ledger l --dataset notes|$chat --ledger l --dataset notes --approved 0000000000000000000000000000000000000000000000000000000000000000:1 # it says what the run must be
	sign|$chat|$chat --sign k # it signs the same receipt
	overwrite|$chat|$chat --overwrite # it says what becomes of another command's files
	dry-run|$chat|$chat --dry-run # it draws nothing
	json|$chat|$chat --json # it says the same in another form
	progress|$chat|$chat --progress json # it is about standard error
	quiet|$chat|$chat -q # it is about standard error
	parallel|$chat|$chat --parallel 1 # results do not depend on it
END
all_known sanitize 40

# ---- perturb -------------------------------------------------------------------------------------
known=()
unset CUTTLE_MODEL
i=0
for letter in a b c d e f g h; do echo "w$letter 0.$((++i)) 1 $((i * i % 7)).5"; done >glove.txt
for name in one two; do
	exits 0 words --vectors glove.txt --format glove -o $name.cw
	sed -i 's/1 /2 /' glove.txt
	printf 'w%s\n' a b >$name.list
	echo wc >>two.list
done
printf 'text\nwa wb\n' >perturb.csv
base=(perturb -i docs.jsonl)
rank='--words one.cw -k 2'
changes <<END
	words|$rank|$rank --words two.cw
	input|$rank|$rank -i copy.jsonl
	input-format|$rank|$rank --input-format jsonl
	delimiter|$rank -i perturb.csv|$rank -i perturb.csv --delimiter ;
	text-field|$rank|$rank --text-field more
	id-field|$rank|$rank --id-field id
	unit-key|$rank|$rank --unit-key who
	epsilon|$rank|$rank -e 6.000001
	method|--words one.cw --method santext|--words one.cw --method rantext
	table|--words one.cw -k 2|--words one.cw --table envelope
	near|$rank|--words one.cw -k 3
	near|--words one.cw --method custext -k 2|--words one.cw --method custext -k 3
	max-words|$rank|$rank -N 5
	pad|$rank -N 5|$rank -N 5 --pad
	keep|$rank|$rank --keep numbers
	keep|$rank --keep punctuation|$rank --keep numbers
	list-share|--words one.cw --method rantext|--words one.cw --method rantext --list-share 0.5
	radius|--words one.cw --method rantext|--words one.cw --method rantext --radius paper
	keep-share|--words one.cw --method santext+ --sensitive one.list|--words one.cw --method santext+ --sensitive one.list --keep-share 0.5
	sensitive|--words one.cw --method santext+ --sensitive one.list|--words one.cw --method santext+ --sensitive two.list
	stop-words|--words one.cw --method custext+ -k 2 --stop-words one.list|--words one.cw --method custext+ -k 2 --stop-words two.list
	insecure-seed|$rank --insecure-seed 1|$rank --insecure-seed 2
END
counted="$rank -N 5 --pad"
keeps <<END
	model|$rank|$rank -m tiny.gguf # these words were not made from a model
	threads|$rank -t 1|$rank -t 2 # results do not depend on it
	isa|$rank|$rank --isa scalar # all tiers but blas give the same bits
	cpu-mask|$rank|$rank -C 1 # it says where, not what
	mlock|$rank|$rank # it says where, not what; not everybody may lock memory
	output|$rank|$rank -o elsewhere.jsonl # the journal stands beside the output
	receipt|$rank|$rank --receipt r.json # it is the same receipt in another place
	ledger|$counted|$counted --ledger l --dataset notes # a run begun without one is charged when it goes on
	dataset|$counted --ledger l --dataset notes|$counted --ledger l --dataset n # the run must be in the data set that is named now
	sign|$rank|$rank --sign k # it signs the same receipt
	overwrite|$rank|$rank --overwrite # it says what becomes of another command's files
	dry-run|$rank|$rank --dry-run # it draws nothing
	progress|$rank|$rank --progress json # it is about standard error
	quiet|$rank|$rank -q # it is about standard error
END
all_known perturb 34
