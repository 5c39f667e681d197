#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle generate --rounds 2` from outside. It fails if bytes differ with the number of texts in flight, with threads or tiers, or
# after a stop at any place; if the first round is another than in one round, or the second the same; if references show in anything but the
# tokens; if a run is charged otherwise; or if receipt, dry run and errors say something else than what was done.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
limits='300 900 1500 2100 2700 3300' plain='--isa scalar --no-sharing'
short && limits=1500 plain=--no-sharing
for i in $(seq 0 59); do echo "{\"text\":\"note $i of a gardener\",\"kind\":\"$([ $((i % 2)) = 0 ] && echo sea || echo land)\"}"; done >refs.jsonl
for day in a b c; do echo "{\"text\":\"The $day of March.\"}"; done >examples.jsonl
# A clip takes no calibration; private categories and lots need epsilon.
whole=(generate -i refs.jsonl -B 2 -N 12 -n 12 -q --public-examples examples.jsonl)
base=("${whole[@]}" --clip 0.4 --accountant zcdp)
run=("${base[@]}" --insecure-seed 3)

# Two texts of twelve come first, as they would in one round; the others differ.
exits 0 "${run[@]}" -o two.jsonl --rounds 2
exits 0 "${run[@]}" -o one.jsonl --examples-per-text 4
grep -q rounds one.receipt.json && fail "a run in one round names rounds"
same <(head -2 one.jsonl) <(head -2 two.jsonl) "the first round is another"
cmp -s one.jsonl two.jsonl && fail "the second round is the same"
[ "$(indices two.jsonl)" = "$(seq -s' ' 0 11)" ] || fail "indices: $(indices two.jsonl)"
exits 0 "${run[@]}" -o again.jsonl --rounds 2
same again.jsonl two.jsonl "other texts the second time"
exits 0 "${run[@]}" -o one.jsonl --examples-per-text 4 --rounds 1
same again.jsonl two.jsonl "--rounds 1 is not the default"

# However it is run: the same bytes.
kinds=(--category-field kind --categories 'sea,land')
ways=('' '--token-bank' '--lots on' '--template instruct --chat-format chatml --examples-per-text 2' '--drop duplicates,loops')
short && ways=('--lots on --token-bank')
number=0
for way in "${ways[@]}" kinds public; do
	case $way in
	kinds) options=("${kinds[@]}" -N 20) ;;
	public) options=("${kinds[@]}" -N 18 --category-public) ;;
	*) read -ra options <<<"$way" ;;
	esac
	number=$((number + 1))
	way=("${run[@]}" "${options[@]}" --rounds 2)
	[ "$number" -le ${#ways[@]} ] || way=("${whole[@]}" -e 8 --insecure-seed 3 "${options[@]}" --rounds 2)
	exits 0 "${way[@]}" -o "$number.jsonl"
	for other in '--parallel 1' "--parallel 5 --prompt-chunk 7 -t 1 $plain"; do
		rm -f w.*
		# shellcheck disable=SC2086
		exits 0 "${way[@]}" -o w.jsonl $other
		same w.jsonl "$number.jsonl" "${options[*]}: $other draws other texts"
	done
	for limit in $limits; do
		rm -f w.*
		(prlimit --fsize="$limit" --pid "$BASHPID" && "$CUTTLE" "${way[@]}" -o w.jsonl >out 2>err)
		code=$?
		[ $code = 6 ] || [ $code = 0 ] || fail "exit $code: $(cat err)"
		exits 0 "${way[@]}" -o w.jsonl --parallel 3
		same w.jsonl "$number.jsonl" "${options[*]}: other texts after a stop at $limit bytes"
		same w.receipt.json "$number.receipt.json" "${options[*]}: another receipt after a stop at $limit bytes"
	done
done
exits 0 "${run[@]}" -o - --rounds 2
grep -v '^NOT PRIVATE' out | same - two.jsonl "standard output has other texts"

# Two worlds: at this clip other references change no token, and so nothing else, in either round.
calm=(generate -B 2 -N 12 -n 12 --clip 0.0003 --insecure-seed 5 --public-examples examples.jsonl --rounds 2 --lots off)
sed 's/note 1 of a gardener/A much longer record, about somebody else entirely, by another hand/; 4s/.*/{}/; 8s/.*/{}/' refs.jsonl >others.jsonl
for world in refs others; do
	mkdir $world
	cp $world.jsonl in
	(cd $world && "$CUTTLE" "${calm[@]}" -m ../tiny.gguf -i ../in --public-examples ../examples.jsonl -o out.jsonl >out 2>err) || fail "$(cat $world/err)"
done
diff -r refs others || fail "the worlds differ"

# Charged as one round; the receipt can be checked, and expand goes on from it.
exits 0 ledger init --ledger l --dataset notes --epsilon-limit 90
for rounds in 1 2; do
	exits 0 "${base[@]}" -o p$rounds.jsonl --rounds $rounds --examples-per-text 4 --ledger l --dataset notes --lots off
	exits 0 ledger show --ledger l --dataset notes --json
	sed 's/.*"rho_spent":\([^,]*\),.*/\1/' out >spent$rounds
done
awk -v once="$(cat spent1)" -v twice="$(cat spent2)" 'BEGIN { exit !(twice > 1.999999 * once && twice < 2.000001 * once) }' ||
	fail "charged $(cat spent2), the first $(cat spent1)"
exits 0 receipt verify p2.receipt.json --output p2.jsonl --ledger l
says out 'showed up to 2 of them each\. This costs nothing'
edits_noticed p2.receipt.json <<-'END'
	s/"drawn": 2,/"drawn": 3,/
	s/"examples": 4/"examples": 6/
	s/"examples": 4/"examples": 1/
	s/"count": 2/"count": 3/
	s/"rounds"/"round"/
END
exits 0 expand -i p2.jsonl -N 5 -n 6 -o more.jsonl -q
exits 0 receipt verify more.receipt.json --output more.jsonl --parent p2.receipt.json
exits 0 receipt verify p1.receipt.json
grep -q 'written first' out && fail "a run in one round is called one in two"

pace
exits 0 "${base[@]}" --rounds 2 --dry-run --bench pace.json
says out '^rounds +2: .* show up to 2 of the tenth among 4 examples$'
exits 0 "${base[@]}" --rounds 2 --examples-per-text 7 --dry-run --bench pace.json -c 512 -n 2 --kind x --public-examples <(head -1 examples.jsonl)
says out ' show up to 3 of the tenth among 7 examples$'
refused 2 "${base[@]}" --rounds 2 --examples-per-text 1 -o z.jsonl
says err '2 or more'
for wrong in 0 3 two; do refused 2 "${base[@]}" --rounds $wrong -o z.jsonl; done
# A context that is too short for the longest prompt is refused before anything is drawn.
refused 2 "${base[@]}" --rounds 2 --examples-per-text 9 -o z.jsonl
says err 'leave no room for a reference'
[ ! -e z.jsonl.journal ] || fail "a refused run has a journal"
exits 0 generate -i refs.jsonl -B 2 -N 7 -n 12 -e 8 --public-examples examples.jsonl --rounds 2 --dry-run --bench pace.json
says err '^Warning: --rounds 2 does nothing here'
exits 0 generate -i refs.jsonl -B 2 -N 15 -n 12 -e 8 "${kinds[@]}" --category-public --public-examples examples.jsonl --rounds 2 --dry-run --bench pace.json
grep -q 'does nothing here' err && fail "8 texts of a category have two rounds"
exit 0
