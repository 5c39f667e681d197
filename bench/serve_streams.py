#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much idle streams of events slow those that are not: over packaging/examples/nginx.conf, without and with 1,000 of jobs that wait.

usage: serve_streams.py CUTTLE MODEL [IDLE]
Eight clients stream a completion each, again and again, and a job is cancelled whose events somebody reads. Prints what they
waited, and memory and files of server and proxy. As root, what is measured runs with real-time priority, for a few seconds.
"""
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

CUTTLE, MODEL = (os.path.realpath(path) for path in sys.argv[1:3])
IDLE = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
EACH = 31  # streams of a key; it may have 32 connections
ACTIVE, ROUNDS, TOKENS, CANCELS = 8, 6, 100, 20
EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / 'packaging/examples/nginx.conf'
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CONTEXT.check_hostname, CONTEXT.verify_mode = False, ssl.CERT_NONE


def free_port():
    with socket.create_server(('127.0.0.1', 0)) as sock:
        return sock.getsockname()[1]


def begin(folder, keys):
    """Server and proxy: processes, and the proxy's port."""
    os.chdir(folder)
    for key in range(keys):
        with open('tokens', 'ab') as file:
            subprocess.run([CUTTLE, 'serve', 'key', f'k{key}', 'use', '--keys', 'keys'], check=True, stdout=file)
    subprocess.run([CUTTLE, 'ledger', 'init', '--ledger', 'ledger', '--dataset', 'notes', '--rho-limit', '1'], check=True, capture_output=True)
    subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=cuttle.example', '-keyout', 'key.pem', '-out', 'cert.pem'],
                   check=True, capture_output=True)
    memory = tempfile.mkdtemp(prefix='cuttle-streams-', dir='/dev/shm')
    server = subprocess.Popen([CUTTLE, 'serve', '-m', MODEL, '--listen', '127.0.0.1:0', '--keys', 'keys', '--state', 'state', '--ledger', 'ledger',
                               '--runtime-dir', memory, '--host', 'cuttle.example', '--trusted-proxy', '127.0.0.1', '--plain', 'beside', '--quiet'],
                              stderr=subprocess.PIPE)
    behind = re.search(rb':(\d+)$', server.stderr.readline().strip()).group(1).decode()
    port = free_port()
    site = EXAMPLE.read_text().replace('127.0.0.1:8080', f'127.0.0.1:{behind}').replace('listen 443', f'listen 127.0.0.1:{port}')
    site = site.replace('/etc/ssl/cuttle.pem', f'{folder}/cert.pem').replace('/etc/ssl/private/cuttle.key', f'{folder}/key.pem')
    with open('site.conf', 'w') as file:
        file.write(site)
    with open('nginx.conf', 'w') as file:
        file.write(('user root; ' if os.getuid() == 0 else '') + f'daemon off; pid {folder}/pid; error_log {folder}/error; worker_processes 1; '
                   f'worker_rlimit_nofile 8192; events {{ worker_connections 4096; }} http {{ access_log off; include {folder}/site.conf; '
                   + ' '.join(f'{kind}_temp_path {folder}/{kind};' for kind in ('client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi')) + ' }\n')
    proxy = subprocess.Popen([shutil.which('nginx', path=os.environ['PATH'] + ':/usr/sbin'), '-e', f'{folder}/error', '-c', f'{folder}/nginx.conf'])
    for _ in range(100):
        try:
            socket.create_connection(('127.0.0.1', port)).close()
            break
        except OSError:
            time.sleep(0.05)
    return server, proxy, port, memory


def ask(port, key, method, path, body=None, headers=None):
    connection = http.client.HTTPSConnection('127.0.0.1', port, context=CONTEXT, timeout=60)
    connection.request(method, path, body, {'Host': 'cuttle.example', 'Authorization': 'Bearer ' + key, **(headers or {})})
    reply = connection.getresponse()
    return reply, connection


def take(port, key, method, path, *more):
    while True:
        reply, connection = ask(port, key, method, path, *more)
        data = reply.read()
        connection.close()
        if reply.status != 429:
            return reply.status, data
        time.sleep(0.2)


def make_job(port, key, name):
    request = {'type': 'generate', 'dataset': 'notes', 'plan': {'num': 4, 'batch_size': 3, 'max_tokens': 12, 'clip': 0.5}}
    return json.loads(take(port, key, 'POST', '/v1/jobs', json.dumps(request), {'Idempotency-Key': name})[1])['id']


def follow(port, key, job):
    """A stream of a job's events."""
    reply, connection = ask(port, key, 'GET', f'/v1/jobs/{job}/events')
    if reply.status != 200:
        sys.exit(f'events: {reply.status}: {reply.read()[:300]}')
    return reply, connection


def stream(port, key, seen):
    """A completion: when each token came, from the request on."""
    began = time.monotonic()
    body = json.dumps({'prompt': 'Once upon a time', 'max_tokens': TOKENS, 'temperature': 0, 'stream': True})
    reply, connection = ask(port, key, 'POST', '/v1/completions', body)
    times = [time.monotonic() - began for line in iter(reply.readline, b'') if b'"text"' in line]
    connection.close()
    seen.append(times)


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def urgent(processes, on):
    if os.getuid() == 0:
        for process in processes:
            for task in os.listdir(f'/proc/{process}/task'):
                try:
                    os.sched_setscheduler(int(task), os.SCHED_FIFO if on else os.SCHED_OTHER, os.sched_param(50 if on else 0))
                except ProcessLookupError:
                    pass


def measure(port, key, processes, number):
    jobs = [make_job(port, key, f'active-{number}-{i}') for i in range(CANCELS)]
    urgent(processes, True)
    seen, delays = [], []
    for _ in range(ROUNDS):
        threads = [threading.Thread(target=stream, args=(port, key, seen)) for _ in range(ACTIVE)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for job in jobs:
        reply, connection = follow(port, key, job)
        began = time.monotonic()
        take(port, key, 'POST', f'/v1/jobs/{job}/cancel')
        while b'cancelled' not in (line := reply.readline()) and line:
            pass
        delays.append(time.monotonic() - began)
        connection.close()
    urgent(processes, False)
    first = [times[0] * 1e3 for times in seen]
    gaps = [(b - a) * 1e3 for times in seen for a, b in zip(times, times[1:])]
    rate = sum(map(len, seen)) / sum(times[-1] for times in seen) * ACTIVE
    return (f'first token p50 {quantile(first, 0.5):.1f}, most {max(first):.1f} ms; between tokens p50 {quantile(gaps, 0.5):.2f}, p99 {quantile(gaps, 0.99):.2f}, '
            f'most {max(gaps):.1f} ms; {rate:.0f} tokens a second; a cancel is seen after p50 {quantile(delays, 0.5) * 1e3:.1f}, most {max(delays) * 1e3:.1f} ms')


def state_of(process):
    memory = {name: int(size) / 1024 for name, size in re.findall(r'(VmRSS|VmHWM):\s+(\d+)', open(f'/proc/{process}/status').read())}
    files = len(os.listdir(f'/proc/{process}/fd'))
    return f'{memory["VmRSS"]:.1f} MB (most {memory["VmHWM"]:.1f}), {files} files'


def main():
    folder = tempfile.mkdtemp(prefix='cuttle-streams-')
    keys = -(-IDLE // EACH) + 1
    server, proxy, port, memory = begin(folder, keys)
    try:
        tokens = open('tokens').read().split()
        for key in tokens:
            take(port, key, 'GET', '/v1/models')
        waiting = [make_job(port, key, 'idle') for key in tokens[1:]]
        time.sleep(1)
        worker = int(subprocess.run(['pgrep', '-P', str(proxy.pid)], capture_output=True, text=True).stdout.split()[0])
        processes = [server.pid, worker, os.getpid()]
        idle = []
        for number in range(4):
            if number in (1, 3):
                began = time.monotonic()
                idle = [follow(port, tokens[1 + i // EACH], waiting[i // EACH]) for i in range(IDLE)]
                time.sleep(1)
                print(f'{IDLE} idle streams in {time.monotonic() - began:.0f} s')
            print(f'{len(idle)} idle: server {state_of(server.pid)}; nginx {state_of(worker)}')
            print('  ' + measure(port, tokens[0], processes, number), flush=True)
            for _, connection in idle:
                connection.close()
            idle = []
            time.sleep(2)
    finally:
        for process in (proxy, server):
            process.terminate()
            process.wait()
        shutil.rmtree(folder)
        shutil.rmtree(memory)


if __name__ == '__main__':
    main()
