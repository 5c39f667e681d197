#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests one run on several machines: shard open, generate --shard, merge. It fails if merged bytes differ from those of one machine, for any
# number of shards, kernels or moment of a kill; if a shard is begun by two journals, or again without being paid; if the ledger is charged
# otherwise than once; if merge takes what contradicts; or if a shard holds or leaves more than its own references, or those of a killed opening.
# shellcheck disable=SC2016 # what broken is given, it evaluates
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
for i in $(seq 0 47); do echo "{\"text\":\"note $i of a gardener\",\"kind\":\"$([ $((i % 3)) = 0 ] && echo sea || echo land)\"}"; done >refs.jsonl
paid=(-i refs.jsonl -B 2 -n 6 -e 3 -q)
base=("${paid[@]}" --insecure-seed 3)
tiers=(scalar avx2 auto)
[ "$(uname -m)" = x86_64 ] || tiers=(scalar auto)
file() { printf '%s/shard-%05d-of-%05d%s' "$1" "$2" "$3" "$4"; }

# draw FOLDER N OPTION...: all shards, the last one first, each with other kernels.
draw() {
	local folder=$1 n=$2 i
	shift 2
	for ((i = n - 1; i >= 0; i--)); do exits 0 generate "$@" -o "$folder" --shard "$i/$n" --isa "${tiers[i % ${#tiers[@]}]}"; done
}
# receipt_of FILE: without what merge adds, and which kernels.
receipt_of() { sed -E '/^  "(shards|shard_isa|shard_sha256|isa)": [^[]*,$/d; /^  "(shard_isa|shard_sha256)": \[$/,/^  \],$/d' "$1"; }

# equal NAME OUTPUT N OPTION...: the run on one machine and on N is the same.
equal() {
	local name=$1 output=$2 n=$3
	shift 3
	[ -f "one.$output" ] || exits 0 generate "${base[@]}" "$@" -o "one.$output"
	exits 0 shard open "${base[@]}" "$@" -o "$name.run" --shards "$n"
	[[ ! -s out && $(stat -c %a "$name.run") = 700 ]] || fail "$name: open"
	draw "$name.run" "$n" "${base[@]}" "$@"
	exits 0 merge "$name.run" -q -o "$name.$output"
	same "$name.$output" "one.$output" "$name: $n shards with $*"
	cmp -s <(receipt_of "$name.receipt.json") <(receipt_of one.receipt.json) || fail "$name: the receipt of $n shards with $*"
	[ ! -e one.jsonl.dropped.jsonl ] || same "$name.$output.dropped.jsonl" "one.$output.dropped.jsonl" "$name: dropped texts"
	exits 4 receipt verify "$name.receipt.json" --output "$name.$output"
	says err 'NOT PRIVATE'
	nothing_left "$name.$output"
	! compgen -G "$name.run/*.texts*" >/dev/null || fail "$name: references are left"
}
again() { rm -rf one.*; }
for n in $(short || echo 1 3) 2 7; do equal "n$n" jsonl "$n" -N 8 --lots off; done
again
equal lots jsonl 3 -N 6 --lots on
again
equal bank jsonl 3 -N 7 --lots off --token-bank -n 24 --drop duplicates,loops --complete
again
# The name must be of the run's format.
exits 0 shard open "${base[@]}" -N 2 --lots off --output-format csv -o csv.run --shards 1
refused 2 merge csv.run -o csv.jsonl
says err 'this run writes CSV, as shard open was told; name it .csv'
equal columns csv 2 -N 7 --output-format csv --category-field kind --categories sea,land --category-public --lots off --drop duplicates
again
# A category's texts are no multiple of the shards.
equal six csv 2 -N 6 --output-format csv --category-field kind --categories sea,land --category-public --lots off
again
# A category that a spreadsheet would run is told of, as generate tells.
sed 's/"land"/"-land"/' refs.jsonl >signs.jsonl
signed=("${base[@]/refs.jsonl/signs.jsonl}" -N 2 --output-format csv --category-field kind --categories "sea,-land" --category-public --lots off)
exits 0 shard open "${signed[@]}" -o signs.run --shards 1
draw signs.run 1 "${signed[@]}"
exits 0 merge signs.run -o signs.csv
says err '^Warning: 1 lines have a cell that begins with =, '
exits 0 merge signs.run -o signs.csv --overwrite -q
[ ! -s err ] || fail "merge -q says: $(cat err)"
equal method jsonl 2 -N 4 --method pmixed
again

# ---- a ledger: one charge, which no shard looks at
exits 0 ledger init --ledger spent.db --dataset notes --epsilon-limit 7 --delta-limit 1e-5
"$CUTTLE" ledger key --sign officer >/dev/null || fail "no key"
run=("${paid[@]}" -N 6 --charge rho --lots off)
counted=(--ledger spent.db --dataset notes)
refused 7 generate "${run[@]}" -o RUN --shard 0/2
says err 'no run is open'
exits 0 shard open "${run[@]}" "${counted[@]}" -o RUN --shards 2 --sign officer
exits 0 shard open "${run[@]}" "${counted[@]}" -o RUN --shards 2 --sign officer
entries() { "$CUTTLE" ledger history --ledger spent.db --dataset notes | grep -c "$1"; }
[[ $(entries reserve) = 1 && $(entries draw) = 1 ]] || fail "not charged once, or not marked as drawn: $("$CUTTLE" ledger history --ledger spent.db --dataset notes)"
refused 2 shard open "${run[@]}" "${counted[@]}" -o RUN --shards 3
says err 'of 2 shards\. Name another folder, or give the options it was opened with$'
refused 2 shard open "${run[@]}" "${counted[@]}" -o RUN --shards 2 -k 7
refused 3 shard open "${run[@]}" "${counted[@]}" -e 6.9 -o other.run --shards 2
[ ! -e other.run ] || fail "a run that nobody can pay left a folder"
refused 2 generate "${run[@]}" "${counted[@]}" -o RUN --shard 0/2
for wrong in '-k 7' '--temperature 0.9' '-n 7' '-N 5' '--insecure-seed 1' '--kind x' '-B 3' '--isa blas' '-i x.jsonl' '--accountant exact' '--lots on'; do
	# shellcheck disable=SC2086 # an option and its value
	"$CUTTLE" generate "${run[@]}" $wrong -o RUN --shard 0/2 >out 2>err
	code=$?
	# A build without OpenBLAS has no such kernels.
	[ $code = 2 ] || fail "$wrong: exit $code: $(cat err)"
done
refused 2 generate "${run[@]}" -o RUN
says err 'RUN is a run of many machines: add --shard I/N'
refused 2 generate "${run[@]}" -o RUN --shard 0/3
refused 2 generate "${run[@]}" -o RUN --shard 2/2
refused 2 generate "${run[@]}" -o RUN --shard auto
refused 2 generate "${run[@]}" -o RUN --shard 0/2 --overwrite
refused 2 generate "${run[@]}" -o RUN --shard 0/2 --dry-run
refused 2 generate "${run[@]}" -o RUN --shard 0/2 --redraw 0
refused 2 generate "${run[@]}" -o x.jsonl --shards 2
for unfit in '--rounds 2' '--trace t' '--receipt r' '--category-field kind --categories sea,land' '--dry-run' '--overwrite' '--shard 0/2' '--wait 3' --json '--bench x' '--reference-tokens 9' '-o -' \
	'--nobody-saw x' '--shards 7' '--public-examples refs.jsonl --drop unlikely' '--unit-key kind --one-per-unit --lots on'; do
	# shellcheck disable=SC2086 # options and their values
	"$CUTTLE" shard open "${run[@]}" --shards 2 -o other.run $unfit >out 2>err
	code=$?
	[[ $code = 2 && ! -e other.run ]] || fail "shard open $unfit: exit $code: $(cat err)"
	! grep 'shards: ' err || fail "shard open $unfit says where it is twice"
done
# Nothing is left of what was not opened.
refused 4 shard open "${run[@]}" -N 60 -o other.run --shards 2
[ ! -e other.run ] || fail "a run of too few records left a folder"
refused 7 shard open "${run[@]}" --ledger nowhere.db --dataset notes -o other.run --shards 2
[ ! -e other.run ] || fail "a run without its ledger left a folder"
mkdir -m 700 other.run
refused 4 shard open "${run[@]}" -N 60 -o other.run --shards 2
[[ -d other.run && -z $(ls -A other.run) ]] || fail "a folder that stood: $(ls -A other.run 2>&1)"
chmod 755 other.run
refused 2 shard open "${run[@]}" -o other.run --shards 2
says err 'others may look into it'
# The input and the ledger may be gone: a shard needs neither.
mv refs.jsonl away.jsonl && mv spent.db away.db
PMI_RANK=1 PMI_SIZE=2 exits 0 generate "${run[@]}" -o RUN --shard auto --sign officer
cp "$(file RUN 1 2 .jsonl)" first.jsonl
exits 0 generate "${run[@]}" -o RUN --shard 1/2 --sign officer
[ ! -s err ] || fail "-q: $(cat err)"
exits 0 generate "${run[@]/%-q/--progress=off}" -o RUN --shard 1/2 --sign officer
says err 'already complete'
same "$(file RUN 1 2 .jsonl)" first.jsonl "drawn twice"
"$CUTTLE" merge RUN -o merged.jsonl --ledger away.db >out 2>err
[ $? = 6 ] || fail "merge of one of two: $(cat err)"
same out <(echo 0) "what lacks"
says err '1 of 2 shards lack: 0;'
exits 0 generate "${run[@]}" -o RUN --shard 0/2 --sign officer
mv away.jsonl refs.jsonl && mv away.db spent.db
! grep -q 'note [0-9]' RUN/*.json* RUN/*.taken || fail "a reference in a file for others"
for i in 0 1; do
	texts=$(grep -ao 'note [0-9]*' "$(file RUN $i 2 .texts)" | sed 's/note //' | paste -sd' ')
	[ "$texts" = "$([ $i = 0 ] && echo 0 1 4 5 8 9 || echo 2 3 6 7 10 11)" ] || fail "shard $i holds $texts"
	[ "$(stat -c %a "$(file RUN $i 2 .texts)")" = 600 ] || fail "others may read references"
done

# ---- merge checks all of it: each broken once
cp -r RUN whole
# broken EDIT: a shell command that changes the copy RUN; merge ends with 7, and with nothing written.
broken() {
	rm -rf RUN && cp -r whole RUN
	eval "$1" || fail "cannot $1"
	refused 7 merge RUN -o merged.jsonl --ledger "${ledger-spent.db}" ${key:+--key "$key"}
	! compgen -G 'merged*' >/dev/null || fail "$1: merge left $(echo merged*)"
	[ -s "$(file RUN 0 2 .texts)" ] || fail "$1: the references are gone"
}
lines0=$(file RUN 0 2 .jsonl) receipt0=$(file RUN 0 2 .receipt.json) lines1=$(file RUN 1 2 .jsonl) receipt1=$(file RUN 1 2 .receipt.json)
broken 'rm RUN/run.json'
broken 'sed -i s/jsonl/csv/ RUN/run.json'
broken 'sed -i "s/\"places\": 2/\"places\": 3/" RUN/run.json'
broken 'echo >>RUN/run.json'
broken 'echo x >RUN/run.json'
broken 'sed -i "s/\"isa\": \"/&x/" $receipt0'
broken 'sed -i "s/\"attempt\": 0/\"attempt\": 1/" $receipt0'
broken 'cp $receipt0 $receipt1'
broken 'cp $receipt0 $receipt1 && cp $lines0 $lines1'
broken 'sed -i "s/eos/length/;s/length/stop/" $lines0'
broken 'echo >>$lines1'
broken ': >$lines1'
# Without signatures everybody can write a receipt with the right hash; what it names is still checked.
forge() {
	while [ $# -gt 0 ]; do
		sed -i "/^  \"\(signature\|public_key\)\": /d; s/\"output_sha256\": \"[0-9a-f]*/\"output_sha256\": \"$(hash_of "$2")/" "$1"
		shift 2
	done
}
forged() { broken "$1 && forge $receipt0 $lines0 $receipt1 $lines1"; }
forged 'cp $lines0 $lines1'
forged 'sed -i 2d $lines0'
forged 'sed -i 2p $lines0'
forged 'sed -i \$d $lines0'
forged 'sed -n 1p $lines1 >>$lines0'
forged 'sed -i "s/\"batch\":2/\"batch\":4/" $lines0'
forged 'sed -i "s/\"ids\":\[/&7,/" $lines0'
forged 'sed -i "s/\"tokens\":/&1/" $lines0'
forged 'sed -i "s/\"finish\":\"[a-z]*/&x/" $lines0'
forged 'sed -i "s/}$/,\"note\":\"x\"}/" $lines0'
forged 'sed -i "1s/^/x/" $lines0'
for edit in 's/"attempt": 0/"attempt": 1/' 's/"batches": 3/"batches": 2/' '/"run"/s/[0-9a-f]",/x",/' '/"model_sha256"/s/": "./": "x/' \
	'/"run_command_sha256"/s/": "./": "x/' '/"template_sha256"/s/": "./": "x/' '/"ledger_entry"/s/": "./": "x/' 's/"shard": 0/"shard": 1/'; do
	forged "sed -i '$edit' $receipt0"
done
key=officer.pub
broken 'sed -i "/^  .public_key.: /d;/^  .signature.: /d" RUN/run.json'
forged true
"$CUTTLE" ledger key --sign another >/dev/null || fail "no key"
key=another.pub
broken true
key=
cp spent.db before.db
exits 0 ledger init --ledger empty.db --dataset notes --epsilon-limit 7 --delta-limit 1e-5
ledger=empty.db broken true
exits 0 ledger init --ledger foreign.db --dataset others --epsilon-limit 7 --delta-limit 1e-5
ledger=foreign.db broken true
ledger=nowhere.db broken true
rm -rf RUN && cp -r whole RUN
refused 2 merge RUN -o merged.jsonl
says err 'give --ledger'
refused 2 merge RUN -o merged.csv --ledger spent.db
says err '-o merged.csv: this run writes JSONL, as shard open was told; name it .jsonl'
for taken in "$(file RUN 0 2 .jsonl)" "$(file RUN 0 2 .receipt.json)" RUN/run.json; do
	cp "$taken" kept
	refused 2 merge RUN --ledger spent.db -o "$taken" --overwrite
	refused 2 merge RUN --ledger spent.db -o out.jsonl --receipt "./$taken" --overwrite
	same "$taken" kept "merge over a shard's file"
done
mkdir -m 700 full.run && cp refs.jsonl "$(file full.run 0 2 .texts)"
refused 2 shard open "${run[@]}" -i "$(file full.run 0 2 .texts)" -o ./full.run --shards 2
same refs.jsonl "$(file full.run 0 2 .texts)" "shard open over its input"
exits 0 merge RUN -o merged.jsonl --ledger spent.db --key officer.pub --sign officer
[ "$(indices merged.jsonl)" = '0 1 2 3 4 5' ] || fail "indices: $(indices merged.jsonl)"
[ "$(entries close)" = 1 ] || fail "the ledger knows of no output"
exits 0 receipt verify merged.receipt.json --output merged.jsonl --ledger spent.db --key officer.pub
says out '^shards +2 wrote it, each batch once$'
edits_noticed merged.receipt.json <<-'END'
	s/"shards": 2/"shards": 3/
	s/"shards": 2/"shards": 1/
	/"shards": 2/d
	/"shard_isa"/,/\]/d
	s/"epsilon": 2/"epsilon": 1/
END
exits 0 merge RUN -o merged.jsonl --ledger spent.db -q
[ ! -s err ] || fail "-q: $(cat err)"
exits 0 merge RUN -o merged.jsonl --ledger spent.db
says err 'already complete'
refused 2 merge RUN --ledger spent.db -o refs.jsonl
# Merging again draws nothing: what is gone is written again, and what was changed stays.
mv merged.jsonl kept
exits 0 merge RUN --ledger spent.db -o merged.jsonl
same merged.jsonl kept "merged again"
echo >merged.jsonl
refused 2 merge RUN --ledger spent.db -o merged.jsonl
says err '; --overwrite writes it again, which costs nothing$'
mv kept merged.jsonl

refused 2 merge merged.jsonl -o x.jsonl
says err 'RUN merged.jsonl is not a folder'
refused 7 merge nope -o x.jsonl
says err 'no run is open in nope: name the folder that cuttle shard open made'

# ---- killed at any moment: the same tokens, and none is drawn again
long=(-i refs.jsonl -B 2 -n 90 -e 3 -q -N 6 --lots off)
exits 0 generate "${long[@]}" --insecure-seed 5 -o still.jsonl
exits 0 shard open "${long[@]}" --insecure-seed 5 -o killed.run --shards 2
exits 0 shard open "${long[@]}" -o secret.run --shards 2
# kill_at FOLDER LINES OPTION...: kills the shard when its journal has so many lines, or a little later; or it has ended.
kill_at() {
	local folder=$1 lines=$2 pid journal
	shift 2
	journal=$(file "$folder" 1 2 .jsonl.journal)
	"$CUTTLE" generate "$@" -o "$folder" --shard 1/2 --isa scalar -t 1 >out 2>err &
	pid=$!
	soon lines_in "$journal" "$lines"
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	return 0
}
# cut_at BYTES OPTION...: ends a shard where a file of it has so many bytes.
cut_at() { (prlimit --fsize="$1" --pid "$BASHPID" && exits 6 generate "${@:2}") || exit 1; }
for lines in $(if short; then echo 0 2 100; else echo 0 1 2 30 100 180 240; fi); do
	kill_at killed.run "$lines" "${long[@]}" --insecure-seed 5
	kill_at secret.run "$lines" "${long[@]}"
	journal=$(file secret.run 1 2 .jsonl.journal)
	[ ! -f kept ] || [ ! -f "$journal" ] || head -n "$(wc -l <kept)" "$journal" | cmp -s - kept || fail "journalled tokens changed"
	rm -f kept
	[ ! -f "$journal" ] || sed -n '/[0-9a-f]$/p' "$journal" | head -n -1 | tee -a seen >kept
done
draw killed.run 2 "${long[@]}" --insecure-seed 5
exits 0 merge killed.run -q -o killed.jsonl
same killed.jsonl still.jsonl "killed shards"
draw secret.run 2 "${long[@]}"
awk '!/^cuttle/ && $1 % 2 != 1 { exit 1 }' seen || fail "a journal has another shard's batches"
# Killed before its last step, merge is called again. Whether it was in time decides nothing.
for made in . 'secret.jsonl*' secret.receipt.json; do
	"$CUTTLE" merge secret.run -q -o secret.jsonl 2>/dev/null &
	pid=$!
	soon compgen -G "$made" >/dev/null
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
done
exits 0 merge secret.run -q -o secret.jsonl
exits 0 receipt verify secret.receipt.json --output secret.jsonl
nothing_left secret.jsonl

# Killed while it is opened, a run is opened again: it is one run, and charged once.
dying=("${paid[@]}" -N 6 --charge rho --lots off -e 0.5 --ledger dying.db --dataset notes)
exits 0 ledger init --ledger dying.db --dataset notes --epsilon-limit 7 --delta-limit 1e-5
for made in . dying.run 'dying.run/*' dying.run/run.json; do
	"$CUTTLE" shard open "${dying[@]}" -o dying.run --shards 3 >out 2>err &
	pid=$!
	soon compgen -G "$made" >/dev/null
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
done
exits 0 shard open "${dying[@]}" -o dying.run --shards 3
history=$("$CUTTLE" ledger history --ledger dying.db --dataset notes)
[[ $(grep -c reserve <<<"$history") = 1 && $(grep -c draw <<<"$history") = 1 ]] || fail "killed openings: $history"
draw dying.run 3 "${paid[@]}" -N 6 --charge rho --lots off -e 0.5
exits 0 merge dying.run -q -o dying.jsonl --ledger dying.db
exits 0 receipt verify dying.receipt.json --output dying.jsonl --ledger dying.db

# ---- two copies, and a node that is lost
lost=(-i refs.jsonl -B 2 -n 90 -e 1 -q -N 6 --charge rho --lots off)
exits 0 shard open "${lost[@]}" "${counted[@]}" -o lost.run --shards 3
cp -r lost.run copy.run
taken=$(file lost.run 2 3 .taken) journal=$(file lost.run 2 3 .jsonl.journal)
cut_at 400 "${lost[@]}" -o lost.run --shard 2/3
lines_in "$journal" 4 || fail "nothing was drawn: $(cat "$journal")"
[ -s "$taken" ] || fail "a token stands in a journal that has not taken the shard"
# As long as somebody writes it.
exec 8<"$journal" && flock 8
refused 2 generate "${lost[@]}" -o lost.run --shard 2/3
says err 'another process is writing'
refused 2 shard open "${lost[@]}" "${counted[@]}" -o lost.run --shards 3 --redraw 2
exec 8<&-
cp -r lost.run kept.run
# A copy of the folder, made before: its journal is of this command and of these references, and has not taken the shard.
cut_at 400 "${lost[@]}" -o copy.run --shard 2/3
cp "copy.run/${journal#*/}" "copy.run/${journal#*/}.key" lost.run
refused 7 generate "${lost[@]}" -o lost.run --shard 2/3
cp "kept.run/${journal#*/}.key" lost.run
rm "$journal"
for i in 1 2; do
	refused 7 generate "${lost[@]}" -o lost.run --shard 2/3
	says err 'its journal is not here'
done
# The key may be lost with it, or another copy's journal stand there.
rm -f "$journal.key"
refused 7 generate "${lost[@]}" -o lost.run --shard 2/3
: >"$journal"
refused 7 generate "${lost[@]}" -o lost.run --shard 2/3
refused 2 shard open "${lost[@]}" -o lost.run --shards 3 --redraw 2
refused 2 shard open "${lost[@]}" "${counted[@]}" -o lost.run --shards 3 --redraw 1
says err 'was never begun'
refused 2 shard open "${lost[@]}" "${counted[@]}" -o lost.run --shards 3 --redraw 3
before=$(entries reserve)
exits 0 shard open "${lost[@]}" "${counted[@]}" -o lost.run --shards 3 --redraw 2
[ "$(entries reserve)" = $((before + 1)) ] || fail "a shard is drawn again, and nobody paid"
# The node comes back: its journal belongs to the attempt that was given up.
cp "$(file kept.run 2 3 .jsonl.journal)" "$(file kept.run 2 3 .jsonl.journal.key)" lost.run
refused 2 generate "${lost[@]}" -o lost.run --shard 2/3
rm "$journal" "$journal.key"
draw lost.run 3 "${lost[@]}"
refused 2 shard open "${lost[@]}" "${counted[@]}" -o lost.run --shards 3 --redraw 2
says err 'is complete'
exits 0 merge lost.run -q -o lost.jsonl --ledger spent.db
exits 0 receipt verify lost.receipt.json --output lost.jsonl --ledger spent.db
says out 'shard 2 drew before it was lost'
# On somebody's word.
rm "$(file kept.run 2 3 .jsonl.journal)"
before=$(entries reserve)
exits 0 shard open "${lost[@]}" "${counted[@]}" -o kept.run --shards 3 --redraw 2 --nobody-saw 'the data officer'
[ "$(entries reserve)" = "$before" ] || fail "a word was charged"
draw kept.run 3 "${lost[@]}"
refused 3 merge kept.run -q -o kept.jsonl --ledger spent.db
says err 'has paid for the output'
# With lots nothing can be paid.
exits 0 shard open "${paid[@]}" -N 4 --lots on -n 60 "${counted[@]}" -o drawn.run --shards 2
cut_at 400 "${paid[@]}" -N 4 --lots on -n 60 -o drawn.run --shard 1/2
rm -f "$(file drawn.run 1 2 .jsonl.journal)"
refused 2 shard open "${paid[@]}" -N 4 --lots on -n 60 "${counted[@]}" -o drawn.run --shards 2 --redraw 1
says err 'with lots'
exits 0 shard open "${paid[@]}" -N 4 --lots on -n 60 "${counted[@]}" -o drawn.run --shards 2 --redraw 1 --nobody-saw 'the data officer'
draw drawn.run 2 "${paid[@]}" -N 4 --lots on -n 60
exits 0 merge drawn.run -q -o drawn.jsonl --ledger spent.db
exits 0 receipt verify drawn.receipt.json --output drawn.jsonl
says out 'on the word of the data officer'

# ---- references that another opening left: killed where files cannot be without a name, or of another number of shards. They are
# overwritten, as a second name of the blocks shows, and removed; what cuttle does not write stays.
leave() {
	local left
	for left in shard-00001-of-00002.texts.part-0123456789abcdef shard-00006-of-00007.texts; do
		rm -f "left.$left"
		echo 'note 1 of a gardener' >"left.$left"
		ln "left.$left" "left.run/$left" || fail "cannot leave $left"
	done
	cp refs.jsonl left.run/shard-00001-of-00002.texts.mine && cp refs.jsonl left.run/my.texts
}
swept() {
	[ "$(cd left.run && echo *.texts*)" = "my.texts$1 shard-00001-of-00002.texts.mine" ] || fail "left: $(ls left.run)"
	! grep -q gardener left.shard* || fail "removed references are on the disk"
}
mkdir -m 700 left.run && leave
exits 0 shard open "${base[@]}" -N 4 --lots off -o left.run --shards 2
swept ' shard-00000-of-00002.texts shard-00001-of-00002.texts'
leave
draw left.run 2 "${base[@]}" -N 4 --lots off
exits 0 merge left.run -q -o left.jsonl
swept ''
# The disk is full at the second file: the first goes, too.
(head -n 9 refs.jsonl && printf '{"text":"%08000d"}\n' 0) >large.jsonl
(
	trap '' XFSZ
	ulimit -f 4
	"$CUTTLE" shard open "${base[@]}" -B 1 -i large.jsonl -N 10 --lots off -o large.run --shards 2 >out 2>err
)
code=$?
[[ $code = 1 && ! -e large.run/run.json ]] || fail "a full disk: exit $code: $(cat err)"
! compgen -G 'large.run/*.texts*' >/dev/null || fail "references of an opening that failed: $(ls large.run)"

# ---- references that are gone, or others
exits 0 shard open "${base[@]}" -N 4 --lots off -o gone.run --shards 2
cp "$(file gone.run 0 2 .texts)" "$(file gone.run 1 2 .texts)"
refused 7 generate "${base[@]}" -N 4 --lots off -o gone.run --shard 1/2
rm "$(file gone.run 1 2 .texts)"
refused 7 generate "${base[@]}" -N 4 --lots off -o gone.run --shard 1/2

# ---- a copy that others may look into, or read
exits 0 shard open "${base[@]}" -N 4 --lots off -o shown.run --shards 2
chmod 711 shown.run
refused 2 generate "${base[@]}" -N 4 --lots off -o shown.run --shard 1/2
says err 'shown.run: others may look into it: chmod 700 it'
chmod 700 shown.run
chmod 644 "$(file shown.run 1 2 .texts)"
refused 2 generate "${base[@]}" -N 4 --lots off -o shown.run --shard 1/2
says err 'others may read it, .*: chmod 600 it$'
[ ! -e "$(file shown.run 1 2 .taken)" ] || fail "a shard that was refused is taken"
chmod 600 "$(file shown.run 1 2 .texts)"
exits 0 generate "${base[@]}" -N 4 --lots off -o shown.run --shard 1/2

exits 0 shard open "${base[@]}" -N 4 --lots off -o edited.run --shards 2
for edit in 's/"places": 2/"places": 4/' 's/"batches": 4/"batches": 5/' 's/"shards": 2/"shards": 3/' 's/"index/"x/;1s/{/[/'; do
	cp edited.run/run.json kept.json
	sed -i "$edit" edited.run/run.json
	refused 7 generate "${base[@]}" -N 4 --lots off -o edited.run --shard 1/2
	cp kept.json edited.run/run.json
done

# ---- a wait for the run
"$CUTTLE" generate "${base[@]}" -N 4 --lots off -o late.run --shard 0/2 --wait 60 >late.out 2>late.err &
pid=$!
exits 0 shard open "${base[@]}" -N 4 --lots off -o late.run --shards 2
wait $pid || fail "--wait: $(cat late.err)"

# ---- twins: a record that cannot be read, and one that is blank, look alike everywhere
sed '3s/.*/{"text":7}/' refs.jsonl >a.jsonl
sed '3s/.*/{"text":"  "}/' refs.jsonl >b.jsonl
for twin in a b; do
	mkdir $twin && cp $twin.jsonl $twin/in.jsonl
	(
		cd $twin || exit 1
		exits 0 shard open "${base[@]}" -i in.jsonl -N 4 --lots off -o R --shards 2
		cat out err >told
		for i in 0 1; do exits 0 generate "${base[@]}" -i in.jsonl -N 4 --lots off -o R --shard $i/2 && cat out err >>told; done
		(cd R && stat -c '%n %s %a' -- *) >>told
		exits 0 merge R -o out.jsonl
		cat err R/*.jsonl out.jsonl >>told
	) || exit 1
done
same a/told b/told "twins"
