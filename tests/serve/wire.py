#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of cuttle serve, of which most are up to no good.

usage: wire.py CASE PORT PID [ARGUMENT]

A case prints nothing when all is well; otherwise it says what is wrong and ends with exit code 1.
Python's own libraries are enough: requests are written byte by byte, since a client that can only
write right requests is no test.
"""
import json
import os
import random
import re
import resource
import select
import shutil
import signal
import socket
import ssl
import sys
import threading
import time

try:
    import jsonschema
except ImportError:  # is_patient has the same by hand
    jsonschema = None

PORT = int(sys.argv[2])
PID = int(sys.argv[3])
HOST = b"127.0.0.1:%d" % PORT


def fail(message):
    print(message)
    sys.exit(1)


def connect(source="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", PORT), timeout=20, source_address=(source, 0))


def readable(sock, seconds):
    """Whether bytes or the end come within that time. select() takes no more than 1,024 files."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def wait_until(true, why):
    """A minute is the limit of a broken run."""
    end = time.monotonic() + 60
    while not true():
        if time.monotonic() > end:
            fail(why)
        time.sleep(0.02)


def is_whole(data):
    """Whether these bytes are a reply with its body, after which the connection may go on."""
    head, end, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"\r\nContent-Length: (\d+)", head)
    return bool(end and length and len(body) >= int(length.group(1)) and not head.startswith(b"HTTP/1.1 400"))


def read_all(sock, seconds=20.0):
    """All bytes until the server closes, or one reply is whole; and whether it closed. After a 400
    it must close."""
    data, end = b"", time.time() + seconds
    while time.time() < end:
        if not readable(sock, max(0.0, end - time.time())):
            break
        try:
            got = sock.recv(65536)
        except ConnectionResetError:
            return data, True
        if not got:
            return data, True
        data += got
        if is_whole(data) and not readable(sock, 0.02):
            break
    return data, False


def send(request, source="127.0.0.1", half_close=True, seconds=20.0):
    """What comes back for these bytes: status (0 = none), all bytes, whether the server closed."""
    with connect(source) as sock:
        try:
            sock.sendall(request)
            if half_close:
                sock.shutdown(socket.SHUT_WR)
        except (BrokenPipeError, ConnectionResetError, OSError):
            pass
        data, closed = read_all(sock, seconds)
    match = re.match(rb"HTTP/1\.[01] (\d\d\d) ", data)
    return int(match.group(1)) if match else 0, data, closed


def get(path, *headers):
    return b"\r\n".join([b"GET " + path + b" HTTP/1.1", b"Host: " + HOST, b"Connection: close", *headers, b"", b""])


def post(path, body, *headers):
    if not isinstance(body, bytes):
        body = json.dumps(body).encode()
    return b"\r\n".join([b"POST " + path + b" HTTP/1.1", b"Host: " + HOST, b"Connection: close",
                         b"Content-Length: %d" % len(body), *headers, b"", body])


def answer(request, wanted=200, **more):
    status, data, _ = send(request, half_close=False, **more)
    if status != wanted:
        fail(f"{request[:80]!r}: {status} instead of {wanted}: {data[-300:]!r}")
    head, _, body = data.partition(b"\r\n\r\n")
    if b"chunked" in head:
        whole, rest = b"", body
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            whole += rest[:int(size, 16)]
            rest = rest[int(size, 16) + 2:]
        body = whole
    return head, body


def check_error(request, wanted, code, **more):
    """An error must be JSON of one shape, whatever went wrong."""
    _, body = answer(request, wanted, **more)
    error = json.loads(body)["error"]
    if set(error) != {"message", "type", "param", "code"} or error["code"] != code:
        fail(f"{request[:60]!r}: {error}")
    return error


def resident():
    """Bytes of memory of its own that the server has touched; not its code and its model's file."""
    with open(f"/proc/{PID}/status", encoding="ascii") as file:
        return 1024 * int(re.search(r"RssAnon:\s+(\d+) kB", file.read()).group(1))


# ---- forms that can be read in two ways ----------------------------------------------------------

def malformed_cases():
    host = b"Host: " + HOST + b"\r\n"
    body = b'{"prompt":"a","max_tokens":1}'
    length = b"Content-Length: %d\r\n" % len(body)
    top = b"POST /v1/completions HTTP/1.1\r\n"
    chunked = b"Transfer-Encoding: chunked\r\n"
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    plain = b"GET /health HTTP/1.1\r\n"
    yield "two hosts", plain + host + host + b"\r\n"
    yield "65 headers, the last another length", top + host + length + b"X: y\r\n" * 62 + b"Content-Length: 3\r\n\r\n" + body
    yield "two different hosts", plain + host + b"Host: other\r\n\r\n"
    yield "no host", plain + b"\r\n"
    yield "no host in 1.0", b"GET /health HTTP/1.0\r\n\r\n"
    yield "two lengths", top + host + length + length + b"\r\n" + body
    yield "two different lengths", top + host + length + b"Content-Length: 3\r\n\r\n" + body
    yield "length and chunks", top + host + length + chunked + b"\r\n" + chunks
    yield "chunks and length", top + host + chunked + length + b"\r\n" + chunks
    yield "two encodings", top + host + chunked + chunked + b"\r\n" + chunks
    yield "unknown encoding", top + host + b"Transfer-Encoding: gzip\r\n\r\n" + body
    yield "encoding with a list", top + host + b"Transfer-Encoding: gzip, chunked\r\n\r\n" + chunks
    yield "encoding in disguise", top + host + b"Transfer-Encoding: xchunked\r\n" + length + b"\r\n" + body
    yield "encoding with a tab", top + host + b"Transfer-Encoding:\tchunked\r\n" + length + b"\r\n" + body
    yield "encoding with a space before the colon", top + host + b"Transfer-Encoding : chunked\r\n" + length + b"\r\n" + body
    yield "chunks in 1.0", b"POST /v1/completions HTTP/1.0\r\n" + host + chunked + b"\r\n" + chunks
    yield "length with a sign", top + host + b"Content-Length: +29\r\n\r\n" + body
    yield "negative length", top + host + b"Content-Length: -1\r\n\r\n" + body
    yield "length in hex", top + host + b"Content-Length: 0x1d\r\n\r\n" + body
    yield "length as a list", top + host + b"Content-Length: 29, 29\r\n\r\n" + body
    yield "length of a word", top + host + b"Content-Length: many\r\n\r\n" + body
    yield "empty length", top + host + b"Content-Length:\r\n\r\n" + body
    yield "endless length", top + host + b"Content-Length: 99999999999999999999999\r\n\r\n" + body
    yield "a line that goes on", plain + host + b"X-A: b\r\n c\r\n\r\n"
    yield "a host that goes on", plain + b"Host: 127.0\r\n .0.1:%d\r\n\r\n" % PORT
    yield "a line that goes on with a tab", plain + host + b"X-A: b\r\n\tc\r\n\r\n"
    yield "a line that goes on, first", plain + b" X: y\r\n" + host + b"\r\n"
    yield "a NUL in a value", plain + host + b"X-A: b\0c\r\n\r\n"
    yield "a NUL in a name", plain + host + b"X\0A: b\r\n\r\n"
    yield "a NUL in the path", b"GET /heal\0th HTTP/1.1\r\n" + host + b"\r\n"
    yield "a NUL behind the path", b"GET /health\0 HTTP/1.1\r\n" + host + b"\r\n"
    yield "a NUL in the host", plain + b"Host: " + HOST + b"\0.other\r\n\r\n"
    yield "a NUL in the version", b"GET /health HTTP/1.1\0\r\n" + host + b"\r\n"
    yield "line feeds alone", b"GET /health HTTP/1.1\nHost: " + HOST + b"\n\n"
    yield "one line feed alone", plain + host + b"X-A: b\n\r\n"
    yield "a carriage return alone", plain + host + b"X-A: b\rX-B: c\r\n\r\n"
    yield "HTTP/1.9", b"GET /health HTTP/1.9\r\n" + host + b"\r\n"
    yield "HTTP/2.0", b"GET /health HTTP/2.0\r\n" + host + b"\r\n"
    yield "HTTP/0.9", b"GET /health\r\n\r\n"
    yield "http/1.1 in small letters", b"GET /health http/1.1\r\n" + host + b"\r\n"
    yield "no path", b"GET  HTTP/1.1\r\n" + host + b"\r\n"
    yield "two spaces", b"GET  /health HTTP/1.1\r\n" + host + b"\r\n"
    yield "a space within the path", b"GET /health /ready HTTP/1.1\r\n" + host + b"\r\n"
    yield "a tab for a space", b"GET\t/health HTTP/1.1\r\n" + host + b"\r\n"
    yield "a header without a colon", plain + host + b"nonsense\r\n\r\n"
    yield "a header without a name", plain + host + b": b\r\n\r\n"
    yield "a name with a space", plain + host + b"X A: b\r\n\r\n"
    yield "a name with a bracket", plain + host + b"X(A): b\r\n\r\n"
    yield "another method", b"PATCH /health HTTP/1.1\r\n" + host + b"\r\n"
    yield "TRACE", b"TRACE /health HTTP/1.1\r\n" + host + b"\r\n"
    yield "CONNECT", b"CONNECT 127.0.0.1:22 HTTP/1.1\r\n" + host + b"\r\n"
    yield "PATCH", b"PATCH /health HTTP/1.1\r\n" + host + b"\r\n"
    yield "TRACE", b"TRACE /health HTTP/1.1\r\n" + host + b"\r\n"
    yield "a method in small letters", b"get /health HTTP/1.1\r\n" + host + b"\r\n"
    yield "two keys", plain + host + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n"
    yield "two origins", plain + host + b"Origin: http://a\r\nOrigin: http://b\r\n\r\n"
    yield "a body for GET", plain + host + b"Content-Length: 5\r\n\r\nhello"
    yield "a long header", plain + host + b"X-A: " + b"a" * 20000 + b"\r\n\r\n"
    yield "a hundred headers", plain + host + b"".join(b"X-%d: a\r\n" % i for i in range(100)) + b"\r\n"
    yield "an escaped NUL", b"GET /health%00 HTTP/1.1\r\n" + host + b"\r\n"
    yield "an escaped path", b"GET /%68ealth HTTP/1.1\r\n" + host + b"\r\n"
    yield "a path upwards", b"GET /health/../health HTTP/1.1\r\n" + host + b"\r\n"
    yield "a whole URL", b"GET http://" + HOST + b"/health HTTP/1.1\r\n" + host + b"\r\n"
    yield "a bad chunk", top + host + chunked + b"\r\nzz\r\n" + body


def case_malformed():
    count = 0
    for name, request in malformed_cases():
        status, data, closed = send(request, half_close=False, seconds=3)
        heads = re.findall(rb"HTTP/1\.1 (\d\d\d) ", data)
        smuggled = any(not 400 <= int(code) < 500 and code != b"505" for code in heads)
        # One reply, and JSON of the shape of all others, also where libmicrohttpd refuses by itself.
        if status:
            head, _, body = data.partition(b"\r\n\r\n")
            if len(heads) != 1 or b"\r\nX-Request-Id: " not in head or set(json.loads(body)["error"]) != {"message", "type", "param", "code"}:
                fail(f"{name}: not one reply of JSON: {data!r}")
        if not (status in (0, 505) or 400 <= status < 500) or smuggled:
            fail(f"{name}: {status}: {data[:200]!r}")
        # After what could be read in two ways nothing more is read of the connection.
        if status == 400 and not closed and name != "a body for GET":
            fail(f"{name}: the connection goes on")
        if status == 0 and not closed and not name.startswith("HTTP/0.9"):
            fail(f"{name}: no answer")
        count += 1
    if count < 40:
        fail(f"{count} cases are too few")
    answer(get(b"/health"))


# ---- mutants -------------------------------------------------------------------------------------

SMUGGLERS = [b"Host: other\r\n", b"Content-Length: 1\r\n", b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n",
             b" folded: line\r\n", b"X: a\0b\r\n"]


def mutate(rng):
    """A request with some damage, and whether it may never be answered with 2xx."""
    body = json.dumps({"prompt": "ab", "max_tokens": rng.randint(1, 3), "temperature": rng.random()}).encode()
    base = rng.choice([get(b"/health"), get(b"/v1/models"), get(b"/v1/models/tiny?a=b"), post(b"/v1/completions", body),
                       post(b"/tokenize", b'{"content":"x"}'),
                       post(b"/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}], "max_tokens": 1})])
    if rng.random() < 0.25:
        lines = base.split(b"\r\n")
        head = lines.index(b"")
        twice = [line for line in lines[1:head] if line.startswith((b"Host", b"Content-Length"))]
        extra = rng.choice(SMUGGLERS + [line + b"\r\n" for line in twice])
        if extra.startswith(b"Content-Length") and len(twice) < 2 or extra.startswith(b" "):
            extra = b"X: a\r\n\tb\r\n"
        at = base.index(b"\r\n\r\n") + 2
        return base[:at] + extra + base[at:], True
    data = bytearray(base)
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(4)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            data[at:at] = rng.randbytes(rng.randint(1, 20))
        elif kind == 2:
            del data[at:at + rng.randint(1, 10)]
        else:
            data[at:at] = rng.choice([b"\r\n", b"\n", b"\0", b" ", b":", b"Content-Length: 3\r\n", b'"', b"{", b"%00", b"\xff"])
    return bytes(data), False


def case_mutants():
    count = int(sys.argv[4])
    rng = random.Random(int(os.environ.get("CUTTLE_TEST_SEED", "1")))
    for number in range(count + 200):
        if number == 200:
            before = resident()  # the first ones warm up
        request, smuggler = mutate(rng)
        # What is damaged may go on waiting for more; a second is enough to see an answer.
        status, data, _ = send(request, source=f"127.0.0.{2 + number % 200}", seconds=1)
        # 505, HTTP version not supported, is libmicrohttpd's word on a damaged version. And who has
        # closed the connection's one half is told that nobody waits, where an answer takes long.
        known = status == 505 or b"nobody waits for this answer" in data
        if status >= 500 and not known or (smuggler and 200 <= status < 300):
            fail(f"mutant {number}: {status} for {request!r}: {data[:300]!r}")
    grown = resident() - before
    if grown > 1 << 20 and "CUTTLE_TEST_ASAN" not in os.environ:
        fail(f"{count} mutants cost {grown} bytes of memory")
    answer(get(b"/health"))


# ---- slow clients --------------------------------------------------------------------------------

def case_slow():
    """Clients that send a byte now and then, or a body that never ends, are shut out after 10
    seconds; meanwhile others are answered. One address may not take all connections. By night nearly
    all connections that there are (1,280) are slow ones."""
    began = time.time()
    slow = []
    many = 1150 if "CUTTLE_TEST_NIGHTLY" in os.environ else 120
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, files[1]), files[1]))
    for number in range(many):
        sock = connect(f"127.0.0.{2 + number % (many // 15)}")
        sock.sendall(get(b"/health")[:30] if number % 2 else post(b"/v1/completions", b"x" * 100)[:-50])
        slow.append(sock)
    crowd = []
    for number in range(72):
        sock = connect("127.0.1.1")
        sock.sendall(b"G")
        crowd.append(sock)
    # Beyond 64 nothing is said; beyond 32 the answer to a whole request says that there are too many.
    for number, sock in enumerate(crowd):
        if number >= 64 and not readable(sock, 60):
            fail("a connection of a crowd is not closed")
        if number < 64 and readable(sock, 0):
            fail(f"connection {number} of one address was refused")
    for sock in crowd[32:64]:
        sock.sendall(get(b"/health")[1:])
        data, closed = read_all(sock)
        if not data.startswith(b"HTTP/1.1 429 ") or b'"queue_full"' not in data or b"\r\nRetry-After: " not in data or not closed:
            fail(f"a connection of a crowd gets {data!r}")
    # Once they have ended another one has no place either; once one of the first has, it has.
    crowd[0].close()
    while send(get(b"/health"), source="127.0.1.1", half_close=False)[0] != 200:
        if time.time() - began > 60:
            fail("a place that is free again is not given")
    alive, worst = list(slow), 0.0
    while alive and time.time() - began < 60:
        for sock in list(alive):
            if readable(sock, 0):
                alive.remove(sock)
                continue
            try:
                sock.send(b"a")
            except OSError:
                alive.remove(sock)
        before = time.time()
        answer(get(b"/health"), source="127.0.2.1")
        worst = max(worst, time.time() - before)
        time.sleep(0.3)
    if alive:
        fail(f"{len(alive)} slow clients are still connected after {time.time() - began:.0f} s")
    if time.time() - began < 8:
        fail("clients were shut out before their time")
    if worst > 8:  # not as long as the slow ones have
        fail(f"beside slow clients an answer took {worst:.1f} s")
    for sock in slow + crowd:
        sock.close()


# ---- who may ask ---------------------------------------------------------------------------------

def case_sites():
    good = b"Connection: close\r\n\r\n"
    # Behind a tunnel or a container's published port the port is another one.
    for host in (b"127.0.0.1:%d" % PORT, b"localhost:%d" % PORT, b"LOCALHOST:%d" % PORT, b"127.0.0.1", b"localhost:1", b"[::1]:29999",
                 b"cuttle.example:1", b"Cuttle.Example"):
        answer(b"GET /health HTTP/1.1\r\nHost: " + host + b"\r\n" + good)
    for host in (b"evil.example", b"evil.example:%d" % PORT, b"127.0.0.1:%d.evil" % PORT, b"localhost.evil:1", b"[::1", b"::1", b"", b"a b"):
        status, _, _ = send(b"GET /health HTTP/1.1\r\nHost: " + host + b"\r\n" + good, half_close=False)
        if status not in (400, 421):
            fail(f"host {host!r}: {status}")
    check_error(b"GET /health HTTP/1.1\r\nHost: evil.example\r\n" + good, 421, "wrong_host")
    answer(get(b"/health", b"Origin: http://127.0.0.1:%d" % PORT))
    # A page behind the tunnel is this server's own. One of another port there is another site, and so is one of the server's own port.
    tunnel = b"GET /health HTTP/1.1\r\nHost: localhost:29999\r\nOrigin: "
    answer(tunnel + b"http://localhost:29999\r\n" + good)
    for origin in (b"http://localhost:3000", b"http://localhost", b"http://localhost:%d" % PORT, b"http://127.0.0.1:29999"):
        check_error(tunnel + origin + b"\r\n" + good, 403, "wrong_origin")
    # http://localhost and https://localhost have the same Host; the browser tells one from the other.
    for site, wanted in ((b"same-origin", 200), (b"same-site", 403), (b"cross-site", 403)):
        answer(b"GET /health HTTP/1.1\r\nHost: localhost\r\nOrigin: https://localhost\r\nSec-Fetch-Site: " + site + b"\r\n" + good, wanted)
    # Behind a proxy that has TLS: the name of --host without a port, and pages that came by https.
    for origin in (b"", b"Origin: https://cuttle.example\r\n"):
        answer(b"GET /health HTTP/1.1\r\nHost: cuttle.example\r\n" + origin + good)
    for origin in (b"http://evil.example", b"https://evil.example", b"null", b"ftp://127.0.0.1:%d" % PORT, b"http://127.0.0.1"):
        check_error(get(b"/health", b"Origin: " + origin), 403, "wrong_origin")
    head, _ = answer(get(b"/health"))
    if b"access-control" in head.lower() or b"nosniff" not in head or b"no-store" not in head:
        fail(f"headers: {head!r}")


def case_keys():
    alice, bob = (key.encode() for key in sys.argv[4].split(","))
    bearer = b"Authorization: Bearer "
    answer(get(b"/health"))
    check_error(get(b"/v1/models"), 401, "invalid_api_key")
    for wrong in (b"x", alice[:-1], alice + b"x", b"nobody.abc", b"alice.", b".", b"alice", b"bob" + alice[5:]):
        check_error(get(b"/v1/models", bearer + wrong), 401, "invalid_api_key")
    check_error(get(b"/v1/models", b"Authorization: Basic " + alice), 401, "invalid_api_key")
    for key in (alice, bob):
        answer(get(b"/v1/models", bearer + key))
        answer(get(b"/metrics", bearer + key))
        # Each of these would be hashed; on a busy machine some take longer without.
        quickest = 1.0
        for _ in range(100):
            began = time.time()
            answer(get(b"/v1/models", bearer + key))
            quickest = min(quickest, time.time() - began)
            if quickest <= 0.06:
                break
        if quickest > 0.06 and "CUTTLE_TEST_ASAN" not in os.environ:
            fail("a key that was right is hashed again")
    check_error(post(b"/v1/completions", {"prompt": "secret-canary"}), 401, "invalid_api_key")
    answer(post(b"/v1/completions", {"prompt": "secret-canary", "max_tokens": 2}, bearer + alice))
    check_error(get(b"/v1/models/canary?canary=1", bearer + alice, b"X-Canary: canary"), 404, "model_not_found")
    # 30 wrong keys at once: some are checked, the others are told to come again; nobody waits long.
    seen = []

    def try_wrong(number):
        seen.append(send(get(b"/v1/models", bearer + b"alice.%d" % number), half_close=False)[0])

    threads = [threading.Thread(target=try_wrong, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    began = time.time()
    answer(get(b"/health"), source="127.0.0.9")
    if len(seen) == 30 and time.time() - began > 1:
        fail("while keys are checked nothing else is answered")
    for thread in threads:
        thread.join()
    if set(seen) != {401, 429}:
        fail(f"wrong keys at once: {seen}")


def case_forgotten():
    """The key's line was removed, and the server told so."""
    key = sys.argv[4].encode()
    wait_until(lambda: send(get(b"/v1/models", b"Authorization: Bearer " + key), half_close=False)[0] == 401, "a key that was removed is taken")
    check_error(get(b"/v1/models", b"Authorization: Bearer " + key), 401, "invalid_api_key")


# ---- completions ---------------------------------------------------------------------------------

def events(body):
    for line in body.split(b"\n\n"):
        if line.startswith(b"data: ") and line != b"data: [DONE]":
            yield json.loads(line[6:])


def case_plain():
    models = json.loads(answer(get(b"/v1/models"))[1])
    if models["data"][0]["id"] != "tiny":
        fail(f"models: {models}")
    answer(get(b"/v1/models/tiny"))
    check_error(get(b"/v1/models/other"), 404, "model_not_found")
    ask = {"model": "tiny", "prompt": "Once upon a time", "max_tokens": 24, "seed": 7, "temperature": 0.9}
    alone = json.loads(answer(post(b"/v1/completions", ask))[1])["choices"][0]["text"]
    # The same among seven others, which begin and end beside it.
    others, seen = [], {}

    def ask_other(number):
        other = dict(ask, prompt="x" * (1 + 3 * number), seed=number, max_tokens=5 + 4 * number)
        answer(post(b"/v1/completions", other), source=f"127.0.3.{1 + number}")

    def ask_same(number):
        body = answer(post(b"/v1/completions", ask), source=f"127.0.4.{1 + number}")[1]
        seen[number] = json.loads(body)["choices"][0]["text"]

    for number in range(7):
        others.append(threading.Thread(target=ask_other, args=(number,)))
        others.append(threading.Thread(target=ask_same, args=(number,)))
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    if set(seen.values()) != {alone}:
        fail(f"beside others it says something else: {seen} {alone!r}")
    head, body = answer(post(b"/v1/completions", dict(ask, stream=True, stream_options={"include_usage": True})))
    chunks = list(events(body))
    if not body.endswith(b"data: [DONE]\n\n") or b"text/event-stream" not in head:
        fail(f"the stream does not end: {body[-100:]!r}")
    if "".join(c["choices"][0]["text"] for c in chunks if c["choices"]) != alone:
        fail("a stream says something else than the whole")
    if chunks[-1]["usage"]["completion_tokens"] < 1:
        fail(f"usage: {chunks[-1]}")
    # What stops a text is not told, in the stream neither.
    stop = next(letter for letter in alone[2:] if " " < letter < "\x7f")
    stopped = dict(ask, stop=[stop])
    whole = json.loads(answer(post(b"/v1/completions", stopped))[1])["choices"][0]
    if whole["text"] != alone[:alone.index(stop)] or whole["finish_reason"] != "stop":
        fail(f"stop: {whole} of {alone!r}")
    body = answer(post(b"/v1/completions", dict(stopped, stream=True)))[1]
    if "".join(c["choices"][0]["text"] for c in events(body)) != whole["text"]:
        fail("a stopped stream says something else")
    greedy = dict(ask, temperature=0)
    one = json.loads(answer(post(b"/v1/completions", greedy))[1])["choices"][0]["text"]
    for change in ({"top_k": 1}, {"top_p": 1e-9}):
        if json.loads(answer(post(b"/v1/completions", dict(ask, **change)))[1])["choices"][0]["text"] != one:
            fail(f"{change} is not the likeliest")
    chat = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "max_tokens": 3, "n": 1, "user": "u"}
    message = json.loads(answer(post(b"/v1/chat/completions", chat))[1])["choices"][0]["message"]
    if message["role"] != "assistant" or not isinstance(message["content"], str):
        fail(f"chat: {message}")
    answer(post(b"/v1/chat/completions", {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "a"},
                                                        {"role": "assistant", "content": "b"}, {"role": "user", "content": "c"}],
                                          "max_tokens": 1}))
    llama = json.loads(answer(post(b"/completion", {"prompt": "ab", "n_predict": 3}))[1])
    if not isinstance(llama["content"], str) or llama["stop"] is not True:
        fail(f"llama: {llama}")
    if json.loads(answer(get(b"/props"))[1])["total_slots"] != 8:
        fail("props")


def case_refusals():
    for name, body, status, code, param in (
            ("privacy", {"prompt": "a", "privacy": {"epsilon": 1}}, 400, "unsupported_parameter", "privacy"),
            ("n", {"prompt": "a", "n": 2}, 400, "unsupported_parameter", "n"),
            ("unknown", {"prompt": "a", "magic": 1}, 400, "unsupported_parameter", "magic"),
            ("no prompt", {}, 400, "invalid_value", "prompt"),
            ("prompt of numbers", {"prompt": [1, 2]}, 400, "invalid_value", "prompt"),
            ("temperature", {"prompt": "a", "temperature": 3}, 400, "invalid_value", "temperature"),
            ("min_p", {"prompt": "a", "min_p": 0.05}, 400, "unsupported_parameter", "min_p"),
            ("tools", {"prompt": "a", "logit_bias": {"1": 2}}, 400, "unsupported_parameter", "logit_bias"),
            ("format", {"prompt": "a", "response_format": {"type": "xml"}}, 400, "invalid_value", "response_format"),
            ("schema", {"prompt": "a", "response_format": {"type": "json_schema", "json_schema": {"schema": {"if": {}}}}}, 400, "invalid_grammar",
             "response_format"),
            ("grammar", {"prompt": "a", "grammar": "root ::= other"}, 400, "invalid_grammar", "grammar"),
            ("two grammars", {"prompt": "a", "grammar": "root ::= [a]", "json_schema": {}}, 400, "invalid_value", "grammar"),
            ("temperature as text", {"prompt": "a", "temperature": "1"}, 400, "invalid_value", "temperature"),
            ("top_p", {"prompt": "a", "top_p": 0}, 400, "invalid_value", "top_p"),
            ("tokens", {"prompt": "a", "max_tokens": 0}, 400, "invalid_value", "max_tokens"),
            ("stop", {"prompt": "a", "stop": ["a", ""]}, 400, "invalid_value", "stop"),
            ("stream", {"prompt": "a", "stream": 1}, 400, "invalid_value", "stream"),
            ("model", {"prompt": "a", "model": "other"}, 404, "model_not_found", "model"),
            ("long", {"prompt": "a", "max_tokens": 100000}, 400, "context_length_exceeded", None),
            ("long prompt", {"prompt": "a " * 100000}, 400, "context_length_exceeded", "prompt")):
        error = check_error(post(b"/v1/completions", body), status, code)
        if error["param"] != param:
            fail(f"{name}: {error}")
        if name == "long" and not re.search(r"max_tokens 100000 .* \d+ tokens$", error["message"]):
            fail(f"{name}: not what does not fit: {error}")
        # Clients print the message alone.
        if param not in (None, "privacy", "model", "prompt") and param not in error["message"]:
            fail(f"{name}: the message does not name it: {error}")
    for body, said in (({"temperature": 2.5}, "from 0 to 2"), ({"top_p": 1.5}, "from 0 to 1"), ({"max_tokens": 0}, "from 1 to 1048576"),
                       ({"n": 2}, "only 1"), ({"tool_choice": "required"}, "tool_choice"), ({"tools": [{}]}, "tools")):
        error = check_error(post(b"/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}], **body}), 400,
                            "invalid_value" if "from" in said else "unsupported_parameter")
        if said not in error["message"] or error["param"] != list(body)[0]:
            fail(f"{body}: {error}")
    if "/v1/jobs" not in check_error(post(b"/v1/chat/completions", {"messages": [], "privacy": {}}), 400, "unsupported_parameter")["message"]:
        fail("who asks for privacy is not told where it is")
    part = {"type": "text", "text": "a"}
    for messages in ([], [{"role": "tool", "content": "a"}], [{"role": "user"}], [{"role": "user", "content": 1}], "a", [1],
                     [{"role": "user", "content": []}], [{"role": "user", "content": [part, {"type": "image_url", "image_url": "x"}]}],
                     [{"role": "user", "content": [part, {"type": "text"}]}], [{"content": "a"}]):
        error = check_error(post(b"/v1/chat/completions", {"messages": messages}), 400, "invalid_value")
        if error["param"] != "messages" or "messages" not in error["message"]:
            fail(f"{messages}: {error}")
    for body in (b"", b"[]", b"{", b"1", b'{"prompt":"a","prompt":"b"}', b'{"a":' * 40 + b"1" + b"}" * 40, b'{"prompt":"a\\u0000"}', b"\xff"):
        check_error(post(b"/v1/completions", body), 400, "invalid_json")
    for body, said in ((b"", "empty"), (b'{"a":18446744073709551615}', "line 1, column 25: the number is too large"), (b'{"prompt":"a\\u0000"}', "\\u0000"),
                       (b"\x1f\x8b\x08", "compressed"), (b'{"a":1,"a":2}', "twice")):
        if said not in (error := check_error(post(b"/v1/completions", body), 400, "invalid_json"))["message"]:
            fail(f"{body!r}: {error}")
    check_error(post(b"/v1/completions", b"\x1f\x8b", b"Content-Encoding: gzip"), 415, "unsupported_encoding")
    answer(post(b"/v1/completions", {"prompt": "a", "max_tokens": 1}, b"Content-Encoding: identity"))
    # A schema may have a NUL, which the text then has by its escape.
    text = json.loads(answer(post(b"/v1/completions", {"prompt": "a", "json_schema": {"enum": ["a\0b"]}}))[1])["choices"][0]["text"]
    if json.loads(text) != "a\0b":
        fail(f"a schema with a NUL: {text!r}")
    for head in (b"X: y\r\n" * 65, b"X: y\r\n" * 2000, b"Cookie: " + b"a" * 16384 + b"\r\n", b"Cookie: " + b"a" * 40000 + b"\r\n"):
        error = check_error(b"GET /health HTTP/1.1\r\nHost: " + HOST + b"\r\n" + head + b"\r\n", 431, "headers_too_large")
        if "64 headers and 16384 bytes" not in error["message"]:
            fail(f"{len(head)} bytes of a head: {error}")
    # As much as it says is read.
    head = b"GET /health HTTP/1.1\r\nHost: " + HOST + b"\r\nConnection: close\r\nX-A: "
    answer(head + b"a" * (16384 - 4 - len(head)) + b"\r\n\r\n")
    answer(get(b"/health", *[b"X: y"] * 62))
    large = b"POST /v1/completions HTTP/1.1\r\nHost: " + HOST + b"\r\n"
    check_error(large + b"Content-Length: 4194305\r\n\r\n", 413, "too_large")
    chunk = b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n" + b"100000\r\n" + b"a" * 0x100000 + b"\r\n"
    check_error(large + chunk + (b"100000\r\n" + b"a" * 0x100000 + b"\r\n") * 4 + b"0\r\n\r\n", 413, "too_large")
    check_error(get(b"/nothing"), 404, "not_found")
    check_error(get(b"/v1/completions"), 405, "method_not_allowed")
    check_error(post(b"/health", b""), 405, "method_not_allowed")
    answer(get(b"/health"))


PATIENT = {"type": "object", "required": ["name", "age", "ward"],
           "properties": {"name": {"type": "string", "pattern": "^[A-Z][a-z]{1,8}$"}, "age": {"type": "integer", "minimum": 18, "maximum": 99},
                          "ward": {"enum": ["A", "B", None]}}}
# So many ways to read each letter that nobody follows them.
AMBIGUOUS = """root ::= x{200,}
x ::= [a-z] x? y | [a-m] y x | [n-z] y y x | [aeiou] x x | [ ] x
y ::= [a-z] | [a-f] x y | [g-z ] y x?  | [b-y] z
z ::= [a-z ] x | [aeiou] z z? | "q"
"""


def is_patient(text):
    """Whether it is one of PATIENT, in the form that the server writes."""
    value = json.loads(text)
    if jsonschema:
        jsonschema.validate(value, PATIENT)
    return (list(value) == ["name", "age", "ward"] and re.fullmatch("[A-Z][a-z]{1,8}", value["name"]) and 18 <= value["age"] <= 99
            and value["ward"] in ("A", "B", None) and json.dumps(value) == text)


def case_grammars():
    """Texts of a schema fit it, those of a grammar are of it, in streams too; what is cut is a beginning of one."""
    ask = {"prompt": "a", "max_tokens": 200}
    strict = {"type": "json_schema", "json_schema": {"name": "patient", "strict": True, "schema": PATIENT}}
    seen = {}

    def complete(path=b"/v1/completions", **more):
        choice = json.loads(answer(post(path, {**ask, **more}))[1])["choices"][0]
        return choice["message"]["content"] if "message" in choice else choice["text"], choice["finish_reason"]

    def ask_seed(number):
        seen[number] = complete(seed=number, response_format=strict)

    # Two at a time of one schema, and others of none between.
    threads = [threading.Thread(target=ask_seed, args=(number,)) for number in range(12)]
    threads += [threading.Thread(target=complete, kwargs={"max_tokens": 20}) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if len(seen) != 12:
        fail(f"no answers: {seen}")
    for number, (text, finish) in seen.items():
        if finish != "stop" or not is_patient(text):
            fail(f"{text!r} is none of the schema ({finish})")
        if complete(seed=number, json_schema=PATIENT)[0] != text:
            fail("json_schema is another than response_format")
        if number % 4:
            continue
        cut, finish = complete(seed=number, response_format=strict, max_tokens=15)
        if finish != "length" or not text.startswith(cut) or len(cut) < 8:
            fail(f"cut: {cut!r} of {text!r} ({finish})")
        body = answer(post(b"/v1/completions", dict(ask, seed=number, response_format=strict, stream=True)))[1]
        parts = [c["choices"][0] for c in events(body)]
        if "".join(part["text"] for part in parts) != text or parts[-1]["finish_reason"] != "stop":
            fail(f"the stream of {text!r}: {parts}")
    chat = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 100}
    message = json.loads(answer(post(b"/v1/chat/completions", dict(chat, response_format=strict)))[1])["choices"][0]["message"]["content"]
    if not is_patient(message):
        fail(f"chat: {message!r}")
    llama = json.loads(answer(post(b"/completion", {"prompt": "ab", "n_predict": 9, "grammar": 'root ::= ("yes" | "no") "!"'}))[1])
    if llama["content"] not in ("yes!", "no!") or llama["stop_type"] != "eos":
        fail(f"llama: {llama}")
    text, finish = complete(response_format={"type": "json_object"}, stop=["}"])
    if not text.startswith("{"):
        fail(f"an object: {text!r} ({finish})")
    # What asks for nothing, changes nothing.
    if complete(seed=1, max_tokens=9, grammar="") != complete(seed=1, max_tokens=9):
        fail("an empty grammar is one")
    # Without end: refused, soon, whole and in a stream, and nobody else waits for it.
    began = time.monotonic()
    error = check_error(post(b"/v1/completions", dict(ask, max_tokens=400, grammar=AMBIGUOUS)), 400, "invalid_grammar")
    check_error(post(b"/v1/completions", dict(ask, max_tokens=400, grammar=AMBIGUOUS)), 400, "invalid_grammar")
    body = answer(post(b"/v1/completions", dict(ask, max_tokens=400, grammar=AMBIGUOUS + "#", stream=True)))[1]
    if error["param"] != "grammar" or b"invalid_grammar" not in body:
        fail(f"ambiguous: {error} {body[-200:]!r}")
    if time.monotonic() - began > (60 if os.environ.get("CUTTLE_TEST_ASAN") else 10):
        fail(f"it took {time.monotonic() - began:.1f} s to refuse what nobody can follow")
    # More of them at once than are held.
    def ask_number(number):
        seen[number] = complete(grammar=f'root ::= "{number}" [a-z]{{20}}')[0]

    seen.clear()
    threads = [threading.Thread(target=ask_number, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if not all(re.fullmatch(f"{number}[a-z]{{20}}", seen.get(number, "")) for number in range(24)):
        fail(f"many grammars: {seen}")
    # A grammar that is held waits for none that is compiled; those whose clients have left are not compiled.
    def large(name):
        return {"type": "object", "properties": {f"{name}-{i}": {"enum": [f"v{j}" for j in range(50)]} for i in range(600)}}

    def ask_large(number):
        complete(json_schema=large(number))
        done.append(number)

    held, done = 'root ::= "held"', []
    complete(grammar=held)
    began = time.monotonic()
    ask_large(-1)
    took = time.monotonic() - began
    threads = [threading.Thread(target=ask_large, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    while not done[1:]:
        time.sleep(0.01)
    complete(grammar=held)
    if len(done) == 7:
        fail("a grammar that is held waits for others")
    for thread in threads:
        thread.join()
    left = [connect() for _ in range(20)]
    for number, sock in enumerate(left):
        body = post(b"/v1/completions", dict(ask, json_schema=large(-2 - number)))
        sock.sendall(body)
    time.sleep(0.3)
    for sock in left:
        sock.close()
    began = time.monotonic()
    complete(grammar=held + " # later")
    if time.monotonic() - began > 10 * took + 2:
        fail(f"{time.monotonic() - began:.1f} s for those that have left; one takes {took:.1f} s")


def case_nothing():
    """What asks for nothing changes nothing; parts of a text are the text; any order of roles is taken."""
    ask = {"messages": [{"role": "user", "content": "a b"}], "max_tokens": 6, "seed": 3, "temperature": 0.7}

    def told(**more):
        whole = json.loads(answer(post(b"/v1/chat/completions", {**ask, **more}))[1])
        return whole["choices"][0], whole["usage"]["prompt_tokens"]

    alone = told()
    for more in ({"tools": []}, {"logit_bias": {}}, {"response_format": {"type": "text"}}, {"tool_choice": "none"},
                 {"parallel_tool_calls": False}, {"n": 1}, {"stop": []}, {"stop": None}, {"min_p": 0}, {"min_p": 0.0}, {"top_k": -1},
                 {"functions": []}, {"logprobs": False}, {"top_logprobs": 0}, {"presence_penalty": 0.0}, {"repetition_penalty": 1.0},
                 {"modalities": ["text"]}, {"tools": None, "tool_choice": "auto"}, {"user": "u"}):
        if told(**more) != alone:
            fail(f"{more} changes what is drawn")
    for content in ([{"type": "text", "text": "a b"}], [{"type": "text", "text": "a"}, {"type": "text", "text": " b"}],
                    [{"type": "text", "text": ""}, {"type": "text", "text": "a b"}, {"type": "text", "text": ""}]):
        if told(messages=[{"role": "user", "content": content}]) != alone:
            fail(f"{content} is not a b")
    if json.loads(answer(post(b"/v1/completions", {"prompt": "a", "max_tokens": 1, "echo": False, "n": 1, "best_of": 1, "suffix": ""}))[1])["object"] != "text_completion":
        fail("a completion that asks for nothing more")
    user, system, own = {"role": "user", "content": "a"}, {"role": "system", "content": "s"}, {"role": "assistant", "content": "b"}
    for messages in ([user, user], [system, system, user], [user, own], [own], [user, system, user], [{"role": "system", "content": ""}, user],
                     [{"role": "developer", "content": "s"}, user], [system]):
        told(messages=messages)
    if not told(messages=[{"role": "system", "content": ""}, user])[1] > told(messages=[user])[1]:
        fail("an empty system message is not in the prompt")


def raw(request):
    """The whole reply, and whether the connection stays for one more."""
    with connect() as sock:
        sock.sendall(request)
        sock.settimeout(1)
        data = b""
        try:
            while True:
                got = sock.recv(65536)
                if not got:
                    return data, False
                data += got
        except TimeoutError:
            pass
        sock.sendall(get(b"/health"))
        return data, b" 200 " in sock.recv(65536)[:20]


def case_methods():
    """HEAD is GET without its body; OPTIONS says what there is, and so does a 405."""
    host = b"Host: " + HOST + b"\r\n\r\n"
    for path in (b"/health", b"/v1/models", b"/v1/models/tiny", b"/metrics", b"/props"):
        data, open_still = raw(b"HEAD " + path + b" HTTP/1.1\r\n" + host)
        head, end, body = data.partition(b"\r\n\r\n")
        whole, _ = raw(b"GET " + path + b" HTTP/1.1\r\n" + host)
        if not head.startswith(b"HTTP/1.1 200 ") or not end or body or not open_still:
            fail(f"HEAD {path}: {data[:300]!r}, {open_still}")
        if b"/metrics" not in path and b"Content-Length: %d\r\n" % len(whole.partition(b"\r\n\r\n")[2]) not in head + b"\r\n":
            fail(f"HEAD {path}: another length: {head!r}")
    for path, status, allow in ((b"/health", b"204", b"GET, HEAD, OPTIONS"), (b"/v1/completions", b"204", b"POST, OPTIONS"),
                                (b"*", b"204", b"GET, HEAD, POST, PUT, DELETE, OPTIONS"), (b"/nothing", b"404", None)):
        data, open_still = raw(b"OPTIONS " + path + b" HTTP/1.1\r\n" + host)
        if not data.startswith(b"HTTP/1.1 " + status) or not open_still or (allow and b"\r\nAllow: " + allow + b"\r\n" not in data):
            fail(f"OPTIONS {path}: {data!r}")
    for method, path, allow in ((b"HEAD", b"/v1/completions", b"POST, OPTIONS"), (b"DELETE", b"/health", b"GET, HEAD, OPTIONS")):
        data, open_still = raw(method + b" " + path + b" HTTP/1.1\r\n" + host)
        if not data.startswith(b"HTTP/1.1 405 ") or b"\r\nAllow: " + allow + b"\r\n" not in data or not open_still:
            fail(f"{method} {path}: {data!r}")


def case_gone():
    """Clients that leave free their slots: more of them than there are, then one that stays."""
    for stream in (True, False):
        for number in range(20):
            with connect(f"127.0.5.{1 + number}") as sock:
                sock.sendall(post(b"/v1/completions", {"prompt": "a", "max_tokens": 200, "stream": stream}))
                time.sleep(0.01)
    began = time.time()
    answer(post(b"/v1/completions", {"prompt": "a", "max_tokens": 2}))
    if time.time() - began > 20:
        fail("who left is still served")


def shown(context):
    """The name in the certificate that a new connection is shown."""
    with context.wrap_socket(connect()) as sock:
        return re.search(rb"\x0c\x03(one|two)", sock.getpeercert(True)).group(1).decode()


def case_renewed():
    """now.pem and now.key change under the server: SIGHUP has it show the new ones, and loses no connection; a pair that will not do is not taken."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE

    def put(certificate, key, wanted, mode=0o600):
        for name, source in (("now.pem", certificate), ("now.key", key)):
            shutil.copy(source, name)
        os.chmod("now.key", mode)
        refused = refusals()
        os.kill(PID, signal.SIGHUP)
        # A signal has no answer: it has been taken when the certificate is the new one, or the log says that it stays.
        wait_until(lambda: refusals() > refused or shown(context) not in (before, wanted) or shown(context) == wanted != before,
                   f"{certificate} and {key}: the signal is not heard")
        if shown(context) != wanted:
            fail(f"{certificate} and {key}: {shown(context)} is shown instead of {wanted}")

    def refusals():
        with open("renewed.log") as log:
            return log.read().count("the certificate stays as it was: ")

    before = shown(context)
    if before != "one":
        fail(f"{before} is shown")
    kept = context.wrap_socket(connect())
    # A handshake that has seen the old certificate, and ends after the change.
    read, written = ssl.MemoryBIO(), ssl.MemoryBIO()
    half, wire = context.wrap_bio(read, written), connect()
    try:
        half.do_handshake()
    except ssl.SSLWantReadError:
        wire.sendall(written.read())
    if not readable(wire, 60):
        fail("a handshake is not answered")
    put("two.pem", "two.key", "two")
    before = "two"
    while True:
        try:
            half.do_handshake()
            break
        except ssl.SSLWantReadError:
            if written.pending:
                wire.sendall(written.read())
            read.write(wire.recv(65536))
    half.write(get(b"/health"))
    wire.sendall(written.read())
    if not wire.recv(1000):
        fail("a handshake under way is lost")
    open("broken.pem", "w").write("-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n")
    put("broken.pem", "two.key", "two")
    put("one.pem", "two.key", "two")  # one of two files was written
    put("tiny.gguf", "two.key", "two")
    put("one.pem", "one.key", "two", 0o644)
    # Nobody writes this pipe: the server must hear the next signal all the same.
    os.unlink("now.pem")
    os.mkfifo("now.pem")
    refused = refusals()
    os.kill(PID, signal.SIGHUP)
    wait_until(lambda: refusals() > refused, "a pipe without a writer is not told")
    os.unlink("now.pem")
    kept.sendall(get(b"/health"))
    data = kept.recv(1000)
    if not data.startswith(b"HTTP/1.1 200 "):
        fail(f"a connection ends when the certificate changes: {data!r}")
    before = "two"
    put("one.pem", "one.key", "one")


def case_stop():
    """While a stream is open the server is asked to end: the stream ends whole, others get a 503."""
    with connect() as sock, connect() as idle:
        sock.sendall(post(b"/v1/completions", {"prompt": "a", "max_tokens": 150, "stream": True}))
        first = sock.recv(1000)
        os.kill(PID, 15)
        # The signal is taken a moment later.
        refusal = b" 200 "
        while b" 200 " in refusal[:20]:
            try:
                idle.sendall(b"GET /health HTTP/1.1\r\nHost: " + HOST + b"\r\n\r\n")
                refusal = idle.recv(65536)
            except ConnectionError:
                refusal = b""
        data, closed = read_all(sock)
    if b" 503 " not in refusal[:20] and refusal:
        fail(f"a server that ends answers {refusal[:60]!r}")
    if not closed or b"[DONE]" not in first + data and b'"code":"stopping"' not in first + data:
        fail(f"the stream was cut: {(first + data)[-200:]!r}")


globals()[f"case_{sys.argv[1]}"]()
