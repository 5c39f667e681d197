#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests packaging/examples/nginx.conf before cuttle serve. It fails if a private job over it is another one; if events
# wait in the proxy; if the audit trail has another address than the client's, or what the client says of itself; if
# an upload or a result stands in a file of the proxy.
example=$(dirname "$(realpath "$0")")/../../packaging/examples/nginx.conf
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
# shellcheck source=/dev/null
. "$(dirname "$example")/../../tests/cli/server.bash"
PATH=$PATH:/usr/sbin
for program in nginx openssl python3; do
	command -v "$program" >/dev/null || { echo "skipped: ${0##*/}: there is no $program"; exit 0; }
done
need_tiny finite
need_server
runtime=$(mktemp -d /dev/shm/cuttle-XXXXXX)
address=
make_keys
make_ledger
start_server log --listen 127.0.0.1:0 --keys keys --state state --ledger ledger --runtime-dir "$runtime" --host cuttle.example \
	--trusted-proxy 127.0.0.1 --plain off
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=cuttle.example -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem -days 2 2>/dev/null
port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
sed -e "s,127.0.0.1:8080,127.0.0.1:${address##*:}," -e "s,listen 443,listen 127.0.0.1:$port," -e "s,/etc/ssl/cuttle.pem,$PWD/cert.pem," \
	-e "s,/etc/ssl/private/cuttle.key,$PWD/key.pem," "$example" >site.conf
mkdir temp
{
	[ "$(id -u)" != 0 ] || echo 'user root;'
	echo "daemon off; pid $PWD/pid; error_log $PWD/nginx.log; events {} http { access_log off; include $PWD/site.conf;"
	for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $PWD/temp/$kind;"; done
	echo '}'
} >nginx.conf
nginx -p "$PWD" -e "$PWD/nginx.log" -c "$PWD/nginx.conf" >nginx.out 2>&1 &
servers+=($!)
for ((tries = 0; tries < 100; tries++)); do
	(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
	kill -0 "${servers[-1]}" 2>/dev/null || fail "nginx does not begin: $(cat nginx.out nginx.log)"
	sleep 0.05
done
python3 - "$port" "$(cat use.key)" >told 2>&1 <<'END' || fail "over the proxy: $(cat told)"
import http.client, json, os, ssl, sys, time
port, key = int(sys.argv[1]), sys.argv[2]
context = ssl.create_default_context(cafile="cert.pem")

def ask(method, path, body=None, wanted=200, **headers):
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, source_address=("127.0.0.5", 0), timeout=60)
    connection.request(method, path, body, {"Host": "cuttle.example", "Authorization": "Bearer " + key, **headers})
    reply = connection.getresponse()
    if wanted is None:
        return reply
    data = reply.read()
    assert reply.status == wanted, (method, path, reply.status, data)
    return data

plan = {"type": "generate", "dataset": "notes", "plan": {"num": 4, "batch_size": 3, "max_tokens": 12, "clip": 0.5}}
spoof = {"X-Forwarded-For": "6.6.6.6", "Forwarded": "for=6.6.6.7"}
job = json.loads(ask("POST", "/v1/jobs", json.dumps(plan), 201, **{"Idempotency-Key": "a", **spoof}))["id"]
records = "".join(json.dumps({"text": "note %d of CANARY-42" % i}) + "\n" for i in range(12)).encode()
ask("PUT", "/v1/jobs/%s/references" % job, records + b" " * 3000000, 204)
events = ask("GET", "/v1/jobs/%s/events" % job, wanted=None)
ask("POST", "/v1/jobs/%s/start" % job, wanted=202)
began = time.time()
first = events.readline()
assert first.startswith(b"id: 1") or first.startswith(b":"), first
assert b'"status":"done"' in events.read()
assert len(ask("GET", "/v1/jobs/%s/results" % job).splitlines()) == 4
ask("POST", "/v1/jobs", b"{" * 100, 400, **{"Idempotency-Key": "b"})
trail = [json.loads(line) for line in open("state/trail.jsonl")]
asked = [(entry["event"], entry["address"]) for entry in trail if entry.get("request")]
assert asked == [(event, "127.0.0.5") for event in ("create", "upload", "start", "fetch")], asked
held = [name for folder, _, names in os.walk("temp") for name in names]
assert not held, held
END
grep -ra CANARY-42 temp nginx.log state && fail "a record stands in a file"
exit 0
