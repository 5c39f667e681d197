#!/bin/bash
# Style: format, white space, SPDX lines, the include arrows of the house, clang-tidy, shellcheck. Says every offence, then fails.
set -u
cd "$(dirname "$0")/.." || exit 1
bad=0
say() {
	echo "lint: $*"
	bad=1
}
mapfile -t sources < <(git ls-files '*.c' '*.h')
mapfile -t texts < <(git ls-files '*.c' '*.h' '*.sh' '*.md' Makefile .ci/run '*README*')

clang-format --dry-run -Werror "${sources[@]}" || say "run make format"
for file in "${sources[@]}"; do
	[ "$(head -1 "$file")" = "// SPDX-License-Identifier: Apache-2.0" ] || say "$file: first line is not the SPDX line"
done
grep -nE '[[:blank:]]+$' "${texts[@]}" && say "trailing white space"
for file in "${texts[@]}"; do [ -z "$(tail -c1 "$file")" ] || say "$file: no newline at the end"; done
LC_ALL=C.UTF-8 grep -nP '[\x{200B}-\x{200F}\x{202A}-\x{202E}]' "${texts[@]}" && say "invisible characters"
for file in "${sources[@]}"; do
	lines=$(wc -l <"$file")
	case $file in *_table.h) ;; *) [ "$lines" -le 800 ] || say "$file: $lines lines" ;; esac
done
[ "$(wc -l <engine/cuttle.h)" -le 250 ] || say "engine/cuttle.h is over 250 lines"

# Who may include whom.
arrow() { # room, rooms it may include
	local offence
	offence=$(grep -nE '^#include "' "$1"/*.[ch] | grep -vE "#include \"($2)")
	[ -z "$offence" ] || { echo "$offence"; say "$1/ includes a room it may not"; }
}
arrow base 'base/'
arrow kernels 'base/|kernels/'
arrow dp 'base/|dp/|kernels/'
grep -nE '^#include "kernels/' dp/*.[ch] | grep -v kernels/kernels.h && say "dp/ may include kernels/kernels.h only"
arrow engine 'base/|kernels/|dp/|engine/'
arrow io 'base/|io/|engine/(cuttle|trace).h'
arrow convert 'base/|convert/|io/|engine/(cuttle|gguf).h|kernels/f16.h'
arrow tools 'base/|tools/|io/|convert/|engine/(cuttle|trace|gguf).h'
arrow examples 'engine/cuttle.h'

# Off: what cannot know that a count of zero goes with a NULL, or that a fixed-length tag is no string.
checks='-*,bugprone-*,clang-analyzer-unix.*,clang-analyzer-deadcode.*'
for off in easily-swappable-parameters narrowing-conversions reserved-identifier macro-parentheses assignment-in-if-condition \
	sizeof-expression suspicious-string-compare not-null-terminated-result integer-division signed-char-misuse; do
	checks="$checks,-bugprone-$off"
done
# shellcheck disable=SC2016 # for the inner shell
git ls-files 'base/*.c' 'dp/*.c' 'engine/*.c' 'io/*.c' 'convert/*.c' 'tools/*.c' 'kernels/*_scalar.c' 'kernels/pack.c' 'kernels/kernels.c' |
	CHECKS=$checks xargs -P "$(nproc)" -n 1 sh -c \
		'clang-tidy --quiet --warnings-as-errors="*" -checks="$CHECKS" "$0" -- -std=c11 -I. -D_GNU_SOURCE -Wno-psabi 2>/dev/null ||
			{ echo "lint: $0: clang-tidy"; exit 1; }' || bad=1
mapfile -t scripts < <(git ls-files '*.sh' .ci/run)
shellcheck "${scripts[@]}" || say "shellcheck"
exit $bad
