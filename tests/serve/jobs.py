#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of tests/cli/serve_jobs.sh: a client of private jobs, with Python's own library alone.

usage: jobs.py CASE CUTTLE [ARGUMENT]
Each case begins its own servers in the current folder, where tiny.gguf stands. A case that fails
prints why and ends with exit code 1.
"""
import atexit
import glob
import http.client
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

CUTTLE = sys.argv[2]
ARGUMENT = sys.argv[3] if len(sys.argv) > 3 else ''
CANARY = 'CANARY-42'
RUN = tempfile.mkdtemp(prefix='cuttle-jobs-', dir='/dev/shm')  # the server wants a folder in memory
atexit.register(shutil.rmtree, RUN, ignore_errors=True)
PLAN = {'num': 4, 'batch_size': 3, 'max_tokens': 12, 'clip': 0.5}
LONG = {'num': 10, 'batch_size': 3, 'max_tokens': 200, 'clip': 0.5}


def fail(why):
    print(why)
    sys.exit(1)


def check(true, why):
    if not true:
        fail(why)


def command(*words, **more):
    return subprocess.run([CUTTLE, *words], check=True, capture_output=True, **more).stdout.decode()


def make_ledger(name='ledger', rho='100', dataset='notes', measure=()):
    for ending in ('', '-wal', '-shm'):
        if os.path.exists(name + ending):
            os.unlink(name + ending)
    command('ledger', 'init', '--ledger', name, '--dataset', dataset, *(measure or ('--rho-limit', rho)))


def records(count, line='note %d of ' + CANARY):
    return ''.join(json.dumps({'text': line % i}) + '\n' for i in range(count)).encode()


class Server:
    """A server over STATE, until stop or kill."""

    def __init__(self, *more, state='state', ledger='ledger', log='log'):
        self.log = log
        before = os.path.getsize(log) if os.path.exists(log) else 0
        self.file = open(log, 'ab')
        self.process = subprocess.Popen(
            [CUTTLE, 'serve', '-m', 'tiny.gguf', '-t', '1', '--listen', '127.0.0.1:0', '--state', state,
             '--runtime-dir', RUN, '--ledger', ledger, *more], stderr=self.file, stdout=self.file)
        atexit.register(self.process.kill)
        for _ in range(6000):
            with open(log, 'rb') as text:
                text.seek(before)
                found = re.search(rb'listening on \S*:(\d+)', text.read())
            if found:
                break
            check(self.process.poll() is None, 'the server does not begin: ' + open(log).read())
            time.sleep(0.01)
        self.port = int(found.group(1))

    def ask(self, method, path, body=None, key=None, headers=None):
        """Returns status, headers and bytes."""
        connection = http.client.HTTPConnection('127.0.0.1', self.port, timeout=60)
        headers = dict(headers or {})
        if key:
            headers['Authorization'] = 'Bearer ' + key
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers['Content-Type'] = 'application/json'
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        data = reply.read()
        connection.close()
        return reply.status, reply.headers, data

    def json(self, method, path, wanted, body=None, **more):
        status, _, data = self.ask(method, path, body, **more)
        check(status == wanted, f'{method} {path}: {status} instead of {wanted}: {data[:300]}')
        return json.loads(data) if data else None

    def error(self, method, path, wanted, code, body=None, **more):
        error = self.json(method, path, wanted, body, **more)['error']
        check(error['code'] == code and error['message'] and 'param' in error, f'{method} {path}: {error}')
        return error

    def create(self, plan, idempotency, key=None, wanted=201, **more):
        request = {'type': 'generate', 'dataset': 'notes', 'plan': plan, **more}
        return self.json('POST', '/v1/jobs', wanted, request, key=key, headers={'Idempotency-Key': idempotency})

    def upload(self, job, data, wanted=204, key=None):
        return self.json('PUT', f'/v1/jobs/{job}/references', wanted, data, key=key)

    def queue(self, plan, idempotency, count, key=None):
        job = self.create(plan, idempotency, key)['id']
        self.upload(job, records(count), key=key)
        self.json('POST', f'/v1/jobs/{job}/start', 202, key=key)
        return job

    def status(self, job, key=None):
        return self.json('GET', f'/v1/jobs/{job}', 200, key=key)['status']

    def wait(self, job, wanted='done', key=None, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            now = self.status(job, key)
            if now == wanted:
                return
            check(now in ('queued', 'running'), f'the job is {now}, not {wanted}')
            time.sleep(0.05)
        fail(f'the job is {self.status(job, key)} after {seconds} s: ' + open(self.log).read()[-500:])

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.file.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(60)
        self.file.close()
        check(code == 0, f'the server ends with {code}')


def wait_until(true, why, seconds=60):
    end = time.monotonic() + seconds
    while not true():
        check(time.monotonic() < end, why)
        time.sleep(0.02)


def runs(ledger='ledger', kind='reserve'):
    return [e for e in command('ledger', 'export', '--ledger', ledger).splitlines() if json.loads(e)['kind'] == kind]


def no_canary(*places):
    found = subprocess.run(['grep', '-rlaE', CANARY, *places], capture_output=True).stdout
    check(not found, 'private text in the clear: ' + found.decode())


def children():
    """Processes that run generate or sanitize of this folder's model."""
    found = []
    for name in os.listdir('/proc'):
        try:
            words = open(f'/proc/{name}/cmdline', 'rb').read().split(b'\0') if name.isdigit() else []
            if len(words) > 2 and words[1] in (b'generate', b'sanitize') and os.readlink(f'/proc/{name}/cwd') == os.getcwd():
                found.append(int(name))
        except OSError:
            pass
    return found


# ---- cases ---------------------------------------------------------------------------------------


def case_whole():
    """The life of a job, over HTTP."""
    make_ledger()
    server = Server('--insecure-seed', '7')
    dry = server.json('POST', '/v1/jobs', 200, {'type': 'generate', 'dataset': 'notes', 'plan': PLAN, 'dry_run': True})
    check(dry['id'] is None and dry['references_needed'] == 12 and dry['texts'] == 4, f'dry run: {dry}')
    check(server.json('GET', '/v1/jobs', 200)['data'] == [], 'a dry run was kept')
    job = server.create(PLAN, 'one')
    check(re.fullmatch('job_[a-z2-7]{26}', job['id']), job['id'])
    check(job['object'] == 'job' and job['type'] == 'generate' and job['status'] == 'awaiting_references', f'{job}')
    check(job['plan'] == PLAN and job['budget']['fits'] and job['budget']['remaining_rho'] == 100, f'{job}')
    check({'epsilon', 'delta', 'rho', 'adjacency', 'unit', 'sentence'} <= set(job['guarantee']), f'{job["guarantee"]}')
    name = job['id']
    server.error('GET', f'/v1/jobs/{name}/results', 409, 'not_done')
    server.error('GET', f'/v1/jobs/{name}/receipt', 409, 'not_done')
    server.error('POST', f'/v1/jobs/{name}/start', 409, 'references_missing')
    server.upload(name, records(12))
    server.json('POST', f'/v1/jobs/{name}/start', 202)
    _, headers, events = server.ask('GET', f'/v1/jobs/{name}/events')
    events = re.sub(rb'^:.*\n\n', b'', events, flags=re.M)
    check(headers['Content-Type'].startswith('text/event-stream'), 'events are of another type')
    numbers = [int(n) for n in re.findall(r'^id: (\d+)$', events.decode(), re.M)]
    check(numbers == sorted(set(numbers)) and numbers[0] == 1 and numbers[-1] == 13, f'{numbers}')
    check(b'"status":"done","texts":4,"texts_done":4' in events and b'token' not in events, events.decode())
    _, _, late = server.ask('GET', f'/v1/jobs/{name}/events', headers={'Last-Event-ID': '12'})
    check(b'id: 13\n' in late and b'id: 12\n' not in late, late.decode())
    check(server.ask('GET', f'/v1/jobs/{name}/events', headers={'Last-Event-ID': '13'})[0] == 204, 'events go on')
    # The command's very bytes.
    words = ['generate', '-m', 'tiny.gguf', '--ledger', 'ledger', '--dataset', 'notes', '-N', '4', '-B', '3', '-n', '12', '--clip', '0.5',
             '--insecure-seed', '7', '-i', '-', '-o', 'own.jsonl', '-q']
    command(*words, input=records(12))
    for route, file in (('results', 'own.jsonl'), ('receipt', 'own.receipt.json')):
        status, _, data = server.ask('GET', f'/v1/jobs/{name}/{route}')
        check(status == 200 and data == open(file, 'rb').read(), f'{route}: not the command\'s bytes')
    receipt = json.loads(data)
    check(receipt['command_sha256'] == job['fingerprint'], 'another fingerprint than was told')
    check(server.json('GET', f'/v1/jobs/{name}', 200)['texts_done'] == 4, 'texts_done')
    check(os.listdir(RUN) == [] and not os.path.exists(f'state/jobs/{name}/refs'), 'references outlive their job')
    # A number comes back as it was sent.
    priced = {'type': 'generate', 'dataset': 'notes', 'plan': {**PLAN, 'delta': 1e-7}, 'dry_run': True}
    status, _, data = server.ask('POST', '/v1/jobs', priced)
    check(status == 200 and b'"delta":1e-7' in data and b'9.99999' not in data, f'1e-7 is told as {data}')
    # The same key and request are the same job, another request is refused.
    check(server.create(PLAN, 'one', wanted=200)['id'] == name, 'one key made two jobs')
    other = {'type': 'generate', 'dataset': 'notes', 'plan': {**PLAN, 'num': 5}}
    server.error('POST', '/v1/jobs', 409, 'idempotency_key_reused', other, headers={'Idempotency-Key': 'one'})
    server.error('POST', '/v1/jobs', 400, 'invalid_value', other)
    for plan in ({'output': '/tmp/x'}, {'trace': '/tmp/x'}, {'ledger': 'x'}, {'insecure_seed': 1}, {'public_examples': '/etc/passwd'}):
        server.error('POST', '/v1/jobs', 400, 'unsupported_parameter', {**other, 'plan': {**PLAN, **plan}}, headers={'Idempotency-Key': 'p'})
    for plan in ({**PLAN, 'clip': -1}, {**PLAN, 'num': 0}, {'num': 3}, {**PLAN, 'delta': 2}):
        told = server.error('POST', '/v1/jobs', 400, 'invalid_value', {**other, 'plan': plan}, headers={'Idempotency-Key': 'q'})
        check('tiny.gguf' not in told['message'] and 'state' not in told['message'], told['message'])
    server.error('POST', '/v1/jobs', 400, 'invalid_value', {**other, 'dataset': 'others'}, headers={'Idempotency-Key': 'r'})
    # Bad references: a rule, and no record.
    bad = server.create(PLAN, 'bad')['id']
    told = server.json('PUT', f'/v1/jobs/{bad}/references', 422, records(11))
    check(told['error']['code'] == 'invalid_input' and not re.search(r'\d', told['error']['message']), f'{told}')
    check(os.listdir(RUN) == [], 'refused references were kept')
    # A table that was not announced would be read as nothing, and paid for.
    told = server.json('PUT', f'/v1/jobs/{bad}/references', 422, b'text,ward\n' + 12 * b'a note,A\n')
    check('references.format is csv' in told['error']['message'] and os.listdir(RUN) == [], f'{told}')
    server.json('POST', f'/v1/jobs/{bad}/cancel', 202)
    server.json('DELETE', f'/v1/jobs/{bad}', 204)
    server.error('GET', f'/v1/jobs/{bad}', 404, 'not_found')
    # Budget and ledger.
    budget = server.json('GET', '/v1/budget/notes', 200)
    check(budget['object'] == 'budget' and budget['limit']['rho'] == 100 and budget['runs'] == 0, f'{budget}')
    check(server.json('GET', '/v1/budget', 200)['data'] == [budget], 'budgets')
    server.error('GET', '/v1/budget/none', 404, 'not_found')
    check(len(server.json('GET', '/v1/ledger/notes/entries', 200)['data']) == 1, 'entries')
    verified = server.json('POST', '/v1/ledger/verify', 200, {})
    check(verified['ok'] and verified['entries'] == 1 and len(verified['head']) == 64, f'{verified}')
    check(not server.json('POST', '/v1/ledger/verify', 200, {'head': '0' * 64})['ok'], 'an absent entry is there')
    metrics = server.ask('GET', '/metrics')[2].decode()
    check('\ncuttle_jobs_total{type="generate",state="done"} 1\n' in metrics and '\ncuttle_queue_jobs 0\n' in metrics, metrics)
    server.stop()
    no_canary('state', RUN, 'log', 'ledger')
    check(name not in open('log').read(), 'an id is in the log')


def case_schema():
    """Jobs of a schema and of a grammar are the command's, byte for byte; one that will not do is refused with its place."""
    make_ledger()
    server = Server('--insecure-seed', '7')
    schema = {'type': 'object', 'required': ['ward', 'age'],
              'properties': {'ward': {'enum': ['A', 'B']}, 'age': {'type': 'integer', 'minimum': 0, 'maximum': 99}}}
    text = json.dumps(schema, indent=2) + '\n'
    compact = json.dumps(schema, separators=(',', ':'))
    open('schema.json', 'w').write(text)
    open('compact.json', 'w').write(compact)
    open('answer.gbnf', 'w').write('root ::= ("yes" | "no") "!"\n')
    patients = ''.join(json.dumps({'ward': 'AB'[i % 2], 'age': i, 'other': CANARY}) + '\n' for i in range(12)).encode()
    for number, (member, value, option, file, data) in enumerate((('schema', text, '--schema', 'schema.json', patients),
                                                                  ('schema', schema, '--schema', 'compact.json', patients),
                                                                  ('grammar', open('answer.gbnf').read(), '--grammar', 'answer.gbnf', records(12)))):
        job = server.create({**PLAN, member: value}, f'shaped-{number}')
        name = job['id']
        server.upload(name, data)
        server.json('POST', f'/v1/jobs/{name}/start', 202)
        server.wait(name)
        command('generate', '-m', 'tiny.gguf', '--ledger', 'ledger', '--dataset', 'notes', '-N', '4', '-B', '3', '-n', '12', '--clip', '0.5',
                '--insecure-seed', '7', '-i', '-', '-o', f'own{number}.jsonl', '-q', option, file, input=data)
        for route, own in (('results', f'own{number}.jsonl'), ('receipt', f'own{number}.receipt.json')):
            status, _, told = server.ask('GET', f'/v1/jobs/{name}/{route}')
            check(status == 200 and told == open(own, 'rb').read(), f'{member} {route}: not the command\'s bytes')
        receipt = json.loads(told)
        sha256 = hashlib.sha256(open(file, 'rb').read()).hexdigest()
        check(receipt[f'{member}_sha256'] == sha256 and receipt['command_sha256'] == job['fingerprint'], f'{receipt}')
        server.json('DELETE', f'/v1/jobs/{name}', 204)
    for plan, why in (({'schema': {'type': 'object', 'if': {}}}, '"/if"'), ({'grammar': 'root ::= other'}, 'line 1'),
                      ({'schema': {'type': 'object'}, 'grammar': 'root ::= "a"'}, 'excludes'), ({'schema': '/etc/passwd'}, 'JSON'), ({'grammar': ''}, 'GBNF'),
                      ({'schema': ' ' * (1 << 20) + ' '}, '512 KiB'),
                      ({'schema': schema, 'stop': 'x'}, 'leave out --stop')):
        asked = {'type': 'generate', 'dataset': 'notes', 'plan': {**PLAN, **plan}, 'dry_run': True}
        told = server.error('POST', '/v1/jobs', 400, 'invalid_value', asked)['message']
        check(why in told and '/proc' not in told and 'root:' not in told, told)
    server.stop()
    no_canary('state', RUN, 'log', 'ledger')


def case_sanitize():
    """Documents, with their own structure checked before the start."""
    make_ledger('renyi', dataset='docs', measure=('--measure', 'rdp', '--order', '4', '--loss-limit', '100'))
    server = Server(ledger='renyi')
    plan = {'epsilon': 8, 'alpha': 4, 'max_tokens': 8}
    request = {'type': 'sanitize', 'dataset': 'docs', 'plan': plan, 'references': {'format': 'jsonl'}}
    job = server.json('POST', '/v1/jobs', 201, request, headers={'Idempotency-Key': 's'})
    check(job['fingerprint'] is None and job['budget']['remaining_loss'] == 100, f'{job}')
    name = job['id']

    def documents(end):
        return ''.join(json.dumps({'id': f'd{i}', 'text': f'{CANARY} is ill.', 'spans': [
            {'start': 0, 'end': end, 'entity_type': 'PERSON'}]}) + '\n' for i in range(3)).encode()

    server.upload(name, documents(99), wanted=422)
    server.upload(name, documents(9))
    job = server.json('GET', f'/v1/jobs/{name}', 200)
    check(job['texts'] == 3 and job['references_uploaded'] and job['budget']['fits'], f'{job}')
    server.json('POST', f'/v1/jobs/{name}/start', 202)
    server.wait(name)
    results, receipt = (server.ask('GET', f'/v1/jobs/{name}/{route}')[2] for route in ('results', 'receipt'))
    for file, data in (('got.jsonl', results), ('got.receipt.json', receipt)):
        with open(file, 'wb') as to:
            to.write(data)
    lines, receipt = results.splitlines(), json.loads(receipt)
    # An officer files a job's receipt like any other, while the server runs.
    command('report', 'got.receipt.json', '--texts', 'got.jsonl', '--ledger', 'renyi', '--evidence', 'filed')
    told = open('filed/verify.txt').read()
    check('exit code 0: it holds' in told and 'it has the entry' in told and 'these are its bytes' in told, told)
    check(len(open('filed/ledger.jsonl').readlines()) >= 3 and CANARY not in told, 'the ledger of a job')
    check(len(lines) == 3 and receipt['command_sha256'] == job['fingerprint'], 'sanitize')
    check(len(runs('renyi')) == 1, 'not one charge')
    server.stop()
    no_canary('state', RUN, 'log')


def case_roles():
    """Who may do what: keys, owners, --approval."""
    make_ledger()
    keys = {}
    for who, role in (('ann', 'use'), ('bob', 'use'), ('chief', 'officer')):
        keys[who] = command('serve', 'key', who, role, '--keys', 'keys').strip()
    server = Server('--keys', 'keys', '--approval')
    name = server.create(PLAN, 'a', key=keys['ann'])['id']
    routes = [('GET', ''), ('DELETE', ''), ('PUT', '/references'), ('POST', '/start'), ('POST', '/cancel'),
              ('GET', '/events'), ('GET', '/results'), ('GET', '/receipt')]
    for method, end in routes:
        body = b'{}\n' if method == 'PUT' else None
        server.error(method, f'/v1/jobs/{name}{end}', 401, 'invalid_api_key', body)
        server.error(method, f'/v1/jobs/{name}{end}', 404, 'not_found', body, key=keys['bob'])
    check(server.json('GET', '/v1/jobs', 200, key=keys['bob'])['data'] == [], 'bob sees the job')
    check(len(server.json('GET', '/v1/jobs', 200, key=keys['chief'])['data']) == 1, 'the officer does not')
    for method, path in (('GET', '/v1/ledger/notes/entries'), ('POST', '/v1/ledger/verify')):
        server.error(method, path, 403, 'forbidden_role', {} if method == 'POST' else None, key=keys['ann'])
        server.json(method, path, 200, {} if method == 'POST' else None, key=keys['chief'])
    server.upload(name, records(12), key=keys['ann'])
    server.error('POST', f'/v1/jobs/{name}/start', 403, 'forbidden_role', key=keys['ann'])
    server.json('POST', f'/v1/jobs/{name}/start', 202, key=keys['chief'])
    server.wait(name, key=keys['ann'])
    server.stop()
    for secret in keys.values():
        check(secret not in open('log').read(), 'a key is in the log')


def follow(server, job, key):
    """A connection on which the events of a job come."""
    sock = socket.create_connection(('127.0.0.1', server.port))
    sock.settimeout(20)
    sock.sendall(f'GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {key}\r\n\r\n'.encode())
    data = sock.recv(1000)
    check(data.startswith(b'HTTP/1.1 200 '), f'events: {data[:300]}')
    return sock


def goes_on(sock):
    """Whether the server has not ended the connection so far."""
    sock.settimeout(0)
    try:
        while sock.recv(65536):
            pass
        return False
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def ends_within(sock, seconds=60):
    """Whether the server ends the connection in that time."""
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            sock.settimeout(max(0.01, end - time.monotonic()))
            if not sock.recv(65536):
                return True
    except socket.timeout:
        return False
    except ConnectionError:
        return True
    return False


def keep_lines(keep):
    """Leaves those lines of the file of keys that begin with a name for which keep is true."""
    with open('keys') as file:
        lines = [line for line in file if keep(line.split()[0])]
    with open('keys', 'w') as file:
        file.writelines(lines)


def case_revoked():
    """A key that is taken away ends what was asked with it. Another key with its ID gets nothing of it."""
    make_ledger()
    keys = {who: command('serve', 'key', who, role, '--keys', 'keys').strip() for who, role in (('ann', 'use'), ('bob', 'use'), ('chief', 'officer'))}
    server = Server('--keys', 'keys', '--plain', 'off')
    of = {who: server.create(PLAN, 'a', key=keys[who])['id'] for who in ('ann', 'bob')}
    events = {who: follow(server, of[who], keys[who]) for who in ('ann', 'bob')}
    watched = follow(server, of['ann'], keys['chief'])
    # An upload that has begun.
    upload = socket.create_connection(('127.0.0.1', server.port))
    upload.sendall(f'PUT /v1/jobs/{of["ann"]}/references HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n'
                   f'Authorization: Bearer {keys["ann"]}\r\nContent-Length: 1000000\r\n\r\n'.encode() + records(12))
    wait_until(lambda: os.path.exists(f'state/jobs/{of["ann"]}/refs.part'), 'the upload does not begin')
    keep_lines(lambda name: name != 'ann')
    server.process.send_signal(signal.SIGHUP)
    for sock in (events['ann'], upload):
        check(ends_within(sock), 'what a key has begun goes on when it is gone')
    wait_until(lambda: not os.path.exists(f'state/jobs/{of["ann"]}/refs.part'), 'the upload is not dropped')
    # What was to end has ended, so the keys were read and all streams were looked at.
    for sock in (events['bob'], watched):
        check(goes_on(sock), 'a key is gone, and the stream of another ends')
    # An officer who is none any more.
    with open('keys') as file:
        lines = file.read().replace('chief officer', 'chief use')
    with open('keys', 'w') as file:
        file.write(lines)
    server.process.send_signal(signal.SIGHUP)
    check(ends_within(watched), 'who is no officer any more goes on watching')
    check(goes_on(events['bob']), 'an officer is none any more, and the stream of another ends')
    keys['new'] = command('serve', 'key', 'ann', 'use', '--keys', 'keys').strip()
    keys['head'] = command('serve', 'key', 'head', 'officer', '--keys', 'keys').strip()
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.ask('GET', '/v1/jobs', key=keys['new'])[0] == 200, 'a new key is not taken')
    check(server.json('GET', '/v1/jobs', 200, key=keys['new'])['data'] == [], 'a new key has the jobs of an old one')
    server.error('GET', f'/v1/jobs/{of["ann"]}', 404, 'not_found', key=keys['new'])
    server.error('GET', f'/v1/jobs/{of["ann"]}', 401, 'invalid_api_key', key=keys['ann'])
    again = server.create(PLAN, 'a', key=keys['new'])['id']
    check(again != of['ann'], 'an Idempotency-Key of an old key gives its job')
    check([job['owner'] for job in server.json('GET', '/v1/jobs', 200, key=keys['head'])['data']] == ['ann', 'bob', 'ann'], 'owners are not named')
    server.stop()
    # A folder of an older server names owners by their ID.
    jobs = sqlite3.connect('state/jobs.db', isolation_level=None)
    jobs.execute("UPDATE job SET owner = 'bob' WHERE id = ?", (of['bob'],))
    jobs.execute("UPDATE job SET owner = 'eve' WHERE id = ?", (again,))
    jobs.close()
    server = Server('--keys', 'keys', '--plain', 'off')
    server.json('GET', f'/v1/jobs/{of["bob"]}', 200, key=keys['bob'])
    server.stop()
    keep_lines(lambda name: name != 'bob')
    keys['eve'] = command('serve', 'key', 'eve', 'use', '--keys', 'keys').strip()
    keys['bob'] = command('serve', 'key', 'bob', 'use', '--keys', 'keys').strip()
    server = Server('--keys', 'keys', '--plain', 'off')
    for who in ('eve', 'bob'):
        check(server.json('GET', '/v1/jobs', 200, key=keys[who])['data'] == [], f'{who}, a new key, has old jobs')
    server.stop()


def case_ready():
    """A server whose ledger is gone is not ready; where it is back, it is."""
    make_ledger()
    server = Server('--plain', 'off')
    whole = {'status': 'ok', 'ledger': 'ok', 'model': 'ok', 'disk': 'ok', 'trail': 'ok'}
    check(server.json('GET', '/ready', 200) == whole, 'not what is looked at')
    os.rename('tiny.gguf', 'away.gguf')
    check(server.json('GET', '/ready', 503) == {**whole, 'status': 'no_model', 'model': 'missing'}, 'the model is not missed')
    os.rename('away.gguf', 'tiny.gguf')
    for gone, back in ((lambda: os.rename('ledger', 'away'), lambda: os.rename('away', 'ledger')),
                       (lambda: (os.rename('ledger', 'away'), os.mkdir('ledger')), lambda: (os.rmdir('ledger'), os.rename('away', 'ledger'))),
                       (lambda: (shutil.copy('ledger', 'away'), open('ledger', 'w').close()), lambda: os.replace('away', 'ledger'))):
        gone()
        check(server.json('GET', '/ready', 503) == {**whole, 'status': 'no_ledger', 'ledger': 'missing'}, 'not why')
        check(server.ask('GET', '/ready')[1]['Retry-After'] == '10', 'not when to ask again')
        server.json('GET', '/health', 200)
        back()
        server.json('GET', '/ready', 200)
    server.stop()


def case_approved():
    """What an officer approves is what runs: this fingerprint, this charge."""
    make_ledger()
    ann, chief = (command('serve', 'key', key, role, '--keys', 'keys').strip() for key, role in (('ann', 'use'), ('chief', 'officer')))
    server = Server('--keys', 'keys', '--approval')
    first = server.create(LONG, 'first', ann)['id']
    server.upload(first, records(30), key=ann)
    job = server.create(PLAN, 'second', ann)
    check(job['approval'].startswith(job['fingerprint'] + ':'), f'{job}')
    name = job['id']
    server.upload(name, records(12), key=ann)
    start = f'/v1/jobs/{name}/start'
    seen = server.json('GET', f'/v1/jobs/{name}', 200, key=chief)['approval']
    check(float(seen.split(':')[1]) == job['charge']['loss'], seen)
    other = server.create({**PLAN, 'num': 3}, 'third', ann)['approval']
    for wrong in (f'"{other}"', f'"{seen}1"', f'"{seen}"1', f'"{seen}', f'{seen}"', f'W/"{seen}"', seen.replace(':', ''), '""', '"', '*'):
        server.error('POST', start, 412, 'not_as_approved', key=chief, headers={'If-Match': wrong})
    check(server.status(name, ann) == 'awaiting_references' and not runs(), 'another approval starts a job')
    server.json('POST', f'/v1/jobs/{first}/start', 202, key=chief)
    server.json('POST', start, 202, key=chief, headers={'If-Match': f'"{seen}"'})
    # Whoever started it, an officer who has seen something else hears that this is not it.
    server.error('POST', start, 412, 'not_as_approved', key=chief, headers={'If-Match': f'"{other}"'})
    server.json('POST', start, 202, key=chief, headers={'If-Match': f'"{seen}"'})
    wait_until(runs, 'the first job is not charged')
    check(server.status(name, ann) == 'queued', 'the second job does not wait')
    server.kill()
    # Another model stands there now. Its job would have another fingerprint, and is not what was approved.
    model = bytearray(open('tiny.gguf', 'rb').read())
    model[-2] ^= 1
    os.rename('tiny.gguf', 'old.gguf')
    open('tiny.gguf', 'wb').write(model)
    server = Server('--keys', 'keys', '--approval')
    server.wait(name, 'awaiting_references', ann)
    job = server.json('GET', f'/v1/jobs/{name}', 200, key=ann)
    check(job['error']['code'] == 'not_as_approved' and len(runs()) == 1, f'{job}')
    server.error('POST', start, 409, 'references_missing', key=chief)
    # Looked at again it has other numbers, and needs another approval.
    server.upload(name, records(12), key=ann)
    server.error('POST', start, 403, 'forbidden_role', key=ann)
    server.error('POST', start, 412, 'not_as_approved', key=chief, headers={'If-Match': f'"{seen}"'})
    now = server.json('GET', f'/v1/jobs/{name}', 200, key=chief)['approval']
    check(now != seen, 'another model has the old fingerprint')
    server.json('POST', start, 202, key=chief, headers={'If-Match': now})
    server.wait(name, key=ann)
    check(len(runs()) == 2, 'an approved job is not charged once')
    server.stop()


def held(*more):
    """What a server lacks that charges nothing before somebody says so."""
    server = Server(*more)
    gap = server.json('GET', '/v1/ledger/gap', 200)
    check(gap['held'] is True and len(gap['gap']) == 64, f'nothing is missed: {gap}')
    ready = server.json('GET', '/ready', 503)
    check((ready['status'], ready['ledger']) == ('ledger_restored', 'restored'), f'{ready}')
    server.stop()
    return gap


def copy_ledger(one, other):
    for ending in ('', '-wal', '-shm'):
        if os.path.exists(other + ending):
            os.unlink(other + ending)
        if os.path.exists(one + ending):
            shutil.copy(one + ending, other + ending)


def place(job):
    """Where the job stands in the queue."""
    jobs = sqlite3.connect('file:state/jobs.db?mode=ro', uri=True, timeout=60)
    found = jobs.execute('SELECT place FROM job WHERE id = ?', (job,)).fetchone()[0]
    jobs.close()
    return found


def case_restored():
    """A ledger that was put back from a backup is noticed."""
    make_ledger()
    copy_ledger('ledger', 'empty')
    server = Server()
    job = server.queue(PLAN, 'one', 12)
    server.wait(job)
    server.stop()
    copy_ledger('ledger', 'one')
    Server().stop()  # nothing is missing
    # Somebody else's charge, which no job knows, is missed as well, once the server saw it.
    command('ledger', 'reserve', '--ledger', 'ledger', '--dataset', 'notes', '--rho', '0.25', '--count', '9')
    Server().stop()
    copy_ledger('ledger', 'two')
    copy_ledger('one', 'ledger')
    gap = held()
    check((gap['entries'], gap['runs'], gap['datasets']) == (1, [], []), f'the other charge is not missed: {gap}')
    check(f'ledger lacks 1 entries' in open('log').read() and '--ledger-restored' in open('log').read(), 'nobody is told')
    copy_ledger('empty', 'ledger')
    gap = held()
    check((gap['entries'], [run['job'] for run in gap['runs']]) == (2, [job]), f'the charges are not missed: {gap}')
    lost = gap['runs'][0]
    check(lost['charge']['measure'] == 'rho' and lost['charge']['loss'] > 0 and lost['dataset'] == 'notes' and len(lost['run']) == 32, f'{lost}')
    # By the receipts alone, too.
    os.rename('state/ledger.head', 'head')
    check(held()['entries'] == 1, 'the charge of the job is not missed')
    os.rename('head', 'state/ledger.head')
    copy_ledger('two', 'ledger')
    server = Server()
    check(server.status(job) == 'done', 'the job is gone')
    server.stop()
    # Told, it begins, and need not be told again.
    copy_ledger('empty', 'ledger')
    Server('--ledger-restored').stop()
    server = Server()
    check(server.json('GET', f'/v1/jobs/{job}', 200)['charge_lost'] is True, 'the job does not say that its charge is lost')
    next = server.queue(PLAN, 'two', 12)
    server.wait(next)
    server.stop()
    copy_ledger('empty', 'ledger')
    check([run['job'] for run in held()['runs']] == [next], 'what was said to be lost is named again, or the next is not')
    # What says which entry was the newest is damaged.
    copy_ledger('two', 'ledger')
    Server('--ledger-restored').stop()
    with open('state/ledger.head') as file:
        head = file.read()
    for damaged in ('', head[:-1], 'x' + head[1:], head + head):
        with open('state/ledger.head', 'w') as file:
            file.write(damaged)
        held()
    with open('state/ledger.head', 'w') as file:
        file.write(head)
    # Put back under a server that runs. What waits does not begin, also where nobody has stopped it.
    server = Server()
    before = len(runs())
    waiting, ready = (server.create(PLAN, key)['id'] for key in ('waiting', 'ready'))
    for job in (waiting, ready):
        server.upload(job, records(12))
    # It does not end before the ledger is another.
    long = server.queue({**LONG, 'num': 1000}, 'long', 3000)
    server.json('POST', f'/v1/jobs/{waiting}/start', 202)
    wait_until(lambda: len(runs()) > before, 'the long job is not charged')
    # Until it has kept tokens its command still writes to the ledger, which must not come between the copies.
    wait_until(lambda: drawn() > 2000, 'the long job draws nothing')
    check(server.status(waiting) == 'queued', 'the second job does not wait')
    copy_ledger('empty', 'ledger')
    server.error('POST', f'/v1/jobs/{ready}/start', 503, 'ledger_restored')
    before = place(waiting)
    server.json('POST', f'/v1/jobs/{long}/cancel', 202)
    wait_until(lambda: server.status(long) != 'running', 'the long job does not end')
    # It was looked at, and goes behind all others until it is looked at again.
    wait_until(lambda: place(waiting) != before or runs(), 'nobody looks at the job that waits')
    check(not runs(), 'a job is charged in a ledger that was put back')
    # It is called running meanwhile.
    wait_until(lambda: server.status(waiting) == 'queued', 'a job does not wait for the ledger that it knows')
    # The newest copy is there again, under the server that runs: nothing needs to be said.
    copy_ledger('two', 'ledger')
    check(server.json('GET', '/v1/ledger/gap', 200)['held'] is False, 'a whole ledger lacks something')
    server.json('GET', '/ready', 200)
    server.stop()
    copy_ledger('empty', 'ledger')
    server = Server('--ledger-restored')
    for job in [job['id'] for job in server.json('GET', '/v1/jobs', 200)['data']]:
        server.json('DELETE', f'/v1/jobs/{job}', 204)
    server.stop()
    # A charge that was made while the server was killed in the middle of a job.
    copy_ledger('empty', 'ledger')
    server = Server('--ledger-restored')
    # It is killed, and must not end before.
    job = server.queue({**LONG, 'num': 2000}, 'three', 6000)
    wait_until(lambda: runs() and json.loads(runs()[0])['previous'] != open('state/ledger.head').read().strip(), 'the charge is not noted')
    check(server.status(job) == 'running', 'the charge was noted when the job had ended')
    server.kill()
    copy_ledger('empty', 'ledger')
    check([run['job'] for run in held()['runs']] == [job], 'the job under way is not named')


def case_busy():
    """Requests with one key that come together are one job. While another process holds the ledger, a
    start waits for it, and nobody else does."""
    make_ledger()
    server = Server()
    same = {'type': 'generate', 'dataset': 'notes', 'plan': PLAN}
    told = []
    threads = [threading.Thread(target=lambda: told.append(server.ask('POST', '/v1/jobs', same, headers={'Idempotency-Key': 'same'})))
               for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(sorted(status for status, _, _ in told) == [200] * 5 + [201], f'{told}')
    check(len({json.loads(data)['id'] for _, _, data in told}) == 1, 'one key made several jobs')
    first, other = (server.create(PLAN, key)['id'] for key in 'ab')
    server.upload(first, records(12))
    ledger = sqlite3.connect('ledger', isolation_level=None)
    ledger.execute('BEGIN IMMEDIATE')
    answers = []
    waits = [('POST', f'/v1/jobs/{first}/start'), ('GET', f'/v1/jobs/{first}')]
    threads = [threading.Thread(target=lambda asked: answers.append(server.ask(*asked)[0]), args=(asked,)) for asked in waits]
    for thread in threads:
        thread.start()
    # Whoever waits here for the ledger waits until it is free, and that is after all of these.
    server.json('GET', '/v1/jobs', 200)
    server.upload(other, records(12))
    server.json('POST', f'/v1/jobs/{other}/cancel', 202)
    check(answers == [], f'the ledger was not waited for: {answers}')
    ledger.close()
    for thread in threads:
        thread.join()
    check(sorted(answers) == [200, 202], f'{answers}')
    server.wait(first)
    check(len(runs()) == 1, f'{len(runs())} charges')
    server.stop()


def case_crowd():
    """Eight requests of one key may wait for a ledger that is held; then it may only end jobs, and others still ask."""
    make_ledger()
    ann, bob = (command('serve', 'key', who, 'use', '--keys', 'keys').strip() for who in ('ann', 'bob'))
    server = Server('--keys', 'keys')
    name = server.create(PLAN, 'a', key=ann)['id']
    ledger = sqlite3.connect('ledger', isolation_level=None)
    ledger.execute('PRAGMA locking_mode=EXCLUSIVE')
    ledger.execute('BEGIN EXCLUSIVE')
    answers = []
    waiting = threading.Semaphore(0)

    def ask(key):
        waiting.release()
        answers.append((key == ann, server.ask('GET', '/v1/budget', key=key)[0]))

    threads = [threading.Thread(target=ask, args=(key,)) for key in [ann] * 12 + [bob]]
    for thread in threads:
        thread.start()
    for _ in threads:
        waiting.acquire()
    wait_until(lambda: len(answers) >= 4, f'nobody is sent away')
    check(answers == [(True, 429)] * 4, f'of twelve requests of one key: {answers}')
    server.error('GET', '/v1/budget', 429, 'queue_full', key=ann)
    server.json('DELETE', f'/v1/jobs/{name}', 204, key=ann)
    check(len(answers) == 4, f'the ledger was not waited for: {answers}')
    ledger.close()
    for thread in threads:
        thread.join()
    check(sorted(answers) == [(False, 200)] + [(True, 200)] * 8 + [(True, 429)] * 4, f'{answers}')
    server.stop()


def case_parallel():
    """Twenty starts at once, room for three; and twenty requests with one key."""
    make_ledger()
    server = Server()
    one = server.create(PLAN, 'price')['budget']['charge']
    server.stop()
    shutil.rmtree('state')
    make_ledger(rho=str(one * 3.5))
    server = Server()
    jobs = [server.create(PLAN, f'k{i}')['id'] for i in range(20)]
    for name in jobs:
        server.upload(name, records(12))
    answers = {}

    def start(name):
        status, _, data = server.ask('POST', f'/v1/jobs/{name}/start')
        answers[name] = (status, json.loads(data))

    threads = [threading.Thread(target=start, args=(name,)) for name in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    began = [name for name in jobs if answers[name][0] == 202]
    check(len(began) == 3, f'{len(began)} of 20 starts')
    for name in jobs:
        if name not in began:
            check(answers[name][0] == 403 and answers[name][1]['error']['code'] == 'insufficient_privacy_budget', f'{answers[name]}')
    for name in began:
        server.wait(name)
    check(len(runs()) == 3, f'{len(runs())} charges')
    ids = set()
    threads = [threading.Thread(target=lambda: ids.add(server.ask('POST', '/v1/jobs', {'type': 'generate', 'dataset': 'notes', 'plan': LONG}, headers={
        'Idempotency-Key': 'same'})[2])) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check(len({json.loads(data)['id'] for data in ids}) == 1, 'one key made several jobs')
    server.stop()


def clear():
    """No job of an earlier server is left."""
    for folder in ('state', RUN):
        shutil.rmtree(folder, ignore_errors=True)


def drawn():
    """Bytes of what was drawn so far."""
    return sum(os.path.getsize(path) for path in glob.glob('state/jobs/*/out.jsonl.journal'))


def killed_run(kills, seed):
    """A job of a server that is killed so many times, each time at another moment. Returns its results."""
    generator = random.Random(kills)
    make_ledger()
    clear()
    more = ['--insecure-seed', '7'] if seed else []
    server = Server(*more)
    name = server.queue(LONG, 'k', 30)
    for _ in range(kills):
        until = drawn() + generator.randrange(12000)
        wait_until(lambda: drawn() >= until or server.status(name) == 'done', 'nothing is drawn')
        done = server.status(name) == 'done'
        left = children()
        server.kill()
        wait_until(lambda: not children(), f'a job outlives its server: {left}')
        no_canary('state', RUN, 'log', 'ledger')
        server = Server(*more)
        if done:
            break
    server.wait(name)
    results = server.ask('GET', f'/v1/jobs/{name}/results')[2]
    check(os.listdir(RUN) == [], 'a key outlives its job')
    server.stop()
    return results


def dies_with_server():
    """A job in the midst of a long text writes nothing, so no closed pipe ends it: its server's end must."""
    make_ledger()
    clear()
    server = Server()
    name = server.queue({**PLAN, 'num': 1, 'batch_size': 500, 'max_tokens': 400}, 'long', 500)
    wait_until(lambda: drawn() and server.status(name) == 'running' and children(), 'no job runs')
    server.kill()
    for _ in range(6000):
        if not children():
            break
        time.sleep(0.01)
    for process in children():
        os.kill(process, signal.SIGKILL)
    # One that lives on ends with its text.
    check(not glob.glob('state/jobs/*/out.jsonl'), 'a job outlives its server')


def case_kill():
    """kill -9 at many moments: one charge, and the tokens of a run that nobody disturbed."""
    kills = int(ARGUMENT or 6)
    dies_with_server()
    command('generate', '-m', 'tiny.gguf', '--dataset', 'notes', '-N', '10', '-B', '3', '-n', '200', '--clip', '0.5', '--accountant', 'zcdp',
            '--insecure-seed', '7', '-i', '-', '-o', 'own.jsonl', '-q', '-t', '1', input=records(30))
    check(killed_run(kills, True) == open('own.jsonl', 'rb').read(), 'a killed job has other texts')
    results = killed_run(kills, False).splitlines()
    check([json.loads(line)['index'] for line in results] == list(range(10)), 'texts are missing or twice there')
    check(len(runs()) == 1 and len(runs(kind='close')) == 1, f'{len(runs())} charges')


def case_disk():
    """A full disk: 507 for what arrives, and a job that waits and goes on. Needs a small file system."""
    os.mkdir('small')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', 'small'], capture_output=True).returncode:
        print('skipped: no file system can be mounted')
        return
    try:
        make_ledger()
        server = Server(state='small/state')
        name = server.create(LONG, 'd')['id']
        server.json('PUT', f'/v1/jobs/{name}/references', 507, records(30) + b' ' * (2 << 20))
        server.upload(name, records(30))
        filler = open('small/filler', 'wb')
        try:
            while True:
                filler.write(b'x' * 4096)
                filler.flush()
        except OSError:
            pass
        server.json('POST', f'/v1/jobs/{name}/start', 507)
        os.truncate('small/filler', os.path.getsize('small/filler') - (48 << 10))
        server.json('POST', f'/v1/jobs/{name}/start', 202)
        time.sleep(2)
        now = server.status(name)
        check(now in ('queued', 'running'), f'with a full disk the job is {now}')
        os.truncate('small/filler', 0)
        server.wait(name)
        check(len(runs()) == 1, f'{len(runs())} charges')
        server.stop()
    finally:
        subprocess.run(['umount', '-l', 'small'], check=True)


CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
/* Seconds by which the file that is named here says the clock is wrong. */
static long shift(void) {
	long seconds = 0;
	FILE *file = fopen("SHIFT", "r");
	if (file && fscanf(file, "%ld", &seconds) != 1) seconds = 0;
	if (file) fclose(file);
	return seconds;
}
int clock_gettime(clockid_t clock, struct timespec *now) {
	int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
	const int failed = real(clock, now);
	if (!failed && clock == CLOCK_REALTIME) now->tv_sec += shift();
	return failed;
}
time_t time(time_t *seconds) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (seconds) *seconds = now.tv_sec;
	return now.tv_sec;
}
"""


def case_clock():
    """The clock jumps by a year, forwards and back, while a job waits and while one runs."""
    if not shutil.which('cc') or b'libasan' in subprocess.run(['ldd', CUTTLE], capture_output=True).stdout:
        print('skipped: a wrong clock, there is no C compiler, or AddressSanitizer')
        return
    make_ledger()
    with open('clock.c', 'w') as file:
        file.write(CLOCK.replace('SHIFT', os.path.abspath('shift')))
    subprocess.run(['cc', '-shared', '-fPIC', '-o', 'clock.so', 'clock.c', '-ldl'], check=True)

    def jump(years):
        with open('shift.new', 'w') as file:
            file.write(str(years * 365 * 86400))
        os.replace('shift.new', 'shift')

    jump(0)
    os.environ['LD_PRELOAD'] = os.path.abspath('clock.so')
    try:
        server = Server()
    finally:
        del os.environ['LD_PRELOAD']
    began = time.monotonic()
    created = []
    for years in (1, -1):
        jump(years)
        job = server.create(PLAN, f'k{years}')
        created.append(job['created'])
        server.upload(job['id'], records(12))
        jump(-years)
        time.sleep(6)  # the queue looks around every 5 s, and wipes what is a day old
        check(server.json('GET', f'/v1/jobs/{job["id"]}', 200)['references_uploaded'], 'the clock wiped references')
        server.json('POST', f'/v1/jobs/{job["id"]}/start', 202)
        jump(years)
        server.wait(job['id'])
    check(abs(created[0] - created[1] - 2 * 365 * 86400) < 600, f'the clock did not jump: {created}')
    check(time.monotonic() - began < 120, 'a jump was waited for')
    check(len(runs()) == 2, f'{len(runs())} charges')
    server.stop()


def case_twins():
    """Records that give the same tokens give the same answers, events, logs and metrics."""
    seen = []
    for twin in range(2):
        make_ledger()
        shutil.rmtree('state', ignore_errors=True)
        if os.path.exists('log'):
            os.unlink('log')
        server = Server('--insecure-seed', '7')
        told = []
        # Null records of another kind and length: of another type, without the field, not JSON.
        data = records(12).splitlines(keepends=True)
        data[3] = b'{"text": 5}\n' if twin else b'not JSON at all, and longer, ' + CANARY.encode() * 50 + b'\n'
        data[7] = b'\n' if twin else b'{"other": "' + b'x' * 5000 + b'"}\n'
        job = server.create(PLAN, 't')
        name = job['id']
        told.append(json.dumps(job))
        for method, path, body in (('PUT', 'references', b''.join(data)), ('POST', 'start', None), ('GET', 'events', None), ('GET', 'results', None),
                                   ('GET', 'receipt', None)):
            status, _, answer = server.ask(method, f'/v1/jobs/{name}/{path}', body)
            # A comment of a stream tells the time alone, which no promise covers.
            told.append(f'{status} ' + re.sub(r'^:.*\n\n', '', answer.decode(), flags=re.M))
        told.append(server.ask('GET', f'/v1/jobs/{name}')[2].decode())
        metrics = server.ask('GET', '/metrics')[2].decode()
        told.append('\n'.join(line for line in metrics.splitlines() if 'jobs' in line or 'requests' in line))
        server.stop()
        told.append(re.sub(r':\d+\n', ':PORT\n', open('log').read()))
        seen.append(re.sub(r'"created": ?\d+', '', '\n'.join(told).replace(name, 'ID')))
    if seen[0] != seen[1]:
        for one, two in zip(seen[0].splitlines(), seen[1].splitlines()):
            check(one == two, f'twins differ: {one[:300]}\n{two[:300]}')
        fail('twins differ')


if __name__ == '__main__':
    globals()['case_' + sys.argv[1]]()
