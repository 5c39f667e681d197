#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests libcuttle.a as other programs use it. It fails if its header does not compile in C or C++,
# if it shows a global name that is not cuttle_*, or if it does not work in a shared object, beside
# functions with the same names as ours, or from C++.
root=$(dirname "$(realpath "$0")")/../..
# shellcheck source=/dev/null
. "$root/tests/cli/check.bash"
library=$(dirname "$CUTTLE")/libcuttle.a

build() { env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make --no-print-directory -C "$root" BUILD="$PWD/build" "$@" >out 2>err || fail "make $*: $(cat err)"; }

# Each header compiles alone, in the source tree and where it is installed.
build install-headers DESTDIR="$PWD/installed" PREFIX=
# By day where it is installed, and by one compiler.
compilers=(gcc clang) folders=("$root/engine" installed/include)
short && compilers=(gcc) folders=(installed/include)
for folder in "${folders[@]}"; do
	headers=("$folder/cuttle.h" "$folder"/cuttle/*.h)
	[ ${#headers[@]} -ge 10 ] || fail "$folder has ${#headers[@]} public headers"
	for header in "${headers[@]}"; do
		echo "#include <${header#"$folder/"}>" >header.c
		cp header.c header.cpp
		for compiler in "${compilers[@]}"; do
			command -v "$compiler" >/dev/null || continue
			"$compiler" -std=c11 -Wall -Wextra -Wpedantic -Werror -I"$folder" -fsyntax-only header.c 2>err || fail "$compiler $header: $(cat err)"
		done
		for compiler in "${compilers[@]/gcc/g}"; do
			compiler=$compiler++
			command -v "$compiler" >/dev/null || continue
			"$compiler" -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$folder" -fsyntax-only header.cpp 2>err ||
				fail "$compiler $header: $(cat err)"
		done
	done
done

nm -g --defined-only "$library" >symbols || fail "nm $library"
others=$(awk 'NF == 3 && $3 !~ /^cuttle_/ && $3 !~ /^__(asan|odr_asan|ubsan|tsan|gcov)/ { print $3 }' symbols)
[ -z "$others" ] || fail "global names that are not cuttle_*: $others"
grep -q ' T cuttle_job_run$' symbols || fail "cuttle_job_run is no global name: $(cat symbols)"

# The library alone asks for no package, and what other flags change is built anew.
build -n core
grep -q setup.sh out && fail "make core asks for packages: $(grep setup.sh out)"
for flags in -O0 -O1 "-O1 -DQUOTED='1'"; do
	build CFLAGS="$flags" "$PWD/build/base/misuse.o"
	says out '^CC base/misuse.c$'
	build CFLAGS="$flags" "$PWD/build/base/misuse.o"
	grep -q '^CC' out && fail "CFLAGS=$flags: built twice"
done

if nm "$CUTTLE" 2>/dev/null | grep -qE '__(asan|tsan)_init'; then
	echo "skipped in part: ${0##*/}: nothing is linked with a library that has sanitizers"
	exit 0
fi
libraries=(-lm -pthread)

# A program with functions of its own that have the names of ours, and all of the library in a shared object.
gcc -shared -o libshared.so -Wl,--whole-archive "$library" -Wl,--no-whole-archive -Wl,-z,defs,-z,text "${libraries[@]}" 2>err ||
	fail "shared object: $(cat err)"
nm -D --defined-only libshared.so | awk '$3 !~ /^cuttle_/ { print $3 }' >foreign
[ ! -s foreign ] || fail "the shared object shows $(cat foreign)"
cat >main.c <<'C'
#include "engine/cuttle.h"
#include <stdio.h>
#include <string.h>
static int calls;
void gguf_free(void *unused) { calls += unused == 0; }
void kernels_get(void) { calls++; }
int main(void) {
	struct cuttle_model *model;
	struct cuttle_error error;
	if (cuttle_model_open("/dev/null", NULL, &model, &error) != CUTTLE_MODEL || calls) return 1;
	puts(cuttle_isa());
	return calls || strcmp(cuttle_version(), CUTTLE_VERSION) != 0;
}
C
gcc -I"$root" main.c "$library" "${libraries[@]}" -o main 2>err || fail "beside names like ours: $(cat err)"
./main >out || fail "a name like ours was called"
gcc -I"$root" main.c -L. -lshared "${libraries[@]}" -Wl,-rpath,"$PWD" -o main-shared 2>err || fail "with the shared object: $(cat err)"
./main-shared >out || fail "a name like ours was called by the shared object"

command -v g++ >/dev/null || fail "there is no g++ (./setup.sh test)"
g++ -std=c++11 -Wall -Wextra -Wpedantic -Werror -I"$root" "$root/examples/generate.cpp" "$library" "${libraries[@]}" -o generate 2>err ||
	fail "examples/generate.cpp: $(cat err)"
./generate /nonexistent/model note </dev/null >out 2>err && fail "no model, and exit 0"
says err '^generate: model /nonexistent/model: '
need_model
for i in {1..9}; do echo "Patient $i has coughed for a week. Lungs clear. Rest and fluids."; done >lines
./generate "$CUTTLE_MODEL" note <lines >out 2>err || fail "examples/generate.cpp: $(cat err)"
# Each text has this line behind it. A drawn text may have one inside, too: the model writes what it likes.
[ "$(grep -c '^---$' out)" -ge 2 ] || fail "not two texts: $(cat out)"
[ "$(tail -1 out)" = --- ] || fail "the last text has no end: $(cat out)"
