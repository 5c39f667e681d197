#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle infer` against examples/loopback.c, which says what it is asked. It fails if a raw
# word, or the key where it may not be, leaves; if a record is not asked for, or one that has its
# reply is asked for again, or a word is drawn again, after a kill in any phase; if a wrong option
# or path is not refused with one line before anything is drawn; if a record is extended with the
# reply to another one; if a file is written over, or the final texts lie open.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
unset CUTTLE_API_KEY
loopback=$(realpath "${CUTTLE_LOOPBACK:-$(dirname "$CUTTLE")/loopback}") || fail "no loopback: make tests"
letters=({a..f})
for ((i = 0; i < 36; i++)); do echo "w${letters[i % 6]}${letters[i / 6]}z 0.$((i % 7))1 -0.$((i % 5))2 0.$((i % 11))3"; done >glove.txt
exits 0 words --vectors glove.txt -o w.cw
cat >docs.jsonl <<'END'
{"who":"a","text":"Annabel saw Bartholomew, 3.5 times."}
{"who":"b","text":""}
no JSON at all
{"who":"a","text":"Wilhelmina"}
END
raw='annabel|bartholomew|wilhelmina'

# serve: starts the loopback server. It ends with the test.
serve() {
	folder=$PWD
	"$loopback" tiny.gguf port >asked &
	server=$!
	trap 'kill $server 2>/dev/null; rm -rf "$folder"' EXIT
	pid=$server
	soon [ -s port ] || fail "the loopback server does not begin"
}
serve
url=http://127.0.0.1:$(cat port)/v1
requests() { grep -c '^--- the remote service was asked: ---$' asked; }
base=(infer --words w.cw -i docs.jsonl -k 3 --remote-model far --remote-tokens 6 -n 6)
run=("${base[@]}" --endpoint "$url" -o out.jsonl)
"$CUTTLE" "${run[@]}" 2>err
if grep -q 'without libcurl' err; then
	echo "skipped: ${0##*/}: cuttle was built without libcurl"
	exit 0
fi
rm -f out.*
: >asked

# ---- what is written, and what leaves ------------------------------------------------------------
umask 000
export CUTTLE_API_KEY=sk-secret-0123
exits 0 "${run[@]}" --show-what-leaves
umask 022
[ "$(requests)" = 0 ] || fail "--show-what-leaves sends"
[ "$(wc -l <out)" = $((4 + 1 + 4)) ] || fail "shown: $(cat out)"
says out "^POST $url/chat/completions$"
says out '^Authorization: Bearer …$'
sed -n 's/^{"model":"far",.*Text: \([^\\]*\).n.nContinuation:"}\],"max_tokens":6,"temperature":0.5,"n":1,"stream":false}$/\1/p' out >shown
same shown <(sed 's/.*"text":"\([^"]*\)".*/\1/' out.perturbed.jsonl) "what is shown is not what was perturbed"
cp out.perturbed.jsonl drawn
compgen -G 'out.jsonl*' && fail "--show-what-leaves writes final texts"
umask 000
exits 0 "${run[@]}"
umask 022
[ ! -s out ] || fail "something on standard output"
says err 'A whole text of n words: n times 6\.'
says err '^PRIVATE: computed from the raw document\.'
[ "$(requests)" = 4 ] || fail "$(requests) requests for 4 records"
same <(sed -n 's/^Text: //p' asked) shown "what was shown is not what was asked"
same out.perturbed.jsonl drawn "words were drawn again"
[ "$(stat -c %a out.jsonl)" = 600 ] || fail "mode $(stat -c %a out.jsonl)"
[ "$(stat -c %a out.replies.jsonl)" = 600 ] || fail "mode $(stat -c %a out.replies.jsonl)"
[ "$(indices out.jsonl)" = '0 1 2 3' ] || fail "lines: $(cat out.jsonl)"
grep -Evq '^\{"index":[0-3],"text":".*","finish":"(eos|stop|length)","private":true\}$' out.jsonl && fail "a line: $(cat out.jsonl)"
grep -Eiq "$raw" asked out.perturbed.jsonl out.perturbed.receipt.json out.replies.jsonl out err && fail "a raw word has left"
grep -rlq 'sk-secret' . && fail "the key stands in $(grep -rl 'sk-secret' .)"
unset CUTTLE_API_KEY
exits 0 receipt verify out.perturbed.receipt.json --output out.perturbed.jsonl --words w.cw
nothing_left out.perturbed

# Complete, it is not written over; again, nobody is asked.
cp out.jsonl before
refused 2 "${run[@]}"
says err 'out.jsonl is there already; --overwrite replaces it$'
same out.jsonl before "a file was written over"
exits 0 "${run[@]}" --overwrite -q
same out.perturbed.jsonl drawn "words were drawn again with --overwrite"
[ "$(requests)" = 4 ] || fail "a reply was asked for again"
rm out.jsonl

# What makes another request is another command. The rest may change. An option is spelled as in the command.
declare -A spelled=([input]=-i [near]=-k [max-tokens]=-n)
echo 'Once more: {text}' >once
cp docs.jsonl copy.jsonl
while read -r option value; do
	refused 2 "${run[@]}" "${spelled[$option]-"--$option"}" "$value" -q
	known="${known-} $option"
done <<END
endpoint http://localhost:$(cat port)/v1
remote-model farther
api completions
instruction once
remote-tokens 7
remote-temperature 0.6
max-tokens-field max_completion_tokens
epsilon 5
near 4
input copy.jsonl
END
[ "$(requests)" = 4 ] || fail "a refused command asks"
while read -r option value; do
	exits 0 "${run[@]}" "${spelled[$option]-"--$option"}" ${value:+"$value"} -q
	[ "$(requests)" = 4 ] || fail "--$option asks again"
	same out.perturbed.jsonl drawn "--$option draws again"
	rm out.jsonl
	known="$known $option"
done <<END
timeout 9
retries 0
max-requests 1
max-remote-tokens 1
max-tokens 3
temperature 0
whole
template continue
ctx-size 300
parallel 1
threads 1
progress json
END

# Other records are another command, also as many of them; so are the same ones without the key.
[ "$(stat -c %a out.replies.jsonl.key)" = 600 ] || fail "mode $(stat -c %a out.replies.jsonl.key)"
cp docs.jsonl kept
sed 's/Wilhelmina/Marguerite/' kept >docs.jsonl
refused 2 "${run[@]}" -q
says err 'docs.jsonl was changed since its words were perturbed; --overwrite begins anew$'
[ ! -e out.jsonl ] || fail "a record was extended with the reply to another one"
cp kept docs.jsonl
exits 0 "${run[@]}" -q
mv out.replies.jsonl.key aside
rm out.jsonl
mv out.replies.jsonl.input digest
refused 2 "${run[@]}" -q
says err "out.perturbed.jsonl is not this command's output; --overwrite replaces it"
compgen -G 'out.replies.jsonl.*' && fail "a refused run left a key or a digest"
mv aside out.replies.jsonl.key
refused 2 "${run[@]}" -q
echo mine >out.replies.jsonl.input
refused 2 "${run[@]}" -q --overwrite
[ "$(cat out.replies.jsonl.input)" = mine ] || fail "a file of the user's is gone"
mv digest out.replies.jsonl.input
[ "$(requests)" = 4 ] || fail "a refused command asks"
same out.perturbed.jsonl drawn "a refused command draws"
sed -i 's/Wilhelmina/Marguerite/' docs.jsonl
exits 0 "${run[@]}" -q --overwrite
[ "$(requests)" = 8 ] || fail "replies to other records were kept"
cp kept docs.jsonl
exits 0 help infer --all
[ "$(grep -c '^    cuttle infer ' out)" = 2 ] || fail "infer --help has not two examples"
while read -r name; do
	case " $known api-key-file ca-file proxy show-what-leaves prompt chat-format system " in
	*" $name "*) ;;
	*) fail "is --$name of infer another command? Add it to a table of ${0##*/}" ;;
	esac
done < <(sed -nE '/^Remote model:$/,/^Output:$/s/^  (-[A-Za-z],|   ) --([a-z-]+).*/\2/p' out)

# ---- what is refused, before anything is drawn ---------------------------------------------------

rm out.*
: >asked
printf 'two words\n' >spaced.key
printf 'sk-secret-0123\n' >k
cp k open.key
chmod 600 spaced.key k
chmod 644 open.key
# wrong CODE RULE OPTION...
wrong() {
	refused "$1" "${run[@]}" "${@:3}"
	says err "$2"
	compgen -G 'out.*' && fail "a refused run left something: ${*:3}"
	grep -q 'sk-secret' err && fail "the key is told"
}
for endpoint in http://example.org/v1 ftp://127.0.0.1 example.org https://u:p@example.org 'https://example.org/?k=v' ''; do
	wrong 2 'endpoint|empty' --endpoint "$endpoint"
done
wrong 2 'remote-tokens' --remote-tokens 0
wrong 2 'temperature' --remote-temperature 2.5
wrong 2 'timeout' --timeout 0
wrong 2 'retries' --retries 1001
wrong 2 'api' --api other
wrong 2 'proxy' --proxy http://127.0.0.1:1
wrong 2 'model.s name' --remote-model ''
wrong 2 'field of the most' --max-tokens-field 'a b'
wrong 2 'epsilon' -e 0
wrong 2 'k = 36 must be from 1 to 35' -k 36
wrong 2 'proven guarantees only' --ledger l --dataset d
wrong 2 'max-tokens' -n 0
wrong 2 'chat-format' --chat-format chatml
wrong 2 'open.key' --api-key-file open.key
wrong 2 'visible ASCII' --api-key-file spaced.key
wrong 4 'nowhere' --api-key-file nowhere
wrong 4 'nowhere' --ca-file nowhere
wrong 4 'nowhere' --words nowhere
wrong 4 'nowhere' -i nowhere
wrong 4 'nowhere' --instruction nowhere
wrong 4 'nowhere' --prompt nowhere
wrong 5 'nowhere' -m nowhere
wrong 2 'a file' -i -
wrong 4 'a pipe' -i <(cat docs.jsonl)
for words in '' 'Go on.' '{text}{text}'; do
	echo "$words" >asking
	wrong 4 '\{text\} once' --instruction asking
done
refused 2 "${base[@]}" --endpoint "$url" -o -
says err '-o must be a file'
refused 2 infer
says err 'missing: --words WORDS, -i TEXTS, --endpoint URL, --remote-model NAME, -o OUT; for example: '
[ "$(requests)" = 0 ] || fail "a refused command asks"

# ---- a service that refuses one text -------------------------------------------------------------
# answers_but STATUS CODE NUMBER...: a service that refuses the requests with these numbers, from 1.
cat >service.py <<'END'
import http.server, json, sys
status, code, numbers = int(sys.argv[1]), sys.argv[2], {int(n) for n in sys.argv[3:]}
class Service(http.server.BaseHTTPRequestHandler):
    asked = 0
    def do_POST(self):
        Service.asked += 1
        open("count", "a").write("x")
        self.rfile.read(int(self.headers["Content-Length"]))
        refused = Service.asked in numbers
        reply = {"error": {"code": code}} if refused else {"choices": [{"message": {"content": "Notes."}, "finish_reason": "stop"}]}
        body = json.dumps(reply).encode()
        self.send_response(status if refused else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words): pass
with http.server.HTTPServer(("127.0.0.1", 0), Service) as server:
    open("service.port", "w").write(f"{server.server_port}\n")
    server.serve_forever()
END
answers_but() {
	rm -f count service.port
	: >count
	python3 service.py "$@" &
	service=$!
	trap 'kill $server $service 2>/dev/null; rm -rf "$folder"' EXIT
	pid=$service
	soon [ -s service.port ] || fail "the service does not begin"
	refusing=("${base[@]}" -q --retries 0 --endpoint "http://127.0.0.1:$(cat service.port)/v1" -o out.jsonl)
}
# asked_times N: so many requests came, and the service ends.
asked_times() {
	[ "$(wc -c <count)" = "$1" ] || fail "$(wc -c <count) requests instead of $1"
	kill "$service"
	wait "$service" 2>/dev/null
	rm -f out.*
}
for refused in 1 2 '1 2 3' 4; do
	# shellcheck disable=SC2086 # a list of numbers
	answers_but 400 content_filter $refused
	exits 0 "${refusing[@]}"
	[ "$(grep -c '^record [0-3] has no notes: .*HTTP 400, content_filter$' err)" = "$(wc -w <<<"$refused")" ] || fail "refused $refused: $(cat err)"
	[ "$(indices out.jsonl)" = '0 1 2 3' ] || fail "lines: $(cat out.jsonl)"
	[ "$(grep -c '"finish":"refused"' out.replies.jsonl)" = "$(wc -w <<<"$refused")" ] || fail "replies: $(cat out.replies.jsonl)"
	# What was refused is not asked again.
	rm out.jsonl
	exits 0 "${refusing[@]}"
	asked_times 4
done
# A key or a quota that is refused ends the run, and so does a service that answers nothing.
for ends in '401 invalid_api_key 2' '403 forbidden 2' '400 insufficient_quota 2' '404 no_model 2' '400 content_filter 1 2 3 4'; do
	# shellcheck disable=SC2086
	answers_but $ends
	refused 9 "${refusing[@]}"
	says err "HTTP ${ends%% *}, "
	[ ! -e out.jsonl ] || fail "final texts without replies"
	grep -q refused out.replies.jsonl && fail "a refusal is kept: $(cat out.replies.jsonl)"
	asked_times "$([[ $ends == *4 ]] && [[ $ends == 400* ]] && echo 4 || echo 2)"
done
# Nobody there: 6, what is perturbed stays. A key in a file leaves, and stands nowhere else.
refused 6 "${base[@]}" -q --endpoint http://127.0.0.1:9/v1 -o out.jsonl --retries 0
says err 'the same command continues$'
[ ! -e out.jsonl ] || fail "a final text without replies"
cp out.perturbed.jsonl drawn
refused 9 "${run[@]}" -q --api completions --retries 0
says err 'HTTP 400, no_question$'
exits 0 "${run[@]}" -q --api-key-file k
same out.perturbed.jsonl drawn "words were drawn again after a failure"
[ "$(requests)" = 4 ] || fail "$(requests) requests for 4 records"
[ "$(grep -rl 'sk-secret' . | sort | paste -sd' ')" = './k ./open.key' ] || fail "the key stands in $(grep -rl 'sk-secret' .)"
rm out.*

# ---- kill -9 in each phase -----------------------------------------------------------------------
extends() { grep -q '^PRIVATE:' killed.err; }
records=60 most=2
short && records=40 most=1
nightly && records=150 most=3
for ((i = 0; i < records; i++)); do printf '{"text":"%s"}\n' "$(seq -s' ' -f 'annabel%.0f' 200)"; done >docs.jsonl
for ((round = 0; round < most; round++)); do
	: >asked
	rm -f out.* journal replies
	killed=
	for phase in words send send extend; do
		before=$(requests)
		"$CUTTLE" "${run[@]}" -n 200 --whole >killed.out 2>killed.err &
		pid=$!
		case $phase in
		words) soon lines_in out.perturbed.jsonl.journal $((50 + round * 400)) ;;
		send) soon lines_in out.replies.jsonl $((2 + before + round)) ;;
		extend) soon extends ;;
		esac || fail "$phase: it ended: $(cat killed.err)"
		[[ $(grep 'core file' /proc/$pid/limits) =~ size\ +0\ +0\  ]] || fail "$phase: a crash would write the records to disk"
		kill -9 $pid
		wait $pid 2>/dev/null
		killed="$killed $phase"
		[ -e out.jsonl ] && fail "half an output after $killed"
		if [ $phase = words ]; then
			[ "$(requests)" = 0 ] || fail "something was sent while words were drawn"
			cp out.perturbed.jsonl.journal journal
			continue
		fi
		if [ -e replies ]; then
			same out.perturbed.jsonl drawn "other words after $killed"
			cmp -s <(head -n "$(wc -l <replies)" out.replies.jsonl) <(head -n "$(wc -l <replies)" replies) || fail "other replies after $killed"
		fi
		cp out.perturbed.jsonl drawn
		head -n "$(wc -l <out.replies.jsonl)" out.replies.jsonl >replies
	done
	# What was in the journal at the first kill is what went out. Its last line may be half a line.
	mapfile -t names < <(cut -d' ' -f1 glove.txt)
	checked=0
	while read -r text place id check; do
		[ ${#check} = 16 ] || continue
		((place % 40 == 0)) || continue
		shown=$(sed -n "$((text + 1))s/.*\"text\":\"\([^\"]*\)\".*/\1/p" drawn | cut -d' ' -f$((place + 1)))
		[ "$shown" = "${names[id]}" ] || fail "word $place of text $text was drawn again"
		checked=$((checked + 1))
	done <journal
	[ $checked -gt 0 ] || fail "no word was in the journal"
	exits 0 "${run[@]}" -q
	same out.perturbed.jsonl drawn "other words after $killed"
	[ "$(wc -l <out.jsonl)" = $records ] || fail "lines: $(wc -l <out.jsonl)"
	# A reply that was on its way when the process was killed is lost, and asked for once more.
	again=$(($(requests) - records))
	((again >= 0 && again <= 2)) || fail "$again requests more than $records records"
	[ "$(sed -n 's/^Text: //p' asked | uniq | wc -l)" = $records ] || fail "requests are not those of the records, in order"
	nothing_left out.perturbed
done

# Records that are changed while texts are sent are not extended.
rm -f out.*
"$CUTTLE" "${run[@]}" -q >killed.out 2>killed.err &
pid=$!
soon lines_in out.replies.jsonl 2 || fail "it ended before the records were changed: $(cat killed.err)"
kill -STOP $pid
sed -i 's/annabel/wilhelm/' docs.jsonl
kill -CONT $pid
wait $pid
[ $? = 4 ] || fail "changed records: $(cat killed.err)"
says killed.err 'docs.jsonl was changed since its words were perturbed$'
[ ! -e out.jsonl ] || fail "changed records were extended"
refused 2 "${run[@]}" -q
