#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs docs/TUTORIAL.md: each block of commands (```sh), one after the other, in a folder with the three files that it names. It fails if a
# command fails, or if what it says lacks a line of the block that follows (```text). At night it does so with the real model.
root=$(dirname "$(realpath "$0")")/../..
# shellcheck source=/dev/null
. "$root/tests/cli/check.bash"
mkdir bin empty && ln -s "$CUTTLE" bin/cuttle
cp "$root"/tools/samples/{notes,public}.jsonl empty
if [ -n "${CUTTLE_TEST_NIGHTLY:-}" ] && [ -r "$CUTTLE_MODEL" ]; then
	ln -s "$CUTTLE_MODEL" empty/model.gguf
else
	make_tiny finite
	# A letter is a token to it, so that its prompts are longer than 512 tokens: 8,192 here. Ten public
	# notes would be longer still.
	head -4 "$root/tools/samples/public.jsonl" >empty/public.jsonl
	LC_ALL=C sed 's/\(llama.context_length\x04\x00\x00\x00\x00\)\x02/\1\x20/' tiny.gguf >empty/model.gguf
fi

# One script of all blocks; each writes what it says to a file of its own, N.said. What must be in it goes to N.wanted.
awk -v folder="$PWD" '
	/^```sh$/ { inside = 1; block++; print "{"; next }
	/^```text$/ { wanted = 1; next }
	/^```$/ { if (inside) print "} >" folder "/" block ".said 2>&1"; inside = wanted = 0; next }
	inside { print }
	wanted { print >(folder "/" block ".wanted") }' "$root/docs/TUTORIAL.md" >script
blocks=$(grep -c '^} >' script)
[ "$blocks" -ge 10 ] || fail "the tutorial has $blocks blocks of commands"
(unset CUTTLE_MODEL; cd empty && PATH=$PWD/../bin:$PATH bash -eu ../script 2>../err) || {
	last=$(find . -name '*.said' | sort -V | tail -1)
	fail "block ${last//[!0-9]/} fails: $(tail -3 "$last") $(cat err)"
}
for wanted in *.wanted; do
	while read -r line; do
		grep -qF -- "$line" "${wanted%.wanted}.said" || fail "block ${wanted%.wanted} does not say \"$line\": $(cat "${wanted%.wanted}.said")"
	done <"$wanted"
done
says empty/inside.html 'do not publish'
says empty/outside.html '2 files were left out'
echo "$blocks blocks of commands"
