#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests what the Python module promises of private texts, from the sources, with this machine's Python and nothing else: pandas is used where
# it is there. It fails if a call writes a byte of its texts, or anything, to a file on a disk; if a null record loses its place; if a run that was
# interrupted or killed does not go on, is interrupted twice or leaves a process; if a failure counts as success where an exit code gets lost; if
# the order of a set shows; if another program than the wheel's command is run; if an epsilon looks smaller than it is; or if an unknown option is not
# told. tests/wheel.sh tests the rest, as pip installs it.
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
def refused(kind, said, call, *arguments, **options):
    try:
        call(*arguments, **options)
    except kind as error:
        assert said in str(error), error
    else:
        raise AssertionError(f"{said}: it was let through")
refused(TypeError, "did you mean epsilon", cuttle.generate, ["text"], epsilom=3)
# A set gives records the places that hashes of private texts say; names in it are public, and are sorted.
refused(TypeError, "a set has no order", cuttle.inspect, {"a", "b"})
refused(TypeError, "categories: give a list of str", cuttle.inspect, ["a"], category_field="w", categories=[None])
refused(cuttle.InputInvalid, "bytes of text in one line", cuttle.inspect, ["a"], category_field="w", categories=["a\0b"])
rows = [{0: "a", 1: i % 3} for i in range(60)]
told = cuttle.inspect(rows, text_field=0, category_field=1, categories={2, 10, 0, 1})
assert told["records"] == 60, told
assert _forms.listed(set("hgfedcba")) == list("abcdefgh")

# Three ways in which nobody here sees how the command ended.
import os, signal, threading, time
def reap(*_):
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        pass
def reap_until(over):
    while not over.wait(0.0001):
        reap()
def failures():
    refused(cuttle.BudgetRefused, "", cuttle.ledger.check, ledger="spent.db", dataset="d", rho=99)
    refused(cuttle.InputInvalid, "", cuttle.receipt.verify, "catalog.json")
    assert cuttle.inspect(["a"])["records"] == 1
cuttle.ledger.init(ledger="spent.db", dataset="d", epsilon_limit=1)
for handler in (signal.SIG_IGN, reap):
    signal.signal(signal.SIGCHLD, handler)
    failures()
signal.signal(signal.SIGCHLD, signal.SIG_DFL)
over = threading.Event()
reaper = threading.Thread(target=reap_until, args=(over,))
reaper.start()
failures()
over.set()
reaper.join()

# A command that says nothing of its end has not ended well, whatever its exit code is; nor is it one of another size.
def put(file, mode=0o700):
    os.makedirs(os.path.dirname(file), exist_ok=True)
    with open(file, "w") as script:
        script.write("#!/bin/sh\n")
    os.chmod(file, mode)
    return os.path.realpath(file)
put("target/bin/cuttle")
cuttle._command.__file__ = os.path.realpath("target/cuttle_dp/_command.py")
cuttle._command.sysconfig.get_path = lambda _: "nowhere"
os.environ["PATH"] = "nowhere"
cuttle._command._found = None
refused(cuttle.InternalError, "how the command ended is not known", cuttle.inspect, ["a"])
assert cuttle._command._found == os.path.realpath("target/bin/cuttle")
os.remove("target/bin/cuttle")
refused(cuttle.CommandMissing, "cannot be run", cuttle.inspect, ["a"])
cuttle._command._found = None
os.makedirs("target/cuttle_dp-1.dist-info")
with open("target/cuttle_dp-1.dist-info/RECORD", "w") as record:
    record.write("../other/cuttle,,11\n")
put("other/cuttle")
refused(cuttle.CommandMissing, "is missing", cuttle.inspect, ["a"])
os.environ["PATH"] = "bin"  # what it says of the folder that is left soon
assert cuttle._command._find_command() == os.path.abspath("bin/cuttle")
os.environ["PATH"] = "nowhere"
put("target/bin/cuttle", 0o600)
refused(cuttle.CommandMissing, "chmod +x", cuttle.inspect, ["a"])
END

# A program without standard streams gets their numbers for its files in memory, and the command has its own streams there.
cat >closed.py <<'END'
import cuttle_dp as cuttle
rows = [{"text": "a", "ward": ward} for ward in ("b,c", "d")]
assert cuttle.inspect(rows, category_field="ward", categories=["b,c", "d"])["records"] == 2
END
timeout 60 python3 closed.py >&- 2>&- || fail "without output and errors: $?"
timeout 60 python3 closed.py <&- >&- 2>&- || fail "without standard streams: $?"

# A run that is held: the command says of each text that it is done, and more lines than a pipe holds are read only after it was interrupted, or
# has ended. So it cannot end by itself before that.
cat >long.py <<'END'
import glob, os, sys, time, warnings
import cuttle_dp as cuttle
from cuttle_dp import _command
warnings.simplefilter("ignore")
child = None
def hold(self, told):
    global child, limit
    if child is None:
        limit = time.monotonic() + 60  # of a broken run
        child = next(int(pid) for path in glob.glob("/proc/self/task/*/children") for pid in open(path).read().split())
        with open("draws", "w") as file:
            print(child, file=file)
    while os.path.exists(f"/proc/{child}") and not _command._was_interrupted(child) and time.monotonic() < limit:
        time.sleep(0.01)
if sys.argv[2:] == ["held"]:
    _command.Progress.shown = True
    _command.Progress.update = hold
texts = [f"Record {i} has a cough." for i in range(3200)]
try:
    run = cuttle.generate(texts, output=sys.argv[1], epsilon=10, batch_size=2, num=1600, max_tokens=2, lots="off", accountant="zcdp", threads=1)
    print("done", len(run.texts))
except cuttle.Partial as error:
    print("partial", error.code, flush=True)
    print("resumed", len(error.resume().texts))
END
# begin NAME: starts a held run in a process group of its own, and waits until it draws.
begin() {
	rm -f draws
	# What bash starts in the background ignores SIGINT.
	setsid env --default-signal=INT python3 long.py "$1.jsonl" held >"$1.said" 2>"$1.err" &
	python=$!
	child=
	for ((tries = 0; tries < 6000; tries++)); do
		{ read -r child <draws; } 2>/dev/null && return
		sleep 0.01
	done
	fail "$1: no command draws: $(cat "$1.err")"
}
gone() { [ ! -e "/proc/$child/exe" ] || fail "$1 leaves a process"; }
# A notebook sends it to Python alone, a terminal to the whole group.
for group in "" -; do
	begin "stopped$group"
	kill -INT -- "$group$python"
	wait $python
	[ "$(paste -sd' ' "stopped$group.said")" = "partial 6 resumed 1600" ] || fail "an interrupted run says: $(cat "stopped$group".{said,err})"
	gone "an interrupted run"
done
begin killed
kill -KILL -- -$python
wait $python 2>/dev/null
[ ! -e killed.jsonl ] || fail "the run was over before it was killed"
python3 long.py killed.jsonl >said 2>err || fail "a killed run: $(cat err)"
[ "$(cat said)" = "done 1600" ] || fail "a killed run says: $(cat said err)"
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
