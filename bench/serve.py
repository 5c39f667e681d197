#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast cuttle serve is: see bench/SERVE.md for what was predicted and what came out.

usage: serve.py CUTTLE MODEL [ROUNDS]

Each round measures every case once, one after the other, so that what else runs on the machine
falls on all of them alike; a row has the median of its rounds. wrk must be installed.
"""
import json
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

CUTTLE, MODEL = sys.argv[1], sys.argv[2]
ROUNDS = int(sys.argv[3]) if len(sys.argv) > 3 else 3
TOKENS = 64


def begin(folder, *options):
    log = tempfile.NamedTemporaryFile("r", dir=folder)
    process = subprocess.Popen([CUTTLE, "serve", "-m", MODEL, "--listen", "127.0.0.1:0", "--quiet", *options],
                               stderr=open(log.name, "w"))
    while "listening" not in (text := open(log.name).read()):
        time.sleep(0.05)
    return process, int(re.search(r":(\d+)$", text.strip()).group(1))


def complete(port, stream, seen, number):
    """One completion; seen[number] = seconds to the first byte of text, seconds, tokens."""
    body = json.dumps({"prompt": "Once upon a time", "max_tokens": TOKENS, "temperature": 0, "stream": stream}).encode()
    began = time.time()
    with socket.create_connection(("127.0.0.1", port), source_address=(f"127.0.0.{2 + number // 16}", 0)) as sock:
        sock.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
                     % (port, len(body), body))
        data, first = b"", None
        while got := sock.recv(65536):
            data += got
            if first is None and b'"text"' in data:
                first = time.time() - began
    tokens = TOKENS if stream else json.loads(data.partition(b"\r\n\r\n")[2])["usage"]["completion_tokens"]
    seen[number] = first, time.time() - began, tokens


def rate(port, clients, stream):
    seen, began = {}, time.time()
    threads = [threading.Thread(target=complete, args=(port, stream, seen, i)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(value[2] for value in seen.values()) / (time.time() - began), max(value[0] for value in seen.values())


def wrk(scheme, port, path="/health", *headers):
    out = subprocess.run(["wrk", "-t1", "-c32", "-d3s", "--latency", *sum((["-H", h] for h in headers), []), f"{scheme}://127.0.0.1:{port}{path}"],
                         capture_output=True, text=True, check=True).stdout
    tail = re.search(r"99%\s+([\d.]+)(us|ms|s)", out)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)), float(tail.group(1)) * {"us": 1e-3, "ms": 1, "s": 1e3}[tail.group(2)]


def main():
    if not shutil.which("wrk") or not shutil.which("openssl"):
        sys.exit("install wrk and openssl")
    folder = tempfile.mkdtemp()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", f"{folder}/key",
                    "-out", f"{folder}/cert"], check=True, capture_output=True)
    key = subprocess.run([CUTTLE, "serve", "key", "bench", "use", "--keys", f"{folder}/keys"], check=True, capture_output=True, text=True).stdout.strip()
    servers = {"plain": begin(folder), "tls": begin(folder, "--tls-cert", f"{folder}/cert", "--tls-key", f"{folder}/key"),
               "keys": begin(folder, "--keys", f"{folder}/keys")}
    port = {name: value[1] for name, value in servers.items()}
    cases = {
        "GET /health, 32 connections": lambda: wrk("http", port["plain"]),
        "the same over TLS": lambda: wrk("https", port["tls"]),
        "GET /v1/models": lambda: wrk("http", port["plain"], "/v1/models"),
        "the same with a key": lambda: wrk("http", port["keys"], "/v1/models", f"Authorization: Bearer {key}"),
        "GET /health beside 8 completions": lambda: beside(port["plain"]),
        "1 completion, tokens/s": lambda: rate(port["plain"], 1, False),
        "1 stream, tokens/s": lambda: rate(port["plain"], 1, True),
        "8 completions, tokens/s": lambda: rate(port["plain"], 8, False),
        "8 streams, tokens/s": lambda: rate(port["plain"], 8, True),
        "24 streams, tokens/s": lambda: rate(port["plain"], 24, True),
        "64 streams, tokens/s": lambda: rate(port["plain"], 64, True),
    }
    seen = {name: [] for name in cases}
    for _ in range(ROUNDS):
        for name, case in cases.items():
            seen[name].append(case())
    for name, values in seen.items():
        print(f"| {name} | {statistics.median(v[0] for v in values):.0f} | {statistics.median(v[1] for v in values):.3g} |")
    for process, _ in servers.values():
        process.terminate()
        process.wait()
    shutil.rmtree(folder)


def beside(port):
    thread = threading.Thread(target=rate, args=(port, 8, True))
    thread.start()
    result = wrk("http", port)
    thread.join()
    return result


main()
