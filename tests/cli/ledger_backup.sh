#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests cuttle ledger backup. It fails if a copy that is made while others write is not a whole ledger of one
# moment, or is not one that can be gone on with; if a file is written over; if a copy that fails leaves anything;
# if a damaged ledger is copied as if it were whole.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"

exits 0 ledger init --ledger l --dataset notes --rho-limit 100
# Two others charge it meanwhile.
for ((i = 0; i < 2; i++)); do
	(while [ ! -e stop ] && "$CUTTLE" ledger reserve --ledger l --dataset notes --rho 0.01 --count 3 >/dev/null 2>&1; do :; done) &
done
last=0 heads=()
copies=20
short && copies=8
for ((i = 0; i < copies; i++)); do
	exits 0 ledger backup --ledger l -o "copy-$i"
	entries=$(sed -n 's/^\([0-9]*\) entries, .*/\1/p' out) head=$(grep -oE '[0-9a-f]{64}' out)
	[ "$entries" -ge "$last" ] || fail "a later copy has $entries entries, and an earlier one $last"
	last=$entries
	exits 0 ledger verify --ledger "copy-$i" --head "$head"
	[ "$(sed -n 's/^\([0-9]*\) entries, .*/\1/p' out)" = "$entries" ] || fail "the copy has other entries than were told"
	heads+=("$head")
done
touch stop
wait
for head in "${heads[@]}"; do exits 0 ledger verify --ledger l --head "$head"; done
[ "$last" -gt 3 ] || fail "nobody wrote meanwhile: $last entries"
[ "$(stat -c %a copy-0)" = 600 ] || fail "others may read a copy"
compgen -G 'copy-*.part*' && fail "a scratch file is left behind"
compgen -G 'copy-*-wal' && fail "a copy has a log beside it"
# A copy is a ledger: it can be charged, and then is another one.
exits 0 ledger reserve --ledger copy-0 --dataset notes --rho 0.5 --count 3
exits 0 ledger verify --ledger copy-0

cp copy-1 kept
refused 2 ledger backup --ledger l -o copy-1
says err 'copy-1 is there already: give the copy another name'
same copy-1 kept "a file was written over"
refused 2 ledger backup --ledger l -o none/copy
refused 2 ledger backup --ledger l -o l
refused 2 ledger backup --ledger l
says err 'missing: --output FILE; for example: .* --output copy.db'
refused 7 ledger backup --ledger none -o copy
(ulimit -f 4; trap '' XFSZ; "$CUTTLE" ledger backup --ledger l -o copy >/dev/null 2>err)
code=$?
[ $code = 7 ] || [ $code = 1 ] || fail "a full disk: exit $code: $(cat err)"
compgen -G '*.part*' && fail "a copy that failed leaves a file"
[ ! -e copy ] || fail "half a copy is in place"
# Any byte that somebody changed.
cp copy-2 bad
size=$(stat -c %s bad)
printf 'X' | dd of=bad bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
cmp -s bad copy-2 && printf 'Y' | dd of=bad bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
refused 7 ledger backup --ledger bad -o copy
[ ! -e copy ] || fail "a damaged ledger was copied"
compgen -G '*.part*' && fail "a copy of a damaged ledger leaves a file"
exit 0
