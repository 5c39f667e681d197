#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the pages for users: README.md, docs/ and what they lead to. It runs each command of a page, one after the other, in a folder with
# the files that the page names, with a tiny model; at night the tutorial has the real one. It fails if a command fails, or if what it
# says lacks a line of the block that follows it. It fails, too, if a page names a verb, option or target that is not there, if a link
# leads nowhere, if sentences are long, in a page, a help or a message (tests/prose.py says what counts), or if README.md has more than 90 lines.
# By day (CUTTLE_TEST_SHORT) the commands of README.md, docs/QUICKSTART.md and docs/PYTHON.md are run; test-all runs those of all pages.
# usage: docs.sh [PAGE...]: those pages alone, as docs/SERVER.md
root=$(dirname "$(realpath "$0")")/../..
pages=("$@")
# shellcheck source=/dev/null
. "$root/tests/cli/check.bash"
public=(README.md SECURITY.md CHANGELOG.md "$root"/docs/*.md) others=(dp/PRIVACY.md proofs/protocol/README.md ARCHITECTURE.md CONTRIBUTING.md "$root"/bench/*.md)
public=("${public[@]#"$root/"}") others=("${others[@]#"$root/"}")
"$root/tests/prose.py" "$root" "${public[@]}" "${others[@]}" || fail "a page is hard to read, or a link leads nowhere"
"$root/tests/prose.py" --help-of "$CUTTLE" || fail "a help is hard to read"
"$root/tests/prose.py" --literals "$root" || fail "a message is hard to read"
"$root/tests/pages.py" words "$CUTTLE" "$root" "${public[@]}" || fail "a page names what is not there"
[ "$(wc -l <"$root/README.md")" -le 90 ] || fail "README.md has $(wc -l <"$root/README.md") lines"

real=$CUTTLE_MODEL # pages are run without it

# A letter is a token to the tiny model, so that its prompts are longer than 512 tokens: 8,192 here.
make_tiny finite
LC_ALL=C sed 's/\(llama.context_length\x04\x00\x00\x00\x00\)\x02/\1\x20/' tiny.gguf >model.gguf
# It knows no words, so a list of them comes from elsewhere.
awk 'BEGIN { srand(1); for (i = 0; i < 40; i++) { printf "word%c%c", 97 + i / 6, 97 + i % 6; for (j = 0; j < 8; j++) printf " %.3f", rand() - .5; print "" } }' >vectors.txt
mkdir bin && ln -s "$CUTTLE" bin/cuttle
samples=$root/tools/samples

# furnish PAGE: makes the folder that the page begins in, which is the current one.
furnish() {
	case $1 in
	README.md)
		mkdir -p build models
		ln -s "$CUTTLE" build/cuttle
		cp ../model.gguf models/SmolLM2-135M-Instruct.Q4_1.gguf
		ln -s "$root/tools" tools
		;;
	docs/RECORDS.md)
		ln -s ../model.gguf model.gguf
		python3 "$root/tools/samples/visits.py" 20 | python3 -c 'import csv, json, sys
rows = [json.loads(line) for line in sys.stdin]
table = csv.DictWriter(sys.stdout, list(rows[0]))
table.writeheader()
table.writerows(rows)' >visits.csv
		ln -s "$root/tools" tools
		cp "$samples/letters.jsonl" .
		;;
	docs/QUICKSTART.md)
		ln -s ../model.gguf model.gguf
		python3 -c 'import csv, json, sys
rows = [json.loads(line) for line in sys.stdin]
table = csv.DictWriter(sys.stdout, list(rows[0]))
table.writeheader()
table.writerows(rows[:200])' <"$samples/messages.jsonl" >complaints.csv
		cuttle generate -q -m model.gguf -i complaints.csv -o out.jsonl -e 3 -B 3 -N 4 -n 20 --kind complaint --text-field text
		# The module as the sources have it; tests/wheel.sh has it from the wheel.
		mkdir module
		cp -r "$root/python/cuttle_dp" module/
		cuttle help --json >catalog.json
		python3 "$root/python/make_verbs.py" catalog.json module/cuttle_dp
		;;
	docs/TUTORIAL.md)
		cp "$samples"/{notes,public}.jsonl .
		if nightly && [ -r "$real" ]; then
			ln -s "$real" model.gguf
		else
			ln -s ../model.gguf model.gguf
			head -4 "$samples/public.jsonl" >public.jsonl
		fi
		;;
	*)
		ln -s ../model.gguf model.gguf
		ln -s "$root/tools" tools
		cp "$samples"/{public,letters}.jsonl .
		# A letter is a token here, so notes have their beginnings alone.
		sed -E 's/("text": "[^"\\]{0,60}).*/\1"}/' "$samples/notes.jsonl" >notes.jsonl
		;;
	esac
}

# Of each page: a folder in memory for its server, and a port of its own.
memory=/dev/shm/cuttle-docs-$$
# shellcheck disable=SC2154 # check.bash makes $work
trap '[ $BASHPID != $$ ] || rm -rf "$work" "$memory"-*' EXIT
# Below 32,768, where no connection has its own end; each process begins elsewhere.
free_port() {
	python3 -c 'import socket, sys
for port in range(20000 + int(sys.argv[1]) % 12000, 32700):
    with socket.socket() as s:
        if s.connect_ex(("127.0.0.1", port)) != 0:
            print(port)
            break' $BASHPID
}

# run PAGE: each of its commands, and what they must say.
run() {
	local folder=${1//[\/.]/-} last wanted line port
	port=$(free_port)
	mkdir "$folder" "$folder.said"
	# No two tests may have one port, or one folder in memory.
	{
		# What a page starts ends with it.
		echo "trap 'kill \$(jobs -p) 2>/dev/null || :' EXIT"
		"$root/tests/pages.py" script "$root/$1" "$PWD/$folder.said"
	} | sed "s,127\.0\.0\.1:8080,127.0.0.1:$port,g; s,/dev/shm/cuttle,$memory-$folder,g
		s,cuttle serve -m,cuttle serve --listen 127.0.0.1:$port -m,
		s,cuttle words -m model\.gguf,cuttle words --vectors ../vectors.txt --count 40," >"$folder.script"
	grep -q '^} >' "$folder.script" || return 0
	(unset CUTTLE_MODEL && cd "$folder" && export PATH=$work/bin:$PATH && furnish "$1" && PYTHONPATH=$PWD/module:${PYTHONPATH-} timeout 1200 bash -eu "../$folder.script" 2>"../$folder.err") || {
		last=$(printf '%s\n' "$folder.said"/*.said | sort -V | tail -1)
		fail "$1: this fails: $(cat "${last%.said}.block"): $(tail -3 "$last") $(cat "$folder.err")"
	}
	for wanted in "$folder.said"/*.wanted; do
		[ -e "$wanted" ] || continue
		while read -r line; do
			grep -qF -- "$line" "${wanted%.wanted}.said" || fail "$1: block $(basename "${wanted%.wanted}") does not say \"$line\": $(cat "${wanted%.wanted}.said")"
		done <"$wanted"
	done
	echo "$1: $(grep -c '^} >' "$folder.script") blocks of commands"
}

# Whether there is what a page with a server needs.
serves() { command -v curl >/dev/null && "$CUTTLE" serve -m none --listen unix:none/none 2>&1 | grep -qv 'built without' && /sbin/ldconfig -p | grep -q libmicrohttpd.so.12; }

if [ ${#pages[@]} = 0 ]; then
	pages=("${public[@]}")
	! short || pages=(README.md docs/QUICKSTART.md docs/PYTHON.md)
fi
running=()
for page in "${pages[@]}"; do
	# tests/wheel.sh asks for this page, where both are there.
	[ "$page" != docs/PYTHON.md ] || python3 -c 'import cuttle_dp, pandas' 2>/dev/null || { echo "SKIPPED: $page: cuttle_dp or pandas is not installed" && continue; }
	[[ $page != docs/SERVER.md && $page != docs/API.md && $page != docs/QUICKSTART.md ]] || serves || { echo "SKIPPED: $page: curl, libmicrohttpd12 or the server is not there" && continue; }
	run "$page" >"${page//[\/.]/-}.log" 2>&1 &
	running+=("$!:$page")
done
bad=0
for one in "${running[@]}"; do
	wait "${one%%:*}" || bad=1
	cat "$(tr '/.' '--' <<<"${one#*:}").log"
done
[ $bad = 0 ] || exit 1
if [ -e docs-TUTORIAL-md/inside.html ]; then
	says docs-TUTORIAL-md/inside.html 'do not publish'
	says docs-TUTORIAL-md/outside.html '2 files were left out'
fi
