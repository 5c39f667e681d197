#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle sanitize`. It fails if documents are not rewritten or continued as they should be, if a
# wrong span is charged, drawn from or shown, if a charge is not T times the loss at the ledger's
# order, if a receipt can be edited, or if two inputs whose marks have other contents look unlike. It
# fails if a receipt does not say that a sweep or a tagger chose the marks, or states a ceiling then.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
doc() { printf '{"id":"%s","text":"%s","spans":[%s]}\n' "$@"; }
span() { printf '{"start":%d,"end":%d,"entity_type":"%s"}' "$@"; }
# two NAME DATE: two documents with marks of two types, and one without.
two() {
	local n=${#1} d=${#2}
	doc a "To $1: see us on $2." "$(span 3 $((3 + n)) PERSON),$(span $((15 + n)) $((15 + n + d)) DATE)"
	doc b "From $1." "$(span 5 $((5 + n)) PERSON)"
	echo '{"id":7,"text":"Nobody is here.","spans":[]}'
}
two 'Ann Roe' '5 May' >docs.jsonl
base=(sanitize -i docs.jsonl -n 6 --template continue -q)
run=("${base[@]}" -o out.jsonl)

# ---- what is written -----------------------------------------------------------------------------
exits 0 "${run[@]}" -e 4
[ "$(grep -Ec '^\{"id":("a"|"b"|7),"text":".*","tokens":[0-9]+,"ended":"(end|cap)","groups":[01]\}$' out.jsonl)" = 3 ] || fail "lines: $(cat out.jsonl)"
says out.jsonl '^\{"id":7,.*"groups":0\}$'
exits 0 receipt verify out.receipt.json --output out.jsonl --model tiny.gguf
says out '^texts    3 documents, 1 of them without a mark$'
says out 'plus delta = 1e-05'
says out.receipt.json '"mechanism": "dp-fusion"'
# The words of earlier receipts still stand.
former_words() { # RECEIPT FILE
	sed -E 's/Guarantee per document: any event has (at most .* times) the probability it has with all marks blank(, plus delta = [^ ]*)\. The same .* factor is at most (.*), plus delta\. Groups of marks: ([^.]*)\./Guarantee, per document: whatever anyone concludes from the output who knows everything in the document but the contents of all marks (\4), the probability of any event is \1 what it would be with these marks blank\2, and the other way round. With other contents in place of these: \3 times, plus delta./
		s/(say, by [a-z ]*)\. This choice is seen in the public part, and may tell contents\. It is not/\1: this choice is seen in the public part, it may tell contents, and it is not/' "$1" >"$2"
}
oldest_words() { # RECEIPT FILE
	former_words "$1" "$2"
	sed -Ei 's/(all marks \([^)]*\), )(the probability .* would be )with these marks blank/\1they would have concluded nearly as well with these marks blank: \2then/; s/ An epsilon this large promises little\.//' "$2"
}
former_words out.receipt.json former.json
oldest_words out.receipt.json oldest.json
[ "$(grep -l 'nearly as well' ./*.json)" = ./oldest.json ] || fail "the sentence is worded otherwise"
cmp -s former.json out.receipt.json && fail "the sentence is worded otherwise"
exits 0 receipt verify former.json
exits 0 receipt verify oldest.json
rm former.json oldest.json
nothing_left out
exits 0 "${run[@]}" -e 4
! grep 'already complete' err || fail "-q says what is no error"
exits 0 "${run[@]/%-q/--progress=off}" -e 4
says err 'out.jsonl is already complete'
refused 2 "${run[@]}" -e 5
says err "not this command's output; --overwrite replaces it"
exits 0 "${run[@]}" -e 5 --overwrite
edits_noticed out.receipt.json <<'END'
s/"epsilon": 5.0/"epsilon": 4.0/
s/"epsilon_exchange": [0-9.]*/"epsilon_exchange": 1.0/
s/"cap": [0-9.e-]*/"cap": 0.0001/
s/"tokens": 6/"tokens": 5/
s/"delta": [0-9.e-]*/"delta": 1e-9/
s/"documents": 3/"documents": 4/
s/"mix": "all"/"mix": "average"/
s/e^5 = 149/e^4 = 55/
s/"private": true/"private": false/
s/"recovery_ceiling_5": 1.0/"recovery_ceiling_5": 0.25/
s/"adjacency": "the contents of all/"adjacency": "the contents of some/
END
exits 0 ledger key --sign k
exits 0 "${run[@]}" -e 6 --overwrite --sign k
exits 0 receipt verify out.receipt.json --key k.pub
sed 's/"top/"top/; s/"sweep": true/"sweep": false/' out.receipt.json >edited.json
refused 7 receipt verify edited.json --key k.pub
exits 0 "${base[@]}" -o - -e 4
[ "$(wc -l <out)" = 3 ] || fail "standard output: $(cat out)"
exits 0 "${base[@]}" -i - -o - -e 4 <docs.jsonl
rm out.*

# Groups, and what each of them costs.
groups=(--group NAMES=PERSON --group DATE)
exits 0 "${base[@]}" --dry-run -e 4 --mix average "${groups[@]}"
says out '^2 of 2 groups marked, as in 1 documents: '
says out '^  NAMES +[0-9.]+ +4 +[0-9.]+ '
says out '^charge +[0-9.]+ per document, a Renyi loss at order [0-9]+$'
says out '^memory '
exits 0 "${base[@]}" --dry-run -e 4 --mix all "${groups[@]}"
says out '^  NAMES +- +- +[0-9.]+ ' # one group alone has no epsilon of blanking with the others shown
says out '^  all groups together +[0-9.]+ +4 '
refused 2 "${run[@]}" -e 4 --group PERSON:2
says err 'mix average only'
exits 0 "${run[@]}" --mix average --group PERSON:2 --group DATE:3
says out.receipt.json '"epsilon": 3.0,'
exits 0 receipt verify out.receipt.json
rm out.*
for ((i = 0; i < 17; i++)); do many+=(--group "T$i"); done
refused 2 "${run[@]}" -e 4 "${many[@]}"
says err '\-\-group: is given too often'
exits 0 "${base[@]}" --dry-run -e 400 --mix average "${many[@]:2}"
mapfile -t names < <(seq 10000)
refused 2 "${run[@]}" -e 4 --group "N=$(IFS=, && echo "${names[*]}")"
says err 'more than 256 types'
exits 0 "${run[@]}" --divergence 0.01 --alpha 2 --mix capped --leave DATE --placeholder '<{type}>' --paper -n 5
says out.receipt.json '"delta": 0.001'
says out.receipt.json '"candidates": 0,'
exits 0 receipt verify out.receipt.json
rm out.*
refused 2 "${run[@]}"
says err 'missing: -e EPS or --divergence C'
refused 2 "${run[@]}" -e 4 --divergence 1
refused 2 "${run[@]}" -e 4 --placeholder ''
refused 2 "${run[@]}" -e 4 --alpha 17
refused 2 "${run[@]}" -e 4 --mix capped --alpha 3
refused 2 "${run[@]}" -e 4 --hide-other --leave DATE
printf 'Nothing to fill in' >asked
refused 2 "${run[@]}" -e 4 --instruction asked
says err '\{document\}'

# ---- continued after a stop at any token ---------------------------------------------------------
seeded=(--divergence 2 --insecure-seed 1 --mix average "${groups[@]}")
exits 0 "${base[@]}" -o whole.jsonl "${seeded[@]}"
[ "$(grep -c 'NOT PRIVATE' whole.jsonl)" = 3 ] || fail "a line is not stamped"
refused 4 receipt verify whole.receipt.json
says err 'NOT PRIVATE'
stops=0
for ((size = 120; size < 900; size += $(short && echo 51 || echo 17))); do
	(
		prlimit --fsize=$size --pid "$BASHPID"
		"$CUTTLE" "${run[@]}" "${seeded[@]}" >stopped 2>&1
	)
	code=$?
	[ $code = 0 ] || [ $code = 6 ] || [ $code = 2 ] || fail "a full disk ends with $code: $(cat stopped)"
	if [ -e out.jsonl.journal ] && [ "$(wc -l <out.jsonl.journal)" -gt 1 ]; then
		stops=$((stops + 1))
		two 'Bob Roe' '5 May' >other.jsonl
		[ $stops -gt 2 ] || {
			cp docs.jsonl kept
			cp other.jsonl docs.jsonl
			refused 2 "${run[@]}" "${seeded[@]}"
			says err 'the input is not the one this output was begun with'
			sed 's/"start":5/"start":6/' kept >docs.jsonl
			refused 2 "${run[@]}" "${seeded[@]}"
			says err 'the input is not the one this output was begun with'
			cp kept docs.jsonl
		}
	fi
	exits 0 "${run[@]}" "${seeded[@]}"
	same out.jsonl whole.jsonl "other texts after a stop at $size bytes"
	same out.receipt.json whole.receipt.json "another receipt after a stop at $size bytes"
	nothing_left out
	rm out.*
done
[ $stops -gt 5 ] || fail "only $stops runs were stopped half-way"
for more in "--parallel 1" "-t 1" "--isa scalar"; do
	# shellcheck disable=SC2086 # an option and its value
	exits 0 "${run[@]}" "${seeded[@]}" $more
	same out.jsonl whole.jsonl "other texts with $more"
	rm out.*
done

# ---- wrong documents -----------------------------------------------------------------------------
exits 0 ledger init --ledger l --dataset d --measure rdp --order 2 --epsilon-limit 30 --delta 1e-5
exits 0 ledger export --ledger l
cp out before
counted=(--divergence 0.1 --alpha 2 --ledger l --dataset d)
# wrong RULE LINE: the line, behind a good one, is refused by this rule, with nothing shown, charged or left.
wrong() {
	{
		head -1 docs.jsonl
		if [ "$2" = @long ]; then cat long; else printf '%s\n' "$2"; fi
	} >wrong.jsonl
	refused 4 "${run[@]}" -i wrong.jsonl "${counted[@]}" "${@:3}"
	says err "^cuttle sanitize: wrong\.jsonl: line 2: .*$1"
	grep -qi sesame err && fail "the error shows the text: $(cat err)"
	compgen -G 'out.*' && fail "a refused run left something"
	exits 0 ledger export --ledger l
	same out before "a refused run was charged"
}
t=Sesame
wrong 'not a JSON object' "$t"
wrong 'no text in the member' '{"spans":[]}'
wrong 'it has no spans' "{\"text\":\"$t\"}"
wrong 'its spans are not a list' "{\"text\":\"$t\",\"spans\":7}"
wrong 'not UTF-8' "$(printf '{"text":"%s\xff","spans":[]}' $t)"
wrong 'its id is neither' "{\"id\":1.5,\"text\":\"$t\",\"spans\":[]}"
wrong 'its end is not behind' "$(doc x $t "$(span 3 3 T)")"
wrong 'its end is not behind' "$(doc x $t "$(span 4 3 T)")"
wrong 'span 2: it goes beyond' "$(doc x $t "$(span 0 1 T),$(span 0 7 T)")"
wrong 'below 0' "$(doc x $t "$(span -1 3 T)")"
wrong 'not an integer' "{\"text\":\"$t\",\"spans\":[{\"start\":0.5,\"end\":2,\"type\":\"T\"}]}"
wrong 'is missing' "{\"text\":\"$t\",\"spans\":[{\"start\":0,\"type\":\"T\"}]}"
wrong 'it has no type' "{\"text\":\"$t\",\"spans\":[{\"start\":0,\"end\":2}]}"
wrong 'its types contradict' "{\"text\":\"$t\",\"spans\":[{\"start\":0,\"end\":2,\"type\":\"T\",\"label\":\"U\"}]}"
wrong 'not what stands there' "{\"text\":\"$t\",\"spans\":[{\"start\":0,\"end\":2,\"type\":\"T\",\"text\":\"xx\"}]}"
wrong 'contradicts start or end' "{\"text\":\"$t\",\"spans\":[{\"start\":0,\"end\":2,\"type\":\"T\",\"byte_end\":3}]}"
wrong 'inside a character' "$(doc x 'Sésame' "$(span 2 3 T)")" --offsets bytes
wrong 'the document has .* and may have' "{\"text\":\"$(head -c 9000 /dev/zero | tr '\0' s)\",\"spans\":[]}"
wrong 'the document has .* tokens and may have' "{\"text\":\"$(head -c 3000 /dev/zero | tr '\0' s)\",\"spans\":[]}"
{ printf '{"text":"' && head -c 17000000 /dev/zero | tr '\0' s && echo '"}'; } >long
wrong 'more than 16 MiB' @long
rm long
: >empty
refused 4 "${run[@]}" -i empty "${counted[@]}"
says err 'there is no document in it'
refused 4 "${run[@]}" -e 4 --unit-key who
says err "line 1: it does not say whose it is"
refused 4 "${run[@]}" -i nowhere -e 4
# Seven types with unlike epsilons, and a document for each set of them.
own=()
for ((i = 0; i < 7; i++)); do own+=(--group "T$i:$((20 + i))"); done
for ((set = 1; set < 128; set++)); do
	marks=
	for ((i = 0; i < 7; i++)); do
		((set >> i & 1)) && marks+=${marks:+,}$(span $i $((i + 1)) T$i)
	done
	doc $set abcdefg "$marks"
done >sets.jsonl
exits 0 ledger init --ledger l --dataset wide --measure rdp --order 2 --epsilon-limit 99 --delta 1e-5
exits 0 ledger export --ledger l
cp out before
refused 2 "${run[@]}" -i sets.jsonl --no-sweep --mix average --alpha 2 "${own[@]}" --ledger l --dataset wide
says err 'more than 64 sets of groups with unlike epsilons'
compgen -G 'out.*' && fail "a refused run left something"
exits 0 ledger export --ledger l
same out before "a run with too many sets of groups was charged"
refused 2 "${base[@]}" -i sets.jsonl --no-sweep --mix average --alpha 2 "${own[@]}" --dry-run
head -64 sets.jsonl >some.jsonl
exits 0 "${base[@]}" -i some.jsonl --no-sweep --mix average --alpha 2 "${own[@]}" --dry-run
# A line as long as a disk, and more spans than anybody tags.
large() { printf '{"text":"' && head -c "$1" /dev/zero | tr '\0' s && echo '"}'; }
gigabyte=1000000000
short && gigabyte=50000000
# AddressSanitizer takes terabytes of address space.
space=4000000
nm "$CUTTLE" 2>/dev/null | grep -q __asan_init && space=unlimited
(ulimit -v $space && refused 4 "${run[@]}" -i <(large $gigabyte) -e 4) || exit 1
says err 'line 1: it has more than 16 MiB'
spans=1000000
short && spans=100000
{
	printf '{"text":"Anna","spans":['
	seq -s, $spans | sed 's/[0-9]*/{"start":0,"end":1,"type":"T"}/g' | tr -d '\n'
	echo ']}'
} >many.jsonl
"$CUTTLE" "${run[@]}" -i many.jsonl -e 4 >out 2>err
case $? in
0) rm out.* ;;
4) says err 'line 1: ' ;;
*) fail "many spans: $(cat err)" ;;
esac

# ---- another program tags ------------------------------------------------------------------------
echo '{"id":1,"text":"Call 192.0.2.7 for Zed"}' >plain.jsonl
refused 4 "${run[@]}" -i plain.jsonl -e 4
says err 'it has no spans'
exits 0 "${run[@]}" -i plain.jsonl -e 4 --tagger rules
says out.receipt.json "\"tagger\": \"whoever made the documents' spans, rules [0-9]+\""
says out.jsonl '"groups":1\}$'
rm out.*
echo Zed >names
exits 0 "${run[@]}" -i plain.jsonl -e 4 --names names
says out.jsonl '"groups":1\}$'
rm out.*
printf '#!/bin/sh\nread -r line\nexit 3\n' >bad
chmod +x bad
refused 4 "${run[@]}" -i plain.jsonl "${counted[@]}" --tagger ./bad
says err 'the tagger at line 1: it ended'
exits 0 ledger export --ledger l
same out before "a failed tagger was charged for"

# ---- the ledger ----------------------------------------------------------------------------------
exits 0 "${base[@]}" "${counted[@]}" --dry-run
charge=$(sed -nE 's/^charge +([0-9.]+) per.*/\1/p' out)
[ "$charge" = 0.6 ] || [ "$charge" = 0.600001 ] || fail "6 tokens at 0.1 are charged $charge"
exits 0 "${run[@]}" "${counted[@]}"
exits 0 receipt verify out.receipt.json --ledger l --output out.jsonl
says out '^ledger   counted per line: it has the entry$'
edits_noticed out.receipt.json <<'END'
s/"loss": 0.[0-9]*/"loss": 0.5/
s/"dataset": "d"/"dataset": null/
END
exits 0 ledger show --ledger l --dataset d --json
says out '"loss_spent":0\.6[0-9]*,.*"runs":1}'
exits 0 "${run[@]}" "${counted[@]}"
! grep 'already complete' err || fail "-q says what is no error"
exits 0 "${run[@]/%-q/--progress=off}" "${counted[@]}"
says err 'is already complete'
rm out.*
exits 0 "${run[@]}" "${counted[@]}"
exits 0 ledger show --ledger l --dataset d --json
says out '"loss_spent":1\.2[0-9]*,.*"runs":2}'
rm out.*
refused 3 "${run[@]}" --divergence 9 --alpha 2 --ledger l --dataset d
says err 'loss asked'
refused 2 "${run[@]}" --divergence 0.1 --alpha 3 --ledger l --dataset d
says err 'counts Renyi losses at order 2, and this is charged in Renyi losses at order 3'
exits 0 ledger init --ledger l --dataset rho --rho-limit 9
refused 2 "${run[@]}" --divergence 0.1 --alpha 2 --ledger l --dataset rho
says err 'counts rho of zCDP'
compgen -G 'out.*' && fail "a refused run left something"
# Owners: two documents of one cost it twice the loss.
exits 0 ledger init --ledger l --dataset people --measure rdp --order 2 --epsilon-limit 30 --delta 1e-5 --unit-key who
sed 's/^{/{"who":7,/' docs.jsonl >owned.jsonl
owned=("${run[@]}" -i owned.jsonl --divergence 0.1 --alpha 2 --ledger l --dataset people --unit-key who)
exits 0 "${owned[@]}" --dry-run --json
loss=$(sed -E 's/.*"loss":([0-9.e-]*),.*/\1/' out) command=$(sed -E 's/.*"command_sha256":"([0-9a-f]*)".*/\1/' out)
refused 2 "${owned[@]}" --approved "$command:0.9"
says err "not what was approved: the charge would be $loss"
# A number is the text of its digits: 7 and "7" are one owner, and pay for all of their documents.
sed '1s/"who":7/"who":"7"/' owned.jsonl >both.jsonl
cmp -s both.jsonl owned.jsonl && fail "no owner is a string"
exits 0 "${owned[@]}" -i both.jsonl --dry-run --json
says out "\"loss\":${loss//./\\.},"
exits 0 "${owned[@]}" --approved "$command:$loss"
says out.receipt.json "\"loss\": $loss"
exits 0 receipt verify out.receipt.json --ledger l
exits 0 ledger show --ledger l --dataset people --json
says out '"loss_spent":1\.8[0-9]*,.*"runs":1}'
rm out.*
# Where nothing is marked, nothing is charged.
tail -1 docs.jsonl >none.jsonl
exits 0 "${run[@]}" -i none.jsonl "${counted[@]}"
says out.receipt.json 'No document has a mark'
exits 0 receipt verify out.receipt.json
exits 0 ledger show --ledger l --dataset d --json
says out '"runs":2}'
rm out.*

# ---- two inputs look alike -----------------------------------------------------------------------
# world NAME PERSON DATE OPTION...: the run in a folder of its own; all that can be seen of it is there.
world() {
	rm -rf "$1" && mkdir "$1"
	two "$2" "$3" >"$1.in"
	(
		cd "$1" || exit
		cp "../$1.in" docs.jsonl
		"$CUTTLE" sanitize -m ../tiny.gguf -i docs.jsonl -o out.jsonl -n 6 --template continue --insecure-seed 3 "${@:4}" >out 2>err
		echo $? >code
		rm docs.jsonl
		stat -c '%n %s %a' -- * >files
	)
}
alike() { diff -r one two >differs || fail "$1: $(head -5 differs)"; }
for mix in "--mix all" "--mix average --group PERSON --group DATE"; do
	read -r -a options <<<"$mix --divergence 1e-9"
	world one 'Ann Roe' '5 May' "${options[@]}"
	[ "$(cat one/code)" = 0 ] || fail "$(cat one/err)"
	for person in B 'Quite Another Person of a Longer Name' 'Zoë' "$(head -c 5000 /dev/zero | tr '\0' x)" "$(head -c 200000 /dev/zero | tr '\0' x)"; do
		world two "$person" '5 May' "${options[@]}"
		alike "$mix, a content of ${#person} characters"
	done
done
# A mark of a type in no group is never shown, whatever may be drawn. Nor is a context that does not fit.
world one 'Ann Roe' '5 May' --divergence 5 --mix average --group PERSON
world two 'Ann Roe' 'the day after yesterday' --divergence 5 --mix average --group PERSON
alike "the type in no group"
world one "$(head -c 200000 /dev/zero | tr '\0' x)" '5 May' --divergence 5 --mix average --group PERSON
world two "$(head -c 300000 /dev/zero | tr '\0' y)" '5 May' --divergence 5 --mix average --group PERSON
alike "a context that does not fit"
world two 'Ann Roe' '5 May' --divergence 5 --mix average --group PERSON
cmp -s one/out.jsonl two/out.jsonl && fail "the contents of marks say nothing at all"

# ---- equal spans, other contents: what is counted and told -----------------------------------------
# These runs draw at random, so that their model must be finite whatever is drawn.
make_tiny finite
# counted FOLDER TEXT SPANS OPTION...: a run that a ledger counts. What is public of it stays in the folder; what is drawn does not.
counted() {
	rm -rf "$1" && mkdir "$1"
	(
		cd "$1" || exit
		doc x "$2" "$3" >docs.jsonl
		exits 0 ledger init --ledger l --dataset d --measure rdp --order 4 --epsilon-limit 90 --delta 1e-5
		"$CUTTLE" sanitize -m ../tiny.gguf -i docs.jsonl -o out.jsonl -n 6 --template continue --alpha 4 --ledger l --dataset d "${@:4}" >said 2>told ||
			fail "$(cat told)"
		exits 0 ledger show --ledger l --dataset d --json
		mv out shown
		sed 's/"text":.*"groups"/"groups"/' out.jsonl >groups
		sed -E 's/"(output_sha256|entry)": "[0-9a-f]+"/"\1": ""/' out.receipt.json >receipt
		exits 0 receipt verify out.receipt.json --ledger l
		mv out promise
		rm -f docs.jsonl out.jsonl out.receipt.json l* err
	) || fail "counted: $2"
}
victoria="$(span 0 8 PERSON),$(span 24 32 LOCATION)"
average=(--mix average --group PERSON:8 --group LOCATION:8)
counted one 'Victoria was treated in Victoria last week.' "$victoria" "${average[@]}"
counted two 'Veronica was treated in Victoria last week.' "$victoria" "${average[@]}"
alike "a content that stands in two groups, swept"
says one/groups '"groups":2\}'
says one/receipt '"epsilon": 8\.0,'
says one/receipt '"marks_chosen": "by the sweep"'
says one/receipt 'chosen by what they say, by the sweep\. This choice is seen .* It is not covered, so no ceiling of guessing is stated'
says one/promise 'Secrecy of which words are marked: they were chosen by what they say, by the sweep'
grep -q '"loss_spent":0,' one/shown && fail "two groups are charged nothing: $(cat one/shown)"
# one of a list is tagged, and the sweep takes it out of the list: the receipt states no ceiling, and does without a sweep.
staff='was tested positive. The staff on the ward are Anna, Berta, Clara, Doris and Emma.'
for name in Anna Doris; do
	counted one "$name $staff" "$(span 0 ${#name} PERSON)" --divergence 1e-5
	says one/receipt '"recovery_ceiling_5": 1\.0'
	says one/told 'no ceiling of guessing is stated'
	grep -q 'the true one' one/receipt one/told && fail "a ceiling is stated: $(cat one/told)"
	counted two "$name $staff" "$(span 0 ${#name} PERSON)" --divergence 1e-5 --no-sweep
	says two/receipt 'which of five equally likely contents is the true one: at most 0\.[0-9]'
	grep -q marks_chosen two/receipt && fail "marks are called chosen: $(cat two/receipt)"
	grep -q 'which words are marked' two/promise && fail "marks are called chosen: $(cat two/promise)"
done
echo Anna >names
counted one "Anna $staff" "$(span 0 4 PERSON)" --divergence 1e-5 --no-sweep --names ../names
says one/receipt '"marks_chosen": "by a tagger"'
counted one "Anna $staff" "$(span 0 4 PERSON)" --divergence 1e-5 --tagger rules
says one/receipt '"marks_chosen": "by a tagger and the sweep"'
# A receipt with a sweep that does not say who chose is of an older cuttle, in its words. It is read, and told what it does
# not bound.
exits 0 "${base[@]}" -o out.jsonl --divergence 1e-5 --alpha 4 --no-sweep
sed 's/"sweep": false/"sweep": true/' out.receipt.json >edited.json
refused 7 receipt verify edited.json --output out.jsonl
says err 'does not say that the sweep chose marks'
former_words edited.json old.json
refused 7 receipt verify old.json --output out.jsonl
oldest_words edited.json old.json
exits 0 receipt verify old.json --output out.jsonl
says out 'A ceiling of guessing, .*: an older cuttle wrote this'
exits 0 receipt verify out.receipt.json --output out.jsonl
grep -q 'an older cuttle' out && fail "a receipt of spans as given is called old"
rm out.*
# each SETTING: pairs of contents, other ones and of other lengths. Overlapping spans, and types that no group has.
each() {
	local pair a b c sweep
	for pair in 'Victoria|Ann|Bo' 'Victoria|Victoria|Victoria' 'Ann|Ann Roe|ANN'; do
		IFS='|' read -r a b c <<<"$pair"
		for sweep in --no-sweep --sweep; do
			counted two "$a saw $b at $c, Victoria." \
				"$(span 0 ${#a} PERSON),$(span $((${#a} + 5)) $((${#a} + 5 + ${#b})) LOCATION),$(span $((${#a} + 5)) $((${#a} + 6)) PERSON),$(span $((${#a} + 9 + ${#b})) $((${#a} + 9 + ${#b} + ${#c})) DATE)" \
				"$sweep" "$@"
			[ -e "first$sweep" ] || mv two "first$sweep"
			[ ! -e two ] || { diff -r "first$sweep" two >differs || fail "$* $sweep, $pair: $(head -5 differs)"; }
		done
	done
	rm -rf first--no-sweep first--sweep
}
each -e 4
each -e 4 --leave DATE
short || each -e 4 --mix average --group PERSON --group DATE
short || each -e 4 --mix all --group ALL=PERSON,LOCATION,DATE
each --mix average --group PERSON:5 --group LOCATION:7 --group DATE:6
# What the model is shown of the public is the same, too, where nothing is swept.
for contents in 'Victoria|Victoria' 'Ann|Victoria' 'Victoria|Another One of Them'; do
	a=${contents%|*} b=${contents#*|}
	world two "$a" "$b" --divergence 1e-9 --no-sweep --mix average --group PERSON --group DATE
	[ -e first ] || mv two first
	[ ! -e two ] || { diff -r first two >differs || fail "$contents: $(head -5 differs)"; }
done
coreless sanitize -i - -o core.jsonl -n 6 -e 4 --template continue
