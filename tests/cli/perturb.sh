#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle perturb`. It fails if a record is lost, moved or named because of what is in it, if a word
# that was journalled is drawn again, if a padded text shows how long it was, if a charge is not that of
# N words, if a baseline is called private or is counted, or if a receipt can be edited.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
unset CUTTLE_MODEL
# Words of one length, so that sizes do not follow from draws: waaa, waab ... with vectors on a spiral.
letters=({a..f})
for ((i = 0; i < 60; i++)); do
	echo "w${letters[i % 6]}${letters[i / 6 % 6]}${letters[i / 36]} 0.$((i % 7))1 -0.$((i % 5))2 0.$((i % 11))3 $((i % 3)).$i"
done >glove.txt
exits 0 words --vectors glove.txt --format glove -o w.cw
cut -d' ' -f1 glove.txt >list
cat >docs.jsonl <<'END'
{"id":7,"who":"a","text":"Waaa's waab (Dr. WAAC) saw 3.5 waad,\nand waae!"}
{"id":"x","who":"b","text":""}
no JSON at all
{"id":8,"who":"a","text":"waba wabb"}
END
base=(perturb --words w.cw -i docs.jsonl -k 3 -q)
run=("${base[@]}" -o out.jsonl)
padded=(-N 5 --pad)

# ---- what is written -----------------------------------------------------------------------------
word='w[a-f]{3}'
exits 0 "${run[@]}"
[ "$(indices out.jsonl)" = '0 1 2 3' ] || fail "lines: $(cat out.jsonl)"
says out.jsonl "^\{\"index\":0,\"text\":\"$word( $word){8}\",\"words\":9,\"method\":\"rank\"\}$"
[ "$(grep -c '"text":"","words":0,' out.jsonl)" = 2 ] || fail "records without words: $(cat out.jsonl)"
exits 0 receipt verify out.receipt.json --output out.jsonl --words w.cw
says out 'A whole text of n words: n times 6. The number of words is public.'
says out.receipt.json '"epsilon_text": null'
# Where the number of words is public none becomes none; earlier receipts say it otherwise, and hold.
says out.receipt.json '"adjacency": "one word of a record becomes any other word; how many there are is public"'
sed -E 's/(Guarantee per word: )any event has (at most )(.*) times the probability .* this factor\. That is ([0-9.]*-local differential privacy), and exact\./\1whoever sees the perturbed texts and already knows every other word can change the odds between any two words at one place by \2a factor \3 (\4, exact)./' \
	out.receipt.json >former.json
sed 's/any other word; how many there are is public/any other word, or none/' former.json >oldest.json
for words in out.receipt former oldest; do
	exits 0 receipt verify $words.json
	sed 's/; how many there are is public//; s/, or none//' $words.json >edited.json
	refused 7 receipt verify edited.json
done
# The oldest adjacency does not go with today's sentence.
sed 's/any other word; how many there are is public/any other word, or none/' out.receipt.json >edited.json
refused 7 receipt verify edited.json
rm former.json oldest.json edited.json
nothing_left out
exits 0 "${run[@]}"
! grep 'already complete' err || fail "-q says what is no error"
exits 0 "${run[@]/%-q/--progress=off}"
says err 'out.jsonl is already complete'
refused 2 "${run[@]}" -e 5
says err "not this command's output; --overwrite replaces it"
exits 0 "${run[@]}" -e 0.5 "${padded[@]}" --overwrite
[ "$(grep -Ec "\"text\":\"$word( $word){4}\",\"words\":5,\"method\":\"rank\"}$" out.jsonl)" = 4 ] || fail "padded lines: $(cat out.jsonl)"
says out.receipt.json '"epsilon_text": 2.5'
says out.receipt.json 'Per record of at most 5 words: 2.5-local'
exits 0 receipt verify out.receipt.json --output out.jsonl
edits_noticed out.receipt.json <<'END'
s/"epsilon_text": 2.5/"epsilon_text": 2.0/
s/"epsilon_word": 0.5/"epsilon_word": 0.1/
s/"epsilon_millionths": 500000/"epsilon_millionths": 400000/
s/"first": "1/"first": "2/
s/"last": "1/"last": "2/
s/"total": "6/"total": "5/
s/"k": 3/"k": 2/
s/"V": 60/"V": 61/
s/"words": 60/"words": 61/
s/"kind": "step"/"kind": "envelope"/
s/"method": "rank"/"method": "santext"/
s/"pad": true/"pad": false/
s/"keep_numbers": false/"keep_numbers": true/
s/"record_words": 5/"record_words": 4/
s/"records": 4/"records": 0/
s/"id_field": null/"id_field": "id"/
s/The number of words is hidden/Nothing is hidden/
s/"private": true/"private": false/
s/"adjacency": "a record/"adjacency": "a word/
s/"ledger": null/"ledger": {}/
s/"words_sha256": "./"words_sha256": "x/
END
refused 7 receipt verify out.receipt.json --words glove.txt
# By its ending the output is CSV, with the same members; a cell that a spreadsheet would run is told.
printf '{"text":"-waba, \\"wabb\\"","key":"a,b"}\n{"text":"wabc","key":7}\nnot JSON\n' >cells.jsonl
exits 0 perturb --words w.cw -i cells.jsonl -k 3 -o p.csv --id-field key --keep punctuation
says err '^Warning: 1 lines have a cell that begins with =, '
[ "$(head -1 p.csv)" = $'index,id,text,words,method\r' ] || fail "header: $(head -1 p.csv)"
says p.csv "^0,\"a,b\",\"-$word, \"\"$word\"\"\",2,\"rank\"$(printf '\r')$"
says p.csv "^1,7,\"$word\",1,\"rank\"$(printf '\r')$"
says p.csv "^2,,\"\",0,\"rank\"$(printf '\r')$"
[ "$(wc -l <p.csv)" = 4 ] || fail "lines: $(cat p.csv)"
exits 0 receipt verify p.receipt.json --output p.csv
# So it is in any other column.
printf '{"text":"waba","key":"%s"}\n' '=1' '+1' '@1' '\t1' '\r1' 'a=1' '' '-' >cells.jsonl
exits 0 perturb --words w.cw -i cells.jsonl -k 3 -o q.csv --id-field key
says err '^Warning: 6 lines have a cell that begins with =, '
refused 2 perturb --words w.cw -i cells.jsonl -k 3 -o p.xlsx
says err "^cuttle perturb: -o p.xlsx: by its ending it would be a workbook, which cuttle does not write"
rm p.* q.*
exits 0 ledger key --sign k
exits 0 "${run[@]}" --overwrite --sign k
exits 0 receipt verify out.receipt.json --key k.pub
sed 's/"vector": [0-9]*/"vector": 9/' out.receipt.json >edited.json
refused 7 receipt verify edited.json --key k.pub
exits 0 "${base[@]}" -o -
[ "$(wc -l <out)" = 4 ] || fail "standard output: $(cat out)"
exits 0 "${base[@]}" -i - -o - <docs.jsonl
exits 0 "${base[@]}" -i <(cat docs.jsonl) -o -
printf 'who,text\na,waaa waab\n' >docs.csv
exits 0 "${base[@]}" -i docs.csv -o -
says out '"words":2,'
rm out.*
exits 0 "${base[@]}" --dry-run -N 5 --pad -e 6
says out '^a text +5 words cost 30$'
says out '^charge +rho 30 per record$'
says out '^P\(in k\) +0\.[0-9]+ with k = 3$'
says out '^P\(unchanged\) +0\.[0-9]+$'
says out '^best k +[0-9]+ '
says out '^output +4 lines, of 5 words each$'
exits 0 "${base[@]}" --dry-run -e 6
says out '^a text +n words cost n times 6$'
compgen -G 'out.*' && fail "a dry run wrote something"

# What is declared public.
exits 0 "${run[@]}" --keep punctuation --keep numbers --id-field id
says out.jsonl "^\{\"index\":0,\"id\":7,\"text\":\"$word $word \($word\. $word\) $word [0-9]{1,4} $word,.n$word $word!\",\"words\":9,"
says out.jsonl '^\{"index":1,"id":"x","text":"",'
says out.jsonl '^\{"index":2,"text":"",'
says out.receipt.json 'Declared public: punctuation and line breaks. Declared public: which places are numbers. Declared public: the ids.'
exits 0 receipt verify out.receipt.json
rm out.*
grep -q '"id"' <("$CUTTLE" "${base[@]}" -o - 2>/dev/null) && fail "an id goes out that nobody declared public"

# ---- baselines -----------------------------------------------------------------------------------
echo waab >stop
base=(perturb --words w.cw -i docs.jsonl -q)
for method in rantext santext "santext+ --sensitive list" custext "custext+ --stop-words stop"; do
	# shellcheck disable=SC2086 # a method and its list
	exits 0 "${base[@]}" -o out.jsonl --method $method
	[ "$(grep -c '"note":"NO GUARANTEE"}$' out.jsonl)" = 4 ] || fail "$method: a line is not stamped: $(cat out.jsonl)"
	says out.receipt.json '"private": false'
	says out.receipt.json '"epsilon_word": null'
	refused 4 receipt verify out.receipt.json
	edits_noticed out.receipt.json <<-'END'
		s/"private": false/"private": true/
		s/"note": "NO GUARANTEE"/"note": "GUARANTEE"/
		s/"epsilon_word": null/"epsilon_word": 6.0/
	END
	rm out.*
done
exits 0 "${base[@]}" -o out.jsonl --method custext+ --stop-words stop
says out.jsonl '^\{"index":0,"text":"waaa.s waab dr '
rm out.*

# ---- what is refused -----------------------------------------------------------------------------
# wrong CODE RULE OPTION...
wrong() {
	refused "$1" "${base[@]}" -o out.jsonl "${@:3}"
	says err "$2"
	compgen -G 'out.*' && fail "a refused run left something: ${*:3}"
}
for epsilon in 0 -1 64.000001 1e9 0.0000001 1.23456789 nan; do wrong 2 'epsilon' -e "$epsilon"; done
wrong 2 '"0" is not a whole number from 1' -k 0
wrong 2 'k = 60 must be from 1 to 59' -k 60
wrong 2 'the envelope has no k' -k 3 --table envelope
wrong 2 '"0" is not a whole number from 1' -N 0
wrong 2 '\-\-pad needs -N' --pad
wrong 2 '\-\-keep shows it' -N 5 --pad --keep numbers
wrong 2 'must be punctuation or numbers' --keep words
wrong 2 'proven guarantees only' --ledger l --dataset d
wrong 2 'proven guarantees only' --ledger l --dataset d -N 5
wrong 2 'proven guarantees only' --ledger l --dataset d -N 5 --pad --method santext
wrong 2 'needs --dataset' --ledger l -N 5 --pad
wrong 2 'for --method rank' --method santext --table step
wrong 2 'for --method rank and custext' --method santext -k 3
wrong 2 'for --method rantext' --list-share 0.1
wrong 2 'for --method rantext' --radius paper
wrong 2 'exclude each other' --method rantext --radius paper --list-share 0.1
wrong 2 'for --method santext\+' --keep-share 0.1
wrong 2 'go together' --method santext+
wrong 2 'go together' --stop-words stop
wrong 2 '' --method rantext --list-share 1
wrong 2 '' --method santext+ --sensitive list --keep-share 1.1
wrong 2 '' --method custext -k 1
wrong 2 'same file' --method santext+ --sensitive docs.jsonl
wrong 2 'same file' -i w.cw
wrong 4 'cannot read' --words nowhere
wrong 4 '' --words docs.csv
wrong 4 '' --words list
head -c 500 w.cw >torn.cw
wrong 4 '' --words torn.cw
printf 'Waaa\r\n\nwaab waac\n' >two_words
wrong 4 'line 3 is not one word' --method custext+ --stop-words two_words
wrong 4 'line 1 is not one word' --method custext+ --stop-words glove.txt
: >empty
wrong 4 'there is no word in it' --method custext+ --stop-words empty
wrong 4 'there is no record in it' -i empty
wrong 4 'cannot read' -i nowhere
refused 2 perturb
says err 'missing: --words WORDS, -i TEXTS, -o OUT; for example: cuttle perturb --words'

# ---- continued after a stop at any word ----------------------------------------------------------
# stopped SIZE OPTION...: the run, which may write files of at most so many bytes. True: it was stopped.
stopped() {
	(
		prlimit --fsize="$1" --pid "$BASHPID"
		"$CUTTLE" "${@:2}" >stopped 2>&1
	)
	local code=$?
	[ $code = 0 ] || [ $code = 6 ] || [ $code = 2 ] || fail "a full disk ends with $code: $(cat stopped)"
	[ -e out.jsonl.journal ] && [ "$(wc -l <out.jsonl.journal)" -gt 1 ]
}
step=13
short && step=41
for options in "-N 5 --pad" "--keep punctuation"; do
	read -r -a more <<<"$options"
	seeded=("${more[@]}" --insecure-seed 1)
	exits 0 "${base[@]}" -o whole.jsonl "${seeded[@]}"
	[ "$(grep -c 'NOT PRIVATE' whole.jsonl)" = 4 ] || fail "a line is not stamped"
	refused 4 receipt verify whole.receipt.json
	says err 'NOT PRIVATE'
	stops=0
	for ((size = 120; size < 800; size += step)); do
		if stopped $size "${base[@]}" -o out.jsonl "${seeded[@]}"; then
			stops=$((stops + 1))
			[ $stops -gt 2 ] || {
				cp docs.jsonl kept
				sed 's/wabb/wabc/' kept >docs.jsonl
				refused 2 "${base[@]}" -o out.jsonl "${seeded[@]}"
				says err 'the input is not the one this output was begun with'
				cp kept docs.jsonl
			}
		fi
		exits 0 "${base[@]}" -o out.jsonl "${seeded[@]}"
		same out.jsonl whole.jsonl "other texts after a stop at $size bytes"
		same out.receipt.json whole.receipt.json "another receipt after a stop at $size bytes"
		nothing_left out
		rm out.*
	done
	[ $stops -gt 5 ] || fail "only $stops runs were stopped half-way"
	rm whole.*
done
# Without a seed: what was journalled stays, through several stops, and is what goes out.
rm -f out.*
for ((size = 200; size < 900; size += 23)); do
	[ ! -e out.jsonl.journal ] || cp out.jsonl.journal before
	stopped $size "${base[@]}" -o out.jsonl "${padded[@]}" || break
	[ ! -e before ] || cmp -s <(head -n "$(wc -l <before)" before) <(head -n "$(wc -l <before)" out.jsonl.journal) ||
		fail "journalled words changed"
done
[ -e before ] || fail "no run was stopped"
exits 0 "${base[@]}" -o out.jsonl "${padded[@]}"
mapfile -t names <list
checked=0
while read -r text place id check; do
	[ ${#check} = 16 ] || continue
	shown=$(sed -n "$((text + 1))s/.*\"text\":\"\([^\"]*\)\".*/\1/p" out.jsonl | cut -d' ' -f$((place + 1)))
	[ "$shown" = "${names[id]}" ] || fail "word $place of text $text was drawn again: $shown, and ${names[id]} is in the journal"
	checked=$((checked + 1))
done <before
[ $checked -gt 5 ] || fail "only $checked words were in the journal"
rm out.* before
# Neither threads nor kernels decide what is drawn.
for more in "-t 1" "--isa scalar"; do
	# shellcheck disable=SC2086 # an option and its value
	exits 0 "${base[@]}" -o out.jsonl --insecure-seed 1 $more
	[ ! -e first ] || same out.jsonl first "other texts with $more"
	cp out.jsonl first
	rm out.*
done

# ---- one record moves no other -------------------------------------------------------------------
exits 0 "${base[@]}" -o one.jsonl --insecure-seed 4
for line in '' '   ' 'torn' '{"text":7}' '{"other":"waaa"}' '{"text":"waaa waab waac"}' $'{"text":"\xff"}' '{"text":"?!"}' "{\"text\":\"$(head -c 9999 /dev/zero | tr '\0' x)\"}"; do
	awk -v line="$line" 'NR == 3 { print line; next } 1' docs.jsonl >other.jsonl
	"$CUTTLE" "${base[@]}" -i other.jsonl -o two.jsonl --insecure-seed 4 >out 2>err || fail "$(cat err)"
	[ "$(indices two.jsonl)" = '0 1 2 3' ] || fail "a record is lost: $line"
	cmp -s <(sed 3d one.jsonl) <(sed 3d two.jsonl) || fail "a record moved another one: $line"
	[ "$(wc -l <err)" = 1 ] || fail "a record is named: $(cat err)"
	rm two.*
done
# A thousand blank records in a row, then a stop.
for ((i = 0; i < 1000; i++)); do echo; done >blank.jsonl
cat docs.jsonl >>blank.jsonl
exits 0 "${base[@]}" -i blank.jsonl -o whole.jsonl --insecure-seed 4
stopped 30000 "${base[@]}" -i blank.jsonl -o out.jsonl --insecure-seed 4 || fail "blank records are not journalled"
exits 0 "${base[@]}" -i blank.jsonl -o out.jsonl --insecure-seed 4
same out.jsonl whole.jsonl "other texts after a stop among blank records"
rm out.* whole.*

# ---- two inputs look alike -----------------------------------------------------------------------
# world NAME LINE OPTION...: the padded run in a folder of its own; all that can be seen of it is there, but for which words were drawn.
world() {
	rm -rf "$1" && mkdir "$1"
	awk -v line="$2" 'NR == 1 { print line; next } 1' docs.jsonl >"$1.in"
	(
		cd "$1" || exit
		cp "../$1.in" docs.jsonl
		"$CUTTLE" perturb --words ../w.cw -i docs.jsonl -o out.jsonl "${padded[@]}" --progress json "${@:3}" >out 2>err
		echo $? >code
		rm docs.jsonl
		stat -c '%n %s %a' -- * >files
		sed -i -E "s/$word/word/g" out.jsonl
		sed -i '/output_sha256/d' out.receipt.json
	)
}
world one '{"id":7,"who":"a","text":"Waaa waab."}'
[ "$(cat one/code)" = 0 ] || fail "$(cat one/err)"
says one/out.jsonl '^\{"index":0,"text":"word( word){4}","words":5,'
huge=$(head -c 60000 /dev/zero | tr '\0' x)
apart=$(yes 'x' | head -n 60000 | tr '\n' ' ')
for line in '' 'torn' '{"text":7}' '{"text":""}' '{"text":"one two three four five six seven"}' '{"text":"3.5 12 1/2/3"}' '{"text":"unknown"}' \
	$'{"text":"caf\xe9"}' '{"text":"中文字 Привет हिन्दी"}' "{\"text\":\"$huge\"}" "{\"text\":\"$apart\"}" '{"text":"…—!?"}' '{"text":"a\u0000b"}'; do
	world two "$line"
	diff -r one two >differs || fail "a record of ${#line} bytes shows: $(head -5 differs)"
done
coreless perturb --words w.cw -i - -o core.jsonl

# ---- the ledger ----------------------------------------------------------------------------------
exits 0 ledger init --ledger l --dataset d --rho-limit 20
counted=("${padded[@]}" --ledger l --dataset d)
# A mistyped field is refused before it costs, with -i in a dry run, too.
for how in '-o never.jsonl' --dry-run; do
	# shellcheck disable=SC2086 # words
	refused 4 "${base[@]}" "${counted[@]}" --text-field body $how
	says err 'docs.jsonl: no record has a field body: name it with --text-field; cuttle inspect'
done
exits 0 ledger show --ledger l --dataset d --json
says out '"runs":0'
compgen -G 'never*' >/dev/null && fail "a run of no field left something"
exits 0 "${base[@]}" -o out.jsonl "${counted[@]}" -e 0.5
exits 0 ledger show --ledger l --dataset d --json
says out '"rho_spent":0\.625[0-9]*,.*"runs":1}' # 5 words at 0.5^2 / 2
exits 0 receipt verify out.receipt.json --ledger l --output out.jsonl
says out '^ledger   counted per line: it has the entry$'
edits_noticed out.receipt.json <<'END'
s/"rho": 0.6[0-9]*/"rho": 0.5/
s/"dataset": "d"/"dataset": null/
END
exits 0 "${base[@]}" -o out.jsonl "${counted[@]}" -e 0.5
! grep 'already complete' err || fail "-q says what is no error"
exits 0 "${base[@]/%-q/--progress=off}" -o out.jsonl "${counted[@]}" -e 0.5
says err 'is already complete'
rm out.*
exits 0 "${base[@]}" -o out.jsonl "${counted[@]}" -e 3
exits 0 ledger show --ledger l --dataset d --json
says out '"rho_spent":15\.625[0-9]*,.*"runs":2}' # and 5 words at 3
rm out.*
refused 3 "${base[@]}" -o out.jsonl "${counted[@]}" -e 3
compgen -G 'out.*' && fail "a refused run left something"
# A seeded run is no private one, and is not counted.
exits 0 "${base[@]}" -o out.jsonl "${counted[@]}" -e 3 --insecure-seed 1
exits 0 ledger show --ledger l --dataset d --json
says out '"runs":2}'
rm out.*
# Owners: two records of a cost it twice as much; the record without one is not read.
exits 0 ledger init --ledger l --dataset people --rho-limit 20 --unit-key who
exits 0 "${base[@]}" -o out.jsonl "${padded[@]}" --ledger l --dataset people --unit-key who -e 0.5
exits 0 ledger show --ledger l --dataset people --json
says out '"rho_spent":1\.25[0-9]*,.*"runs":1}'
exits 0 receipt verify out.receipt.json --ledger l
says out 'counted per value of who'
rm out.*
# That one is nulled, not charged to nobody: without padding it has no words.
(cat docs.jsonl && echo '{"text":"waaa waab"}') >owned.jsonl
exits 0 "${base[@]}" -i owned.jsonl -o out.jsonl --unit-key who
says out.jsonl '^\{"index":4,"text":"","words":0,'
# A stopped run is charged once. The journal must outgrow the ledger before the limit stops it.
rm out.*
exits 0 ledger init --ledger l --dataset once --rho-limit 400
long=(-N 2000 --pad --ledger l --dataset once -e 0.5)
stopped 120000 "${base[@]}" -o out.jsonl "${long[@]}" || fail "the run with a ledger was not stopped: $(cat stopped)"
exits 0 "${base[@]}" -o out.jsonl "${long[@]}"
exits 0 ledger show --ledger l --dataset once --json
says out '"rho_spent":250(\.0[0-9]*)?,.*"runs":1}'
