#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle serve`, its wire and its plain part, by clients of Python's own library. It fails if
# a request that can be read in two ways is answered, or is followed by another on its connection;
# if damaged requests are answered with 5xx or cost memory; if slow clients keep others out; if a
# request without its key, role, host or origin is answered; if a key, a body or an id stands in the
# log; if a completion depends on those beside it; if a server does not end in order, or leaves its
# socket behind, or takes a user's file for one; if it listens for others without TLS and keys; if a
# key that others can read is used, or a file of keys is harmed; if a renewed certificate is not shown, ends a connection, or is taken though it will not do; if infer cannot use it; if a text is
# not of its schema or grammar, or one that nobody can follow is followed.
wire=$(dirname "$(realpath "$0")")/../serve/wire.py
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
# shellcheck source=/dev/null
. "$(dirname "$wire")/../cli/server.bash"
need_tiny finite
command -v python3 >/dev/null || { echo "skipped: ${0##*/}: there is no python3"; exit 0; }
need_server
ldd "$CUTTLE" | grep -q libasan && export CUTTLE_TEST_ASAN=1

address=
# begin NAME ARG...: starts a server; its log is NAME.log. Sets pid and port.
begin() {
	start_server "$1.log" "${@:2}"
	pid=${servers[-1]} port=${address##*:}
}
# try CASE PORT PID [ARGUMENT]
try() {
	python3 "$wire" "$@" >told 2>&1 || fail "$1: $(cat told)"
}
# unserved CODE ARG...: such a server must not begin; one that does ends after a while.
unserved() {
	local wanted=$1 code
	shift
	timeout 20 "$CUTTLE" serve "$@" >out 2>err
	code=$?
	[ $code = "$wanted" ] || fail "cuttle serve $*: exit $code instead of $wanted: $(cat err)"
	[ "$(wc -l <err)" = 1 ] || fail "cuttle serve $*: not one line of error: $(cat err)"
}
# healthy CODE ARG...: what cuttle serve health answers. A proxy in the environment has no say.
asks=1
"$CUTTLE" serve health --listen 127.0.0.1:1 2>&1 | grep -qE 'without libcurl|cannot be loaded' && asks=0
[ $asks = 1 ] || echo "skipped: ${0##*/}: serve health, there is no libcurl"
healthy() {
	[ $asks = 0 ] || http_proxy=http://127.0.0.1:1 https_proxy=http://127.0.0.1:1 exits "$1" serve health "${@:2}"
}
# ended CODE NAME: the server that was begun last has ended with this code, and said nothing odd.
ended() {
	wait "$pid"
	local code=$?
	[ $code = "$1" ] || fail "the server $2 ends with $code: $(tail -3 "$2.log")"
	grep -vE '^cuttle serve: (listening on|-|GET|POST|PUT|DELETE) ' "$2.log" && fail "the server $2 says more than its log"
}

# ---- slow clients, who wait in the background ------------------------------------------------------
begin slow --listen 127.0.0.1:0
healthy 0 --listen "127.0.0.1:$port"
healthy 0 --listen "localhost:$port"
healthy 1 --listen "127.0.0.1:$port" --tls-cert tiny.gguf
[ $asks = 0 ] || says err 'there is no TLS: leave out --tls-cert'
healthy 1 --listen unix:tiny.gguf
healthy 2 --listen "127.0.0.1:$port/ready"
refused 2 serve health now
slow=$pid
python3 "$wire" slow "$port" "$pid" >slow.told 2>&1 &
watcher=$!

# ---- bad starts ----------------------------------------------------------------------------------
(unset CUTTLE_MODEL; unserved 2) || exit 1
unserved 2 -m tiny.gguf --listen 0.0.0.0:0
unserved 2 -m tiny.gguf --listen '[::]:0'
unserved 2 -m tiny.gguf --listen nowhere
unserved 2 -m tiny.gguf --listen 127.0.0.1:http
for port in '' 65536 131072 000000 +1 ' 1'; do
	unserved 2 -m tiny.gguf --listen "127.0.0.1:$port"
	says err 'HOST:PORT \(0 to 65535\)'
done
unserved 2 -m tiny.gguf --listen unix:
unserved 2 -m tiny.gguf --name 'A b'
unserved 2 -m tiny.gguf --listen 127.0.0.1:0 --tls-cert tiny.gguf
says err 'TLS needs both'
unserved 2 -m tiny.gguf --listen 127.0.0.1:0 --tls-key tiny.gguf
says err 'TLS needs both'
unserved 4 -m tiny.gguf --keys nothing
unserved 2 -m tiny.gguf extra
refused 2 serve key alice
refused 2 serve key Alice use --keys keys
refused 2 serve key alice boss --keys keys
says err "a key's role is use, officer, metrics or admin: cuttle serve key ID ROLE"
refused 2 serve foo
says err 'key ID ROLE --keys FILE'
for unfit in --approval '--queue 3' '--runtime-dir run' '--insecure-seed 1'; do
	# shellcheck disable=SC2086 # an option and its value
	unserved 2 -m tiny.gguf --listen 127.0.0.1:0 $unfit
	says err "${unfit%% *} needs --state FOLDER"
done
for host in 'a b' a/b http://a a: a:x a:80:80 a:65536 '[::1' '[::1]80' ''; do
	unserved 2 -m tiny.gguf --listen 127.0.0.1:0 --host "$host"
	says err '--host must be a name'
done
[ ! -e keys ] || fail "a refused key leaves a file"

# ---- keys ----------------------------------------------------------------------------------------
umask 000
exits 0 serve key alice use --keys keys
alice=$(cat out)
umask 022
exits 0 serve key bob officer --keys keys
bob=$(cat out)
[ "$(stat -c %a keys)" = 600 ] || fail "others may read the keys"
grep -qF "${alice#*.}" keys && fail "the file has the key itself"
refused 2 serve key alice use --keys keys
says err 'has a key alice already: remove its line first'
for ((i = 0; i < 1000; i++)); do echo "k$i use ${hash:=$(sed -n 's/^alice use //p' keys)}"; done >most
chmod 600 most
refused 2 serve key alice use --keys most
says err 'most has 1000 keys, which is the most'
chmod 644 keys
unserved 2 -m tiny.gguf --keys keys
says err 'keys: others may reach this key; chmod 600 it first'
chmod 600 keys
# A last line without its end, a symbolic link, six at once, a disk that is full.
printf '# ours\n%s' "$(grep '^bob ' keys)" >bare
chmod 600 bare
ln -s bare linked
exits 0 serve key carl use --keys linked
[ -L linked ] || fail "a symbolic link was replaced"
[ "$(cut -d' ' -f1,2 bare)" = $'# ours\nbob officer\ncarl use' ] || fail "a line was lost: $(cat bare)"
makers=()
for ((i = 0; i < 6; i++)); do
	"$CUTTLE" serve key "six-$i" use --keys six >/dev/null 2>>six.err &
	makers+=($!)
done
for maker in "${makers[@]}"; do wait "$maker" || fail "of six at once one fails: $(cat six.err)"; done
[ "$(cut -d' ' -f1 six | sort | paste -sd' ')" = 'six-0 six-1 six-2 six-3 six-4 six-5' ] || fail "six at once leave $(cat six)"
cp -p bare kept
for unwritten in bare absent; do
	told=$(ulimit -f 0; trap '' XFSZ; "$CUTTLE" serve key dora use --keys $unwritten 2>&1; echo "exit $?")
	[[ $told == "cuttle serve: cannot write /"*"/$unwritten: File too large"$'\nexit 1' ]] || fail "a full disk: $told"
done
# A key that nobody has seen is in no file.
for unwritten in bare absent; do
	told=$("$CUTTLE" serve key dora use --keys $unwritten 2>&1 >/dev/full; echo "exit $?")
	[ "$told" = $'cuttle serve: cannot write the key: No space left on device\nexit 1' ] || fail "nobody sees the key: $told"
	"$CUTTLE" serve key dora use --keys $unwritten >&- 2>err && fail "a key is told to a closed output"
done
same bare kept "a file of keys was harmed by a write that failed"
[ ! -e absent ] || fail "a key that could not be written leaves a file"
compgen -G 'bare?*' && fail "a scratch file is left behind"
{ cat keys; echo 'carl use nothash'; } >broken
chmod 600 broken
unserved 4 -m tiny.gguf --keys broken
{ cat keys; sed -n 's/^alice use/bob use/p' keys; } >broken
unserved 4 -m tiny.gguf --keys broken
says err 'line 3: .*an ID for the second time'

begin keyed --listen 127.0.0.1:0 --keys keys
try keys "$port" "$pid" "$alice,$bob"
sed -i '/^alice /d' keys
kill -HUP "$pid"
try forgotten "$port" "$pid" "$alice"
kill -TERM "$pid"
ended 0 keyed
grep -qE 'canary|alice\.|bob\.' keyed.log && fail "a body or a key is in the log"
says keyed.log '^cuttle serve: POST /v1/completions 200 key=alice$'

# ---- the wire ------------------------------------------------------------------------------------
begin plain --listen 127.0.0.1:0 --host cuttle.example:9000
try malformed "$port" "$pid"
try sites "$port" "$pid"
try plain "$port" "$pid"
try refusals "$port" "$pid"
try nothing "$port" "$pid"
try grammars "$port" "$pid"
try methods "$port" "$pid"
try gone "$port" "$pid"
mutants=400
short && mutants=150
[ -z "${CUTTLE_TEST_NIGHTLY-}" ] || mutants=10000
try mutants "$port" "$pid" $mutants

# ---- infer ---------------------------------------------------------------------------------------
letters=({a..f})
for ((i = 0; i < 36; i++)); do echo "w${letters[i % 6]}${letters[i / 6]}z 0.$((i % 7))1 -0.$((i % 5))2 0.$((i % 11))3"; done >glove.txt
exits 0 words --vectors glove.txt -o w.cw
echo '{"text":"Annabel saw Bartholomew."}' >docs.jsonl
"$CUTTLE" infer --words w.cw -i docs.jsonl -k 3 --remote-model tiny --remote-tokens 6 -n 6 \
	--endpoint "http://127.0.0.1:$port/v1" -o inferred.jsonl >out 2>err || grep -q 'without libcurl' err || fail "infer: $(cat err)"

# A stream is open when the server is told to end.
try stop "$port" "$pid"
ended 0 plain
grep -q 'Once upon' plain.log && fail "a prompt is in the log"

# ---- a Unix socket -------------------------------------------------------------------------------
echo mine >file
mkfifo pipe
for taken in file pipe .; do
	unserved 2 -m tiny.gguf --listen "unix:$taken"
	says err 'another server or a file is there'
done
[[ $(cat file) = mine && -p pipe ]] || fail "a file was taken for a socket that is left over"
begin local --listen unix:sock --name other
[ "$(stat -c %a sock)" = 660 ] || fail "the socket is open to $(stat -c %a sock)"
unserved 2 -m tiny.gguf --listen unix:sock
{ kill -9 "$pid"; wait "$pid"; } 2>/dev/null
begin local --listen unix:sock --name other
python3 - <<'END' || fail "the Unix socket does not answer"
import socket
s = socket.socket(socket.AF_UNIX)
s.connect("sock")
s.sendall(b"GET /v1/models/other HTTP/1.1\r\nHost: any\r\nConnection: close\r\n\r\n")
assert s.recv(100).startswith(b"HTTP/1.1 200 ")
END
kill -TERM "$pid"
ended 0 local
[ ! -e sock ] || fail "the socket is left behind"

# ---- a bias ------------------------------------------------------------------------------------
seq 1 9 | sed 's/.*/{"text":"a note about & coughs"}/' >biased.jsonl
exits 0 learn -i biased.jsonl -e 3 --texts 8 --tokens 8 -o notes.bias -q
unserved 2 -m tiny.gguf --plain off --state jobs --bias notes.bias
unserved 4 -m tiny.gguf --bias biased.jsonl
begin biased --listen 127.0.0.1:0 --bias notes.bias
python3 - "$port" notes.bias >told 2>&1 <<'END' || fail "a bias is not told: $(cat told)"
import hashlib, json, sys, urllib.request
base = "http://127.0.0.1:" + sys.argv[1]
model = json.load(urllib.request.urlopen(base + "/v1/models"))["data"][0]
assert model["bias"]["sha256"] == hashlib.sha256(open(sys.argv[2], "rb").read()).hexdigest(), model
assert model["bias"]["guarantee"].startswith("Guarantee for this bias and all that is made of it"), model
body = json.dumps({"model": model["id"], "prompt": "a note", "max_tokens": 4}).encode()
answer = json.load(urllib.request.urlopen(urllib.request.Request(base + "/v1/completions", body, {"Content-Type": "application/json"})))
assert answer["usage"]["completion_tokens"] >= 1, answer
END
kill -TERM "$pid"
ended 0 biased
# Its completions protect nobody: whoever begins the server is told.
exits 0 learn -i biased.jsonl -e 3 --texts 8 --tokens 8 --insecure-seed 1 -o seeded.bias -q
begin seeded --listen 127.0.0.1:0 --bias seeded.bias
kill -TERM "$pid"
wait "$pid" || fail "the server seeded: $(tail -3 seeded.log)"
says seeded.log '^cuttle serve: --bias seeded\.bias is NOT PRIVATE: '

# ---- a socket that is handed over, as by systemd -------------------------------------------------
python3 - "$CUTTLE" 2>handed.log <<'END' &
import os, socket, sys
s = socket.create_server(("127.0.0.1", 0))
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.argv[1], [sys.argv[1], "serve", "-m", "tiny.gguf", "--host", "cuttle.example"])
END
pid=$!
servers+=("$pid")
for ((tries = 0; tries < 500; tries++)); do
	grep -q 'listening on' handed.log && break
	sleep 0.02
done
port=$(sed -n 's/.*listening on http:.*:\([0-9]*\)$/\1/p' handed.log)
[ "${port:-8080}" != 8080 ] || fail "a socket that is handed over is not taken: $(cat handed.log)"
try sites "$port" "$pid"
kill -TERM "$pid"
ended 0 handed

# A socket for another process is left alone.
python3 - "$CUTTLE" >out 2>&1 <<'END' || fail "a socket for another process is taken: $(cat out)"
import os, socket, subprocess, sys
s = socket.create_server(("127.0.0.1", 0))
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
environment = dict(os.environ, LISTEN_FDS="1", LISTEN_PID="1")
server = subprocess.Popen([sys.argv[1], "serve", "-m", "tiny.gguf"], env=environment, pass_fds=[3], stderr=subprocess.PIPE)
line = server.stderr.readline().decode()
server.kill()
sys.exit(0 if "127.0.0.1:8080" in line else line)
END

# ---- TLS -----------------------------------------------------------------------------------------
if command -v openssl >/dev/null; then
	openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -keyout key.pem -out cert.pem -days 2 2>/dev/null
	unserved 2 -m tiny.gguf --listen 0.0.0.0:0 --tls-cert cert.pem --tls-key key.pem
	unserved 2 -m tiny.gguf --tls-cert key.pem --tls-key key.pem --listen 127.0.0.1:0
	cp key.pem shown.pem
	for mode in 640 604 660; do
		chmod $mode shown.pem
		unserved 2 -m tiny.gguf --tls-cert cert.pem --tls-key shown.pem --listen 127.0.0.1:0
		says err 'shown.pem: others may reach this key; chmod 600 it first'
	done
	begin tls --listen 127.0.0.1:0 --tls-cert cert.pem --tls-key key.pem
	python3 - "$port" <<'END' || fail "TLS"
import ssl, socket, sys, warnings
warnings.simplefilter("ignore")
c = ssl.create_default_context(cafile="cert.pem")
s = c.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))), server_hostname="127.0.0.1")
s.sendall(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1:%s\r\nConnection: close\r\n\r\n" % sys.argv[1].encode())
assert s.recv(100).startswith(b"HTTP/1.1 200 ") and s.version() == "TLSv1.3", s.version()
c.minimum_version = ssl.TLSVersion.TLSv1
c.maximum_version = ssl.TLSVersion.TLSv1_1
try:
    c.wrap_socket(socket.create_connection(("127.0.0.1", int(sys.argv[1]))), server_hostname="127.0.0.1")
    sys.exit("TLS 1.1 is spoken")
except (ssl.SSLError, ConnectionError):
    pass
END
	kill -TERM "$pid"
	ended 0 tls
	# A certificate that is renewed.
	for name in one two; do
		openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=$name -keyout $name.key -out $name.pem -days 2 2>/dev/null
	done
	cp one.pem now.pem && cp one.key now.key && chmod 600 now.key
	begin renewed --listen 127.0.0.1:0 --tls-cert now.pem --tls-key now.key
	try renewed "$port" "$pid"
	kill -TERM "$pid"
	wait "$pid" || fail "the server renewed: $(tail -3 renewed.log)"
	[ "$(grep -c 'the certificate stays as it was: ' renewed.log)" = 5 ] || fail "a certificate that will not do is not told: $(cat renewed.log)"
	says renewed.log 'stays as it was: certificate and key must be PEM and belong together$'
	says renewed.log 'stays as it was: now.key: others may reach this key'
	begin open --listen 0.0.0.0:0 --tls-cert cert.pem --tls-key key.pem --keys keys
	# By the name that the server knows itself by, over TLS, without a key.
	healthy 0 --listen "0.0.0.0:$port" --tls-cert cert.pem
	healthy 1 --listen "0.0.0.0:$port"
	[ $asks = 0 ] || says err 'the server has TLS: add its --tls-cert FILE'
	kill -INT "$pid"
	ended 0 open
else
	echo "skipped: ${0##*/}: TLS, there is no openssl"
fi

# ---- no completions ------------------------------------------------------------------------------
begin off --plain off --listen unix:sock
healthy 0 --listen unix:sock
kill -TERM "$pid"
ended 0 off
healthy 1 --listen unix:sock
# Whoever is there, but is no server of ours, is not healthy.
: >other.log
python3 -u -m http.server --bind 127.0.0.1 0 >>other.log 2>&1 &
servers+=($!)
for ((tries = 0; tries < 500; tries++)); do
	port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' other.log)
	[ -z "$port" ] || break
	sleep 0.02
done
healthy 1 --listen "127.0.0.1:$port"
[ $asks = 0 ] || says err 'answers 404 instead of 200'

wait $watcher || fail "slow: $(cat slow.told)"
pid=$slow
kill -TERM "$pid"
ended 0 slow
exit 0
