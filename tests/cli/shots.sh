#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle generate --shots R`: rows of several references. It fails if one reference a row is not what it was before, if a null record
# leaves anything of its row or takes another row with it, if more or fewer records are needed, read or charged than N B R, or if a receipt,
# shards, a stop, expand or an audit lose the shots.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
# Each says something else, so that a tiny model hears which are there.
letters=abcdefghijklmnopqrstuvwxyz0123456789
for i in $(seq 0 35); do echo "{\"text\":\"note $i ${letters:i:1}${letters:i:1}${letters:i:1}${letters:35-i:1}${letters:35-i:1}\",\"kind\":\"$([ $((i % 3)) = 0 ] && echo sea || echo land)\",\"who\":$((i / 2))}"; done >refs.jsonl
base=(generate -i refs.jsonl -B 3 -n 12 --clip 9 -k 0 -q --insecure-seed 3 --lots off)
paid=(generate -i refs.jsonl -B 2 -n 6 -e 3 -q)

# One a row is the run that it was, to the byte.
exits 0 "${base[@]}" -N 4 -o plain.jsonl
exits 0 "${base[@]}" -N 4 -o one.jsonl --shots 1
same one.jsonl plain.jsonl "--shots 1 is not the default"
same one.receipt.json plain.receipt.json "--shots 1 has a receipt of its own"

# What is wrong is said before anything is read, and what lacks.
for shots in 0 65 x; do refused 2 "${base[@]}" -N 2 -o x.jsonl --shots $shots; done
refused 4 "${base[@]}" -N 5 -o x.jsonl --shots 3
says err 'refs.jsonl has 36 records, but N x B x R = 5 x 3 x 3 = 45 are needed; lower -N, --shots or -B$'
# More places than there is memory for are too many for the records, and say no more than that.
refused 4 "${base[@]}" -N 1000000 -B 1024 -o x.jsonl --shots 64
says err 'refs.jsonl has 36 records, but N x B x R'
kinds=(--category-field kind --categories "sea,land")
refused 2 "${paid[@]}" -N 2 -o x.jsonl --shots 2 "${kinds[@]}"
says err '--shots needs rows of one category or cluster'
refused 2 "${paid[@]}" -N 2 -o x.jsonl --shots 2 --lots on --unit-key who --one-per-unit
says err '--shots and --lots on with --unit-key exclude each other'
exits 0 "${paid[@]}" -N 2 --shots 3 --dry-run
says out '^batch B +2 rows per text$'
says out '^shots R +3 references per row: 12 needed$'
says out '^lots +12 rows in 6 batches, 2 of them used$'

# A null record takes its row, whichever it is; no other record and no other text notices. Row 1 of text 0 has the records 2 and 3.
world() {
	sed -E "$1" refs.jsonl >world.jsonl
	exits 0 "${base[@]}" -i world.jsonl -N 2 --shots 2 -o world.out.jsonl
	mv world.out.jsonl "$2"
	rm world.out.receipt.json
}
world '' all
world '3s/.*//' first
world '4s/.*/{"text":"  "}/' second
world '3s/.*/{/;4s/note/a letter about/' other
world 12q short
world '5s/.*//' next
same first second "which record of a row is null shows"
same first other "what a row's other record says shows, though the row is null"
same short all "records behind N B R are read"
cmp -s first all && fail "a null record changes nothing"
cmp -s first next && fail "a row is as good as another"
same <(sed -n 2p first) <(sed -n 2p all) "another text's row is gone"

# Receipts: the shots, and rows in place of records with lots.
exits 0 "${paid[@]}" -N 2 --shots 3 -o lots.jsonl
nothing_left lots.jsonl
exits 0 receipt verify lots.receipt.json --output lots.jsonl
says out '2 rows of 3 references'
says out 'counts on lots nobody saw: 2 of 6 batches'
says lots.receipt.json '"shots": 3'
says lots.receipt.json '"groups": 12'
edits_noticed lots.receipt.json <<-'END'
	s/"shots": 3/"shots": 1/
	s/"shots": 3/"shots": 65/
	/"shots"/d
	s/"groups": 12/"groups": 18/
	s/"groups": 12/"records": 12/
	s/"batches": 6/"batches": 12/
	s/"rows_cap": [0-9]*/"rows_cap": 2/
END
exits 0 "${paid[@]}" -N 2 "${kinds[@]}" -o private.jsonl
edits_noticed private.receipt.json <<-'END'
	s/"batch": 2/"batch": 2, "shots": 2/;s/"records": 36/"groups": 36/
END
exits 0 "${paid[@]}" -N 3 --shots 2 "${kinds[@]}" --category-public --lots off -o kinds.jsonl
exits 0 receipt verify kinds.receipt.json --output kinds.jsonl

# A run that was stopped goes on to the same bytes, and other shots are another run.
[ "$(exits 0 "${base[@]}" -N 4 --shots 2 --dry-run && grep ^command out)" != "$(exits 0 "${base[@]}" -N 4 --shots 3 --dry-run && grep ^command out)" ] ||
	fail "the shots are not in the command"
exits 0 "${base[@]}" -N 6 --shots 2 -o whole.jsonl
for room in 300 420 540; do
	(prlimit --fsize=$room --pid "$BASHPID" && exits 6 "${base[@]}" -N 6 --shots 2 -o tight.jsonl) || exit 1
done
exits 0 "${base[@]}" -N 6 --shots 2 -o tight.jsonl
same tight.jsonl whole.jsonl "a run that was stopped"

# Shards: each has the rows of its batches, and the whole is that of one machine.
for lots in on off; do
	run=(-i refs.jsonl -B 2 -n 6 -e 3 -q --insecure-seed 3 --lots "$lots" -N 4 --shots 3)
	exits 0 generate "${run[@]}" -o one.jsonl --overwrite
	exits 0 shard open "${run[@]}" -o "run.$lots" --shards 3
	for i in 2 1 0; do exits 0 generate "${run[@]}" -o "run.$lots" --shard $i/3; done
	exits 0 merge "run.$lots" -q -o merged.jsonl --overwrite
	same merged.jsonl one.jsonl "shards with lots $lots"
done

# Owners: the dry run, the receipt and the ledger have one number. Each has two records, both in one row of two.
exits 0 ledger init --ledger l --dataset persons --rho-limit 100 --unit-key who
all=("${paid[@]}" -N 4 --shots 2 --unit-key who --records-per-unit all --ledger l --dataset persons)
exits 0 "${all[@]}" --dry-run
says out 'all records of the most frequent one cost 1 times the rho of one'
exits 0 "${all[@]}" -o owners.jsonl
exits 0 receipt verify owners.receipt.json --output owners.jsonl --ledger l
says owners.receipt.json '"unit_weight": 1'
exits 0 "${paid[@]}" -N 2 --shots 3 --unit-key who --records-per-unit all -o threes.jsonl
says threes.receipt.json '"unit_weight": 4'

# What was drawn is an example for more, and an audit plays with whole rows.
exits 0 expand -i lots.jsonl -o more.jsonl -N 3 -n 6 -q --kind text
exits 0 receipt verify more.receipt.json --parent lots.receipt.json
audit=(audit canary -e 3 -n 6 -B 2 --shots 2 -N 8 --insecure-seed 5)
refused 2 "${audit[@]}"
says err '--shots: give the other references'
! grep -q 'texts to go' err || fail "an audit begins before it is refused"
exits 0 "${audit[@]}" -q -i refs.jsonl --public

# What makes texts say what all records say: the most texts, and then the fewest rows, with which x is 12.
exits 0 budget plan -e 1,3 -B 7 -n 40 --temperature 0.7 -N 4 --records 4000
says out '^    -e 1 -N 1 -B 154 --shots 8 -k 0    x = 12$'
says out '^    -e 3 -N 4 -B 117 --shots 8 -k 0    x = 12[.0-9]*$'
exits 0 budget plan -e 1 -B 7 -n 40 --temperature 0.7 -N 4 --records 600
says out '^    -e 1 -N 1 -B 75 --shots 8 -k 0    x = 2[.0-9]*$'
exits 0 budget plan -e 1 -B 7 -n 40 --temperature 0.7 -N 4 --records 7
! grep -q -e '--shots' out || fail "seven records make no row"

# The line that inspect suggests works when it is pasted. It has shots where rows are whole, and else says why not.
pasted() { # SHOTS OPTION...
	local line words
	exits 0 inspect -i refs.jsonl "${@:2}"
	line=$(grep '^cuttle generate' out)
	[ "$(grep -c -e ' --shots ' <<<"$line")" = "$1" ] || fail "inspect ${*:2} suggests $line"
	eval "words=($line)"
	cp out told
	rm -f out.*
	exits 0 "${words[@]:1}" -n 2 -q
}
pasted 1 -B 2 --shots 3
says told "cuttle generate .*--shots 3 .*-B 2 -N 6"
! grep -q 'left out' told || fail "shots that are there are left out"
printf 'kind,share\nsea,1\nland,2\n' >kinds.csv
pasted 1 -B 2 --shots 2 --category-field kind --categories kinds.csv
pasted 0 -B 2 --shots 2 --category-field kind --categories sea,land
says told '^--shots is left out: its rows are of one category'
pasted 0 -B 2 --shots 2 --unit-key who
says told ' -B 2 -N 18 --one-per-unit$'
says told '^--shots is left out: an owner has only so many rows'
exits 0 inspect -i refs.jsonl --shots 64
says out '^There are fewer than R = 64 records, which make no row: give a smaller --shots'
exits 0 inspect -i refs.jsonl -B 9 --shots 4 --category-field kind --categories kinds.csv
says out '^There are fewer than B x R = 9 x 4 records of a category: give a smaller -B or --shots'
