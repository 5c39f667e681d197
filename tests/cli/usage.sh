#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests what every verb says about itself. It fails if help, version or an exit code is wrong, or
# if an error is not one line.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"

exits 0 --version
says out '^cuttle [0-9]+\.[0-9]+\.[0-9]+$'
exits 0 --help
for code in 0 1 2 3 4 5 6 7 8 9; do says out "^  $code  "; done
says out '^  7  .*\. A shard or the folder of a run contradicts'
verbs=$(sed -nE 's/^  ([a-z]+) +[a-z].*/\1/p' out)
[ "$(wc -w <<<"$verbs")" -ge 12 ] || fail "the overview shows too few verbs: $verbs"
for verb in $verbs; do
	exits 0 "$verb" --help
	says out "usage: cuttle $verb"
	grep -A1 '^For example:$' out | grep -q "^    cuttle $verb " || fail "$verb --help has no example"
	awk 'length > 110 { exit 1 }' out || fail "$verb --help has long lines"
	cp out first
	exits 0 help "$verb"
	same out first "help $verb and $verb --help differ"
	refused 2 "$verb" --no-such-option
	# A verb of many options shows those of a first run, and says how to see all. One of few shows all.
	options=$(grep -cE '^  (    |-., )--' first)
	exits 0 help "$verb" --all
	same out <("$CUTTLE" "$verb" --help --all) "help $verb --all and $verb --help --all differ"
	awk 'length > 110 { exit 1 }' out || fail "help $verb --all has long lines"
	if [ "$(tail -1 first)" = "All options: cuttle help $verb --all" ]; then
		[[ $options -ge 8 && $options -le 20 ]] || fail "the short help of $verb has $options options"
		[ "$(grep -cE '^  (    |-., )--' out)" -gt 26 ] || fail "$verb has few options, and a short help"
		while IFS= read -r line; do
			grep -qxF -- "$line" out || fail "help $verb --all lacks a line of the short help: $line"
		done < <(grep -vx "All options: .*" first)
	else
		same out first "help $verb shows less than help $verb --all, and does not say so"
		[ "$options" -le 27 ] || fail "help of $verb shows $options options at once"
	fi
done
[ "$(for verb in $verbs; do "$CUTTLE" help "$verb"; done | grep -c '^All options: ')" = 12 ] || fail "not twelve verbs have a short help"
refused 2 help generate --al
says err 'cuttle help generate --all$'
exits 0 help generate --all
for flag in -m -i -o -e --delta -B -N -n --temperature -k -t -c --text-field --template --chat-format --prompt-public --prompt-private --kind \
	--public-examples --system --clip --dry-run --progress --insecure-seed --isa --accountant --receipt --overwrite --prompt-chunk --no-sharing -q; do
	says out "(^|[ ,])${flag}[ ,]"
done
# Help of shard lists what is its own, and points to generate for the rest.
says out 'write shard I, 0 to N-1,'
exits 0 shard --help
says out '^All other options are those of cuttle generate: cuttle help generate --all\.$'
listed=$(sed -nE 's/^  (    |-., )--([a-z0-9-]+).*/\2/p' out | sort | paste -sd' ')
[ "$listed" = 'dataset help ledger nobody-saw output redraw shards' ] || fail "shard --help lists $listed"
for option in $listed; do
	"$CUTTLE" shard open "--$option" >out 2>err
	! grep 'is not an option here' err || fail "shard --help lists --$option, which is none"
done
exits 0 help sanitize --all
for flag in -m -i -o -e --divergence --alpha --delta --mix --group --hide-other --leave --text-field --spans-field --spans-format --offsets --id-field \
	--tagger --names --sweep --no-sweep -n --max-length --temperature -k --public-when --complete --free-tokens --placeholder --instruction --prefill \
	--system --chat-format --template --paper --ledger --dataset --unit-key --sign --dry-run --parallel --insecure-seed --overwrite --progress -q -t --isa -c; do
	says out "(^|[ ,])${flag}[ ,]"
done
exits 0 help perturb --all
for flag in --words -m -i -o -e --method --table -k -N --pad --keep --list-share --radius --keep-share --sensitive --stop-words --text-field --id-field \
	--unit-key --input-format --delimiter --ledger --dataset --receipt --sign --overwrite --dry-run --progress -q -t --isa --insecure-seed; do
	says out "(^|[ ,])${flag}[ ,]"
done
# What a whole text costs is said at once.
head -3 out | grep -q 'n words cost n EPS' || fail "perturb --help does not begin with what a text costs"
[ "$(grep -c "^    cuttle perturb " out)" = 2 ] || fail "perturb --help has not two examples"
headings=$(grep -E '^[A-Z][a-z]+:$' out | paste -sd' ')
[ "$headings" = 'Input: Privacy: Baselines: Output: Machine: Tests:' ] || fail "perturb: headings: $headings"
exits 0 help infer --all
for flag in --words -m -i -o -e --method --table -k -N --pad --keep --text-field --unit-key --input-format --delimiter --ledger --dataset --endpoint \
	--remote-model --api --instruction --remote-tokens --remote-temperature --max-tokens-field --api-key-file --ca-file --proxy --timeout --retries \
	--max-requests --max-remote-tokens --show-what-leaves -n --temperature --whole --template --prompt --chat-format --system -c --receipt --sign \
	--overwrite --progress -q -t --isa -C --mlock --parallel --insecure-seed; do
	says out "(^|[ ,])${flag}[ ,]"
done
headings=$(grep -E '^[A-Z][a-z ]+:$' out | sed '/^For example:$/d' | paste -sd' ')
[ "$headings" = 'Input: Privacy: Baselines: Ledger: Remote model: Final texts: Output: Machine: Tests:' ] || fail "infer: headings: $headings"
says out '^A text of n words costs n EPS'
(unset CUTTLE_MODEL && refused 2 infer) || exit 1
says err 'missing: --words WORDS, -m MODEL .*, -i TEXTS, --endpoint URL, --remote-model NAME, -o OUT; for example: cuttle infer --words '
exits 0 help evaluate --all
for flag in -m -i --against --public --private --baseline --text-field --against-field --task --test --lexicon --features-a --features-b --equal-texts \
	-o --format --progress -q -t --isa; do
	says out "(^|[ ,])${flag}[ ,]"
done
(unset CUTTLE_MODEL && refused 2 evaluate) || exit 1
says err 'missing: -m MODEL .*, -i RUN, --against REAL, --public or --private; for example: cuttle evaluate -m '
exits 0 help audit --all
for flag in -m -i --public --private --receipt --texts --held-out --draw --members --words -e --clip --claim -B -n --temperature -k --games --secrets --guesses \
	--canary --score --no-control --kind --template --public-examples -o --json --overwrite --progress -q -t --isa --insecure-seed; do
	says out "(^|[ ,])${flag}[ ,]"
done
headings=$(grep -E '^[A-Z][a-z]+:$' out | paste -sd' ')
[ "$headings" = 'Input: Promise: Games: Prompts: Output: Machine: Tests:' ] || fail "audit: headings: $headings"
(unset CUTTLE_MODEL && refused 2 audit canary -e 1) || exit 1
says err 'missing: -m MODEL .*; for example: cuttle audit canary -m '
(unset CUTTLE_MODEL && refused 2 extract) || exit 1
says err 'missing: -m MODEL .*, -i DOCS, --replies FILE'
exits 0 score --help
for flag in -m -i -o -c --text-field --kind --public-examples --examples-per-text --examples-field --template --chat-format --system --prompt-public --bias -t; do
	says out "(^|[ ,])${flag}[ ,]"
done
[ "$(grep -c "^    cuttle score " out)" = 2 ] || fail "score --help has not two examples"
exits 0 report --help
for flag in --texts --ledger --dataset --key --publish -o --format --json --overwrite; do says out "(^|[ ,])${flag}[ ,]"; done
refused 2 report
says err 'missing: RECEIPT; for example: cuttle report out.receipt.json '
exits 0 help expand --all
for flag in -m -i --receipt --input-format -N -n --examples-per-text --seed --trim --drop --kind --template --chat-format --system --prompt-public -c -o \
	--output-format --own-receipt --sign --overwrite --progress -q -t --isa -C --mlock --parallel --prompt-chunk; do
	says out "(^|[ ,])${flag}[ ,]"
done
[ "$(grep -c "^    cuttle expand " out)" = 2 ] || fail "expand --help has not two examples"
headings=$(grep -E '^[A-Z][a-z ]+:$' out | sed '/^For example:$/d' | paste -sd' ')
[ "$headings" = 'Input: Text: Prompts: Output: Machine:' ] || fail "expand: headings: $headings"
(unset CUTTLE_MODEL && refused 2 expand) || exit 1
says err 'missing: -m MODEL .*, -i OUT, -o MORE'
# Every option of these stands under a heading, and two commands show how.
for verb in generate sanitize; do
	exits 0 help $verb --all
	[ "$(grep -c "^    cuttle $verb " out)" = 2 ] || fail "$verb --help has not two examples"
	headings=$(grep -E '^[A-Z][a-z]+:$' out | paste -sd' ')
	[ "$headings" = 'Input: Privacy: Text: Prompts: Output: Machine: Tests:' ] || fail "$verb: headings: $headings"
	awk '/^Input:$/ { under = 1 } /^ +(-., )?--/ && !under { exit 1 }' out || fail "$verb: an option stands before the first heading"
done
refused 2 frobnicate
says err 'there is no verb frobnicate; cuttle --help'
refused 2 gneerate
says err 'did you mean cuttle generate\?'
refused 2 help ledgre
says err 'did you mean cuttle ledger\?'
refused 2 model infp -m refs.jsonl
(unset CUTTLE_MODEL && refused 2 generate) || exit 1
says err 'missing: -m MODEL .*, -i REFS, -o OUT, -e EPS or --clip C; for example: cuttle generate -m '
refused 2 generate -o out.jsonl
says err 'missing: -i REFS, -e EPS or --clip C;'
refused 2 generate --xyzzy
says err '^cuttle generate: --xyzzy: is not an option here; cuttle help generate --all shows those there are$'
refused 2 generate --temprature 1
says err '--temprature: .* did you mean --temperature\?'
for verb in $("$CUTTLE" help --verbs); do
	refused 2 "$verb" --verson
	says err "^cuttle $verb: --verson: .* did you mean cuttle --version\?\$"
done
refused 2 --verson
says err '^cuttle: there is no verb --verson; did you mean cuttle --version\?$'
refused 2 generate -N 2 --num 20
says err '^cuttle generate: -N 2 and --num 20 are one option with two values: give it once$'
refused 2 generate -e 0
says err '^cuttle generate: --epsilon: "0" is not a number above 0, as in 3$'
refused 2 generate -e ten
says err '--epsilon: "ten" is not a number above 0, as in 3'
refused 2 generate -e 3 -B 5000
says err '--batch-size: "5000" is not a whole number from 0 to 4096'
(unset CUTTLE_MODEL && refused 2 sanitize) || exit 1
says err 'missing: -m MODEL .*, -i DOCS, -o OUT, -e EPS or --divergence C; for example: cuttle sanitize -m '
exits 2
"$CUTTLE" --help >/dev/full 2>err
[ $? = 1 ] || fail "a full disk under --help is not noticed"

references 2
run=(generate -e 3 -i refs.jsonl -o out.jsonl)
refused 2 generate -i refs.jsonl -o out.jsonl
refused 2 generate -e 3 --clip 1
refused 2 "${run[@]}" --chat-format chatml
refused 2 generate -e 3 -o out.jsonl
refused 2 generate -e 3 -i refs.jsonl
refused 2 "${run[@]}" -o refs.jsonl
refused 2 "${run[@]}" --public-examples first --receipt first
refused 2 "${run[@]}" --receipt -
refused 2 "${run[@]}" --receipt out.jsonl
refused 2 "${run[@]}" -i - --public-examples -
refused 2 "${run[@]}" --prompt-public refs.jsonl
refused 2 "${run[@]}" --template none
refused 2 "${run[@]}" -N 0
refused 2 "${run[@]}" stray
says err 'unexpected argument stray: each value follows its option'
CUTTLE_BATCH_SIZE=many refused 2 "${run[@]}"
# A variable with a typing error would be an option that was not given. Its value is nobody's business.
for verb in $("$CUTTLE" help --verbs); do
	CUTTLE_APROVAL=secret refused 2 "$verb" -i refs.jsonl
	says err "^cuttle $verb: CUTTLE_APROVAL in the environment is no option of cuttle; did you mean CUTTLE_APPROVAL\\?\$"
	CUTTLE_XYZZY=secret refused 2 "$verb" --help
	says err "^cuttle $verb: CUTTLE_XYZZY in the environment is no option of cuttle: unset it\$"
done
for variable in CUTTLE_MODEL_=a CUTTLE_=a CUTTLE_model=a CUTTLE_MODELS=a; do
	(export "${variable?}" && refused 2 tokenize hi) || exit 1
done
# Of another verb, empty, a key, and what Kubernetes says of a service called cuttle.
for variable in CUTTLE_APPROVAL=true CUTTLE_XYZZY= CUTTLE_API_KEY=k CUTTLE_SERVICE_HOST=1 CUTTLE_PORT=tcp://1 CUTTLE_PORT_80_TCP_ADDR=1; do
	(export "${variable?}" && exits 0 help budget && exits 0 budget epsilon --clip 1 -n 10 -B 2 --temperature 1) || exit 1
done
# A caller whose exit code can get lost is told it on a descriptor: the code, and nothing else.
# last_word CODE ARG...: what the command says there, and its exit code, are CODE.
last_word() {
	local code=$1
	shift
	{ CUTTLE_END_FD=5 "$CUTTLE" "$@" 5>&1 >"${to:-out}" 2>err; echo "$?" >code; } | cat >word
	[ "$(od -An -c word) $(cat code)" = "   $code  \\n $code" ] || fail "cuttle $* ends with $(cat code) and says: $(od -c word)"
}
last_word 0 --version
last_word 2 ledger
last_word 4 receipt verify refs.jsonl
last_word 5 "${run[@]}" -m /nonexistent
to=/dev/full last_word 1 --version
# It is a pipe or a socket beside the standard streams that can be written. A file would be written over.
cp refs.jsonl kept
for named in 0 1 2 6 7 8 9 -5 5x '' ' 5' 4294967301 99999999999999999999; do
	# shellcheck disable=SC2094 # that is the point: a file of the user's
	(CUTTLE_END_FD=${named:-.} refused 2 "${run[@]}" 5> >(cat) 6<> refs.jsonl 7>>refs.jsonl 8<refs.jsonl 9< <(:)) || exit 1
	says err '^cuttle: CUTTLE_END_FD in the environment must be the number of an open pipe or socket, from 3 on: unset it$'
done
same refs.jsonl kept "a file got the exit code"
# A pipe that is full and that no one reads keeps nobody waiting.
mkfifo full
exec 5<>full
dd if=/dev/zero of=/dev/fd/5 bs=4096 oflag=nonblock 2>err && fail "the pipe took everything"
CUTTLE_END_FD=5 timeout 60 "$CUTTLE" --version >out || fail "a full pipe: $?"
exec 5>&-
rm kept word code full
(unset CUTTLE_MODEL && refused 2 "${run[@]}") || exit 1
refused 5 "${run[@]}" -m .
refused 5 "${run[@]}" -m refs.jsonl
says err '^cuttle generate: model refs\.jsonl: '
refused 5 "${run[@]}" -m /nonexistent
says err '/nonexistent: '
refused 5 model info -m refs.jsonl
[ "$(echo *)" = "err first out refs.jsonl" ] || fail "a refused run left something behind: $(ls)"

# A command that lacks options is told a line that works: what was typed, with what is missing.
need_tiny finite
unset CUTTLE_MODEL
references 4
cp refs.jsonl notes.jsonl
mkdir models && cp tiny.gguf models/SmolLM2-135M-Instruct.Q4_1.gguf
refused 2 generate -N 2 -n 3 -B 2 --kind "a friend's note" -q
line=$(sed -n 's/.*; for example: cuttle //p' err)
[ "$line" = "generate -m models/SmolLM2-135M-Instruct.Q4_1.gguf -i notes.jsonl -o out.jsonl -e 3 -N 2 -n 3 -B 2 --kind 'a friend'\\''s note' -q" ] ||
	fail "the line is: $line"
eval "exits 0 $line"
[ "$(wc -l <out.jsonl)" = 2 ] || fail "the line that was told writes $(wc -l <out.jsonl) texts"
# It works where -N was not typed, beside an output that stands, and for a run on many machines.
references 70
cp refs.jsonl notes.jsonl
touch out-2.receipt.json out-3.jsonl.journal out-4.jsonl.run
for way in '' shard; do
	# shellcheck disable=SC2086 # words
	refused 2 ${way:-generate} ${way:+open} -m tiny.gguf -i notes.jsonl -n 2 -q
	line=$(sed -n 's/.*; for example: cuttle //p' err)
	[ "$line" = "${way:-generate} $([ "$way" ] && echo 'open -o RUN --shards 4' || echo '-o out-5.jsonl') -e 3 -N 10 -m tiny.gguf -i notes.jsonl -n 2 -q" ] || fail "the line is: $line"
	eval "exits 0 $line"
done
[ "$(wc -l <out-5.jsonl)" = 10 ] || fail "the line that was told writes $(wc -l <out-5.jsonl) texts"
# Options alone open nothing, and a verb alone says what there is, with a line.
rm -r RUN
refused 2 shard -m tiny.gguf -i notes.jsonl -o RUN -e 3 -N 10 -n 2 --shards 4
says err '^cuttle shard: say what to do: cuttle shard open .*; for example: cuttle shard open -m '
[ ! -e RUN ] || fail "a run was opened that nobody opened"
for verb in ledger receipt model budget audit; do
	refused 2 $verb
	says err "^cuttle $verb: say what to do: cuttle $verb .*; for example: cuttle $verb [a-z]"
done
refused 2 inspect
says err '^cuttle inspect: missing: -i FILE; for example: cuttle inspect -i '
refused 2 audit canary -e 1
says err '; for example: cuttle audit canary -m models/[^ ]* -e 1$'
refused 2 generate -N 2 --kind $'two\nlines'
[ "$(wc -l <err)" = 1 ] || fail "an error has two lines: $(cat err)"
