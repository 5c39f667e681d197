#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every mutant in this folder is one privacy bug of a line or two, and some test must fail on it. mutants.py reads them, and says what
# a file of them looks like. usage: run.sh [NAME]...; without a name, all of them.
# Works in a scratch copy of the tree and prints what killed each. Ends with 1 when one survives, does not apply or does not build.
# Environment: CUTTLE_MODEL, and for make CC, CFLAGS, BLAS.
set -u
cd "$(dirname "$(realpath "$0")")/../.." || exit 2
unset MAKEFLAGS MAKELEVEL MFLAGS BUILD
CUTTLE_MODEL=$(realpath -m "${CUTTLE_MODEL:-models/SmolLM2-135M-Instruct.Q4_1.gguf}")
export CUTTLE_MODEL CUTTLE=build/cuttle CUTTLE_EXAMPLE=build/example CUTTLE_TEST_CLIENTS=1
mutants=$PWD/tests/mutants/mutants.py
"$mutants" check . || exit 1
if [ $# -gt 0 ]; then names=("$@"); else mapfile -t names < <("$mutants" names); fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

say() { printf '%-30s %s\n' "$@"; }

# What is built already is built in the copy too.
tar -cf - --exclude=./.git --exclude='./build-*' --exclude='./models/*.gguf' . | tar -C "$scratch" -xf - && cd "$scratch" || exit 2

# passes PROGRAM [short]: builds it and what it needs, runs it, keeps what both say in `log`. 0: passed, 1: failed, 2: does not build.
passes() {
	local program=tests/cli/$1 needs=(all build/tests/gen_tiny build/tests/gen_edits build/tests/cuttle_next build/loopback)
	[[ $1 == *.sh ]] || program=build/tests/$1 needs=("$program")
	make -s -j2 "${needs[@]}" >log 2>&1 || return 2
	{ env ${2:+CUTTLE_TEST_SHORT=1} timeout -k 5 600 "$program" || return 1; } >log 2>&1
}

# tests_from KILLER: it twice, short at first, then all others: those of the mechanism, of the rest, of the command.
tests_from() {
	local file
	echo "$1 short"
	echo "$1"
	for file in tests/dp/test_dp_*.c tests/*/test_[!d]*.c tests/cli/*.sh; do
		file=$(basename -s .c "$file")
		[ "$file" = "$1" ] || echo "$file"
	done
}

# What the failed program says failed.
culprit() {
	grep -Eom1 -e '\[  FAILED  \] [a-z_]\w*' -e '^FAILED: .*' -e 'caller bug: .*' log |
		sed -E 's/^(\[  FAILED  \] |FAILED: [^ ]* )?(.{0,80}).*/(\2)/'
}

try() {
	local test short
	while read -r test short; do
		passes "$test" ${short:+short}
		case $? in
		1) say "$1" "killed by $test $(culprit)" && return ;;
		2) say "$1" "DOES NOT BUILD: $(grep -m1 error: log)" && return 1 ;;
		esac
	done < <(tests_from "$2")
	say "$1" SURVIVED
	return 1
}

declare -A killers
for name in "${names[@]}"; do killers[$name]=$("$mutants" killer "$name") || exit 2; done
for test in $(printf '%s\n' "${killers[@]}" | sort -u); do
	passes "$test" short || { cat log && say "without a mutant" "$test FAILED" && exit 2; }
	! grep '^skipped:' log || exit 2
done
for name in "${names[@]}"; do
	mapfile -t files < <("$mutants" files "$name")
	mkdir original && cp --parents "${files[@]}" original
	if "$mutants" apply "$name" . >log 2>&1; then
		try "$name" "${killers[$name]}" || bad=1
	else
		say "$name" "DOES NOT APPLY: $(head -1 log)"
		bad=1
	fi
	cp -r original/. . && rm -r original
done
exit $bad
