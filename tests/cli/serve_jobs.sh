#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the private jobs of cuttle serve over HTTP, by tests/serve/jobs.py. It fails if a result is not
# the command's very bytes; if a job is charged twice, or starts without room; if one key makes two
# jobs; if somebody sees another's job, or a path gets into a plan; if a killed server draws a token
# again, leaves a job running, or a word of the references in the clear; if a full disk ends a job; if
# two inputs of equal tokens look different anywhere; if a busy ledger holds up more than who asks it,
# or one key takes all places of those who wait; if the schema of a job is another than the command's.
# CUTTLE_TEST_NIGHTLY=1 kills fifty times, fills a disk, and starts twenty jobs at once.
client=$(dirname "$(realpath "$0")")/../serve/jobs.py
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
# shellcheck source=/dev/null
. "$(dirname "$client")/../cli/server.bash"
need_tiny finite
command -v python3 >/dev/null || { echo "skipped: ${0##*/}: there is no python3"; exit 0; }
need_server

# ---- bad starts ----------------------------------------------------------------------------------
refused 2 serve -m tiny.gguf --state state --listen 127.0.0.1:0
says err 'missing: --ledger FILE; for example: .* --ledger'
refused 2 serve -m tiny.gguf --ledger ledger --listen 127.0.0.1:0
says err 'missing: --state FOLDER'
refused 7 serve -m tiny.gguf --state state --ledger none --listen 127.0.0.1:0 --runtime-dir run
exits 0 ledger init --ledger ledger --dataset notes --rho-limit 1
refused 2 serve -m tiny.gguf --state none/state --ledger ledger --listen 127.0.0.1:0 --runtime-dir run
runtime=$(mktemp -d /dev/shm/cuttle-XXXXXX)
mkdir -m 755 shown
refused 2 serve -m tiny.gguf --state shown --ledger ledger --listen 127.0.0.1:0 --runtime-dir "$runtime"
says err 'shown: others may look into it: chmod 700 it'
[ "$(stat -c %a shown)" = 755 ] || fail "a folder of the user has another mode now"
refused 2 serve -m tiny.gguf --state state --ledger ledger --listen 127.0.0.1:0 --runtime-dir none/run
RUNTIME_DIRECTORY=none/run refused 2 serve -m tiny.gguf --state state --ledger ledger --listen 127.0.0.1:0
says err 'none/run: No such file or directory; name one in memory by --runtime-dir, such as /dev/shm/cuttle'
[ ! -e state ] || fail "a server that does not begin leaves a folder"

# ---- what a plan would be, for programs ----------------------------------------------------------
references 12
plan=(-m tiny.gguf -B 3 -N 4 -n 12 --clip 0.5)
refused 2 generate "${plan[@]}" -i refs.jsonl -o o.jsonl --json
exits 0 generate "${plan[@]}" -i refs.jsonl --dry-run --json -q
says out '"references_needed":12'
says out '"charge":\{"delta":null,"loss":[0-9.]+,"measure":"rho","order":null\}'
# What is said before is what the receipt says, but for what only a run has.
members() { tr -d ' \n' <"$1" | tr ',' '\n' | grep -E '^\{?"(command_sha256|clip|clip_fixed|epsilon|delta|rho|texts|template_sha256)":' | tr -d '{}' | sort; }
members out >said
exits 0 generate "${plan[@]}" -i refs.jsonl -o o.jsonl -q
members o.receipt.json >written
same said written "a dry run says something else than the receipt"

# ---- jobs ----------------------------------------------------------------------------------------
cases=(whole schema sanitize roles revoked ready approved restored twins busy crowd "kill 2")
[ -z "${CUTTLE_TEST_NIGHTLY-}" ] || cases=("${cases[@]/kill 2/kill 50}" parallel disk clock)
run_cases "$client" "${cases[@]}"
exit 0
