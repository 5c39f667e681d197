#!/bin/bash
# Checks the style: format, white space, SPDX lines, the include arrows of the house, circles of
# calls. Then it runs clang-tidy and shellcheck. It reports every offence, then fails.
# Environment: BUILD, the folder of the objects, as in the Makefile. TIDY_FILES=N: clang-tidy, which takes most of the time, reads
# only the N files that were changed last.
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0
say() {
	echo "lint: $*"
	bad=1
}
mapfile -t sources < <(git ls-files '*.c' '*.h' '*.cpp')
mapfile -t texts < <(git ls-files '*.c' '*.h' '*.cpp' '*.sh' '*.md' '*.v' Makefile .ci/run '*README*')

clang-format --dry-run -Werror "${sources[@]}" || say "run make format"
for file in "${sources[@]}"; do
	[ "$(head -1 "$file")" = "// SPDX-License-Identifier: Apache-2.0" ] || say "$file: first line is not the SPDX line"
	[[ $(sed -n 2p "$file") == "// "* ]] || say "$file: no heading under the SPDX line"
	# clang-format leaves tables alone, and words that it cannot cut.
	[[ $file == *_table.h ]] || expand -t8 "$file" | awk -v file="$file" 'length > 100 { print file ":" FNR ": " $0; bad = 1 } END { exit bad }' ||
		say "$file: lines of more than 100 columns"
done
grep -nE '[[:blank:]]+$' "${texts[@]}" && say "trailing white space"
for file in "${texts[@]}"; do [ -z "$(tail -c1 "$file")" ] || say "$file: no newline at the end"; done
LC_ALL=C.UTF-8 grep -nP '[\x{200B}-\x{200F}\x{202A}-\x{202E}]' "${texts[@]}" && say "invisible characters"
for file in "${sources[@]}"; do
	lines=$(wc -l <"$file")
	case $file in
	*_table.h) most=$lines ;;
	engine/cuttle/*) most=150 ;;
	*) most=1000 ;;
	esac
	[ "$lines" -le "$most" ] || say "$file: $lines lines, and at most $most may be"
done

# arrow ROOM ROOMS: reports each file of the room that includes another room than those.
arrow() {
	local offence
	offence=$(grep -nE '^#include "' "$1"/*.[ch]* | grep -vE "#include \"($2)")
	[ -z "$offence" ] || { echo "$offence"; say "$1/ includes a room it may not"; }
}
# The public headers include each other beside themselves, so that the same files serve installed.
arrow engine/cuttle '[a-z_]+\.h"'
grep -nE '^#include "kernels/' dp/*.[ch] | grep -v kernels/kernels.h && say "dp/ may include kernels/kernels.h only"
# ARCHITECTURE.md has a line for each other room: the rooms and headers that it may include.
# shellcheck disable=SC2016 # Markdown's backticks
arrows=$(sed -n '/^```arrows$/,/^```$/p' ARCHITECTURE.md | grep -e ' -> ')
under=$(sed -n 's/^engine\/words *-> //p' <<<"$arrows")
while read -r room _ reached; do
	pattern=
	reached=${reached/UNDER/$under}
	for word in ${reached/CALLER/base engine\/cuttle engine\/cuttle.h io\/...}; do
		case $word in
		*/...) pattern+="|${word%...}" ;;
		GROUND) pattern+='|engine/(cuttle|status|gguf|params)\.h' ;;
		*.h) pattern+="|${word//./\\.}\"" ;;
		*) pattern+="|$word/[^/]*\"" ;;
		esac
	done
	arrow "$room" "${pattern#|}"
done <<<"$arrows"
while read -r room; do
	grep -q "^$room " <<<"$arrows" || say "ARCHITECTURE.md says of no room what $room may include"
done < <(git ls-files '*.c' ':!tests' ':!bench' ':!models' ':!proofs' ':!packaging' | sed 's,/[^/]*$,,' | sort -u)

# Calls go one way, too: no file calls one that calls it back, be it over others. `make lint` builds
# the objects first; tsort names the files of a circle.
objects=()
for file in "${sources[@]}"; do
	object=${BUILD:-build}/${file%.c}.o
	case $file in
	tests/* | bench/* | models/* | examples/*) ;;
	*.c) [ ! -e "$object" ] || objects+=("$object") ;;
	esac
done
[ ${#objects[@]} -gt 0 ] || say "there are no objects in ${BUILD:-build}: run make lint"
# A line of nm is "FILE.o: NAME TYPE ...", type U where the file calls and does not define NAME.
nm -AgP "${objects[@]}" | awk '
	{ sub(/:$/, "", $1) }
	$3 == "U" { calls[$1 " " $2]; next }
	{ home[$2] = $1 }
	END {
		for (call in calls) {
			split(call, part, " ")
			if (part[2] in home) print part[1], home[part[2]]
		}
	}' | tsort >/dev/null || say "files call each other in a circle"

# The name of a function stands in one file, so that a search finds it. A definition begins at the
# edge and may go over several lines. A test program is read alone; the tiers of one kernel have their
# words in common, and so do a part and what stands in its place where a library is missing. Of
# kernels, benches and the like only statics whose name is in their first line are asked.
mapfile -t read_together < <(git ls-files '*.c' '*.h' ':!tests')
while read -r name files; do
	say "$name is defined in$files: rename all but one"
done < <(awk '
	FNR == 1 { head = ""; apart = FILENAME ~ /^(kernels|bench|models|examples|proofs)\// }
	/^[a-zA-Z_].*[(]/ && (!apart || /^static /) { head = $0 }
	head != "" && !apart && /^[ \t]/ { head = head " " $0 }
	head != "" && /;$/ { head = "" }
	head != "" && (apart || /{$/) {
		gsub(/__attribute__\(\([^)]*(\([^)]*\))?\)\)/, "", head)
		equals = index(head, "=")
		if (match(head, /[A-Za-z0-9_]+\(/) && !(equals && equals < RSTART)) {
			name = substr(head, RSTART, RLENGTH - 1)
			if (!seen[name, FILENAME]++ && count[name]++) twice[name]
			files[name] = files[name] " " FILENAME
		}
		head = ""
	}
	END { for (name in twice) print name, files[name] }' "${read_together[@]}" | grep -vE '^(multiply_add|zero_sums) | (io/remote|serve(/http)?)/[a-z]*_none\.c')

# ARCHITECTURE.md names what there is: each file in it exists, and each folder is in it. A name in
# capitals stands for any name.
while read -r file; do
	[ -e "$file" ] || [[ $file =~ [A-Z] ]] || say "ARCHITECTURE.md names $file, which is not there"
done < <(grep -oE '[a-z]+(/[A-Za-z0-9_]+)+\.(c|h|sh|md)' ARCHITECTURE.md | sort -u)
while read -r folder; do
	grep -qE "^ *${folder##*/}/ " ARCHITECTURE.md || say "ARCHITECTURE.md lacks the folder $folder"
done < <(git ls-files '*/*' | sed 's,/[^/]*$,,' | grep -vx -e .ci -e tools/samples | sort -u)

# The library's Debian package says since which version each name is there.
diff <(cat engine/cuttle/*.h | tr '\n' ' ' | grep -oE 'CUTTLE_API[^;]*\(' | grep -oE 'cuttle_[a-z0-9_]+\(' | tr -d '(' | LC_ALL=C sort -u) \
	<(sed -n 's/^ \(cuttle_[a-z0-9_]*\)@CUTTLE_0 .*/\1/p' debian/libcuttle0.symbols) ||
	say "debian/libcuttle0.symbols: add names (<) with the version of debian/changelog; one that is no more (>) wants another libcuttle.so.N"

# What a mutant breaks is still there, once.
tests/mutants/mutants.py check . || bad=1

# Every step of dp/PRIVACY.md has a row in its table of what is machine-checked, and a lemma there.
proofs/check.sh names || bad=1

# These checks are off: clang-tidy cannot know that a count of zero goes with a NULL, or that a tag
# of fixed length is no string.
checks='-*,bugprone-*,clang-analyzer-unix.*,clang-analyzer-deadcode.*'
for off in easily-swappable-parameters narrowing-conversions reserved-identifier macro-parentheses assignment-in-if-condition \
	sizeof-expression suspicious-string-compare not-null-terminated-result integer-division signed-char-misuse; do
	checks="$checks,-bugprone-$off"
done
# changed: every file that git has, the last changed ones first.
changed() { { git diff --name-only HEAD && git log --format= --name-only; } | awk '!seen[$0]++'; }
# shellcheck disable=SC2016 # for the inner shell
git ls-files 'base/*.c' 'dp/*.c' 'engine/*.c' 'io/*.c' 'topics/*.c' 'convert/*.c' 'tag/*.c' 'measure/*.c' 'workflow/*.c' 'serve/*.c' 'tools/*.c' 'kernels/*_scalar.c' 'kernels/pack.c' 'kernels/kernels.c' |
	awk 'NR == FNR { there[$0]; next } $0 in there' - <(changed) | head -n "${TIDY_FILES:-100000}" |
	CHECKS=$checks xargs -r -P "$(nproc)" -n 1 sh -c \
		'clang-tidy --quiet --warnings-as-errors="*" -checks="$CHECKS" "$0" -- -std=c11 -I. -D_GNU_SOURCE -Wno-psabi 2>/dev/null ||
			{ echo "lint: $0: clang-tidy"; exit 1; }' || bad=1
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
shellcheck "${scripts[@]}" || say "shellcheck"
exit $bad
