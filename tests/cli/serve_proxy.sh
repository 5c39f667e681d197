#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2317 # begin_PROXY is called by its name
# Tests nginx.conf, Caddyfile and haproxy.cfg of packaging/examples before cuttle serve, each with TLS. It fails if a private job
# over one of them is another one; if events wait in the proxy; if the audit trail has another address than the client's, or what
# the client says of itself; if an upload or a result stands in a file of the proxy.
# Those that are not installed it names as SKIPPED.
examples=$(dirname "$(realpath "$0")")/../../packaging/examples
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
# shellcheck source=/dev/null
. "$examples/../../tests/cli/server.bash"
PATH=$PATH:/usr/sbin
for program in openssl python3; do
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
cat cert.pem key.pem >both.pem
export HOME=$PWD/own XDG_DATA_HOME=$PWD/own XDG_CONFIG_HOME=$PWD/own TMPDIR=$PWD/temp

# begin_PROXY: writes its file, with a port, a certificate and paths of this test, and becomes it.
begin_nginx() {
	sed -e "s,127.0.0.1:8080,$upstream," -e "s,listen 443,listen 127.0.0.1:$port," -e "s,/etc/ssl/cuttle.pem,$PWD/cert.pem," \
		-e "s,/etc/ssl/private/cuttle.key,$PWD/key.pem," "$examples/nginx.conf" >site.conf
	{
		[ "$(id -u)" != 0 ] || echo 'user root;'
		echo "daemon off; pid $PWD/pid; error_log $PWD/proxy.log; events {} http { access_log off; include $PWD/site.conf;"
		for kind in client_body proxy fastcgi uwsgi scgi; do echo "${kind}_temp_path $PWD/temp/$kind;"; done
		echo '}'
	} >nginx.conf
	exec nginx -p "$PWD" -e "$PWD/proxy.log" -c "$PWD/nginx.conf"
}
begin_caddy() {
	{
		printf '{\n\tadmin off\n\tauto_https disable_redirects\n\tdefault_sni cuttle.example\n}\n'
		sed -e "s,127.0.0.1:8080,$upstream," -e "s,^cuttle.example {,https://cuttle.example:$port {\n\tbind 127.0.0.1\n\ttls $PWD/cert.pem $PWD/key.pem," \
			"$examples/Caddyfile"
	} >Caddyfile
	exec caddy run --config Caddyfile --adapter caddyfile
}
begin_haproxy() {
	sed -e "s,127.0.0.1:8080,$upstream," -e "s,bind :443,bind 127.0.0.1:$port," -e "s,/etc/haproxy/cuttle.pem,$PWD/both.pem," "$examples/haproxy.cfg" >haproxy.cfg
	exec haproxy -db -f haproxy.cfg
}

# ask_over PROXY: a private job over it, as a client of another address would.
ask_over() {
	python3 - "$port" "$(cat use.key)" "$1" >told 2>&1 <<'END' || fail "over $1: $(cat told) $(tail -5 proxy.out)"
import http.client, json, os, ssl, sys, time
port, key, proxy = int(sys.argv[1]), sys.argv[2], sys.argv[3]
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
job = json.loads(ask("POST", "/v1/jobs", json.dumps(plan), 201, **{"Idempotency-Key": proxy, **spoof}))["id"]
records = "".join(json.dumps({"text": "note %d of CANARY-42" % i}) + "\n" for i in range(12)).encode()
ask("PUT", "/v1/jobs/%s/references" % job, records + b" " * 3000000, 204)
events = ask("GET", "/v1/jobs/%s/events" % job, wanted=None)
ask("POST", "/v1/jobs/%s/start" % job, wanted=202)
began = time.time()
first = events.readline()
assert first.startswith(b"id: 1") or first.startswith(b":"), first
assert b'"status":"done"' in events.read()
assert len(ask("GET", "/v1/jobs/%s/results" % job).splitlines()) == 4
ask("POST", "/v1/jobs", b"{" * 100, 400, **{"Idempotency-Key": "bad"})
trail = [json.loads(line) for line in open("state/trail.jsonl")]
asked = [(entry["event"], entry["address"]) for entry in trail if entry.get("request") and entry["job"] == job]
assert asked == [(event, "127.0.0.5") for event in ("create", "upload", "start", "fetch")], asked
held = [name for folder, _, names in os.walk("temp") for name in names]
assert not held, held
END
}

upstream=127.0.0.1:${address##*:} tried=0
for proxy in nginx caddy haproxy; do
	command -v $proxy >/dev/null || { echo "SKIPPED: ${0##*/}: there is no $proxy" && continue; }
	tried=$((tried + 1))
	rm -rf temp && mkdir temp
	port=$(python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
	begin_$proxy >proxy.out 2>&1 &
	proxied=$!
	servers+=("$proxied")
	for ((tries = 0; tries < 200; tries++)); do
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && break
		kill -0 "$proxied" 2>/dev/null || fail "$proxy does not begin: $(cat proxy.out proxy.log)"
		sleep 0.05
	done
	ask_over "$proxy"
	kill "$proxied"
	wait "$proxied"
	unset 'servers[-1]'
	grep -ra CANARY-42 temp own proxy.out proxy.log state 2>/dev/null && fail "$proxy: a record stands in a file"
done
[ $tried -gt 0 ] || echo "skipped: ${0##*/}: there is no proxy"
exit 0
