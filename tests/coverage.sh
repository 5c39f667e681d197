#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Reports which lines and branches of dp/ its own tests reach: per file, together, then each one
# missed. It fails under 98 % of the lines or 95 % of the branches.
# usage: coverage.sh BUILD PROGRAM..., all built by gcc with --coverage
# Branches are gcov's: those of every && and ?: count. A file that a test includes instead of
# linking it counts once. A line of it is reached where either copy reaches it.
set -eu
build=$(realpath "$1")
shift
find "$build" -name '*.gcda' -delete
# shellcheck disable=SC2016 # for the inner shell
printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 sh -c '"$0" >"$0.log" 2>&1 || { tail -20 "$0.log"; echo "coverage: $0 failed"; exit 1; }'
folder=$build/coverage
rm -rf "$folder" && mkdir "$folder"
for notes in "$build"/dp/*.gcno "$build"/tests/dp/test_dp_*.gcno; do
	[ -r "${notes%.gcno}.gcda" ] || continue
	gcov -b -c -r -o "$notes" "${notes%.gcno}.gcda" >/dev/null
	for text in *.c.gcov; do [ ! -e "dp/${text%.gcov}" ] || mv "$text" "$folder/$(basename "$notes" .gcno).$text"; done
	rm -f -- *.gcov
done
awk '
/^ *[^:]*: *[0-9]+:/ {
	split($0, part, ":")
	times = part[1]; gsub(/[ *]/, "", times)
	number = part[2] + 0
	if (number == 0 && part[3] == "Source") { file = part[4]; sub(/.*\/dp\//, "dp/", file) }
	place = file ":" number; branch = 0
	if (number == 0 || times == "-") next
	text[place] = substr($0, index($0, part[2] ":") + length(part[2]) + 1)
	if (!(place in line)) { line[place] = 0; lines[file]++ }
	if (times + 0 > 0) line[place] = 1
}
/^branch/ {
	way = place "#" branch++
	if (!(way in taken)) { taken[way] = 0; branches[file]++ }
	if ($4 + 0 > 0) taken[way] = 1
}
END {
	for (place in line) { split(place, part, ":"); reached[part[1]] += line[place] }
	for (way in taken) { split(way, part, ":"); gone[part[1]] += taken[way] }
	for (place in line) if (!line[place]) printf "2missed line    %s:%s\n", place, text[place]
	for (way in taken) if (!taken[way]) { place = way; sub(/#.*/, "", place); printf "2missed branch  %s:%s\n", place, text[place] }
	for (file in lines) {
		printf "1%-22s %5.1f %% of %4d lines, %5.1f %% of %4d branches\n", file, 100 * reached[file] / lines[file], lines[file],
			branches[file] ? 100 * gone[file] / branches[file] : 100, branches[file]
		l += lines[file]; b += branches[file]; r += reached[file]; g += gone[file]
	}
	printf "3%-22s %5.1f %% of %4d lines, %5.1f %% of %4d branches\n", "together", 100 * r / l, l, 100 * g / b, b
	exit !(r >= 0.98 * l && g >= 0.95 * b)
}' "$folder"/*.gcov >"$folder/table" && good=1 || good=0
sort -V "$folder/table" | cut -c2-
[ "$good" = 1 ] || { echo "coverage: under 98 % of the lines or 95 % of the branches"; exit 1; }
