#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Help, version, exit codes and one-line errors of every verb.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"

exits 0 --version
says out '^cuttle [0-9]+\.[0-9]+\.[0-9]+$'
exits 0 --help
for code in 0 1 2 3 4 5 6 8; do says out "^  $code  "; done
for verb in generate budget score tokenize detokenize model; do
	exits 0 $verb --help
	says out "usage: cuttle $verb"
	awk 'length > 110 { exit 1 }' out || fail "$verb --help has long lines"
	cp out first
	exits 0 help $verb
	same out first "help $verb and $verb --help differ"
	refused 2 $verb --no-such-option
done
exits 0 generate --help
for flag in -m -i -o -e --delta -B -N -n --temperature -k -t -c --text-field --template --chat-format --prompt-public --prompt-private --kind \
	--public-examples --system --clip --dry-run --progress --insecure-seed --isa --accountant --receipt --overwrite --prompt-chunk --no-sharing -q; do
	says out "(^|[ ,])${flag}[ ,]"
done
refused 2 frobnicate
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
CUTTLE_BATCH_SIZE=many refused 2 "${run[@]}"
(unset CUTTLE_MODEL && refused 2 "${run[@]}") || exit 1
refused 5 "${run[@]}" -m /nonexistent
refused 5 "${run[@]}" -m .
refused 5 "${run[@]}" -m refs.jsonl
refused 5 model info -m refs.jsonl
[ "$(echo *)" = "err first out refs.jsonl" ] || fail "a refused run left something behind: $(ls)"
