#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests what the Python module promises of private texts, from the sources, with this machine's Python and nothing else: pandas is used where
# it is there. It fails if a call writes a byte of its texts, or anything, to a file on a disk; if a null record loses its place; if a run that was
# interrupted or killed does not go on, is interrupted twice or leaves a process; if an epsilon looks smaller than it is; or if an unknown option is
# not told. tests/wheel.sh tests the rest, as pip installs it.
root=$(dirname "$(realpath "$0")")/../..
# shellcheck source=/dev/null
. "$root/tests/cli/check.bash"
need_tiny finite
mkdir bin module
ln -s "$CUTTLE" bin/cuttle
cp -r "$root/python/cuttle_dp" module/
exits 0 help --json
cp out catalog.json
python3 "$root/python/make_verbs.py" catalog.json module/cuttle_dp || fail "make_verbs.py"
# shellcheck disable=SC2154 # check.bash makes $work
export PATH=$work/bin:$PATH PYTHONPATH=$work/module PYTHONDONTWRITEBYTECODE=1

cat >calls.py <<'END'
import warnings
import cuttle_dp as cuttle
warnings.simplefilter("ignore")
texts = [f"Private record {i} xyzzy." for i in range(10000)]
rows = [{"text": text, "ward": "ab"[i % 2]} for i, text in enumerate(texts)]
try:
    import pandas
    rows, texts = pandas.DataFrame(rows), pandas.Series(texts)
except ImportError:
    pass
same = dict(epsilon=10, batch_size=2, num=3, max_tokens=8, public_examples=["An invented record."])
assert len(cuttle.generate(rows, category_field="ward", categories=["a", "b"], **same).texts) > 0
assert len(cuttle.generate(texts, **same).texts) == 3
assert cuttle.inspect(texts)["records"] == 10000
END
if strace -o /dev/null true 2>/dev/null; then
	strace -f -y -s 4096 -o calls -e trace=openat,open,creat,write,pwrite64,writev,pwritev,sendfile,copy_file_range,splice python3 calls.py 2>err ||
		fail "calls.py: $(cat err)"
	python3 - <<'END' || fail "a call writes where it may not"
import re
seen = 0
for line in open("calls", errors="replace"):
    opened = re.search(r'\b(?:openat|open|creat)\(.*?"([^"]*)".*O_(?:WRONLY|RDWR|CREAT)', line)
    # A receipt, which is public, stands in a folder in memory.
    assert not opened or re.match(r"/dev/(null|tty|shm/cuttle-[^/]*/receipt)", opened[1]), line[:300]
    wrote = re.search(r"\b(?:p?writev?(?:64)?|sendfile|splice|copy_file_range)\(\d+<([^>]*)>", line)
    if wrote:
        assert re.match(r"/memfd:|pipe:|socket:|anon_inode:|/dev/(null|tty|pts|shm/cuttle-)", wrote[1]), line[:300]
        if "xyzzy" in line:
            assert wrote[1].startswith("/memfd:"), line[:300]
            seen += 1
assert seen >= 3, "no text was seen on its way"
END
else
	python3 calls.py || fail "calls.py"
	echo "SKIPPED: strace is not installed or may not trace, so nobody has looked what a call writes"
fi

python3 - <<'END' || fail "nulls, numbers and options"
import json, warnings
import cuttle_dp as cuttle
from cuttle_dp import _forms, _run
warnings.simplefilter("ignore")
file = _forms.write_records(_forms.records(["a", None, float("nan"), "d"], _forms.Columns())[0])
with open(f"/proc/self/fd/{file}", encoding="utf-8") as lines:
    assert [json.loads(line)["text"] for line in lines] == ["a", None, None, "d"]
assert cuttle.inspect(["a", None, "c"])["states"]["not_text"] == 1
assert float(_run.rounded_up(9.99849)) >= 9.99849 and float(_run.rounded_up(2.00001)) >= 2.00001
try:
    cuttle.generate(["text"], epsilom=3)
except TypeError as error:
    assert "did you mean epsilon" in str(error)
else:
    raise AssertionError("an unknown option was let through")
END

cat >long.py <<'END'
import sys, warnings
import cuttle_dp as cuttle
warnings.simplefilter("ignore")
texts = [f"Record {i} has a cough." for i in range(800)]
try:
    run = cuttle.generate(texts, output=sys.argv[1], epsilon=10, batch_size=2, num=400, max_tokens=300, lots="off",
                          accountant="zcdp", threads=1)
    print("done", len(run.texts))
except cuttle.Partial as error:
    print("partial", error.code, flush=True)
    print("resumed", len(error.resume().texts))
END
# begin NAME: starts a run in a process group of its own, and waits until it has drawn.
begin() {
	# What bash starts in the background ignores SIGINT.
	setsid env --default-signal=INT python3 long.py "$1.jsonl" >"$1.said" 2>"$1.err" &
	python=$!
	for ((tries = 0; tries < 1000; tries++)); do
		[ "$(stat -c %s "$1.jsonl.journal" 2>/dev/null || echo 0)" -le 1000 ] || break
		sleep 0.01
	done
	child=
	read -r child _ <"/proc/$python/task/$python/children" || [ -n "$child" ] || fail "$1: no command runs: $(cat "$1.err")"
}
gone() { [ ! -e "/proc/$child/exe" ] || fail "$1 leaves a process"; }
# A notebook sends it to Python alone, a terminal to the whole group.
for group in "" -; do
	begin "stopped$group"
	kill -INT -- "$group$python"
	wait $python
	[ "$(paste -sd' ' "stopped$group.said")" = "partial 6 resumed 400" ] || fail "an interrupted run says: $(cat "stopped$group".{said,err})"
	gone "an interrupted run"
done
begin killed
kill -KILL -- -$python
wait $python 2>/dev/null
[ ! -e killed.jsonl ] || fail "the run was over before it was killed"
python3 long.py killed.jsonl >said 2>err || fail "a killed run: $(cat err)"
[ "$(cat said)" = "done 400" ] || fail "a killed run says: $(cat said err)"
exits 0 receipt verify killed.receipt.json --output killed.jsonl

# A command that takes its time to stop gets one signal: the second would end it.
cat >slow <<'END'
#!/usr/bin/env python3
import signal, sys, time
def stop(*_):
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    time.sleep(0.7)
    sys.exit(6)
signal.signal(signal.SIGINT, stop)
open("ready", "w").close()
time.sleep(60)
END
chmod +x slow
for group in "" -; do
	rm -f ready
	setsid env --default-signal=INT python3 -c 'import cuttle_dp as cuttle
cuttle._command._found = "./slow"
try:
    cuttle.generate(["text"], output="slow.jsonl")
except cuttle.Partial as error:
    print(error.code, error.message)' >said 2>err &
	python=$!
	for ((tries = 0; tries < 1000; tries++)); do [ ! -e ready ] || break; sleep 0.01; done
	kill -INT -- "$group$python"
	wait $python
	[ "$(cat said)" = "6 " ] || fail "a command that takes its time was ended: $(cat said err)"
done
