#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Python wheel and tests it as pip installs it: in a fresh environment, with no compiler and no index. It fails if a second wheel
# has other bytes, if the wheel is larger than 8 MB, if the command needs a loader or a kernel after Linux 3.17, or if a test of python/tests
# fails, with or without pandas, polars and pyarrow. Where they can be fetched it also runs docs/PYTHON.md and the notebook in examples, and checks
# the module with ruff and mypy. At night it builds the wheel for arm64, too, and runs its command under qemu-user.
# usage: tests/wheel.sh
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS
root=$PWD
./setup.sh wheel
make --no-print-directory -j2 build/cuttle build/tests/gen_tiny
export SOURCE_DATE_EPOCH=1700000000
make --no-print-directory -j2 wheel
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() {
	echo "FAILED: wheel.sh: $*"
	exit 1
}

wheel=$(echo dist/cuttle_dp-*-manylinux_2_17_"$(uname -m)".whl)
python3 python/make_wheel.py --command build-static/cuttle --helper build/cuttle --platform "manylinux_2_17_$(uname -m)" "$scratch/again" >"$scratch/made"
cmp "$wheel" "$(cat "$scratch/made")" || fail "a second wheel has other bytes"
bytes=$(stat -c %s "$wheel")
echo "the wheel: $bytes bytes"
[ "$bytes" -le 8000000 ] || fail "the wheel has $bytes bytes"
# The list beside it, and what each library that the linker took says of its licence.
packaging/sbom.py wheel "$wheel" build-static/cuttle.map | cmp - "${wheel%.whl}.spdx.json" || fail "a second list of what is inside has other bytes"
tests/spdx.py "${wheel%.whl}.spdx.json" || fail "the list of what is inside lacks something"
python3 - "${wheel%.whl}.spdx.json" <<'END' || fail "the wheel lacks a notice"
import json, re, sys
whole = json.load(open(sys.argv[1]))
files = [f["fileName"] for f in whole["files"]]
notices = {"glibc": "libc6", "gcc-12": "libgcc-s1"}
for package in whole["packages"][1:]:
    source = re.search(r"source package (\S+)", package["sourceInfo"])[1]
    name = notices.get(source, package["name"])
    assert any(f.endswith("/licenses/inside/" + name) for f in files), f"no notice of {package['name']}"
assert len(whole["packages"]) >= 8 and any(f.endswith("/inside/common-licenses/LGPL-2.1") for f in files)
END

# It needs nothing but the wheel, and no other program than the environment's.
python3 -m venv "$scratch/plain"
env -i "PATH=$scratch/plain/bin" pip install --quiet --no-index --disable-pip-version-check "$wheel"
command=$scratch/plain/bin/cuttle
# A pipe that grep leaves early would count as a failure.
headers=$(readelf -lW "$command") notes=$(readelf -nW "$command")
[[ $headers != *INTERP* ]] || fail "the command needs a loader"
grep -q 'OS: Linux, ABI: [0-3]\.\([0-9]\|1[0-7]\)\.' <<<"$notes" || fail "the command wants another kernel: $notes"
[ "$("$command" --version)" = "$(build/cuttle --version)" ] || fail "the command has another version"
[ -s "$scratch/plain/share/man/man1/cuttle-generate.1" ] || fail "no manual page"
build/tests/gen_tiny "$scratch/tiny.gguf" finite
printf '{"text":"%s"}\n' "Ada Brook, 41, gardener." "Sprained the left ankle." "Rest, ice, bandage." >"$scratch/in.jsonl"
generate() { # NAME COMMAND...
	"${@:2}" generate -q -m "$scratch/tiny.gguf" -i "$scratch/in.jsonl" -o "$scratch/$1.jsonl" --clip 0.5 -B 3 -N 1 -n 20 --insecure-seed 7 \
		2>"$scratch/log" || { cat "$scratch/log" && fail "$1: exit $?"; }
}
generate native build/cuttle
# Calls that came after Linux 3.17 are refused, as an older kernel does.
later=execveat,userfaultfd,membarrier,mlock2,copy_file_range,preadv2,pwritev2,pkey_alloc,statx,rseq,clone3,openat2,close_range,faccessat2,futex_waitv
if strace -o /dev/null true 2>/dev/null; then
	generate old strace -f -o "$scratch/calls" -e trace=$later -e inject=$later:error=ENOSYS "$command"
	cmp "$scratch/native.jsonl" "$scratch/old.jsonl" || fail "without later calls of the kernel there is another text"
else
	echo "SKIPPED: strace is not installed or may not trace, so no older kernel is tried"
fi

# As for a Lambda layer or an archive of Spark: pip notes another place of the command than it has.
env -i "PATH=$scratch/plain/bin" pip install --quiet --no-index --disable-pip-version-check --target "$scratch/target" "$wheel"
[ -x "$scratch/target/bin/cuttle" ] || fail "pip --target puts the command elsewhere"
[ "$(env -i PATH=/usr/bin:/bin PYTHONPATH="$scratch/target" python3 -c 'import cuttle_dp as c; print(c.inspect(["a", "b"])["records"], c._command.command_path())')" = \
	"2 $scratch/target/bin/cuttle" ] || fail "the module does not run from pip install --target"

smoke='
import cuttle_dp as cuttle, sys, warnings
warnings.simplefilter("ignore")
texts = [f"Record {i} has a cough." for i in range(60)]
run = cuttle.generate(texts, model=sys.argv[1], epsilon=10, batch_size=2, num=3, max_tokens=8)
assert len(run.texts) == 3 and "these are its bytes" in str(cuttle.receipt.verify(run))
try:
    cuttle.generate(texts, epsilom=3)
except TypeError as error:
    assert "did you mean epsilon" in str(error)
    sys.exit(0)
sys.exit(1)'
for python in python3 python3.9 python3.10 python3.12 python3.13 python3.14; do
	"$python" -c '' 2>/dev/null || continue
	rm -rf "$scratch/plain"
	"$python" -m venv "$scratch/plain"
	env -i "PATH=$scratch/plain/bin" pip install --quiet --no-index --disable-pip-version-check "$wheel"
	env -i "PATH=$scratch/plain/bin" python -c "$smoke" "$scratch/tiny.gguf" || fail "the module does not run with $python"
	echo "$python: the module runs"
done

python3 -m venv "$scratch/full"
install() { "$scratch/full/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$@" >"$scratch/log" 2>&1; }
test_module() {
	# What a shell starts in the background ignores SIGINT, and tests send it.
	(cd "$scratch" && env --default-signal=INT PATH="$scratch/full/bin:$PATH" CUTTLE_TINY="$scratch/tiny.gguf" CUTTLE_SAMPLES="$root/tools/samples" \
		python -m pytest -q -rs -p no:cacheprovider --tb=short "$root/python/tests" "$@") || fail "python/tests"
}
if ! install -r python/tools.txt; then
	echo "SKIPPED: PyPI has not given what python/tools.txt names: $(tail -1 "$scratch/log")"
	echo "SKIPPED: python/tests, ruff, mypy, docs/PYTHON.md and the notebook"
else
	install --no-index "$wheel" || fail "pip: $(tail -1 "$scratch/log")"
	cp -r python "$scratch/python"
	build/cuttle help --json >"$scratch/catalog.json"
	python3 python/make_verbs.py "$scratch/catalog.json" "$scratch/python/cuttle_dp"
	(cd "$scratch/python" && ../full/bin/ruff check --no-cache . && ../full/bin/ruff format --no-cache --check . && ../full/bin/mypy --cache-dir=/dev/null cuttle_dp make_verbs.py make_wheel.py tests) || fail "ruff or mypy"
	"$scratch/full/bin/ruff" check --no-cache --config python/ruff.toml packaging tests/spdx.py || fail "ruff: packaging"
	"$scratch/full/bin/ruff" format --no-cache --config python/ruff.toml --check packaging tests/spdx.py || fail "ruff: packaging"
	"$scratch/full/bin/mypy" --cache-dir=/dev/null --config-file python/mypy.ini packaging/*.py || fail "mypy: packaging"
	test_module
	if install -r python/tables.txt; then
		test_module -k "forms or progress"
		PATH=$scratch/full/bin:$PATH CUTTLE=$root/build/cuttle tests/cli/python.sh
		PATH=$scratch/full/bin:$PATH CUTTLE=$root/build/cuttle tests/cli/docs.sh docs/PYTHON.md | tee "$scratch/said"
		grep -q 'PYTHON.md: [0-9]* blocks' "$scratch/said" || fail "docs/PYTHON.md was not run"
		# The cells of the notebook, one after the other, as they stand.
		python3 -c 'import json, sys
for cell in json.load(sys.stdin)["cells"]:
    assert not cell.get("outputs"), "a notebook is kept without outputs"
    print("".join(cell["source"]) if cell["cell_type"] == "code" else "")' <examples/complaints.ipynb >"$scratch/notebook.py"
		LC_ALL=C sed 's/\(llama.context_length\x04\x00\x00\x00\x00\)\x02/\1\x20/' "$scratch/tiny.gguf" >"$scratch/long.gguf"
		CUTTLE_MODEL=$scratch/long.gguf "$scratch/full/bin/python" -W ignore "$scratch/notebook.py" >"$scratch/said" || fail "examples/complaints.ipynb"
		grep -q 'these are its bytes' "$scratch/said" || fail "the notebook says: $(cat "$scratch/said")"
	else
		echo "SKIPPED: PyPI has not given pandas, polars and pyarrow: $(tail -1 "$scratch/log")"
	fi
fi

if [ -n "${CUTTLE_TEST_NIGHTLY:-}" ]; then
	make --no-print-directory -j2 wheel-arm64
	python3 -m zipfile -e dist/cuttle_dp-*-manylinux_2_17_aarch64.whl "$scratch/arm"
	chmod +x "$scratch"/arm/cuttle_dp-*.data/scripts/cuttle
	generate arm qemu-aarch64 -cpu neoverse-n1 "$scratch"/arm/cuttle_dp-*.data/scripts/cuttle
	cmp "$scratch/native.jsonl" "$scratch/arm.jsonl" || fail "the command for arm64 writes another text"
fi
echo "wheel: passed"
