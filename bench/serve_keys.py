#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much wrong keys slow a right one: latencies of requests with a key that is right, without and with wrong
keys at 500 a second, in turns.

usage: serve_keys.py MODEL [SECONDS] CUTTLE...
Each command serves MODEL with private jobs, one after the other in each round, so that whatever else the machine
does meets all of them. Prints milliseconds: GET /v1/models is answered at once, GET /v1/jobs by the disk thread.
"""
import multiprocessing
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time

ROUNDS, RATE, FLOOD = 3, 100, 500


class Connection:
    """One connection that stays, over which requests go one behind the other."""

    def __init__(self, port):
        self.port = port
        self.sock = None

    def ask(self, path, key):
        """Returns the status. A server closes connections on which nothing comes: then on a new one."""
        return self.once(path, key) or self.once(path, key)

    def once(self, path, key):
        """Returns the status, or 0 where the connection ends."""
        if self.sock is None:
            self.sock = socket.create_connection(('127.0.0.1', self.port))
            self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.sendall(f'GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {key}\r\n\r\n'.encode())
        data = b''
        while b'\r\n\r\n' not in data:
            more = self.sock.recv(65536)
            if not more:
                self.sock = None
                return 0
            data += more
        head, _, body = data.partition(b'\r\n\r\n')
        length = int(re.search(rb'(?i)content-length: (\d+)', head).group(1))
        while len(body) < length:
            body += self.sock.recv(65536)
        if b'onnection: close' in head:
            self.sock.close()
            self.sock = None
        return int(head.split()[1])


def flood(port, go, sent):
    """Sends wrong keys of an ID that there is, each another one, at FLOOD a second, while `go` is set."""
    connection = Connection(port)
    while True:
        go.wait()
        due = time.monotonic()
        while go.is_set():
            try:
                connection.ask('/v1/models', 'ada.' + secrets.token_urlsafe(32))
            except OSError:
                connection.sock = None
            with sent.get_lock():
                sent.value += 1
            due += SENDERS / FLOOD
            time.sleep(max(0, due - time.monotonic()))


SENDERS = 16  # a key that is hashed holds its connection for a tenth of a second and more


def measure(connection, path, key, seconds):
    """Latencies in ms of requests that come at RATE a second, from when each was due."""
    taken = []
    due = time.monotonic()
    end = due + seconds
    while due < end and time.monotonic() < end + seconds:
        time.sleep(max(0, due - time.monotonic()))
        status = connection.ask(path, key)
        if status != 200:
            sys.exit(f'{path}: {status}')
        taken.append((time.monotonic() - due) * 1e3)
        due += 1 / RATE
    return taken


def serve(cuttle, model):
    """A server in a folder of its own: process, port, key."""
    folder = tempfile.mkdtemp(prefix='cuttle-keys-')
    memory = tempfile.mkdtemp(prefix='cuttle-keys-', dir='/dev/shm')
    subprocess.run([cuttle, 'ledger', 'init', '--ledger', f'{folder}/ledger', '--dataset', 'notes', '--rho-limit', '1'], check=True, capture_output=True)
    key = subprocess.run([cuttle, 'serve', 'key', 'ada', 'use', '--keys', f'{folder}/keys'], check=True, capture_output=True).stdout.decode().strip()
    process = subprocess.Popen([cuttle, 'serve', '-m', model, '--listen', '127.0.0.1:0', '--keys', f'{folder}/keys', '--state', f'{folder}/state',
                                '--ledger', f'{folder}/ledger', '--runtime-dir', memory, '--quiet'], stderr=subprocess.PIPE)
    port = int(re.search(rb':(\d+)$', process.stderr.readline().strip()).group(1))
    return process, port, key, (folder, memory)


def quantile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def main():
    model, seconds, commands = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    servers = []
    for cuttle in commands:
        process, port, key, folders = serve(cuttle, model)
        go, sent = multiprocessing.Event(), multiprocessing.Value('i', 0)
        senders = [multiprocessing.Process(target=flood, args=(port, go, sent), daemon=True) for _ in range(SENDERS)]
        for sender in senders:
            sender.start()
        connection = Connection(port)
        while connection.ask('/v1/models', key) != 200:
            pass
        servers.append((cuttle, process, connection, key, go, sent, senders, folders))
    taken = {}
    for _ in range(ROUNDS):
        for number, (_, _, connection, key, go, sent, _, _) in enumerate(servers):
            for wrong in (False, True):
                if wrong:
                    go.set()
                    time.sleep(0.3)
                for path in ('/v1/models', '/v1/jobs'):
                    before, began = sent.value, time.monotonic()
                    taken.setdefault((number, path, wrong), []).extend(measure(connection, path, key, seconds))
                    if wrong:
                        taken.setdefault((number, 'rate'), []).append((sent.value - before) / (time.monotonic() - began))
                go.clear()
                time.sleep(1)
    for number, (cuttle, process, _, _, _, _, senders, folders) in enumerate(servers):
        print(f'{cuttle}: {sum(taken[number, "rate"]) / len(taken[number, "rate"]):.0f} wrong keys a second')
        for path in ('/v1/models', '/v1/jobs'):
            said = [f'{part}: p50 {quantile(taken[number, path, wrong], 0.5):.2f}, p99 {quantile(taken[number, path, wrong], 0.99):.2f} ms'
                    for part, wrong in (('alone', False), ('beside wrong keys', True))]
            print(f'  GET {path:<11} {said[0]};  {said[1]}')
        for sender in senders:
            sender.kill()
        process.terminate()
        process.wait()
        for folder in folders:
            shutil.rmtree(folder)


if __name__ == '__main__':
    main()
