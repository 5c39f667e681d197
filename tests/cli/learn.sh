#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle learn`, and --bias where it is taken. It fails if the noise is not that of epsilon;
# if a run is not charged what it costs, or twice; if a run that goes on has another answer; if a
# null record shows; if a bias that was changed, or of another model, is used; or if a receipt does
# not say what bias and run promise together.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
words=(the patient coughs at night and has slept well since monday lungs clear no fever rest fluids again)
for ((i = 1; i <= 60; i++)); do
	line=
	for ((k = 0; k < 4 + i % 3; k++)); do line+="${words[(i * (k + 3) + k * k) % 17]} "; done
	echo "{\"text\":\"${line}$i.\",\"who\":\"p$((i / 2))\"}"
done >recs.jsonl
spent() { "$CUTTLE" ledger show --ledger l.db --dataset "$1" | sed -n 's/^spent *[a-z]* \([^ ]*\).*/\1/p'; }
exits 0 ledger init --ledger l.db --dataset d --epsilon-limit 3
small=(learn -i recs.jsonl --tokens 12 --texts 20)

# ---- refused, and nothing is charged -------------------------------------------------------------
(unset CUTTLE_MODEL && refused 2 learn) || exit 1
says err 'missing: -m MODEL .*, -i RECORDS, -e EPS, -o OUT'
refused 2 "${small[@]}" -o b -e 1 --ledger l.db
refused 3 "${small[@]}" -o b -e 3.1 --ledger l.db --dataset d -q
refused 2 "${small[@]}" -o b -e 1 --ledger l.db --dataset d -q --insecure-seed 1
refused 2 "${small[@]}" -o b -e 1 --ledger l.db --dataset d -q --unit-key who
refused 2 "${small[@]}" -o b -e 0.00001 -q
refused 2 "${small[@]}" -o b -e 1 --public
refused 2 "${small[@]}" -o b --public --ledger l.db --dataset d
refused 2 "${small[@]}" -o b --public --unit-key who
refused 2 "${small[@]}" -o b -e 1 --prompt-public recs.jsonl
refused 2 "${small[@]}" -o recs.jsonl -e 1
refused 2 learn -i recs.jsonl -o b -e 1 --tokens 257
# Noise of so many sums together has no number: a smaller one would be told as what records say.
many=$(seq -s, -f 'c%g' 1 90)
refused 2 learn -i recs.jsonl -o b -e 0.01 --category-field who --category-public --categories "$many" --ledger l.db --dataset d -q
says err '-e is too small for 90 categories'
exits 0 learn -e 0.01 --category-field who --category-public --categories c1 --dry-run
: >none.jsonl
refused 4 learn -i none.jsonl -o b -e 1 -q
refused 4 "${small[@]}" -o b -e 1 --ledger l.db --dataset d -q --text-field body
says err 'recs.jsonl: no record has a field body: name it with --text-field; cuttle inspect'
[ "$(spent d)" = 0 ] || fail "a refusal was charged: $(spent d)"
[ ! -e b ] || fail "a refused run wrote something"

# ---- the noise -----------------------------------------------------------------------------------
while read -r epsilon sigma; do
	exits 0 learn -e "$epsilon" --dry-run
	says out "^noise         sigma $sigma"
done <<'END'
1 289\.976
3 105\.195
10 36\.47
END
exits 0 "${small[@]}" -e 1 --dry-run
says out '^records       60$'
says out '^worth         about [0-9]* %'

exits 0 "${small[@]}" -e 10.5 --dry-run
says err '^Warning: epsilon 10\.[0-9]* is hardly a promise\.'
exits 0 "${small[@]}" -e 1 --delta 0.002 --dry-run
says err '^Warning: delta 0\.002 is above 1 / \(10 records\) = 0\.00167\..* --delta 1e-03 or less\.$'
exits 0 "${small[@]}" -e 1 --delta 0.0016 --dry-run
[ ! -s err ] || fail "a warning without reason: $(cat err)"

# ---- a bias, its charge and its receipt ----------------------------------------------------------
run=("${small[@]}" -o notes.bias -e 1 --ledger l.db --dataset d --kind note)
exits 0 "${run[@]}"
nothing_left notes.bias
exits 0 "${run[@]}" --dry-run
says out "^charge        rho 0\.024356 per record$"
[ "$(spent d)" = 0.024356 ] || fail "spent: $(spent d)"
[ "$(wc -l <notes.bias)" = 1 ] || fail "a bias is one line"
exits 0 receipt verify notes.bias.receipt.json --output notes.bias --ledger l.db --model tiny.gguf
says out '^The receipt agrees with itself: A bias of [0-9]* numbers, learnt from the first 12 tokens of 60 records\.$'
# What it tells is rounded up: rho is 0.0243559..., epsilon 0.99999...
says notes.bias.receipt.json 'That is \(epsilon = 1, delta = 1e-06\)'
says notes.bias.receipt.json 'In zCDP rho is 0\.024356\.'
edits_noticed notes.bias.receipt.json <<'END'
s/"variance_num": [0-9]*/"variance_num": 4294967295/
s/"variance_num": [0-9]*/"variance_num": 0/
s/"variance_den": [0-9]*/"variance_den": 0/
s/"delta": 9.9[^,]*/"delta": 1.5/
s/"epsilon": [^,]*/"epsilon": 0.5/
s/"rho": 0.0243/"rho": 0.0143/
s/"delta": 9.9/"delta": 1.9/
s/"private": true/"private": false/
s/"from_public": false/"from_public": true/
s/"unit_key": null/"unit_key": "who"/
END
exits 0 "${run[@]}"
says err 'notes.bias is already complete$'
[ "$(spent d)" = 0.024356 ] || fail "a complete bias was charged again"

# By what the ledger counts.
exits 0 ledger init --ledger l.db --dataset r --measure rdp --order 4 --loss-limit 3
exits 0 "${small[@]}" -o r.bias -e 1 --ledger l.db --dataset r -q
[ "$(spent r)" = 0.0974239 ] || fail "Renyi losses: $(spent r)"
exits 0 receipt verify r.bias.receipt.json --output r.bias --ledger l.db
exits 0 "${small[@]}" -e 1 --ledger l.db --dataset r --dry-run
says out '^charge        loss 0\.0974239* at order 4 per record$'
exits 0 ledger init --ledger l.db --dataset e --epsilon-limit 9 --delta-limit 1e-5
exits 0 generate -i recs.jsonl -B 2 -N 1 -n 4 -e 1 -o g.jsonl --ledger l.db --dataset e --charge epsilon -q
exits 0 "${small[@]}" -o e.bias -e 1 --ledger l.db --dataset e -q
exits 0 "${small[@]}" -e 1 --ledger l.db --dataset e --dry-run
says out '^charge        epsilon (1|0\.999[0-9]*), delta 1e-06 per record$'
exits 0 ledger show --ledger l.db --dataset e
says out '^spent .*epsilon 1\.999'
exits 0 receipt verify e.bias.receipt.json --output e.bias --ledger l.db
exits 0 ledger init --ledger l.db --dataset u --epsilon-limit 9 --unit-key who
exits 0 "${small[@]}" -o u.bias -e 1 --ledger l.db --dataset u --unit-key who -q
exits 0 "${small[@]}" -e 1 --ledger l.db --dataset u --unit-key who --dry-run
says out '^charge        rho 0\.024356 per value of who$'
[ "$(spent u)" = 0.024356 ] || fail "an owner of two records pays twice: $(spent u)"
says u.bias.receipt.json 'without all records of any one value of who'
exits 0 receipt verify u.bias.receipt.json --output u.bias --ledger l.db

# ---- a run that goes on --------------------------------------------------------------------------
# The answer is in the journal, and there was no room for the bias: the answer stays. The limit has room for any answer.
# With an epsilon at which no answer is noise: the bias of one has fewer bytes.
full=("${small[@]}" -o full.bias -e 1000 -q)
code=0
(prlimit --fsize=1650 --pid "$BASHPID" && "$CUTTLE" "${full[@]}" >out 2>err) || code=$?
[ $code = 6 ] || fail "without room for the bias: $code $(cat err)"
answer=$(sed -n 's/^counts \(.*\) [0-9a-f]*$/\1/p' full.bias.journal)
[ -n "$answer" ] || fail "no answer in the journal: $(cat full.bias.journal)"
sed '7s/text":"/text":"so /' recs.jsonl >other.jsonl
cp recs.jsonl kept.jsonl
cp other.jsonl recs.jsonl
refused 2 "${full[@]}"
says err 'the input is not the one this output was begun with'
cp kept.jsonl recs.jsonl
exits 0 "${full[@]}"
[ "$(sed 's/.*"answer":\[\([^]]*\)\].*/\1/; s/,/ /g' full.bias)" = "$answer" ] || fail "another answer than the journal's"
# Killed at any moment: one charge, and one bias that its receipt holds of. It may also have ended.
exits 0 ledger init --ledger l.db --dataset kill --epsilon-limit 3
for ((i = 1; i <= 40; i++)); do cat recs.jsonl; done >many.jsonl
killed=(learn -i many.jsonl --tokens 12 --texts 20 -e 1 --ledger l.db --dataset kill -q -o kill.bias)
for wait in .journal .run; do
	"$CUTTLE" "${killed[@]}" 2>err &
	pid=$!
	soon [ -e kill.bias$wait ]
	kill -KILL $pid
	wait $pid 2>/dev/null
done
exits 0 "${killed[@]}"
[ "$(spent kill)" = 0.024356 ] || fail "charged for each start: $(spent kill)"
exits 0 receipt verify kill.bias.receipt.json --output kill.bias --ledger l.db
nothing_left kill.bias
# ---- objects of a schema -------------------------------------------------------------------------
# A record is its object in the schema's form. One that does not fit is a null, and nothing tells.
echo '{"type":"object","properties":{"who":{"type":"string","maxLength":9},"text":{"type":"string","maxLength":200}},"required":["text"]}' >form.json
shaped=(learn --schema form.json --tokens 24 --texts 20 -e 3 --insecure-seed 9 -q)
exits 0 "${shaped[@]}" -i recs.jsonl -o formed.bias
exits 0 learn --schema form.json --tokens 24 --texts 20 -e 3 -q -i recs.jsonl -o secret.bias
exits 0 receipt verify secret.bias.receipt.json --output secret.bias --schema form.json
says out '^schema +this is its schema$'
refused 7 receipt verify secret.bias.receipt.json --schema recs.jsonl
sed -E 's/^\{("text":.*),("who":.*)\}$/{"more":[1],\2 ,\1}/' recs.jsonl >turned.jsonl
exits 0 "${shaped[@]}" -i turned.jsonl -o turned.bias
same turned.bias formed.bias "another order of members is heard"
sed '7s/"text"/"body"/' recs.jsonl >unfit.jsonl
sed '7s/.*/no JSON/' recs.jsonl >broken.jsonl
for world in unfit broken; do
	exits 0 "${shaped[@]}" -i $world.jsonl -o $world.bias
	[ ! -s err ] || [ "$(grep -cv 'NOT PRIVATE' err)" = 0 ] || fail "a record is told of: $(cat err)"
done
same unfit.bias broken.bias "a record that does not fit is more than a null"
cmp -s unfit.bias formed.bias && fail "a null changes nothing"
exits 0 generate -B 0 --bias secret.bias -N 2 -n 12 --schema form.json -q -o objects.jsonl
refused 2 "${shaped[@]}" -i recs.jsonl -o x.bias --text-field who
refused 4 "${shaped[@]}" -i recs.jsonl -o x.bias --schema recs.jsonl

# With a seed the same bytes; without one other noise.
seeded=("${small[@]}" -e 3 --insecure-seed 9 -q)
exits 0 "${seeded[@]}" -o s.bias
says s.bias '"note":"NOT PRIVATE"'
exits 0 "${seeded[@]}" -t 1 -o - && cp out once
same once s.bias "one thread and two"
# A record is its first 12 tokens, and no more of it is heard.
cp recs.jsonl kept.jsonl
sed 's/","who/ and much more besides","who/' kept.jsonl >recs.jsonl
exits 0 "${seeded[@]}" -o - && cp out longer
cp kept.jsonl recs.jsonl
same once longer "a record says more than its first tokens"
exits 0 "${small[@]}" -e 1 --kind note -o - -q
cmp -s out notes.bias && fail "the same noise in two runs"

# ---- the records show in the answer alone --------------------------------------------------------
for way in 'no json' '{"text":"\\n"}' '{"text":7}' '{"note":1}'; do
	sed "5s/.*/$way/" recs.jsonl >w.jsonl
	exits 0 learn -i w.jsonl --tokens 12 --texts 20 -e 3 --insecure-seed 9 --progress json -o w.bias
	[ -e w1.bias ] || { cp w.bias w1.bias && cp err w1.err && cp w.bias.receipt.json w1.json; }
	same w.bias w1.bias "one null record and another"
	same err w1.err "one null record and another, standard error"
	same w.bias.receipt.json w1.json "one null record and another, receipt"
	rm w.bias*
done
cmp -s w1.bias s.bias && fail "a record says nothing"
# Where no line is an object the run is refused, so one is.
sed '1s/.*/{"text":null}/;2,$s/.*/no json/' recs.jsonl >w.jsonl
exits 0 learn -i w.jsonl --tokens 12 --texts 20 -e 3 --insecure-seed 9 -q -o none.bias
exits 0 "${seeded[@]}" --unit-key nobody -o -
[ "$(sed 's/.*"answer":\[\([^]]*\)\].*/\1/' none.bias)" = "$(sed 's/.*"answer":\[\([^]]*\)\].*/\1/' out)" ] ||
	fail "records that are nobody's are not null"
roomy recs.jsonl "${small[@]}" -e 3 --insecure-seed 9 -q -o -

# ---- public records ------------------------------------------------------------------------------
exits 0 "${small[@]}" --public -o p.bias --kind note
says err '^Nothing is promised to these records'
grep -q 'No ledger' err && fail "a ledger for public records: $(cat err)"
exits 0 "${small[@]}" --public -o - --kind note -q && cp out again
same again p.bias "public records have noise"
exits 0 receipt verify p.bias.receipt.json --output p.bias

# Two promises whose deltas add up to 1 promise nothing together.
exits 0 "${small[@]}" -e 1 --delta 0.6 -o wide.bias -q
refused 2 generate -i recs.jsonl -B 2 -N 1 -n 4 -e 1 --delta 0.4 --lots off --bias wide.bias -o x.jsonl -q
says err 'together are 1 or more, so both would promise nothing together'
exits 0 generate -i recs.jsonl -B 2 -N 1 -n 4 -e 1 --delta 0.3 --lots off --bias wide.bias -o wide.jsonl -q

# ---- texts from the bias alone -------------------------------------------------------------------
free=(generate -B 0 --bias notes.bias -N 5 -n 12 --kind note)
exits 0 "${free[@]}" -o f.jsonl
[ "$(wc -l <f.jsonl)" = 5 ] || fail "five texts"
exits 0 receipt verify f.receipt.json --output f.jsonl --bias notes.bias
says out '^bias     this is its bias, whose receipt holds$'
grep -qE '^not checked:.* (bias|dataset|model_sha256|private|unit_key),' out && fail "what the bias's receipt says: $(grep '^not' out)"
exits 0 receipt verify f.receipt.json
says out '^not checked: bias, .* dataset, .* unit_key,'
# A receipt that agrees with itself, and not with that of the bias.
key='s/"unit_key": null/"unit_key": "who"/; s/any one record,/all records of any one value of who,/'
key+='; s/"unit": "[^"]*/"unit": "everybody with one value of who/; s/"adjacency": "[^"]*/"adjacency": "all records of one unit become null/'
key+='; s/per record, where one record becomes/per value, where all its records become/'
for edit in "$key" 's/"dataset": "d"/"dataset": "e"/' "s/\"model_sha256\": \"[^\"]*/\"model_sha256\": \"$(printf %064d 0)/"; do
	sed "$edit" f.receipt.json >edited.json
	cmp -s edited.json f.receipt.json && fail "$edit changes nothing"
	(unset CUTTLE_MODEL && exits 0 receipt verify edited.json) || exit 1
	(unset CUTTLE_MODEL && refused 7 receipt verify edited.json --bias notes.bias) || exit 1
done
edits_noticed f.receipt.json <<'END'
s/"epsilon": 0.9/"epsilon": 0.1/
s/"private": true/"private": false/
s/"texts": 5/"texts": 6/
END
refused 7 receipt verify f.receipt.json --bias p.bias
refused 7 receipt verify notes.bias.receipt.json --bias notes.bias
exits 0 "${free[@]}" --dry-run
says out '^bias          notes.bias, [0-9]* % of it more than noise$'
for wrong in "-i recs.jsonl" "-e 1" "--ledger l.db --dataset d" "--charge rho" "--insecure-seed 1" "--shots 2" "--lots on" \
	"--token-bank" "--drop unlikely --public-examples recs.jsonl" "--method pmixed" "--rounds 2" "--json --dry-run" \
	"--delta 1e-5" "--accountant zcdp" "--center none"; do
	# shellcheck disable=SC2086 # each is some options
	refused 2 "${free[@]}" -o x.jsonl $wrong
done
refused 2 generate -B 0 -N 5 -o x.jsonl
says err 'give --bias FILE'
exits 0 "${free[@]}" -o c.csv --category-field sex --categories w,m --category-public
[ "$(tr -d '\r' <c.csv | LC_ALL=C grep -aoE '"[wm]"$' | tr -d '\n')" = '"w""w""w""m""m"' ] || fail "categories: $(cat c.csv)"
exits 0 generate -B 0 --bias notes.bias -N 5 -n 12 -o - -q
exits 0 generate -B 0 --bias notes.bias -N 5 -n 12 -o prompt.jsonl
says err '^Note: the bias was learnt behind another public prompt'
exits 0 "${free[@]}" --bias u.bias -o owners.jsonl -q
exits 0 receipt verify owners.receipt.json --output owners.jsonl --bias u.bias
exits 0 "${free[@]}" --bias s.bias -o seeded.jsonl -q
says seeded.jsonl '"note":"NOT PRIVATE"'
# A stopped run ends in the same texts.
(prlimit --fsize=400 --pid "$BASHPID" && "$CUTTLE" "${free[@]}" -N 40 -o k.jsonl -q 2>err) && fail "no room was needed"
exits 0 "${free[@]}" -N 40 -o k.jsonl -q
exits 0 receipt verify k.receipt.json --output k.jsonl --bias notes.bias

# ---- a bias and references -----------------------------------------------------------------------
refs=(generate -i recs.jsonl -B 3 -N 3 -n 8 -e 2 --kind note --lots off --accountant zcdp)
exits 0 "${refs[@]}" --bias notes.bias --dry-run
says out '^bias          epsilon 1 of its own; with it epsilon 2\.[0-9]* at delta 2e-06$'
exits 0 "${refs[@]}" --bias notes.bias -o g2.jsonl
says err 'epsilon is 2\.[0-9]* at delta 2e-06 for both together\.$'
exits 0 receipt verify g2.receipt.json --output g2.jsonl --bias notes.bias
refused 4 audit canary --receipt g2.receipt.json --kind note -o canary.md
says err 'is of a run with a bias: give it with --bias FILE$'
edits_noticed g2.receipt.json <<'END'
s/"epsilon_together": 2/"epsilon_together": 1/
s/"delta_together": 1.9/"delta_together": 1.0/
END
grep -q 'another public prompt' err && fail "a note without reason: $(cat err)"
exits 0 "${refs[@]}" --shots 2 --bias notes.bias -o shots.jsonl
grep -q 'another public prompt' err && fail "shots stand in no public prompt: $(cat err)"
exits 0 "${refs[@]}" --lots on --bias notes.bias -o g3.jsonl
says err 'epsilon is (2\.9|3)[0-9.]* at delta 2e-06 for both together\.$'
exits 0 "${refs[@]}" --bias p.bias -o g4.jsonl
says err 'It was learnt from records that are public\.$'
exits 0 expand -i g2.jsonl -o more.jsonl -N 4 -q
exits 0 receipt verify more.receipt.json --parent g2.receipt.json
exits 0 expand -i g4.jsonl -o biased.jsonl -N 4 --bias notes.bias
says err 'Of the bias epsilon is 1 at delta 1e-06\. That of the earlier output follows\.'
exits 0 receipt verify biased.receipt.json --parent g4.receipt.json --bias notes.bias
sed 's/epsilon is 1 at/epsilon is 0.1 at/; s/"epsilon": 0.99[0-9]*/"epsilon": 0.1/' biased.receipt.json >edited.json
refused 7 receipt verify edited.json --bias notes.bias
refused 2 expand -i g4.jsonl -o x.jsonl -N 4 --bias u.bias
refused 2 "${refs[@]}" --bias s.bias -o x.jsonl
says err 'NOT PRIVATE'
refused 2 "${refs[@]}" --bias u.bias -o x.jsonl
says err 'give both the same --unit-key$'
refused 2 "${refs[@]}" --unit-key who --one-per-unit --bias notes.bias -o x.jsonl

# Standard input has no receipt beside it, and the bias's own receipt stays.
refused 2 generate -B 0 --bias - -N 5 -o x.jsonl
refused 2 score -i recs.jsonl --bias -
refused 2 receipt verify f.receipt.json --bias -
refused 2 "${free[@]}" -o x.jsonl --receipt notes.bias.receipt.json --overwrite
says err 'would overwrite notes\.bias\.receipt\.json, which --bias reads'
refused 2 expand -i g4.jsonl -o x.jsonl -N 4 --bias notes.bias --own-receipt notes.bias.receipt.json --overwrite

# ---- categories ----------------------------------------------------------------------------------
for ((i = 1; i <= 60; i++)); do sed -n "${i}s/}\$/,\"ward\":\"$([ $((i % 3)) = 0 ] && echo eyes || echo ears)\"}/p" recs.jsonl; done >wards.jsonl
[ "$(grep -c '"ward":"ears"' wards.jsonl)" = 40 ] || fail "no wards: $(head -2 wards.jsonl)"
wards=(--category-field ward --categories "ears,eyes,nose" --category-public)
declared=(learn -i wards.jsonl --tokens 12 --texts 20 "${wards[@]}" -q)
exits 0 ledger init --ledger l.db --dataset wards --epsilon-limit 3
exits 0 "${declared[@]}" -e 1 --ledger l.db --dataset wards -o w.bias
[ "$(spent wards)" = 0.024356 ] || fail "disjoint sums cost more than one: $(spent wards)"
exits 0 receipt verify w.bias.receipt.json --output w.bias --ledger l.db
says w.bias.receipt.json '"adjacency": "one record becomes null; its category stays"'
says w.bias.receipt.json 'where one record becomes null, but for its category, which is public\.'
[ "$(sed -n 's/.*"heading":"\([^"]*\)".*"records":\([0-9]*\).*/\1 \2/p' w.bias | paste -sd,)" = "ward: ears 40,ward: eyes 20,ward: nose 0" ] ||
	fail "categories of the file: $(cut -c1-80 w.bias)"
# Of public records: the whole is the sum of its parts, and a category's own records alone are in its sum.
answer_of() { sed -n "$2s/.*\"answer\":\[\([^]]*\)\].*/\1/p" "$1" | tr , '\n'; }
exits 0 "${declared[@]}" --public -o parts.bias
same <(paste -d' ' <(answer_of parts.bias 2) <(answer_of parts.bias 3) <(answer_of parts.bias 4) | awk '{ print $1 + $2 + $3 }') \
	<(answer_of parts.bias 1) "the whole is not the sum"
grep '"ward":"eyes"' wards.jsonl >eyes.jsonl
exits 0 learn -i eyes.jsonl --tokens 12 --texts 20 --public -o eyes.bias -q
same <(answer_of parts.bias 3) <(answer_of eyes.bias 1) "a category's sum has other records"
exits 0 learn -i wards.jsonl --tokens 12 --texts 20 --public -o all.bias -q
same <(answer_of parts.bias 1) <(answer_of all.bias 1) "the whole with categories is another one"
[ "$(answer_of parts.bias 4 | sort -u)" = 0 ] || fail "a category of no records says something"
[ "$(sed -n '4s/.*"bias"://p' parts.bias)" = "$(sed -n '1s/.*"bias"://p' parts.bias)" ] || fail "a category of no records is not the whole"
[ "$(sed -n '3s/.*"bias"://p' parts.bias)" != "$(sed -n '1s/.*"bias"://p' parts.bias)" ] || fail "a category is like the whole"
# A category's line is what its own records alone would give, with the same noise: its null records count, in the sum, in "records" and in the
# share. Its bias is the whole one, drawn to its own by n / (n + 300), n with nulls.
line_of() { sed -nE "$2s/^(\{)(\"heading\":\"[^\"]*\",)?(.*),\"bias\":.*/\1\3/p" "$1"; }
bias_of() { sed -n "$2s/.*\"bias\":\[\([^]]*\)\].*/\1/p" "$1" | tr , '\n'; }
records_of() { sed -n 's/.*"records":\([0-9]*\).*/\1/p' "$1" | paste -sd' '; }
sed -e '6s/"text":"[^"]*"/"text":""/' -e '9s/"text":"[^"]*"/"text":7/' -e '5s/"text":"[^"]*",//' wards.jsonl >nulled.jsonl
[ "$(grep -c '"text":"[a-z]' nulled.jsonl)" = 57 ] || fail "not three nulls"
sown=(learn --tokens 12 --texts 20 -e 100 -q)
exits 0 "${sown[@]}" "${wards[@]}" -i nulled.jsonl -o nulled.bias --insecure-seed 9
[ "$(records_of nulled.bias)" = "60 40 20 0" ] || fail "null records are not counted: $(records_of nulled.bias)"
line=2
for ward in ears eyes; do
	grep "\"ward\":\"$ward\"" nulled.jsonl >own.jsonl
	exits 0 "${sown[@]}" -i own.jsonl -o $ward.own --insecure-seed $((7 + line))
	[ "$(line_of nulled.bias $line)" = "$(line_of $ward.own 1)" ] || fail "$ward: not what its records alone give: $(line_of nulled.bias $line | cut -c1-99)"
	says $ward.own '"share":0\.[1-9]'
	paste -d' ' <(bias_of nulled.bias $line) <(bias_of nulled.bias 1) <(bias_of $ward.own 1) |
		awk -v n="$(wc -l <own.jsonl)" -v share="$(sed -n '1s/.*"share":\([^,]*\),.*/\1/p' $ward.own)" '
		{ d = $2 + n / (n + 300) * ($3 - share * $2) - $1; if (d * d > 1e-18) wrong = 1 } END { exit wrong || NR != 64 }' ||
		fail "$ward: not drawn to its own by n / (n + 300)"
	line=$((line + 1))
done
# The noise of all sums together is that of each times their number, rounded up where it has no number of its own. The share of line 1 tells.
number_of() { sed -n "s/.*\"$1\": \([0-9]*\),\{0,1\}\$/\1/p" "$2"; }
answer_of nulled.bias 1 | awk -v num="$(number_of variance_num nulled.bias.receipt.json)" -v den="$(number_of variance_den nulled.bias.receipt.json)" \
	-v share="$(sed -n '1s/.*"share":\([^,]*\),.*/\1/p' nulled.bias)" '
	{ square += $1 * $1 }
	END {
		num *= 3
		if (num <= 4294967295) exit 1
		room = int(4294967295 / (int(num / den) + 1))
		if (room > 65536) room = 65536
		rounded = int((num * room + den - 1) / den)
		if (rounded == num * room / den) exit 1
		d = 1 - (64 * rounded / room + 60 * 4096) / square - share
		exit d * d > 1e-28
	}' || fail "the noise of all sums together is another one"
# A record of no declared category is in no sum and no count, and is charged for as all lines are: by where it stands, nobody pays less.
exits 0 "${sown[@]}" "${wards[@]}" --categories ears,nose -i nulled.jsonl -o some.bias --insecure-seed 9
[ "$(records_of some.bias)" = "40 40 0" ] || fail "records of no category are counted: $(records_of some.bias)"
same <(line_of some.bias 2) <(line_of nulled.bias 2) "records of no category are in a sum"
same <(paste -d' ' <(answer_of some.bias 2) <(answer_of some.bias 3) | awk '{ print $1 + $2 }') <(answer_of some.bias 1) "the whole has records of none"
exits 0 ledger init --ledger l.db --dataset some --epsilon-limit 3
exits 0 "${sown[@]}" -e 1 "${wards[@]}" --categories ears,nose -i nulled.jsonl -o paid.bias --ledger l.db --dataset some
exits 3 ledger check --ledger l.db --dataset some --rho 0.17 --first 59
exits 0 ledger check --ledger l.db --dataset some --rho 0.17 --first 60
# The noise of each sum is all of what epsilon asks for, 105.1955 squared: three categories of nulls, and then the same records as one sum.
noise_is() { # noise_is NUMBERS: those of standard input; the seed, and so each of them, is always the same
	awk -v count="$1" '{ sum += $1 * $1 } END { ratio = sum / NR / 105.1955 ^ 2; exit !(NR == count && ratio > 0.7 && ratio < 1.4) }'
}
for ward in ears eyes nose; do echo "{\"ward\":\"$ward\",\"text\":\"\"}"; done >nothing.jsonl
exits 0 "${sown[@]}" -e 3 "${wards[@]}" -i nothing.jsonl -o nothing.bias --insecure-seed 1
for line in 2 3 4; do answer_of nothing.bias $line; done >noise
noise_is 192 <noise || fail "another noise of categories than epsilon asks for: $(paste -sd' ' noise)"
for seed in 1 2 3; do
	exits 0 "${sown[@]}" -e 3 -i nothing.jsonl -o - --insecure-seed $seed
	answer_of out 1
done >alone
same alone noise "a category has other noise than a sum of all records"
# A record that does not fit the schema, or cannot be read, keeps the category that its own cell says, and is a null there.
echo '{"type":"object","properties":{"text":{"type":"string","maxLength":90},"ward":{"enum":["ears","eyes","nose"]}},"required":["text","ward"]}' >ward.json
long=$(printf 'x%.0s' {1..91})
sed -e "6s/\"text\":\"[^\"]*\"/\"text\":\"$long\"/" -e '9s/"text":"[^"]*"/"text":7/' -e '5s/"text":"[^"]*",//' wards.jsonl >misfit.jsonl
printf 'text,ward\r\n' >misfit.csv
sed -E 's/.*"text":"([^"]*)".*"ward":"([^"]*)".*/\1,\2\r/' wards.jsonl | sed -e "6s/.*,/$long,/" -e '9s/.*,/\xff,/' -e '5s/.*,/,/' >>misfit.csv
sed -e 's/"who":"[^"]*",//' wards.jsonl >fit.jsonl
for form in fit.jsonl misfit.jsonl misfit.csv; do
	exits 0 "${sown[@]}" "${wards[@]}" --schema ward.json -i $form -o $form.bias --insecure-seed 9
	[ "$(records_of $form.bias)" = "60 40 20 0" ] || fail "$form: a misfit has lost its category: $(records_of $form.bias)"
done
cmp -s fit.jsonl.bias misfit.jsonl.bias && fail "a misfit says what it said"
# Texts of a category are drawn with its own bias: those of one alone are the same.
exits 0 generate -B 0 --bias w.bias -N 6 -n 12 "${wards[@]}" -o wt.jsonl -q
exits 0 receipt verify wt.receipt.json --output wt.jsonl --bias w.bias
[ "$(wc -l <wt.jsonl)" = 6 ] || fail "texts of categories"
[ "$(indices wt.jsonl)" = "0 1 2 3 4 5" ] || fail "indices of categories: $(indices wt.jsonl)"
exits 0 generate -i wards.jsonl -B 2 -N 4 -n 8 -e 2 --lots off "${wards[@]}" --categories ears,eyes --bias w.bias -o wg.jsonl -q
exits 0 receipt verify wg.receipt.json --output wg.jsonl --bias w.bias
# Other shares are another command: it would go on with texts of another category.
printf 'ward,share\nears,1\neyes,1\n' >even.csv
printf 'ward,share\nears,9\neyes,1\n' >uneven.csv
shares=(generate -B 0 --bias w.bias -N 10 -n 12 --category-field ward --category-public -o sh.jsonl -q)
(ulimit -f 1 && trap '' XFSZ && exec "$CUTTLE" "${shares[@]}" --categories even.csv 2>err)
[ $? = 6 ] || fail "a full disk: $(cat err)"
refused 2 "${shares[@]}" --categories uneven.csv
exits 0 "${shares[@]}" --categories even.csv
# It tells how many records each has, so no run that hides that adds its own promise to it.
hides='w\.bias tells how many records each category has, and this run promises to hide that'
refused 2 generate -i wards.jsonl -B 2 -N 4 -n 8 -e 2 --lots off --bias w.bias -o x.jsonl
says err "$hides"
refused 2 generate -i wards.jsonl -B 2 -N 4 -n 8 -e 2 --category-field ward --categories ears,eyes --bias w.bias -o x.jsonl
says err "$hides"
refused 2 expand -i g4.jsonl -o x.jsonl -N 4 --bias w.bias
# Categories of another field are others, though they are public, too.
sed 's/"ward":/"sex":/' wards.jsonl >sexes.jsonl
refused 2 generate -i sexes.jsonl -B 2 -N 4 -n 8 -e 2 --lots off --category-field sex --categories ears,eyes --category-public --bias w.bias -o x.jsonl
says err "$hides"
says err "$hides"
exits 0 expand -i wg.jsonl -o biased.wards.jsonl -N 4 --bias w.bias -q
exits 0 receipt verify biased.wards.receipt.json --bias w.bias
exits 0 generate -i wards.jsonl -B 2 -N 4 -n 8 -e 2 --lots off --bias parts.bias -o open.jsonl -q
exits 0 receipt verify open.receipt.json --output open.jsonl --bias parts.bias
sed "s/$(hash_of notes.bias)/$(hash_of w.bias)/; s/$(hash_of notes.bias.receipt.json)/$(hash_of w.bias.receipt.json)/" g2.receipt.json >edited.json
exits 0 receipt verify edited.json
refused 7 receipt verify edited.json --bias w.bias
# A strong bias of public records shows whose it is: texts of a category that says one thing alone.
{ for ((i = 0; i < 400; i++)); do echo '{"text":"zzzzzzzzzzzz","ward":"ears"}' && echo '{"text":"qqqqqqqqqqqq","ward":"eyes"}'; done; } >loud.jsonl
exits 0 learn -i loud.jsonl --tokens 12 --texts 20 --public "${wards[@]}" --categories ears,eyes -q -o loud.bias
exits 0 generate -B 0 --bias loud.bias -N 40 -n 12 "${wards[@]}" --categories ears,eyes -o loud.texts.jsonl -q
z() { grep "\"ward\":\"$1\"" loud.texts.jsonl | sed 's/.*"text":"\(.*\)","tokens.*/\1/' | tr -cd "$2" | wc -c; }
{ [ "$(z ears z)" -gt "$(z eyes z)" ] && [ "$(z eyes q)" -gt "$(z ears q)" ]; } || fail "a category's texts have another one's bias: $(z ears z) $(z eyes z) $(z ears q) $(z eyes q)"
refused 2 learn -i wards.jsonl -o x.bias -e 1 --category-field ward --categories ears,eyes
says err '--categories needs --category-public'
refused 2 learn -i wards.jsonl -o x.bias -e 1 "${wards[@]}" --unit-key who
refused 2 learn -i wards.jsonl -o x.bias -e 1 --category-public
# A run that goes on takes all its sums from the journal, and no other wards.
(prlimit --fsize=6000 --pid "$BASHPID" && "$CUTTLE" "${declared[@]}" -e 1000 -o k.bias >out 2>err) && fail "no room was needed"
sed '5s/ears/eyes/; 6s/eyes/ears/' wards.jsonl >moved.jsonl
cp wards.jsonl kept.jsonl && cp moved.jsonl wards.jsonl
refused 2 "${declared[@]}" -e 1000 -o k.bias
says err 'the input is not the one this output was begun with'
cp kept.jsonl wards.jsonl
counts=$(sed -n 's/^counts \(.*\) [0-9a-f]*$/\1/p' k.bias.journal)
exits 0 "${declared[@]}" -e 1000 -o k.bias
[ "$({ answer_of k.bias 2 && answer_of k.bias 3 && answer_of k.bias 4; } | paste -sd' ')" = "$counts" ] || fail "other answers than the journal's"

# ---- a bias that was changed, or of another model ------------------------------------------------
cp notes.bias edited.bias
cp notes.bias.receipt.json edited.bias.receipt.json
printf x | dd of=edited.bias bs=1 seek=100 conv=notrunc 2>/dev/null
refused 7 generate -B 0 --bias edited.bias -N 5 -o x.jsonl
rm edited.bias.receipt.json
refused 4 generate -B 0 --bias edited.bias -N 5 -o x.jsonl
cp g2.receipt.json edited.bias.receipt.json
refused 4 generate -B 0 --bias edited.bias -N 5 -o x.jsonl
says err 'it is not a receipt of cuttle learn$'
cp tiny.gguf other.gguf
printf '\001' | dd of=other.gguf bs=1 seek=$(($(wc -c <other.gguf) - 9)) conv=notrunc 2>/dev/null
refused 4 generate -m other.gguf -B 0 --bias notes.bias -N 5 -o x.jsonl
says err 'learnt with another model'
[ ! -e x.jsonl ] || fail "a refused run wrote something"
true
