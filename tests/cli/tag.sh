#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle tag`. It fails if spans are not found or written as they should be, if a file of the
# user's is written over, or if a wrong line or a tagger that dies, hangs, or answers wrongly is not
# refused with exit code 4, without output, a word of the text, or a process that is left.
# shellcheck disable=SC2016 # the programs that it writes expand their own variables
root=$(dirname "$(dirname "$(dirname "$(realpath "$0")")")")
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
unset CUTTLE_MODEL

# ---- what is written -----------------------------------------------------------------------------
printf '%s\n' '{"id":"a","text":"Dr. Zoë Roe: zoe@x.org","other":1}' '{"text":""}' '{"text":"Li","id":7}' >docs.jsonl
printf '%s\n' \
	'{"id":"a","text":"Dr. Zoë Roe: zoe@x.org","spans":[{"start":4,"end":11,"entity_type":"PERSON"},{"start":13,"end":22,"entity_type":"EMAIL_ADDRESS"}]}' \
	'{"text":"","spans":[]}' '{"id":7,"text":"Li","spans":[]}' >wanted
exits 0 tag -i docs.jsonl -o tagged.jsonl
same tagged.jsonl wanted "tagged by rules"
says err '^cuttle tag: tagged by rules 2: what they miss is not protected$'
[ ! -s out ] || fail "something on standard output: $(cat out)"
exits 0 tag -i - <docs.jsonl
same out wanted "to standard output"
exits 0 tag -i <(cat docs.jsonl)
same out wanted "from a pipe"
# What was written is read again, and other units count otherwise.
exits 0 tag -i tagged.jsonl --tagger none
same out wanted "its own spans"
exits 0 tag -i docs.jsonl --offsets bytes
says out '"start":14,"end":23,"entity_type":"EMAIL_ADDRESS"'
exits 0 tag -i tagged.jsonl --tagger none --spans-field spans --offsets utf16
says out '"start":13,"end":22,"entity_type":"EMAIL_ADDRESS"'
# An id of more than 64 bits is the text of its digits, and no other number has a part in it.
printf '%s\n' '{"id":18446744073709551615,"text":"a","n":1e400}' '{"n":[-9223372036854775809],"id":-9223372036854775809,"text":"b"}' \
	'{"id":7,"text":"c","n":99999999999999999999}' >large.jsonl
exits 0 tag -i large.jsonl
printf '%s\n' '{"id":"18446744073709551615","text":"a","spans":[]}' '{"id":"-9223372036854775809","text":"b","spans":[]}' '{"id":7,"text":"c","spans":[]}' >wanted.large
same out wanted.large "large ids"
refused 4 tag -i <(echo '{"text":18446744073709551615}')
printf '%s\n' 'LI' 'zoë' $'x.org\tHOST' >names
exits 0 tag -i docs.jsonl --names names --tagger none
says out '"spans":\[\{"start":4,"end":7,"entity_type":"PERSON"\},\{"start":17,"end":22,"entity_type":"HOST"\}\]'
says out '"text":"Li","spans":\[\{"start":0,"end":2,"entity_type":"PERSON"\}\]'
says err 'tagged by the names alone: '
# A list of Windows, and a name that is written otherwise: io/text/fold.h.
printf '\xef\xbb\xbfAnna Roe\r\nBert Poe\r\nJos\u00e9 D\u2019Arc-May\tSAINT\r\n' >names
printf '%s\n' '{"text":"Anna\r\n  Roe met BERT\u00a0POE."}' '{"text":"Jose\u0301 d'"'"'arc\u2011May, x"}' >folded.jsonl
exits 0 tag -i folded.jsonl --names names --tagger none
says out '"spans":\[\{"start":0,"end":11,"entity_type":"PERSON"\},\{"start":16,"end":24,"entity_type":"PERSON"\}\]'
says out '"spans":\[\{"start":0,"end":15,"entity_type":"SAINT"\}\]'
printf '%s\n' '{"doc":"d","t":"In Rome","annotations":{"x":{"entity_mentions":[{"start_offset":3,"end_offset":7,"entity_type":"LOC","identifier_type":"NO_MASK"}]}}}' >tab.jsonl
exits 0 tag -i tab.jsonl --text-field t --id-field doc --tagger none
[ "$(cat out)" = '{"doc":"d","t":"In Rome","spans":[{"start":3,"end":7,"entity_type":"LOC"}]}' ] || fail "TAB: $(cat out)"
exits 0 tag -i tab.jsonl --text-field t --tagger none --leave-identifier NO_MASK
[ "$(cat out)" = '{"t":"In Rome","spans":[]}' ] || fail "TAB: $(cat out)"

# ---- CSV -----------------------------------------------------------------------------------------
printf '%s\n' 'name,text,id' 'x,"Dr. Zoë Roe,' 'at 14 Mill Lane, Leeds",7' 'y,"She said ""MRN: 1234""",b' 'z,,9' >docs.csv
printf '%s\n' \
	'{"id":"7","text":"Dr. Zoë Roe,\nat 14 Mill Lane, Leeds","spans":[{"start":4,"end":11,"entity_type":"PERSON"},{"start":16,"end":35,"entity_type":"STREET_ADDRESS"}]}' \
	'{"id":"b","text":"She said \"MRN: 1234\"","spans":[{"start":15,"end":19,"entity_type":"CODE"}]}' '{"id":"9","text":"","spans":[]}' >wanted.csv
exits 0 tag -i docs.csv -o from.jsonl
same from.jsonl wanted.csv "a file of CSV"
[ "$(stat -c %a from.jsonl)" = 600 ] || fail "mode $(stat -c %a from.jsonl) of tagged documents"
exits 0 tag -i - --input-format csv <docs.csv
same out wanted.csv "CSV from standard input"
exits 0 tag -i from.jsonl --tagger none
same out wanted.csv "what was made of CSV"
printf 'n;note\n1;Dr. Roe\n' >semicolon.csv
exits 0 tag -i semicolon.csv --delimiter ';' --text-field note
[ "$(cat out)" = '{"note":"Dr. Roe","spans":[{"start":4,"end":7,"entity_type":"PERSON"}]}' ] || fail "another delimiter: $(cat out)"
printf 'n\tnote\n1\tDr. Roe\n' >tab.tsv
exits 0 tag -i tab.tsv --text-field note
says out '"note":"Dr. Roe"'
refused 2 tag -i docs.csv -o tagged.csv
says err 'name it \.jsonl$'
refused 2 tag -i docs.jsonl --input-format jsonl --delimiter ';'
refused 4 tag -i semicolon.csv -o e
refused 4 tag -i docs.csv -o e --tagger none
for row in '1' $'1,Sesame\xff' "1,$(head -c 17000000 /dev/zero | tr '\0' s)"; do
	printf 'n,text\n0,Dr. Roe\n%s\n' "$row" >wrong.csv
	refused 4 tag -i wrong.csv -o e
	says err '^cuttle tag: wrong\.csv: record 2 has no text that can be read'
	compgen -G 'e*' | grep -vx err && fail "a refused record left something"
done

# ---- recall and precision ------------------------------------------------------------------------
printf '%s\n' '{"text":"Dr. Roe at 10:30 and Ann","gold":[{"start":4,"end":7,"label":"PERSON"},{"start":21,"end":24,"label":"PERSON"}]}' >gold.jsonl
exits 0 tag -i gold.jsonl -o e --against gold
[[ $(head -1 out) == PRIVATE:* ]] || fail "the first line is not PRIVATE: $(head -1 out)"
says out '^PERSON +2 +0\.500 +0\.500 +1 +1\.000 +1\.000$'
says out '^DATE_TIME +0 +- +- +1 +0\.000 +0\.000$'
grep -q gold e && fail "the output has more than id, text and spans: $(cat e)"
# White space around a span is nobody's: neither a break behind a name nor a space before it counts.
rm e
printf 'Roe\n' >names
printf '%s\n' '{"text":"Dr. \u00a0Roe\r\n at","gold":[{"start":4,"end":10,"label":"PERSON"}]}' >wide.jsonl
exits 0 tag -i wide.jsonl --tagger none --names names -o e --against gold
says out '^PERSON +1 +1\.000 +1\.000 +1 +1\.000 +1\.000$'
rm e
exits 0 tag -i gold.jsonl -o e --against gold
refused 2 tag -i gold.jsonl --against gold
refused 4 tag -i docs.jsonl -o x --against gold
rm e

# ---- files ---------------------------------------------------------------------------------------
echo mine >kept
refused 2 tag -i docs.jsonl -o kept
says err 'kept is there already; --overwrite replaces it$'
[ "$(cat kept)" = mine ] || fail "a file was written over"
exits 0 tag -i docs.jsonl -o kept --overwrite
same kept wanted "the named output is not replaced"
cp docs.jsonl before
for name in docs.jsonl ./docs.jsonl "$PWD/docs.jsonl"; do
	refused 2 tag -i docs.jsonl -o "$name" --overwrite
	refused 2 tag -i tagged.jsonl --names docs.jsonl -o "$name" --overwrite
done
same docs.jsonl before "an input was written over"
for option in -i -o --names; do refused 2 tag -i docs.jsonl -o e $option ''; done
refused 2 tag -i docs.jsonl -o nowhere/e
refused 4 tag -i nowhere
refused 4 tag -i docs.jsonl --names nowhere
printf 'Roe\tA\tB\n' >wrong
refused 4 tag -i docs.jsonl --names wrong
says err 'wrong: line 1 is not a name'
printf '\n \n' >wrong
refused 4 tag -i docs.jsonl --names wrong
# Whatever the umask, the raw texts are their owner's alone. A run that ends early leaves no part of them: there is no name to
# leave before the end, or the name goes with the run.
umask 000
exits 0 tag -i docs.jsonl -o e
umask 022
[ "$(stat -c %a e)" = 600 ] || fail "mode $(stat -c %a e) of tagged documents"
chmod 644 e
exits 0 tag -i docs.jsonl -o e --overwrite
[ "$(stat -c %a e)" = 600 ] || fail "mode $(stat -c %a e) of tagged documents that were replaced"
rm e
for signal in TERM KILL; do
	mkfifo slow.$signal
	"$CUTTLE" tag -i slow.$signal -o e 2>err &
	exec 9>slow.$signal
	cat docs.jsonl >&9
	pid=$!
	opened() { find "/proc/$pid/fd" -lname "$PWD/*" ! -lname '*/slow*' ! -lname '*/err' | grep -q .; }
	soon opened || fail "no scratch file is open: $(ls -l "/proc/$pid/fd")"
	compgen -G 'e*' | grep -vx err && fail "the texts of a run that is not done have a name"
	kill -$signal $pid
	wait $pid 2>/dev/null
	exec 9>&-
	compgen -G 'e*' | grep -vx err && fail "SIG$signal: a part of the texts is left"
done
seq -f '{"text":"Li %g"}' 2000 >longer.jsonl
(ulimit -f 8 && "$CUTTLE" tag -i longer.jsonl -o e 2>err)
[ $? = 1 ] || fail "a file that may not grow: $(cat err)"
compgen -G 'e*' | grep -vx err && fail "a full disk: a part of the texts is left"
"$CUTTLE" tag -i docs.jsonl >/dev/full 2>err
[ $? = 1 ] || fail "a full disk is not noticed: $(cat err)"
coreless tag -i -

# ---- wrong lines ---------------------------------------------------------------------------------
# wrong LINE RULE ARG...: the second line of a file is refused by this rule, with nothing of it shown.
wrong() {
	{
		head -1 tagged.jsonl
		printf '%s\n' "$1"
	} >wrong.jsonl
	refused 4 tag -i wrong.jsonl -o e "${@:3}"
	says err "^cuttle tag: wrong\.jsonl: line 2: .*$2"
	grep -qi sesame err && fail "the error shows the text: $(cat err)"
	compgen -G 'e*' | grep -vx err && fail "a refused run left something"
	true
}
wrong '{"text":"Sesame"' 'not a JSON object'
wrong '["Sesame"]' 'not a JSON object'
wrong '' 'it is empty: leave the line out'
wrong '{"text":"Sesame","score":NaN}' 'it has NaN or Infinity, which are not JSON'
wrong '{"text":"Sesame \ud83d"}' 'half a surrogate pair'
wrong '{"txt":"Sesame"}' 'no text in the member text'
wrong $'{"text":"Sesame\xff"}' 'not UTF-8'
wrong '{"text":"Sesame"}' 'it has no spans' --tagger none
wrong '{"text":"Sesame","spans":[{"start":0,"end":7,"label":"SESAME"}]}' 'span 1: it goes beyond the text' --tagger none
wrong '{"text":"Sesame","spans":[{"start":3,"end":3,"label":"SESAME"}]}' 'span 1: its end is not behind' --tagger none
wrong "{\"text\":\"$(head -c 17000000 /dev/zero | tr '\0' s)\"}" 'more than 16 MiB'

# ---- another program -----------------------------------------------------------------------------
# tagger NAME: makes a program of that name from standard input, with a line read in `line`.
tagger() {
	{
		echo '#!/bin/bash'
		cat
	} >"$1"
	chmod +x "$1"
}
tagger good <<'END'
[ "$1 $2" = "one two" ] && [ "$KIND" = LETTER ] || exit 1
n=0
while read -r line; do
	n=$((n + 1))
	case $line in *'"text":""'*) echo "{\"id\":$n,\"spans\":[]}" ;; *) echo "{\"id\":$n,\"spans\":[{\"start\":0,\"end\":1,\"entity_type\":\"$KIND\"}]}" ;; esac
done
END
KIND=LETTER exits 0 tag -i docs.jsonl -o e --tagger ' ./good  one two '
[ "$(sed 's/.*"spans"://' e | paste -sd' ')" = '[{"start":0,"end":1,"entity_type":"LETTER"}]} []} [{"start":0,"end":1,"entity_type":"LETTER"}]}' ] ||
	fail "by another program: $(cat e)"
rm e
# badly RULE: the tagger ./bad is refused by this rule; what it says on standard error is not shown.
badly() {
	refused 4 tag -i docs.jsonl -o e --tagger ./bad --tagger-seconds "${seconds-60}" # of a broken run, and of one that hangs
	says err "$1"
	grep -Eqi 'zo[eë]|secret' err && fail "the error shows the text: $(cat err)"
	compgen -G 'e*' | grep -vx err && fail "a failed tagger left something"
	true
}
tagger bad <<<'read -r line; echo secret >&2; exit 3'
badly 'the tagger at line 1: it ended'
tagger bad <<<'exit 0'
badly 'the tagger at line 1: it ended'
tagger bad <<<'while read -r line; do echo "{\"id\":2,\"spans\":[]}"; done'
badly "answer to line 1: its id is not the one"
tagger bad <<<'while read -r line; do echo "$line"; done'
badly "answer to line 1: it has no spans"
tagger bad <<<'while read -r line; do echo "Zoe"; done'
badly "answer to line 1: it is not a JSON object"
tagger bad <<<'while read -r line; do echo "{\"id\":1,\"spans\":[{\"start\":0,\"end\":99,\"label\":\"Zoe\"}]}"; done'
badly "answer to line 1: span 1: it goes beyond the text"
tagger bad <<<'while read -r line; do echo "{\"id\":1,\"spans\":[]}"; echo; done'
badly 'line [12]: (it wrote more than one line|it is empty)'
# Both lines come in one write.
printf '{"id":1,"spans":[]}\n{"id":2,"spans":[]}\n' >two
tagger bad <<<'read -r line; cat two; while read -r line; do :; done'
badly 'the tagger at line 1: it wrote more than one line'
tagger bad <<<'n=0; while read -r line; do n=$((n+1)); echo "{\"id\":$n,\"spans\":[]}"; done; exit 3'
badly 'did not end with exit code 0'
# A parent that ignores SIGCHLD would hand that on, and then no end of a tagger were known.
ignored() {
	env --ignore-signal=CHLD "$CUTTLE" tag -i docs.jsonl -o e --tagger "$1" >out 2>err
	[ $? = "$2" ] || fail "where SIGCHLD is ignored, $1 ends with another code than $2: $(cat err)"
}
ignored ./bad 4
says err 'did not end with exit code 0'
KIND=LETTER ignored './good one two' 0
rm e
# Only the command says how it ended: not its tagger, and nothing if it is killed.
tagger bad <<<'[ -z "${CUTTLE_END_FD-}" ] && [ ! -e /proc/self/fd/5 ] && : >apart; kill -KILL $PPID'
CUTTLE_END_FD=5 "$CUTTLE" tag -i docs.jsonl -o e --tagger ./bad 5>&1 >out 2>err | cat >word
[ -e apart ] || fail "a tagger may say how the command ends"
[ ! -s word ] || fail "a command that was killed says: $(cat word)"
rm -f apart word e*journal
tagger bad <<<'n=0; while read -r line; do n=$((n+1)); echo "{\"id\":$n,\"spans\":[]}"; done; echo "{}"'
badly 'wrote more lines than it was asked'
tagger bad <<<'n=0; while read -r line; do n=$((n+1)); echo "{\"id\":$n,\"spans\":[]}"; done; kill -9 $$'
badly 'did not end with exit code 0'
# One that hangs is killed, with what it started.
tagger bad <<<'sleep 1000.25 & echo $! >>started; wait'
seconds=1 badly 'the tagger at line 1: it took too long'
tagger bad <<<'n=0; while read -r line; do n=$((n+1)); echo "{\"id\":$n,\"spans\":[]}"; done; sleep 1000.25 & echo $! >>started; wait'
seconds=4 badly 'did not end with exit code 0'
# One that writes without end, and one that reads nothing of a line that fills the pipe.
tagger bad <<<'yes | tr -d "\n"'
badly 'the tagger at line 1: (its line has more than 16 MiB|it took too long)'
# A line that is too long is refused before its end, and one that comes in drops has no more time than another.
tagger bad <<<'head -c 17000000 /dev/zero'
refused 4 tag -i docs.jsonl --tagger ./bad --tagger-seconds 60
says err 'the tagger at line 1: its line has more than 16 MiB'
tagger bad <<<'for ((i = 0; i < 8; i++)); do printf x; sleep 0.25; done'
refused 4 tag -i docs.jsonl --tagger ./bad --tagger-seconds 1
says err 'the tagger at line 1: it took too long'
printf '{"text":"%s"}\n' "$(head -c 300000 /dev/zero | tr '\0' z)" >long.jsonl
tagger bad <<<'exec sleep 1000.25'
refused 4 tag -i long.jsonl --tagger ./bad --tagger-seconds 1
says err 'the tagger at line 1: it took too long'
tagger bad <<<'echo "{\"id\":1,\"spans\":[]}"; cat >/dev/null'
refused 4 tag -i long.jsonl --tagger ./bad
says err 'the tagger at line 1: it answered before it had the question'
tagger bad <<<'exec <&-; sleep 1000.25 & echo $! >>started; wait'
refused 4 tag -i long.jsonl --tagger ./bad --tagger-seconds 60
says err 'the tagger at line 1: it ended, or reads no more'
while read -r pid; do [ ! -e "/proc/$pid" ] || grep -q '^State:.Z' "/proc/$pid/status" || fail "a tagger's process is left"; done <started
# A long line goes both ways at once.
tagger echoing <<<'while read -r line; do echo "{\"spans\":[],${line#\{}"; done'
exits 0 tag -i long.jsonl --tagger ./echoing
refused 4 tag -i docs.jsonl --tagger ./nowhere
says err 'cannot start the tagger ./nowhere: '
refused 2 tag -i docs.jsonl --tagger ' '
refused 2 tag -i docs.jsonl --tagger "./good $(printf 'word %.0s' {1..64})"
says err 'a command of 1 to 64 words'
refused 2 tag -i docs.jsonl --tagger-seconds 0

# ---- Presidio, at night, where it is installed ---------------------------------------------------
[ -n "${CUTTLE_TEST_NIGHTLY-}" ] || exit 0
presidio="python3 $root/examples/tag_presidio.py"
if ! $presidio --check >/dev/null 2>&1; then
	echo "skipped: ${0##*/}: examples/tag_presidio.py, as presidio-analyzer or its model is not installed"
	exit 0
fi
exits 0 tag -i docs.jsonl --tagger "$presidio" --tagger-seconds 300
says out '"entity_type":"EMAIL_ADDRESS"'
