#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What memory and time the server needs for uploads of many keys at once: see bench/SERVE.md.

usage: serve_uploads.py CUTTLE MODEL [KEYS] [MIB]
Each key uploads so many MiB of records for a job of its own, all at once. They stand on the disk, encrypted, in a folder of their
own, which is removed at the end. Prints seconds, answers, and how much memory the server and the commands that look at records took.
"""
import collections
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

CUTTLE, MODEL = (os.path.realpath(path) for path in sys.argv[1:3])
KEYS = int(sys.argv[3]) if len(sys.argv) > 3 else 16
MIB = int(sys.argv[4]) if len(sys.argv) > 4 else 256


def memory(process, name):
    try:
        return int(re.search(name + r':\s+(\d+)', open(f'/proc/{process}/status').read()).group(1)) / 1024
    except (OSError, AttributeError):
        return 0


def ask(port, key, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=900)
    connection.request(method, path, body, {'Authorization': 'Bearer ' + key, **(headers or {})})
    reply = connection.getresponse()
    data = reply.read()
    connection.close()
    return reply.status, data


def upload(port, key, job, seen):
    with open('records', 'rb') as file:
        began = time.monotonic()
        status, data = ask(port, key, 'PUT', f'/v1/jobs/{job}/references', file, {'Content-Length': str(os.path.getsize('records'))})
    seen.append((status, time.monotonic() - began, data))


def main():
    folder, run = tempfile.mkdtemp(prefix='cuttle-uploads-', dir=os.environ.get('TMPDIR')), tempfile.mkdtemp(prefix='cuttle-uploads-', dir='/dev/shm')
    os.chdir(folder)
    line = json.dumps({'text': 'The patient has coughed for a week. Lungs clear. ' * 80}).encode() + b'\n'
    with open('records', 'wb') as file:
        for _ in range((MIB << 20) // len(line)):
            file.write(line)
    keys = [subprocess.run([CUTTLE, 'serve', 'key', f'k{i}', 'use', '--keys', 'keys'], check=True, capture_output=True).stdout.decode().strip()
            for i in range(KEYS)]
    subprocess.run([CUTTLE, 'ledger', 'init', '--ledger', 'ledger', '--dataset', 'notes', '--rho-limit', '1'], check=True, capture_output=True)
    server = subprocess.Popen([CUTTLE, 'serve', '-m', MODEL, '--listen', '127.0.0.1:0', '--keys', 'keys', '--state', 'state', '--ledger', 'ledger',
                               '--runtime-dir', run, '--plain', 'off', '--quiet'], stderr=subprocess.PIPE)
    port = int(re.search(rb':(\d+)$', server.stderr.readline().strip()).group(1))
    request = json.dumps({'type': 'generate', 'dataset': 'notes', 'plan': {'num': 4, 'batch_size': 3, 'max_tokens': 12, 'clip': 0.5}})
    try:
        jobs = [json.loads(ask(port, key, 'POST', '/v1/jobs', request, {'Idempotency-Key': 'a'})[1])['id'] for key in keys]
        with open(f'/proc/{server.pid}/clear_refs', 'w') as file:
            file.write('5')
        before, most, commands, seen = memory(server.pid, 'VmRSS'), 0, 0, []
        began = time.monotonic()
        threads = [threading.Thread(target=upload, args=(port, key, job, seen)) for key, job in zip(keys, jobs)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            most = max(most, memory(server.pid, 'VmHWM'))
            children = subprocess.run(['pgrep', '-P', str(server.pid)], capture_output=True, text=True).stdout.split()
            commands = max(commands, max((memory(child, 'VmHWM') for child in children), default=0))
            time.sleep(0.2)
        print(f'{KEYS} keys, {MIB} MiB each: {time.monotonic() - began:.0f} s, {collections.Counter(status for status, _, _ in seen)}; '
              f'server {before:.1f} MB before, most {most:.1f} MB; a command that looks at records most {commands:.1f} MB')
        for status, _, data in seen:
            if status >= 300:
                print(status, data[:200])
                break
        print(subprocess.run(['du', '-sm', 'state'], capture_output=True, text=True).stdout.split()[0], 'MB on the disk')
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(folder)
        shutil.rmtree(run)


if __name__ == '__main__':
    main()
