#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `generate --trace`. It fails if the trace file can be read by others, lacks its stamp, has
# a size that depends on private text, or changes anything else. It fails if any message quotes a
# reference, whatever goes wrong.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_some_model
texts=2 tokens=2 long=150 # of a tiny model, so that a run is caught at work
nightly && tokens=4 long=30
for i in 1 2 3 4; do echo "{\"text\":\"Patient Zyxwvut$i has hay fever.\",\"who\":\"Qponmlk$i\"}"; done >refs.jsonl
base=(generate -i refs.jsonl -B 2 -N "$texts" -e 10 --kind note -q)
run=("${base[@]}" -n "$tokens")

# The same output, with or without.
exits 0 "${run[@]}" --insecure-seed 1 -o plain.jsonl
umask 0
exits 0 "${run[@]}" --insecure-seed 1 -o out.jsonl --trace steps
umask 022
[ ! -s out ] || fail "a trace on standard output: $(cat out)"
same out.jsonl plain.jsonl "a traced run gives other texts"
[ "$(stat -c %a steps)" = 600 ] || fail "the trace's mode is $(stat -c %a steps)"
head -1 steps | grep -q '^{"trace":"PRIVATE: ' || fail "the first line does not say PRIVATE"
[ "$(sed 1d steps | wc -l)" = "$(awk -F'"tokens":' '{ sum += $2 + 0 } END { print sum }' out.jsonl)" ] || fail "not a line for each token"
[ "$(sed 1d steps | awk '{ print length }' | sort -u | wc -l)" = 1 ] || fail "lines of several lengths"
says steps '^{"text":0,"step":0,"token":[0-9]+,"candidates":[0-9]+,"private_rows":2,"effective_k":[0-9.]+,"clipped":[01][0-9.]*,"public_top":0\.'
says out.receipt.json '"trace": true'
says plain.receipt.json '"trace": false'
[ "$(sed 1d steps | grep -o '"token":[0-9]*,' | wc -l)" -gt 1 ] || fail "no tokens"

# A file of its own, made here.
refused 2 "${run[@]}" -o x.jsonl --trace -
refused 2 "${run[@]}" -o x.jsonl --trace x.jsonl
refused 2 "${run[@]}" -o x.jsonl --trace x.json --receipt x.json
refused 2 "${run[@]}" -o x.jsonl --trace nowhere/steps
for taken in steps /dev/stdout /dev/null plain.jsonl .; do refused 2 "${run[@]}" -o x.jsonl --trace "$taken"; done
ln -s target link
refused 2 "${run[@]}" -o x.jsonl --trace link
mkfifo pipe
refused 2 "${run[@]}" -o x.jsonl --trace pipe
# An empty file is what a kill leaves before the first line, but not where others may read it or write to it, and no more is its own.
for mode in 600 644; do
	: >begun
	chmod $mode begun
	if [ $mode = 600 ]; then exits 0 "${run[@]}" --insecure-seed 1 -o y.jsonl --trace begun && same begun steps "a trace that was begun"; else refused 2 "${run[@]}" -o x.jsonl --trace begun; fi
	rm begun
done
head -c 40 steps >begun
chmod 600 begun
exits 0 "${run[@]}" --insecure-seed 1 -o z.jsonl --trace begun
same begun steps "a trace whose first line was torn"
: >mine
ln mine second
chmod 600 mine
refused 2 "${run[@]}" -o x.jsonl --trace mine
[ ! -s mine ] || fail "a file of two names was written to"
[ ! -e target ] || fail "a link was followed"
same plain.jsonl out.jsonl "an output was written to"
compgen -G 'x*' >/dev/null && fail "a run that did not begin left something"

# Another command with a trace than without: a receipt cannot lose its stamp on the way.
"$CUTTLE" "${base[@]}" -n "$long" -o p.jsonl --trace p.steps --progress json >out 2>err &
pid=$!
soon lines_in p.steps 3
grep -q '^Max core file size  *0  *0 ' /proc/$pid/limits 2>/dev/null || ! kill -0 $pid 2>/dev/null || fail "cores may be dumped"
kill -TERM $pid
wait $pid
case $? in
6)
	before=$(wc -l <p.steps)
	refused 2 "${base[@]}" -n "$long" -o p.jsonl
	printf '{"text"' >>p.steps # a line that a power cut left half
	exits 0 "${base[@]}" -n "$long" -o p.jsonl --trace p.steps
	[ "$(wc -l <p.steps)" -gt "$before" ] || fail "a continued run is not traced"
	;;
0) ;;
*) fail "SIGTERM: $(cat err)" ;;
esac
[ "$(sed 1d p.steps | awk '{ print length }' | sort -u | wc -l)" = 1 ] || fail "a torn line"
[ "$(sed 1d p.steps | wc -l)" = "$(awk -F'"tokens":' '{ sum += $2 + 0 } END { print sum }' p.jsonl)" ] || fail "steps are missing"
grep -c 'PRIVATE' p.steps | grep -qx 1 || fail "not one first line"
says p.receipt.json '"trace": true'
exits 0 receipt verify p.receipt.json
says out 'once the trace is seen'
exits 0 "${base[@]/%-q/--progress=off}" -n "$long" -o p.jsonl --trace p.steps
says err 'already complete'

# A full disk.
(prlimit --fsize=1500 --pid "$BASHPID" && exits 6 "${base[@]}" -n 6 -o f.jsonl --trace f.steps) || exit 1
says err 'cannot write f.(steps|jsonl.journal): .*the same command continues'

# Whatever goes wrong, nothing of a reference is said. (What was drawn could quote one, by the mechanism: these runs draw little.)
wrong() {
	"$CUTTLE" "$@" >out 2>err
	grep -Eq 'Zyxwvut|Qponmlk' out err && fail "$*: $(cat out err)"
	return 0
}
exits 0 ledger init --ledger l --dataset d --rho-limit 0.1 --unit-key who
who=(--ledger l --dataset d)
wrong "${run[@]}" -o w.jsonl "${who[@]}"
[ "$(cat err)" != '' ] || fail "rho 0.1 was enough"
wrong "${run[@]}" -o w.jsonl -N 3
wrong "${run[@]}" -o w.jsonl --text-field who -N 9
wrong "${run[@]}" -o w.jsonl --input-format csv
wrong "${run[@]}" -o w.jsonl --prompt-public refs.jsonl --prompt-private refs.jsonl
wrong "${run[@]}" -o refs.jsonl
wrong "${run[@]}" -o nowhere/w.jsonl
sed 's/"who/who"/' refs.jsonl >bad.jsonl
wrong "${run[@]}" -i bad.jsonl -o w.jsonl --insecure-seed 1
(ulimit -v 400000 && wrong "${run[@]}" -o w2.jsonl) || exit 1
grep -rlE 'Zyxwvut|Qponmlk' . | grep -vE '^./(refs|bad)\.jsonl$' && fail "a file quotes a reference"
exit 0
