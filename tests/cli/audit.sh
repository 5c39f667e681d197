#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests ten ways in which a promise was once broken, each as it was done. Among them: a run
# continued on another input, one charge that paid for two outputs, an edited receipt, a file of
# the user's that was written over. It fails if one of them works again. files.sh tests more about
# the files of users.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_model
model=$CUTTLE_MODEL
need_tiny

# people WHO...: the input, a record of each.
people() {
	local who i=0
	for who in "$@"; do echo "{\"text\":\"Note $((i++)): a gardener who coughs.\",\"who\":\"$who\"}"; done
}
people ann ann ann ann ann ann >heavy.jsonl # three records of one person in each text: weight 9 + 9
people ann bea cat dan eve fay >light.jsonl
people gus hal ida jon kim leo >other.jsonl
base=(generate -i in.jsonl --kind note --clip 0.05 -B 3 -N 2 -n 8 -q)
# A full disk stops a run after so many bytes of its journal: 147 are the first line.
stopped() { # BYTES ARGUMENT...
	(
		ulimit -f unlimited
		prlimit --fsize="$1" "$CUTTLE" "${@:2}" >out 2>err
	)
	local code=$?
	[ $code = 6 ] || fail "not stopped but exit $code: $(cat err)"
}
changed='the input is not the one this output was begun with'

# 1. Continued on a file in which nobody stands twice: the receipt would say weight 1.
cp heavy.jsonl in.jsonl
stopped 400 "${base[@]}" -o a.jsonl --unit-key who --records-per-unit all
cp light.jsonl in.jsonl
refused 2 "${base[@]}" -o a.jsonl --unit-key who --records-per-unit all
says err "$changed"
[ ! -e a.receipt.json ] || fail "a receipt for a mixed input"

# 2. Begun at weight 1, continued at weight 18.
stopped 400 "${base[@]}" -o b.jsonl --unit-key who --records-per-unit all
cp heavy.jsonl in.jsonl
refused 2 "${base[@]}" -o b.jsonl --unit-key who --records-per-unit all
says err "$changed"

# 3. Rotated by a batch after text 1 began: a record would stand in two batches.
cp light.jsonl in.jsonl
stopped 400 "${base[@]}" -o c.jsonl
{ tail -n 3 light.jsonl && head -n 3 light.jsonl; } >in.jsonl
refused 2 "${base[@]}" -o c.jsonl
says err "$changed"
# An owner or one byte of a text is enough; what no place reads is not.
for edit in 's/"bea"/"bee"/' '6s/coughs/cough/' 3d; do
	sed "$edit" light.jsonl >in.jsonl
	[ "$edit" != 3d ] || people gus >>in.jsonl
	refused 2 "${base[@]}" -o b.jsonl --unit-key who --records-per-unit all
	says err "$changed"
done
cp light.jsonl in.jsonl
cat other.jsonl >>in.jsonl
exits 0 "${base[@]}" -o b.jsonl --unit-key who --records-per-unit all
exits 0 receipt verify b.receipt.json --output b.jsonl
nothing_left b
# From standard input, too.
stopped 400 "${base[@]}" -o d.jsonl -i - <light.jsonl
refused 2 "${base[@]}" -o d.jsonl -i - < <(sed '1s/cough/sneeze/' light.jsonl)
says err "$changed"
exits 0 "${base[@]}" -o d.jsonl -i - <light.jsonl

# 4. Killed after the charge and before the first token, then continued on owners who have nothing left.
exits 0 ledger init --ledger l --dataset notes --rho-limit 1e-4 --unit-key who
counted=(--ledger l --dataset notes --unit-key who --records-per-unit all --accountant zcdp)
tight=(generate -i in.jsonl --kind note --clip 0.0038 -B 3 -N 2 -n 8 -q "${counted[@]}")
spent() { "$CUTTLE" ledger show --ledger l --dataset notes --json | sed 's/.*"rho_spent":\([^,]*\),.*/\1/'; }
cp other.jsonl in.jsonl
exits 0 "${tight[@]}" -o spent.jsonl --clip 0.006
cp light.jsonl in.jsonl
"$CUTTLE" "${tight[@]}" -o e.jsonl -N 2 2>err &
pid=$!
soon [ -e e.jsonl.run ]
kill -9 $pid 2>/dev/null
{ wait $pid; } 2>/dev/null
before=$(spent)
if [ ! -e e.jsonl ]; then
	cp other.jsonl in.jsonl
	"$CUTTLE" "${tight[@]}" -o e.jsonl >out 2>err
	case $? in
	2) says err "$changed" ;;
	3) says err '^cuttle generate: refused' ;;
	*) fail "who had nothing left was drawn from: $(cat err)" ;;
	esac
	[ "$(spent)" = "$before" ] || fail "a refused run was charged"
	cp light.jsonl in.jsonl
	exits 0 "${tight[@]}" -o e.jsonl
fi

# 5. Journal, key and charge copied under another name: a second continuation for one charge.
exits 0 ledger init --ledger l --dataset twice --rho-limit 1
twice=(generate -m "$model" -i light.jsonl --kind note -e 3 -B 3 -N 2 -n 40 -q --ledger l --dataset twice --accountant zcdp -o)
interrupted TERM f.jsonl.journal 10 "${twice[@]}" f.jsonl
[ "$code" = 6 ] || fail "exit $code: $(cat err)"
cp l unclosed
for ending in journal journal.key run; do cp f.jsonl.$ending g.jsonl.$ending; done
exits 0 "${twice[@]}" f.jsonl
exits 0 receipt verify f.receipt.json --output f.jsonl --ledger l --model "$model"
refused 3 "${twice[@]}" g.jsonl
says err 'has paid for the output with SHA-256'
refused 7 receipt verify f.receipt.json --ledger unclosed --model "$model"
says err 'no output was ever finished'
sed "s/$(hash_of f.jsonl)/$(hash_of light.jsonl)/" f.receipt.json >edited.json
refused 7 receipt verify edited.json --ledger l --model "$model"
says err 'has paid for another output'

# 6. A receipt whose words were edited: what is promised against whom follows from the rest, and is made anew.
while read -r edit; do
	sed "$edit" f.receipt.json >edited.json
	cmp -s edited.json f.receipt.json && fail "$edit changes nothing"
	refused 7 receipt verify edited.json
done <<-'END'
	s/"adjacency": ".*"/"adjacency": "replace one reference by any other"/
	s/"unit": ".*"/"unit": "one hospital"/
	s/one record is replaced/ten records are replaced/
	s/"rho": 0\.[0-9]*/"rho": 0.01/
END
for file in g.jsonl g.receipt.json; do [ ! -e $file ] || fail "one charge gave a second output"; done
# A file of the user's that has the name of the charge is left alone.
echo 'an installer' >h.jsonl.run
refused 2 "${twice[@]}" h.jsonl
says err 'h.jsonl.run is in the way'
[ "$(cat h.jsonl.run)" = 'an installer' ] || fail "a file of the user's was written over"
mv h.jsonl.run h.jsonl.run.before
refused 2 "${twice[@]}" h.jsonl
says err 'h.jsonl.run.before is in the way'
[ "$(cat h.jsonl.run.before)" = 'an installer' ] || fail "a file of the user's was removed"

# 7. to 10. Files that a command reads, written over by it: the input, the receipt's scratch file, the output of another verb, the model.
# untouched FILE COMMAND...: the command is refused, and the file has its bytes.
untouched() {
	local before
	before=$(hash_of "$1")
	refused 2 "${@:2}"
	[ "$(hash_of "$1")" = "$before" ] || fail "cuttle ${*:2}: $1 was written over"
}
free=(generate --kind note --clip 0.05 -B 3 -N 2 -n 8 -q)
for input in z.part z.journal z.run z.receipt.json z.receipt.json.tmp; do
	cp light.jsonl $input
	untouched $input "${free[@]}" -i $input -o z
done
cp light.jsonl y.receipt.json
untouched y.receipt.json "${free[@]}" -i y.receipt.json -o y.jsonl --overwrite
cp light.jsonl q.part
untouched q.part tokenize -i q.part -o q
cp tiny.gguf x.part
untouched x.part model quantize -i x.part -o x --type q8_0
untouched tiny.gguf "${free[@]}" -i light.jsonl -o tiny.gguf --overwrite
refused 2 "${free[@]}" -i light.jsonl -o ''
says err '^cuttle generate: -o'
for file in z q x y.jsonl; do [ ! -e $file ] || fail "a refused command made $file"; done
