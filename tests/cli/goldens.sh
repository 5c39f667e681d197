#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # the files of commands call functions below
# Runs the commands of tests/golden/commands, a file a verb (shard has merge, score what all have in common), and compares with what is written there under each: its standard output, its
# errors, its exit code, and the files that it made, changed or removed. Most of the commands are wrong ones. It fails if a byte is another
# one. Randomness and the date come from tests/support/steady/steady.c, so that texts and receipts are the same each time.
# usage: goldens.sh [--record] [VERB]...
# --record writes the files anew, from the commands in them: read what git diff says before you commit it.
# Environment: CUTTLE, another command to compare; those of check.bash.
#
# In a file of commands:
#   % WORDS     done in the transcript's own shell before what follows: makes inputs. Nothing of it is recorded.
#   $ WORDS     a command, in a shell of its own. What it did is recorded behind it, line by line:
#   > TEXT      standard output;  ! TEXT  standard error;  = CODE  exit code
#   + FILE      made;  ~ FILE  changed;  - FILE  removed; with mode, and of a text all its lines, each behind ":"; of other files size and hash
#   \           the line before has no end
#   # TEXT      a remark
# What a command writes to x.* is removed again when it is recorded: wrong commands do not meet what a former one left.
# Each file begins in a folder of its own, with the files that `inputs` makes below.
folder=$(realpath "$(dirname "$0")/../golden/commands")
built=$(realpath "$(dirname "$0")/../..")/build
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
# skip WHY: leaves the test out.
skip() {
	echo "skipped: ${0##*/}: $*"
	exit 0
}
[ $# -gt 0 ] || ! short || skip "it takes a minute; the gate and make test-all have it"
nm "$CUTTLE" 2>/dev/null | grep -qE '__(asan|tsan)_init' && skip "sanitizers want to be loaded first"
ldd "$CUTTLE" >/dev/null 2>&1 || skip "nothing is loaded before a static command"
# Another command may have been built without tests: then those of this tree do.
[ -e "$(dirname "$CUTTLE")/tests/steady.so" ] && built=$(dirname "$CUTTLE")
steady=$built/tests/steady.so
[ -e "$steady" ] || fail "no steady.so: make tests"
record=
[ "${1-}" != --record ] || { record=1 && shift; }
verbs=("$@")
if [ $# = 0 ]; then
	for file in "$folder"/*.txt; do verbs+=("$(basename "$file" .txt)"); done
fi

# One machine is like another: kernels, threads and texts at once are given, and nothing else comes from outside.
while read -r name; do unset "$name"; done < <(compgen -e | grep -E '^(CUTTLE_|SLURM|OMPI|PMI|JOB_COMPLETION|.*_proxy$)')
unset RUNTIME_DIRECTORY XDG_RUNTIME_DIR COLUMNS LD_PRELOAD
# shellcheck disable=SC2154 # check.bash has it
export CUTTLE_ISA=scalar CUTTLE_THREADS=1 CUTTLE_PARALLEL=1 TZ=UTC HOME=$work
umask 022

# cuttle ARG...: the command under test. It ends after five minutes, whatever it waits for.
cuttle() { LD_PRELOAD=$steady timeout --foreground 300 "$CUTTLE" "$@"; }

# inputs: the files with which each transcript begins.
inputs() {
	local i
	if ! "$built/tests/gen_tiny" tiny.gguf finite || ! "$built/tests/gen_tiny" other.gguf Q8_0 64; then fail "no tiny model: make tests"; fi
	for ((i = 0; i < 24; i++)); do
		echo "{\"text\":\"note $i of a gardener\",\"kind\":\"$([ $((i % 3)) = 0 ] && echo sea || echo land)\",\"who\":\"p$((i / 2))\",\"id\":$i}"
	done >refs.jsonl
	for ((i = 1; i <= 20; i++)); do echo "{\"text\":\"A note about $i.\",\"kind\":\"sea\"}"; done >open.jsonl
	cat >docs.jsonl <<-'TEXT'
		{"id":"a","text":"To Ann Roe: see us on 5 May.","spans":[{"start":3,"end":10,"entity_type":"PERSON"},{"start":22,"end":27,"entity_type":"DATE"}]}
		{"id":"b","text":"From Ann Roe.","spans":[{"start":5,"end":12,"entity_type":"PERSON"}]}
		{"id":7,"text":"Nobody is here.","spans":[]}
	TEXT
	printf '{"text":"one"}\nno JSON\n{"text":7}\n{"text":""}\n{"note":"other"}\n{"text":"two"}\n' >bad.jsonl
	printf 'text,kind,who\nCalm water,sea,p1\n"Rough, cold water",land,p2\n' >refs.csv
	printf 'Calm water\tsea\n' >notext.tsv
	: >empty.jsonl
	printf 'wa wb\n' >note.txt
	local letters=({a..f})
	for ((i = 0; i < 60; i++)); do
		echo "w${letters[i % 6]}${letters[i / 6 % 6]}${letters[i / 36]} 0.$((i % 7))1 -0.$((i % 5))2 0.$((i % 11))3 $((i % 3)).$i"
	done >glove.txt
	pace
}

# answer_afar: a server that answers as a remote model would, until the transcript ends. What it is asked goes to ../asked.
answer_afar() {
	local tries
	"$built/loopback" tiny.gguf ../port 5 >../asked 2>/dev/null &
	server=$!
	for ((tries = 0; tries < 1000; tries++)); do
		[ -s ../port ] && break
		sleep 0.02
	done
	STEADY_PORT=$(cat ../port) && export STEADY_PORT
}

# list_marks: of each file and folder here what changes whenever it is written: most commands are refused and change nothing, which this
# tells without reading a file.
list_marks() { find . -mindepth 1 -printf '%P %m %y %s %i %T@ %C@\n'; }

# list_files: of each file and folder here its name, mode and hash, in order.
list_files() {
	{
		find . -mindepth 1 \( -type d -o -type p -o -type l \) -printf '%P %m %y\n'
		paste -d' ' <(find . -type f -printf '%P %m\n' | LC_ALL=C sort) \
			<(find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0r sha256sum) | cut -d' ' -f1-3
	} | LC_ALL=C sort
}

# mark_lines PREFIX FILE: the file's lines with the prefix; a line \ where the last one has no end. It starts no process, as it is called
# for each command. What has a NUL is shown by its hash instead (show_file).
mark_lines() {
	local line
	while IFS= read -r line; do printf '%s%s\n' "$1" "$line"; done <"$2"
	[ -z "$line" ] || printf '%s%s\n\\\n' "$1" "$line"
}

# show_file SIGN NAME MODE HASH
show_file() {
	case $4 in
	d) echo "$1 $2/ $3" && return ;;
	p | l) echo "$1 $2 $3 $4" && return ;;
	esac
	case $(head -c17 "$2" | tr -d '\0') in
	# SQLite's version stands in the file.
	'SQLite format 3'*) echo "$1 $2 $3, a ledger of $(stat -c %s "$2") bytes" && return ;;
	cuttle-secret-key) echo "$1 $2 $3, $(stat -c %s "$2") bytes, $4" && return ;;
	esac
	case $2 in
	*-shm | *-wal) echo "$1 $2 $3, of SQLite" ;;
	*.journal | *.key | *.lots | *.gguf | *.cw | *.features | *.trials | *.taken)
		echo "$1 $2 $3, $(stat -c %s "$2") bytes, $4"
		;;
	*)
		if [ "$(tr -d '\0' <"$2" | wc -c)" != "$(stat -c %s "$2")" ]; then
			echo "$1 $2 $3, $(stat -c %s "$2") bytes, $4"
		else
			echo "$1 $2 $3"
			mark_lines : "$2"
		fi
		;;
	esac
}

# show_changes: what differs between the lists ../before and ../after.
show_changes() {
	local name mode hash
	cmp -s ../before ../after && return
	LC_ALL=C comm -23 ../before ../after | while read -r name mode hash; do
		grep -q "^$name " ../after || echo "- $name"
	done
	LC_ALL=C comm -13 ../before ../after | while read -r name mode hash; do
		if grep -q "^$name " ../before; then show_file '~' "$name" "$mode" "$hash"; else show_file + "$name" "$mode" "$hash"; fi
	done
}

# What is not the same each time or on each machine, and why. All else must be.
cat >mask.sed <<-SED
	# the folder of the test
	s,$work,WORK,g
	# a dry run says how much memory this machine has
	s/(of this machine's )[0-9.]+ GB/\\1MEMORY GB/
	# what bash says of a crash has a process number
	s/^! .*goldens\\.sh: line .* (Segmentation fault|Aborted|Bus error|Killed|Floating point exception) .*/! \\1/
	# libcurl says it otherwise since 8.11
	s/Could(n't| not) connect to server/CANNOT CONNECT/
SED
mask() { sed -E -f "$work/mask.sed"; }

# run_transcript VERB: runs the commands of VERB's file, and prints the file as it would be recorded.
run_transcript() {
	local line times marks code
	declare -A times
	server=
	trap '[ -z "$server" ] || kill "$server"' EXIT
	cp -r "$work/inputs" "$work/$1" && cd "$work/$1" || exit 1
	list_files >../before
	marks=$(list_marks)
	while IFS= read -r line <&3; do
		case $line in
		'% '*)
			echo "$line"
			eval "${line#% }" >../out 2>../err </dev/null || fail "$1: $line: $(cat ../err)" >&2
			list_files >../before
			marks=$(list_marks)
			;;
		'$ '*)
			echo "$line"
			# The same command a second time draws other bits.
			times[$line]=$((${times[$line]-0} + 1))
			export STEADY_SEED
			read -r STEADY_SEED _ < <(printf '%s %d' "$line" "${times[$line]}" | cksum)
			(eval "${line#\$ }") >../out 2>../err </dev/null 3<&-
			code=$?
			mark_lines '> ' ../out
			mark_lines '! ' ../err
			echo "= $code"
			if [ "$marks" != "$(list_marks)" ]; then
				list_files >../after
				show_changes
				rm -rf x.*
				list_files >../before
				marks=$(list_marks)
			fi
			;;
		'#'* | '') echo "$line" ;;
		esac
	done 3<"$folder/$1.txt"
}

# lacks VERB: this build or machine has no library that the verb's commands need.
lacks() {
	case $1 in
	infer) grep -q 'was built without libcurl' "$CUTTLE" || ! /sbin/ldconfig -p | grep -q libcurl.so.4 ;;
	serve) grep -q 'was built without a server' "$CUTTLE" || ! /sbin/ldconfig -p | grep -q libmicrohttpd.so.12 ;;
	*) false ;;
	esac
}

mkdir inputs
(cd inputs && inputs) || exit 1
different=
for verb in "${verbs[@]}"; do
	[ -e "$folder/$verb.txt" ] || fail "there is no $folder/$verb.txt"
	if lacks "$verb"; then
		echo "skipped: ${0##*/}: $verb: a library that it needs is not there"
		continue
	fi
	(run_transcript "$verb") >raw.txt || fail "$verb: not all of its commands were run"
	mask <raw.txt >new.txt
	if [ -n "$record" ]; then
		cp new.txt "$folder/$verb.txt"
	elif ! cmp -s new.txt "$folder/$verb.txt"; then
		diff -U 3 --label "$verb.txt" --label "now" "$folder/$verb.txt" new.txt | head -60
		different="$different $verb"
	fi
	rm -rf "${work:?}/$verb"
done
[ -z "$different" ] || fail "not what was recorded:$different; where it is meant, ${0##*/} --record$different"
exit 0
