#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the methods of `cuttle generate` beside InvisibleInk: which commands are refused and how, what
# receipts say of a method and how that is checked, what a ledger is charged, and that a method that
# promises nothing is stamped everywhere and never charged.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/methods.bash"
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
for i in $(seq 16); do echo "{\"text\":\"Note $i: a gardener, coughing for a week.\"}"; done >refs.jsonl
base=(generate -i refs.jsonl -q)

# ---- refusals ------------------------------------------------------------------------------------
# no EXIT WORDS OPTION...: refused with this exit code and these words, and nothing is left.
no() {
	local wanted=$1 words=$2
	shift 2
	refused "$wanted" "${base[@]}" -o no.jsonl "$@"
	says err "$words"
	for file in no.jsonl*; do [ ! -e "$file" ] || fail "$*: left $file"; done
}
no 2 'say so with --not-private' --method none
no 2 'protects nothing' --method adapmixed
no 2 'methods that promise nothing' -e 3 --not-private
no 2 'methods that promise nothing' --method dp-prompt -B 1 -e 3 --not-private
no 2 'method none has no epsilon' --method none --not-private -e 3
no 2 'method invisibleink has no such parameter' -e 3 --clip-width 5
no 2 'method none has no such parameter' --method none --not-private --units 5
no 2 'writes a text from one reference: give -B 1' --method dp-prompt -e 3
no 2 'needs epsilon or --clip-width' --method dp-prompt -B 1
no 2 'needs epsilon or --clip-width' --method dp-prompt -B 1 -e 3 --clip-width 5
no 2 'must lie between' --method dp-prompt -B 1 --clip-width 1000
no 2 'is not a number above 0' --method dp-prompt -B 1 --clip-width -1
no 3 'the nearest is --clip-width' --method dp-prompt -B 1 -e 1e-7
no 2 'is for --method invisibleink' --method dp-prompt -B 1 -e 3 --unit-key who
no 2 'is for --method invisibleink' --method dp-prompt -B 1 -e 3 --lots on
no 2 'is for --method invisibleink' --method dp-prompt -B 1 -e 3 --trace trace.jsonl
no 2 'are for --method invisibleink' --method dp-prompt -B 1 --clip 1
no 2 'are for --method invisibleink' --method dp-prompt -B 1 -e 3 --gain 2
no 2 'are for --method invisibleink' --method dp-prompt -B 1 -e 3 --category-field who --categories a,b
# What the nearest feasible parameters are said to be is feasible.
nearest=$(sed -nE 's/.*nearest is --clip-width ([^,]*),.*/\1/p' err)
refused 3 "${base[@]}" -o no.jsonl --method dp-prompt -B 1 -e 1e-7
nearest=$(sed -nE 's/.*nearest is --clip-width ([^,]*),.*/\1/p' err)
exits 0 "${base[@]}" -o near.jsonl --method dp-prompt -B 1 -N 2 -n 4 --clip-width "$nearest"

# ---- every method --------------------------------------------------------------------------------
# A run, its receipt, and what a changed receipt is told.
# shellcheck disable=SC2154 # methods.bash has them
for method in "${methods[@]}"; do
	name=${method%% *}
	rm -f m.*
	# shellcheck disable=SC2086 # a line has several words
	exits 0 "${base[@]}" -o m.jsonl --method $method
	grep -q "\"method\": \"$name\"" m.receipt.json || fail "$name: its receipt does not name it"
	grep -q '"note":"NOT PRIVATE"' m.jsonl || fail "$name: a seeded run is not stamped"
	# The seed is no secret, so without it the numbers are the same and hold.
	# shellcheck disable=SC2086
	exits 0 "${base[@]}" -o p.jsonl --overwrite --method ${method%--insecure-seed*}
	if [[ " $method " = *' --not-private '* ]]; then
		exits 4 receipt verify p.receipt.json
		[ "$(stat -c %a p.jsonl)" = 600 ] || fail "$name: mode $(stat -c %a p.jsonl) of texts that nothing protects"
		says err "NOT PRIVATE: (the loss of )?method $name"
		[ "$(grep -c '"note":"NOT PRIVATE"' p.jsonl)" = "$(wc -l <p.jsonl)" ] || fail "$name: a text is not stamped"
		grep -q '"epsilon": null' p.receipt.json || fail "$name: its receipt has an epsilon"
		grep -q '"private": false' p.receipt.json || fail "$name: its receipt says private"
		# A receipt that claims otherwise does not hold.
		sed '/"note": "NOT PRIVATE"/d; s/"private": false/"private": true/' p.receipt.json >false.json
		exits 7 receipt verify false.json
		says err 'its method promises nothing$'
	else
		exits 0 receipt verify p.receipt.json -o p.jsonl -m "$CUTTLE_MODEL"
		says out "method $name"
		for change in 's/("epsilon": )([0-9])/\11\2/' 's/("epsilon": )[0-9.e+-]+/\10.001/' 's/("units": )([0-9]+)/\1\29/' \
			's/^(  "rho": )[0-9.e+-]+/\10.0009765625/' 's/("method": )"[a-z-]*"/\1"none"/' 's/("null": )"[a-z ]*"/\1"neither"/' 's/("tokens": )([0-9]+)/\11\2/'; do
			# What amin promises follows from its units, what a filter does from its budget, whatever the tokens are.
			[[ $name != amin && $method != *--record-filter* || $change != *tokens* ]] || continue
			[[ $change != *rho* ]] || grep -q '"rho": [0-9]' p.receipt.json || continue
			sed -E "$change" p.receipt.json >false.json
			! cmp -s p.receipt.json false.json || fail "$name: $change changes nothing"
			"$CUTTLE" receipt verify false.json >out 2>err
			code=$?
			[ $code = 7 ] || [ $code = 4 ] || fail "$name: exit $code for a receipt changed by $change"
		done
	fi
	refused 4 expand -i p.jsonl -o more.jsonl -N 2 --kind note -q
	says err 'only texts of method invisibleink can be expanded'
done

# Each method that help names is one of them, so that non-interference is tested of each.
named=$("$CUTTLE" help generate --all | sed -nE 's/^ *--method ([a-z|-]+).*/\1/p' | tr '|' ' ')
[ "$(wc -w <<<"$named")" = 7 ] || fail "methods that help names: $named"
for name in $named; do
	[[ $name = invisibleink || " ${methods[*]} " = *" $name "* ]] || fail "methods.bash has no line of $name"
done

# The limit of adapmixed stands in its receipt; none says so.
for limit in '-e 5' ''; do
	# shellcheck disable=SC2086 # an option, or none
	exits 0 "${base[@]}" -o adaptive.jsonl --overwrite --method adapmixed --not-private $limit -B 2 -N 2 -n 3
	says adaptive.receipt.json "\"record_budget\": $([ -n "$limit" ] && echo '[0-9.]+' || echo null),?\$"
	sed -E 's/("record_budget": )[0-9a-z.]+/\1-1.5/' adaptive.receipt.json >false.json
	exits 7 receipt verify false.json
done
no 3 'at order 15 epsilon is above 0\.' --method adapmixed --not-private -e 0.5 -B 2 -N 2 -n 3

# ---- presets -------------------------------------------------------------------------------------
# same OPTION... -- OPTION...: both are one command.
same() {
	local one two all=()
	while [ "$1" != -- ]; do all+=("$1") && shift; done
	exits 0 generate --dry-run --bench pace.json "${all[@]}"
	one=$(sed -n 's/^command  *//p' out)
	shift
	exits 0 generate --dry-run --bench pace.json "$@"
	two=$(sed -n 's/^command  *//p' out)
	[[ -n "$one" && "$one" = "$two" ]] || fail "${all[*]}: not the command $*"
}
pace
same --preset table2-ink-7-10 -n 20 -- -B 7 -e 10 -k 50 --temperature 1.2 -n 20 --center none --gain 1 --lots off --accountant zcdp
same --preset=table2-ink-all-3-1 -n 20 -k 9 -- -B 3 -e 1 -k 9 --temperature 1.1 -n 20 --center none --gain 1 --lots off --accountant zcdp
no 2 'there is no table2-ink-7-2' --preset table2-ink-7-2
no 2 'give epsilon or clip' --preset table2-ink-7-10 --clip 1 -n 20

# ---- the ledger ----------------------------------------------------------------------------------
exits 0 ledger init --ledger l --dataset notes --epsilon-limit 30
exits 0 "${base[@]}" -o l.jsonl --method dp-prompt -B 1 -N 2 -n 4 -e 3 --ledger l --dataset notes
exits 0 receipt verify l.receipt.json --ledger l -o l.jsonl
rho=$(sed -nE 's/^  "rho": ([^,]*),/\1/p' l.receipt.json)
exits 0 ledger show --ledger l
cp l before
exits 0 "${base[@]}" -o n.jsonl --method none --not-private -B 2 -N 2 -n 4 --ledger l --dataset notes
exits 0 ledger history --ledger l
[ "$(grep -c reserve out)" = 1 ] || fail "a method that promises nothing was charged: $(cat out)"
refused 3 "${base[@]}" -o o.jsonl --method dp-prompt -B 1 -N 2 -n 4 --clip-width 20 --ledger l --dataset notes
[ -n "$rho" ] || fail "no rho in the receipt"

# ---- a run that is stopped goes on with its own method -------------------------------------------
stopped=("${base[@]}" -o s.jsonl -B 1 -N 4 -n 8)
(prlimit --fsize=200 --pid "$BASHPID" && exits 6 "${stopped[@]}" --method dp-prompt -e 3) || exit 1
refused 2 "${stopped[@]}" --method none --not-private
refused 2 "${stopped[@]}" -e 3
exits 0 "${stopped[@]}" --method dp-prompt -e 3
