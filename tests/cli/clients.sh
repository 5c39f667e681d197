#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests that clients which others wrote work with cuttle serve: OpenAI's own Python client (tests/cli/clients.py), and curl as for
# llama.cpp's server. It fails if one of them is answered otherwise than it expects, or if the receipt of a private job that came over
# the wire does not hold for its texts. What is not installed it leaves out and says so; ./setup.sh page installs it.
here=$(realpath "$(dirname "$0")")
# shellcheck source=/dev/null
. "$here/check.bash"
# shellcheck source=/dev/null
. "$here/server.bash"
need_tiny finite
need_server
address=
runtime=$(mktemp -d /dev/shm/cuttle-XXXXXX)
make_keys
make_ledger
references 9

start_server log --listen 127.0.0.1:0 --keys keys --state state --runtime-dir "$runtime" --ledger ledger
url=$address
start_server socket.log --listen unix:"$PWD/socket"

if command -v curl >/dev/null; then
	# asks WANTED PATH BODY: posts as an example of llama.cpp's does; the answer goes to the file answer.
	asks() {
		curl -sS -o answer -w '%{http_code}\n' "$url$2" -H "Authorization: Bearer $(cat use.key)" -H "Content-Type: application/json" -d "$3" >code
		[ "$(cat code)" = "$1" ] || fail "$2: $(cat code) instead of $1: $(cat answer)"
	}
	asks 200 /completion '{"prompt":"Patient 7","n_predict":4,"seed":1}'
	says answer '"content":".*"stop":true|"stop":true.*"content":"'
	asks 200 /completion '{"prompt":"Patient 7","n_predict":4,"seed":1,"stream":true}'
	says answer '^data: \{.*"stop":false'
	says answer '^data: \{.*"stop":true'
	asks 200 /tokenize '{"content":"Patient"}'
	says answer '"tokens":\[[0-9]'
	asks 200 /v1/completions '{"prompt":"Patient 7","max_tokens":4}'
	asks 400 /completion '{"prompt":"Patient 7","grammar":"root"}'
	curl -sS -o answer --unix-socket socket http://localhost/props || fail "no answer from the socket"
	says answer '"total_slots":|"model'
	curl -sS -o answer "$url/health" || fail "no answer"
	says answer ok
else
	echo "skipped: clients.sh: curl is not installed"
fi

if [ -n "${CUTTLE_TEST_CLIENTS-}" ] && /usr/bin/python3 -c 'import openai' 2>/dev/null; then
	/usr/bin/python3 "$here/clients.py" "$url" "$PWD/socket" "$PWD" >clients.log 2>&1 || fail "OpenAI's client: $(cat clients.log)"
	cat clients.log
	exits 0 receipt verify receipt.json --output results.jsonl --model "$CUTTLE_MODEL" --ledger ledger
else
	echo "skipped: clients.sh: OpenAI's Python client does not ask: ./setup.sh page installs it, CUTTLE_TEST_CLIENTS=1 runs it"
fi
