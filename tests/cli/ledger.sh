#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle ledger`, `generate --ledger` and `cuttle receipt`. It fails if an exit code is
# wrong, if a run without enough budget is not refused, if resuming charges twice or releasing
# frees what was drawn, or if a receipt shows something else than what was spent.
golden=$(dirname "$(realpath "$0")")/../golden
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
model=$CUTTLE_MODEL
unset CUTTLE_MODEL # receipt verify would compare it

# Without a model: the ledger alone.
notes=(--ledger l --dataset notes)
refused 7 ledger show "${notes[@]}"
refused 7 ledger show --ledger l
refused 7 ledger list --ledger l
refused 2 ledger show --dataset notes
says err 'missing: --ledger FILE; for example: cuttle ledger '
refused 2 ledger
says err 'say what to do: cuttle ledger init\|key\|list\|show'
refused 2 ledger spend "${notes[@]}"
refused 2 ledger histroy "${notes[@]}"
says err 'did you mean cuttle ledger history\?'
refused 2 ledger init "${notes[@]}"
says err 'missing: --epsilon-limit EPS or --rho-limit RHO;'
refused 2 ledger reserve
says err 'missing: --ledger FILE, --dataset NAME, --rho RHO;'
for bad in 0 -1 nan inf x; do
	refused 2 ledger init "${notes[@]}" --epsilon-limit "$bad"
	refused 2 ledger init "${notes[@]}" --rho-limit "$bad"
	refused 2 ledger init "${notes[@]}" --epsilon-limit 1 --delta-limit "$bad"
done
refused 2 ledger init "${notes[@]}" --epsilon-limit 1 --rho-limit 1
rm -f l
exits 0 ledger init "${notes[@]}" --epsilon-limit 10 --delta-limit 1e-6
[ "$(stat -c %a l)" = 600 ] || fail "the ledger's mode is $(stat -c %a l)"
says out '^limit      rho 1\.53927 +epsilon 10$'
says out '^spent      rho 0 '
says out '^runs       0'
refused 2 ledger init "${notes[@]}" --epsilon-limit 20
exits 0 ledger init --ledger l --dataset people --rho-limit 1 --unit-key name
says out 'everybody with one value of name'
refused 2 ledger show --ledger l --dataset nobody

for bad in 0 -1 nan inf 1e-320 x; do refused 2 ledger reserve "${notes[@]}" --rho "$bad"; done
exits 0 ledger check "${notes[@]}" --rho 1.5
exits 0 ledger reserve "${notes[@]}" --rho 1 --count 100
run=$(head -1 out)
exits 0 ledger reserve "${notes[@]}" --rho 1 --count 100 --run "$run"
refused 2 ledger reserve "${notes[@]}" --rho 1.1 --count 100 --run "$run"
exits 0 ledger show "${notes[@]}" --json
says out '"rho_spent":1.0,.*"runs":1}'
refused 3 ledger check "${notes[@]}" --rho 1
says err 'rho asked 1, spent 1 of 1\.53927, remaining 0\.53927[0-9]* '
refused 3 ledger reserve "${notes[@]}" --rho 1
exits 0 ledger reserve "${notes[@]}" --rho 1 --first 100
refused 2 ledger release "${notes[@]}" --run "$run"
refused 2 ledger release "${notes[@]}" --run 0
refused 2 ledger release "${notes[@]}"
exits 0 ledger history "${notes[@]}"
[ "$(wc -l <out)" = 6 ] || fail "history: $(cat out)"
says out '^ENTRY +TIME +KIND +MEASURE +LOSS +EPSILON +RUN +OUTPUT +DATA SET$'
says out "^1 .* dataset +rho +1\.53927 +10 +- +- +notes\$"
exits 0 ledger show "${notes[@]}" --json
spent=$(sed 's/.*"epsilon_spent":\([0-9]*\.[0-9][0-9]\).*/\1/' out)
exits 0 ledger history "${notes[@]}"
says out "^3 .* reserve +rho +1 +${spent}[0-9]* +$run +- +notes\$"
refused 2 ledger history --ledger l --dataset nobody
# list, and show without a name: every data set, with the numbers that show has.
exits 0 ledger list --ledger l
[ "$(wc -l <out)" = 3 ] || fail "list: $(cat out)"
says out '^MEASURE +LIMIT loss +epsilon +SPENT loss +epsilon +LEFT loss +epsilon +DELTA +RUNS +DATA SET$'
says out "^rho +1\.53927 +10 +1 +${spent}[0-9]* +0\.53927[0-9]* +[0-9.]+ +1e-06 +2 +notes\$"
says out '^rho +1 +[0-9.]+ +0 +0 +1 +[0-9.]+ +1e-06 +0 +people$'
cp out first
exits 0 ledger show --ledger l
same out first "show without a data set is not list"
exits 0 ledger show "${notes[@]}" --json
one=$(cat out)
exits 0 ledger list --ledger l --json
[ "$(head -c $((${#one} + 2)) out)" = "[$one," ] || fail "list --json: $(cat out)"
exits 0 ledger export --ledger l
[ "$(wc -l <out)" = 6 ] || fail "export: $(cat out)"
# Each line's hash is that of the line without it; each names the one before. Anybody can check that, without cuttle.
before=
while read -r line; do
	hash=${line#*\"hash\":\"}
	hash=${hash%%\"*}
	[ "$(echo "${line/\"hash\":\"$hash\",/}" | sha256sum | cut -d' ' -f1)" = "$hash" ] || fail "the hash of $line"
	[ -z "$before" ] || grep -q "\"previous\":\"$before\"" <<<"$line" || fail "the chain at $line"
	before=$hash
done <out
exits 0 ledger verify --ledger l
says out "^6 entries, .*$before"
exits 0 ledger verify --ledger l --head "$before"
refused 7 ledger verify --ledger l --head "$(printf '%064d' 1)"
# A ledger from before data sets had a measure: the same entries, bytes and hashes; the run it charged is charged no more.
gunzip -c "$golden/ledger.gz" >old
cp old before
exits 0 ledger verify --ledger old --head 6806274b78c66892099290a8e074f13dce168258af191dee4fe6c5ab01a49d18
says out '^6 entries, .*6806274b78c66892099290a8e074f13dce168258af191dee4fe6c5ab01a49d18$'
says out '^data set people counts rho of zCDP$'
exits 0 ledger export --ledger old
[ "$(sha256sum <out | cut -d' ' -f1)" = d4147df38b7482bb53ec8b45e46add944bc261059fab75c09ae4973ea21a021a ] || fail "an old ledger's export: $(cat out)"
same old before "reading changed an old ledger"
exits 0 ledger show --ledger old --dataset people
says out '^spent      rho 0\.1 '
exits 0 ledger reserve --ledger old --dataset notes --rho 0.75 --count 100 --run 0123456789abcdef0123456789abcdef
exits 0 ledger show --ledger old --dataset notes --json
says out '"measure":"rho","order":null,.*"rho_spent":0\.75,.*"runs":1}'
refused 3 ledger reserve --ledger old --dataset notes --rho 0.8
exits 0 ledger reserve --ledger old --dataset notes --rho 0.5
exits 0 ledger init --ledger old --dataset documents --measure rdp --order 2 --loss-limit 1
exits 0 ledger export --ledger old
[ "$(grep -c '"measure"' out)" = 1 ] || fail "an entry of rho says a measure: $(cat out)"
exits 0 ledger verify --ledger old --head 6806274b78c66892099290a8e074f13dce168258af191dee4fe6c5ab01a49d18
says out '^data set documents counts Renyi losses at order 2$'

# Numbers typed in decimal add up exactly.
for row in '1 0.1 10' '1 .2 5' '0.3 1e-1 3' '0.6 0.2 3'; do
	read -r limit rho times <<<"$row"
	rm -f d
	exits 0 ledger init --ledger d --dataset n --rho-limit "$limit"
	for ((i = 1; i <= times; i++)); do exits 0 ledger reserve --ledger d --dataset n --rho "$rho"; done
	refused 3 ledger reserve --ledger d --dataset n --rho 1e-20
	exits 0 ledger show --ledger d --dataset n --json
	[ "$(sed 's/.*"rho_spent":\([0-9.]*\),.*/\1/' out)" = "$(sed 's/.*"rho_limit":\([0-9.]*\),.*/\1/' out)" ] || fail "not all is spent: $(cat out)"
	says out '"rho_remaining":0\.0,'
	exits 0 ledger verify --ledger d
done
# Whole numbers take an exponent, too.
exits 0 ledger init --ledger d --dataset m --rho-limit 1
exits 0 ledger reserve --ledger d --dataset m --rho 1 --first 5e2 --count 1e+2
refused 3 ledger check --ledger d --dataset m --rho 1e-9 --first 599 --count 1
exits 0 ledger check --ledger d --dataset m --rho 1 --first 600 --count 1
for bad in 1e 1e-1 e2 1e20 1.5e1 1e2e2; do refused 2 ledger check --ledger d --dataset n --rho 1 --count "$bad"; done

# A data set of Renyi losses at one order. Its charges are of that order, or none.
documents=(--ledger r --dataset documents) renyi=(--measure rdp --order 2)
refused 2 ledger init "${documents[@]}" --measure rdp --loss-limit 1
says err 'missing: --order A;'
refused 2 ledger init "${documents[@]}" "${renyi[@]}"
says err 'missing: --epsilon-limit EPS or --loss-limit LOSS;'
refused 2 ledger init "${documents[@]}" --order 2 --epsilon-limit 20
says err 'missing: --measure rdp '
refused 2 ledger init "${documents[@]}" "${renyi[@]}" --rho-limit 1
says err 'give --loss and --loss-limit'
refused 2 ledger init "${documents[@]}" "${renyi[@]}" --loss-limit 1 --epsilon-limit 20
refused 2 ledger init "${documents[@]}" --measure zcdp --epsilon-limit 20
for bad in 0 1 17 2.5 x; do refused 2 ledger init "${documents[@]}" --measure rdp --order "$bad" --loss-limit 1; done
for bad in 0 -1 nan inf x; do refused 2 ledger init "${documents[@]}" "${renyi[@]}" --loss-limit "$bad"; done
refused 2 ledger init "${documents[@]}" "${renyi[@]}" --epsilon-limit 12.4
says err 'at order 2 and delta 1e-06 no Renyi loss gives epsilon 12\.4: it must be above 12\.4292'
rm -f r
exits 0 ledger init "${documents[@]}" "${renyi[@]}" --epsilon-limit 20
says out '^measure    Renyi losses at order 2$'
says out '^limit      loss 7\.57078 +epsilon 20$'
exits 0 ledger init --ledger r --dataset notes --rho-limit 1
says out '^measure    rho of zCDP$'
refused 2 ledger reserve "${documents[@]}" "${renyi[@]}"
says err 'missing: --loss LOSS;'
for bad in 0 -1 nan inf x; do refused 2 ledger reserve "${documents[@]}" "${renyi[@]}" --loss "$bad"; done
refused 2 ledger reserve "${documents[@]}" "${renyi[@]}" --rho 1
refused 2 ledger reserve "${documents[@]}" --loss 1
says err 'missing: --measure rdp '
for action in check reserve; do
	refused 2 ledger $action "${documents[@]}" --rho 1
	says err 'data set documents counts Renyi losses at order 2, and this is charged in rho of zCDP'
	refused 2 ledger $action "${documents[@]}" --measure rdp --order 3 --loss 1
	says err 'counts Renyi losses at order 2, and this is charged in Renyi losses at order 3'
	refused 2 ledger $action --ledger r --dataset notes "${renyi[@]}" --loss 1
	says err 'counts rho of zCDP, and this is charged in Renyi losses at order 2'
done
exits 0 ledger check "${documents[@]}" "${renyi[@]}" --loss 7.5
exits 0 ledger reserve "${documents[@]}" "${renyi[@]}" --loss 3 --count 10
run=$(head -1 out)
exits 0 ledger reserve "${documents[@]}" "${renyi[@]}" --loss 3 --count 10 --run "$run"
refused 2 ledger reserve "${documents[@]}" "${renyi[@]}" --loss 2 --count 10 --run "$run"
refused 2 ledger reserve "${documents[@]}" --rho 3 --count 10 --run "$run"
refused 2 ledger reserve "${documents[@]}" --measure rdp --order 3 --loss 3 --count 10 --run "$run"
# Lines do not share charges.
exits 0 ledger reserve "${documents[@]}" "${renyi[@]}" --loss 4 --first 10
refused 3 ledger reserve "${documents[@]}" "${renyi[@]}" --loss 4
says err 'loss asked 4, spent 4 of 7\.57078, remaining 3\.57078 \(epsilon at delta 1e-06: asked 16\.4293, spent 16\.4293 of 20, remaining 15\.9999\)'
exits 0 ledger show "${documents[@]}" --json
says out '"measure":"rdp","order":2,"loss_limit":7\.57[0-9]*,.*"loss_spent":4\.0,.*"loss_remaining":3\.57.*"runs":2}'
exits 0 ledger list --ledger r
says out '^rdp 2   7\.57078 +20 +4 +16\.4293 +3\.57078 +15\.9999 +1e-06 +2 +documents$'
says out '^rho +1 .* notes$'
exits 0 ledger history --ledger r
says out "^3 .* reserve +rdp 2 +3 +15\.4293 +$run +- +documents\$"
exits 0 ledger verify --ledger r
says out '^data set documents counts Renyi losses at order 2$'
says out '^data set notes counts rho of zCDP$'
exits 0 ledger export --ledger r
says out '"kind":"reserve","loss":"3","measure":"rdp",.*"order":2,'

cp l damaged
printf 'X' | dd of=damaged bs=1 seek=5000 conv=notrunc status=none
refused 7 ledger verify --ledger damaged
truncate -s 4096 damaged
refused 7 ledger verify --ledger damaged
exits 0 help ledger
exits 0 help receipt

# Keys.
refused 2 ledger key
refused 2 ledger key --sign nowhere/key
exits 0 ledger key --sign key
[ "$(stat -c %a key)" = 600 ] || fail "the secret key's mode is $(stat -c %a key)"
[ "$(head -1 out)" = "$(cat key.pub)" ] || fail "another public key: $(cat out)"
grep -q "$(cut -d' ' -f2 key)" out && fail "the secret key was printed"
public=$(cat key.pub)
cp key before
refused 2 ledger key --sign key
same key before "a key was replaced"
rm key.pub && mkdir key2.pub
refused 2 ledger key --sign key2
[ ! -e key2 ] || fail "half a key is left"
exits 0 ledger key --sign other
cmp -s other key && fail "two keys are the same"

export CUTTLE_MODEL=$model
slow=$model
need_some_model
model=$CUTTLE_MODEL
texts=2 tokens=2 long=30 held=2
# A run that is to be caught at work is the real model's, or a long one.
if short || [ ! -r "$slow" ]; then slow=$model long=150 held=150; fi
nightly && tokens=6
references $((2 * texts))
base=(generate -m "$model" -i refs.jsonl -B 2 -N "$texts" --kind note)
paid=("${base[@]}" -n "$tokens" -e 3)
unset CUTTLE_MODEL
spent() { # rho spent by data set $1
	exits 0 ledger show --ledger l --dataset "$1" --json
	sed 's/.*"rho_spent":\([^,]*\),.*/\1/' out
}

exits 0 ledger init --ledger l --dataset docs --epsilon-limit 5
docs=(--ledger l --dataset docs)
refused 2 "${paid[@]}" -o a.jsonl --ledger l
refused 2 "${paid[@]}" -o a.jsonl --ledger l --dataset nobody
refused 7 "${paid[@]}" -o a.jsonl --ledger damaged --dataset docs
"$CUTTLE" "${paid[@]}" -o a.jsonl --ledger r --dataset documents -q >out 2>err
[ $? = 2 ] || fail "a run in rho is charged to Renyi losses: $(cat err)"
says err 'counts Renyi losses at order 2, and this is charged in rho of zCDP'
compgen -G 'a.*' >/dev/null && fail "a run that did not begin left something"
exits 0 "${paid[@]}" -o a.jsonl
says err '^No ledger: nobody counts'
# A run from a seed is NOT PRIVATE wherever it shows, quiet or not, and goes nowhere near a ledger.
cp -p l untouched
rm -f l-wal l-shm
for quiet in '' -q; do
	exits 0 "${paid[@]}" -o seeded.jsonl --insecure-seed 1 "${docs[@]}" --overwrite $quiet
	says err 'NOT PRIVATE'
	grep -q ledger err && fail "a seeded run speaks of the ledger"
	[ "$(grep -c '"private":false,"note":"NOT PRIVATE"}$' seeded.jsonl)" = "$texts" ] || fail "lines are not stamped"
	says seeded.receipt.json '"note": "NOT PRIVATE"'
	says seeded.receipt.json '"guarantee": "NOT PRIVATE'
	says seeded.receipt.json '"ledger": null'
done
exits 0 "${paid[@]}" -o table.csv --insecure-seed 1 "${docs[@]}" -q
[ "$(grep -c ',false,NOT PRIVATE.$' table.csv)" = "$texts" ] || fail "CSV lines are not stamped"
exits 0 "${paid[@]}" -o - --insecure-seed 1 --ledger damaged --dataset nobody -q
[ "$(grep -c 'NOT PRIVATE' out)" = "$texts" ] || fail "a stream is not stamped"
same l untouched "a seeded run wrote the ledger"
[ "$(stat -c %y l)" = "$(stat -c %y untouched)" ] || fail "a seeded run opened the ledger"
for file in l-wal seeded.jsonl.run; do [ ! -e $file ] || fail "a seeded run left $file"; done
[ "$(spent docs)" = 0.0 ] || fail "a seeded run was charged"

refused 4 "${paid[@]}" -o b.jsonl --sign key.pub -q
refused 4 "${paid[@]}" -o b.jsonl --sign nowhere -q
refused 2 "${paid[@]}" -o - --sign key -q
chmod 640 key
refused 2 "${paid[@]}" -o b.jsonl --sign key -q
chmod 600 key
exits 0 "${paid[@]}" -o b.jsonl "${docs[@]}" --sign key
grep -q 'nobody counts' err && fail "somebody counts"
once=$(spent docs)
[ "$once" != 0.0 ] || fail "nothing was charged"
nothing_left b
[ ! -e b.jsonl.run ] || fail "the run's name is left over"
exits 0 "${paid[@]}" -o b.jsonl "${docs[@]}"
says err 'already complete'
[ "$(spent docs)" = "$once" ] || fail "a complete run was charged again"
exits 0 "${paid[@]}" -o - -q "${docs[@]}"
twice=$(spent docs)
[ "$twice" != "$once" ] || fail "a second run was not charged"
# 3 and 3 of 5: rho has room for two, not for three.
refused 3 "${paid[@]}" -o c.jsonl "${docs[@]}"
says err 'refused: data set docs: rho asked 0\.18[0-9]*, spent 0\.3[67]'
compgen -G 'c.*' >/dev/null && fail "a refused run left something"
[ "$(spent docs)" = "$twice" ] || fail "a refused run was charged"

# The receipt.
exits 0 receipt verify b.receipt.json --output b.jsonl --model "$model" --ledger l --key "$public"
says out "^signed .*$public: the one given"
says out 'epsilon [0-9.]* \(zcdp\)'
exits 0 receipt verify b.receipt.json
says out 'compare it with --key'
# The signature is what any other program makes of the file without its line.
if ! command -v openssl >/dev/null; then
	echo "skipped in part: ${0##*/}: there is no openssl, so no other program looks at the signature"
else
	bytes() { # of a number in hexadecimal
		local i
		for ((i = 0; i < ${#1}; i += 2)); do printf '%b' "\\x${1:i:2}"; done
	}
	bytes "302a300506032b6570032100$public" >public.der
	grep -v '^  "signature": ' b.receipt.json >signed
	bytes "$(sed -n 's/^  "signature": "\(.*\)",/\1/p' b.receipt.json)" >signature
	openssl pkeyutl -verify -pubin -keyform DER -inkey public.der -rawin -in signed -sigfile signature >/dev/null || fail "OpenSSL disagrees"
fi
refused 7 receipt verify b.receipt.json --key "$(cat other.pub)"
says err 'another key'
refused 7 receipt verify b.receipt.json --key other.pub
refused 4 receipt verify b.receipt.json --key nowhere
refused 4 receipt verify b.receipt.json --key key
sed '/^  "signature"/d' b.receipt.json >half.json
refused 4 receipt verify half.json
sed '/^  "signature"/d; /^  "public_key"/d' b.receipt.json >stripped.json
refused 7 receipt verify stripped.json --key "$public"
says err 'no signature'
# Members that nothing follows to: without a signature nobody can tell, and that is said.
while read -r edit; do
	sed "$edit" b.receipt.json >edited.json
	cmp -s edited.json b.receipt.json && fail "$edit changes nothing"
	refused 7 receipt verify edited.json
	says err 'signature is wrong'
	sed "$edit" stripped.json >edited.json
	exits 0 receipt verify edited.json
	member=${edit#s/\"}
	says out "^not checked: .*${member%%\"*}[,:]"
done <<-'END'
	s/"top_k": [0-9]*/"top_k": 7/
	s/"model_name": ".*"/"model_name": "another"/
	s/"isa": ".*"/"isa": "abacus"/
	s/"date": ".*"/"date": "2024-02-29"/
	s/"dataset": ".*"/"dataset": "other"/
	s/"trace": false/"trace": true/
	s/"command_sha256": "../"command_sha256": "00/
	s/"template_sha256": "../"template_sha256": "00/
	s/"model_sha256": "../"model_sha256": "00/
	s/"output_sha256": "../"output_sha256": "00/
	s/"model_bytes": [0-9]*/"model_bytes": 7/
	s/"reference_tokens": [0-9]*/"reference_tokens": 7/
	s/"context": [0-9]*/"context": 8000/
	s/"version": ".*"/"version": "9"/
END
# A trace that the receipt conceals is the word of who wrote it, but for the signer's.
exits 0 receipt verify stripped.json
says out '^  - That no trace was written.* nothing that was given shows it'
exits 0 receipt verify b.receipt.json --key "$public"
grep -q 'no trace was written' out && fail "a signer's word is doubted"
# The words of earlier receipts still stand, and no others do.
sed -E 's/Guarantee for (all .* together): any event (.*) times the probability it has (without any one record)(, plus delta = [^ ]*)\. The same holds (the other way round)\. An event [^.]*\./Guarantee: whatever anyone concludes from \1, the probability of any event \2 times what it would be \3\4, and \5./; s/event has at most/event is at most/' \
	stripped.json >former.json
sed -E 's/(together, )(the probability .*) (without any one record)(, plus .* round)\. Even odds .* but for delta\./\1they would have concluded nearly as well \3: \2 without\4./' \
	former.json >oldest.json
for words in stripped:former:'any one record/any record' former:oldest:'and the other/and other' oldest:stripped:'nearly as well/as well'; do
	IFS=: read -r one other edit <<<"$words"
	cmp -s "$one.json" "$other.json" && fail "the sentence is worded otherwise: $one"
	exits 0 receipt verify "$one.json"
	sed "s/$edit/" "$one.json" >edited.json
	cmp -s "$one.json" edited.json && fail "$one.json has no $edit"
	refused 7 receipt verify edited.json
done
sed "s/$public/$(cat other.pub)/" b.receipt.json >edited.json
refused 7 receipt verify edited.json
refused 7 receipt verify edited.json --key other.pub
exits 0 receipt verify b.receipt.json --output b.jsonl --model "$model" --ledger l
says out 'The receipt agrees with itself'
says out '^Promised'
says out '^Not promised'
says out 'epsilon [0-9.]* \(zcdp\)'
exits 0 receipt verify a.receipt.json
says out 'epsilon [0-9.]* \(exact\)'
refused 7 receipt verify b.receipt.json --output seeded.jsonl # a.jsonl may be the same two tokens
sed 's/"index":1/"index":2/' b.jsonl >changed.jsonl
refused 7 receipt verify b.receipt.json --output changed.jsonl
says err 'not the output'
refused 7 receipt verify b.receipt.json --model refs.jsonl
says err 'not the model'
sed 's/"model_bytes": [0-9]*/"model_bytes": 7/' stripped.json >edited.json
refused 7 receipt verify edited.json --model "$model"
says err 'model_bytes'
refused 7 receipt verify a.receipt.json --ledger l
refused 4 receipt verify seeded.receipt.json
says err 'NOT PRIVATE'
refused 4 receipt verify refs.jsonl
refused 4 receipt verify nothing.json
refused 2 receipt verify
refused 4 receipt verify b.receipt.json --output nothing.jsonl
while read -r edit; do
	sed "$edit" stripped.json >edited.json
	cmp -s edited.json stripped.json && fail "$edit changes nothing"
	"$CUTTLE" receipt verify edited.json >out 2>err
	case $? in
	7) grep -Eq 'follow|bytes|is not|no room|does not write|no data set|charged less|add up' err || fail "$edit: $(cat err)" ;;
	4) grep -Eq 'no receipt|another cuttle' err || fail "$edit: $(cat err)" ;;
	*) fail "$edit passes: $(cat out err)" ;;
	esac
	sed "$edit" b.receipt.json >edited.json
	"$CUTTLE" receipt verify edited.json >out 2>err && fail "$edit passes, signed"
done <<-'END'
	s/"tokens": [0-9]*/"tokens": 1/
	s/"batch": 2/"batch": 20/
	s/"epsilon": [0-9.]*/"epsilon": 1.5/
	s/"epsilon_exact": [0-9.]*/"epsilon_exact": 1.5/
	s/"accountant": "zcdp"/"accountant": "exact"/
	s/"rho": 0.[0-9]*,$/"rho": 0.01,/
	s/"delta": [0-9.e-]*/"delta": 1e-9/
	s/"epsilon_exact": [0-9.]*/"epsilon_exact": ""/
	s/epsilon = [0-9.]*/epsilon = 1/
	s/"private": true/"private": 1/
	s/"texts": 2/"texts": 3/
	s/^  "temperature"/   "temperature"/
	s/"top_k".*//
	s/"top_k": [0-9]*/"top_k": -1/
	s/replace one reference by null/replace one reference by any other/
	s/"unit": ".*"/"unit": "one token of the input"/
	s/"unit_key": null/"unit_key": "who"/
	s/"clip": [0-9.]*/"clip": 0.5/
	s/"clip_fixed": [0-9]*/"clip_fixed": 7/
	s/"fraction_bits": [0-9]*/"fraction_bits": 11/
	s/"temperature": [0-9.]*/"temperature": 7.5/
	s/"categories": null/"categories": []/
	s/"context": [0-9]*/"context": 7/
	s/"reference_tokens": [0-9]*/"reference_tokens": 0/
	s/"dataset": ".*"/"dataset": null/
	s/"date": ".*"/"date": "2023-02-29"/
	s/"rho": 0.[0-9]*$/"rho": 0.01/
	s/"receipt": 2/"receipt": 3/
	s/"version": ".*"/"version": "9 or more"/
	s/"isa": \(".*"\),/"isa": \1,\n  "isb": 1,/
	s/"private": true/"note": "NOT PRIVATE",\n  "private": true/
END
# A receipt of the first format had other members.
sed '/"receipt"/d; /"date"/d; /"dataset"/d' stripped.json >edited.json
refused 4 receipt verify edited.json
says err 'edited.json: this is no receipt of cuttle: its format is not named'
sed 's/"receipt": [0-9]*/"receipt": 1/; /"date"/d; /"dataset"/d' stripped.json >edited.json
refused 4 receipt verify edited.json
version=$("$CUTTLE" --version)
says err "another cuttle, in another format .version ${version#cuttle }; .*use that one"
sed 's/"entry": "../"entry": "00/' b.receipt.json >edited.json
refused 7 receipt verify edited.json --ledger l

# An entry that charged a Renyi loss pays for no rho, where all other numbers agree.
exits 0 ledger export --ledger r
reserved=$(grep '"kind":"reserve"' out | head -1)
member() { grep -o "\"$1\":\"[^\"]*" <<<"$reserved" | cut -d\" -f4; }
sed "s/\"entry\": \".*\"/\"entry\": \"$(member hash)\"/; s/\"command_sha256\": \".*\"/\"command_sha256\": \"$(member command)\"/
	s/\"dataset\": \".*\"/\"dataset\": \"documents\"/; s/^    \"rho\": [0-9.]*/    \"rho\": $(member loss).0/" stripped.json >edited.json
refused 7 receipt verify edited.json --ledger r
says err 'entry with other numbers'

# Stopped and continued: one charge, before the first token and after it.
exits 0 ledger init --ledger l --dataset long --epsilon-limit 10
long=("${base[@]}" -m "$slow" -n "$long" -e 5 --ledger l --dataset long -o p.jsonl --progress json)
# begun DATASET KIND COMMAND...: starts the command and waits for such an entry, or for the command's end.
begun() {
	local dataset=$1 kind=$2
	shift 2
	"$CUTTLE" "$@" >out 2>err &
	pid=$!
	while kill -0 $pid 2>/dev/null && ! "$CUTTLE" ledger history --ledger l --dataset "$dataset" | grep -q " $kind "; do sleep 0.01; done
}
for moment in reserve draw; do
	begun long $moment "${long[@]}"
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	[ "$moment" = draw ] || first=$(spent long)
done
exits 0 "${long[@]}"
[ "$(spent long)" = "$first" ] || fail "a run that was killed is charged again: $(spent long), and $first before"
exits 0 ledger show --ledger l --dataset long
says out '^runs       1'
exits 0 receipt verify p.receipt.json --output p.jsonl --ledger l
exits 0 ledger verify --ledger l

# A charge pays for the tokens drawn under it, and for no others. A run begun without the ledger is charged when it is continued with it,
# also where OUT.run names another run's charge; and its own charge is no ticket for the same command from the start.
exits 0 ledger init --ledger l --dataset late --epsilon-limit 20
late=("${base[@]}" -n 8 -e 3 -q -o q.jsonl --accountant zcdp)
(prlimit --fsize=150 --pid "$BASHPID" && exits 6 "${late[@]}") || exit 1
exits 0 ledger reserve --ledger l --dataset late --rho 0.001
head -1 out >q.jsonl.run
exits 0 "${late[@]}" --ledger l --dataset late
late_once=$(spent late)
awk -v spent="$late_once" 'BEGIN { exit !(spent > 0.1) }' || fail "a run that was continued spent $late_once"
exits 0 ledger history --ledger l --dataset late
grep ' reserve ' out | tail -1 | grep -Eo '[0-9a-f]{32}' | head -1 >q.jsonl.run
[ -s q.jsonl.run ] || fail "the history names no run: $(cat out)"
rm q.jsonl q.receipt.json
exits 0 "${late[@]}" --ledger l --dataset late
[ "$(spent late)" != "$late_once" ] || fail "the same charge paid for a second run"

# A run that a ledger was charged for is not finished without it: its charge would stay open.
exits 0 ledger init --ledger l --dataset kept --epsilon-limit 20
kept=("${base[@]}" -m "$slow" -B 1 -N 4 -n $((2 * held + 100)) -e 3 -o kept.jsonl --accountant zcdp)
begun kept draw "${kept[@]}" --ledger l --dataset kept
kill -TERM $pid
wait $pid
[ $? = 6 ] || fail "a run that was told to stop: $(cat err)"
refused 2 "${kept[@]}"
says err 'kept\.jsonl\.run says that this output was charged in a ledger: give --ledger and --dataset'
exits 0 "${kept[@]}" --ledger l --dataset kept
exits 0 receipt verify kept.receipt.json --output kept.jsonl --ledger l

# What was reserved and never drew can be released; a run that finds that out stops before it shows a token.
exits 0 ledger init --ledger l --dataset free --epsilon-limit 10
free=("${base[@]}" -m "$slow" -n "$held" -e 5 --ledger l --dataset free -o f.jsonl)
begun free reserve "${free[@]}"
kill -STOP $pid
run=$(cat f.jsonl.run)
if "$CUTTLE" ledger release --ledger l --dataset free --run "$run" 2>/dev/null; then
	[ "$(spent free)" = 0.0 ] || fail "released and still charged"
	kill -CONT $pid
	wait $pid
	[ $? = 3 ] || fail "a released run goes on"
	says err 'was released'
	[ ! -e f.jsonl ] || fail "a released run has an output"
else
	kill -CONT $pid
	wait $pid || fail "a stopped run does not go on: $(cat err)"
fi

# Units by key: Anna has both records of the first text, so rho counts four times.
exits 0 ledger init --ledger l --dataset persons --rho-limit 1 --unit-key who
for i in 1 2 3 4; do echo "{\"text\":\"A note.\",\"who\":\"$i\"}"; done >refs.jsonl
exits 0 "${paid[@]}" -o other.jsonl --ledger l --dataset persons --unit-key who --records-per-unit all -q
{
	echo '{"text":"A note of Anna.","who":"Anna"}'
	echo '{"text":"Another note.","who":"Anna"}'
	echo '{"text":"A note of Berta.","who":"Berta"}'
	echo '{"text":"A note of Carla.","who":3}'
} >refs.jsonl
refused 2 "${paid[@]}" -o k.jsonl --ledger l --dataset persons
says err "counts per value of who"
refused 2 "${paid[@]}" -o k.jsonl "${docs[@]}" --unit-key who --records-per-unit all
exits 0 "${paid[@]}" -o k.jsonl --ledger l --dataset persons --unit-key who --records-per-unit all -q
says k.receipt.json '"unit_weight": 4,'
awk -v all="$(spent persons)" -v one="$(sed -n 's/^  "rho": \(.*\),/\1/p' k.receipt.json)" \
	'BEGIN { ratio = all / one; exit !(ratio > 0.999999 && ratio < 1.000001) }' || fail "not the receipt's: $(spent persons)"
refused 3 "${paid[@]}" -o k2.jsonl --ledger l --dataset persons --unit-key who --records-per-unit all
exits 0 receipt verify k.receipt.json --ledger l --output k.jsonl
says out 'counted per value of who: it has the entry'
# The same command on other records paid for one record each: its charge is not enough for four times the rho.
value() { sed -n "s/^    \"$1\": \(.*[^,]\),*\$/\1/p" "$2"; } # the value of a member of the receipt's ledger
says other.receipt.json '"unit_weight": 1,'
sed "s/$(value entry k.receipt.json)/$(value entry other.receipt.json)/" k.receipt.json >edited.json
refused 7 receipt verify edited.json --ledger l
says err 'entry with other numbers'
sed -i "s/^    \"rho\": .*/    \"rho\": $(value rho other.receipt.json)/" edited.json
refused 7 receipt verify edited.json --ledger l
says err 'charged less'

# A person stays one whether a system writes numbers or words: 1 in JSON and 1 in CSV pay together.
exits 0 ledger init --ledger l --dataset numbers --rho-limit 0.2 --unit-key who
for i in 1 2 3 4; do echo "{\"text\":\"A note.\",\"who\":$i}"; done >refs.jsonl
{ echo text,who && for i in 1 2 3 4; do echo "A note.,$i"; done; } >words.csv
exits 0 "${paid[@]}" -o n1.jsonl --ledger l --dataset numbers --unit-key who --records-per-unit all -q
refused 3 "${paid[@]}" -i words.csv -o n2.jsonl --ledger l --dataset numbers --unit-key who --records-per-unit all -q

# A ledger that others write is no damaged one. What stands behind its last page is damage.
exits 0 ledger init --ledger busy --dataset d --rho-limit 10
for _ in {1..40}; do "$CUTTLE" ledger reserve --ledger busy --dataset d --rho 0.001; done >/dev/null &
pid=$!
while kill -0 $pid 2>/dev/null; do exits 0 ledger verify --ledger busy; done
wait $pid
head -c 4096 /dev/zero >>busy
refused 7 ledger verify --ledger busy
says err 'its length is wrong'
