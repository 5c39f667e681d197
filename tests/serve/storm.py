#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A case of tests/cli/serve_trail.sh: random requests of several keys at once, over a server that is killed again and
again. What was answered stands in the audit trail once, and what a kill kept from being answered at most once.

usage: storm.py storm CUTTLE REQUESTS
What is asked follows from SEED. In which order it arrives does not: six clients ask at once.
"""
import collections
import http.client
import json
import random
import signal
import socket
import sys
import threading
import time

from jobs import ARGUMENT, CANARY, PLAN, RUN, Server, check, make_ledger, no_canary, records, runs
from trail import TRAIL, entries, make_keys, verify

SEED = 11
CLIENTS = 6
ENDED = ('done', 'failed', 'cancelled')
STEPS = {'create': 6, 'dry': 1, 'go_on': 20, 'upload': 2, 'start': 2, 'fetch': 4, 'look': 3, 'cancel': 1, 'remove': 2, 'add_key': 1, 'take_key': 1,
         'wrong_key': 1, 'broken': 1, 'leave': 1}


class Lost(Exception):
    """The connection ended without an answer."""


class Storm:
    def __init__(self, keys):
        self.lock = threading.Lock()
        self.keys = keys  # who: token
        self.made = {}  # of them those that an admin has made and not taken away
        self.secrets = list(keys.values())
        self.jobs = {}  # id: owner, lock
        self.idempotency = []  # who, key
        self.asked = self.serial = 0
        self.answered = []  # event, request, how often it is told (None: once or not), status
        self.lost = collections.Counter()  # event, who, what
        self.seen = collections.Counter()  # step, status
        self.server = None
        self.ending = threading.Event()

    # ---- asking ------------------------------------------------------------------------------

    def name(self):
        with self.lock:
            self.serial += 1
            return self.serial

    def ask(self, event, who, method, path, body=None, headers=None, told=(), maybe=(), about='', step=''):
        """Returns status and bytes. The trail must have `event` with a status of `told`, may with one of `maybe`, and must not with others."""
        with self.lock:
            self.asked += 1
            token = self.keys.get(who, who)
        connection = http.client.HTTPConnection('127.0.0.1', self.server.port, timeout=60)
        if isinstance(body, dict):
            body = json.dumps(body)
        try:
            connection.connect()
        except OSError:
            raise Lost from None
        try:
            connection.request(method, path, body, {'Authorization': 'Bearer ' + token, **(headers or {})})
            reply = connection.getresponse()
            status, request = reply.status, reply.headers['X-Request-Id']
        except (OSError, http.client.HTTPException):
            with self.lock:
                self.lost[event, who, about] += 1
            connection.close()
            raise Lost from None
        often = 1 if status in told else None if status in maybe or status >= 500 else 0
        with self.lock:
            self.answered.append((event, request, often, f'{method} {path}: {status}'))
            self.seen[step or event, status] += 1
        try:
            return status, reply.read()
        except (OSError, http.client.HTTPException):
            raise Lost from None
        finally:
            connection.close()

    def raw(self, data):
        """Sends bytes, and leaves."""
        with self.lock:
            self.asked += 1
        try:
            with socket.create_connection(('127.0.0.1', self.server.port), timeout=20) as sock:
                sock.sendall(data)
                sock.settimeout(0.05)
                sock.recv(1000)
        except OSError:
            pass

    # ---- steps -------------------------------------------------------------------------------

    def owner(self, rng):
        with self.lock:
            return rng.choice(['ann', 'ann', 'bob', 'bob', 'chief', *sorted(self.made)])

    def job(self, rng):
        """A job that no other client asks about now, locked, and who asks about it; or None."""
        with self.lock:
            if not self.jobs:
                return None
            # The newest ones: otherwise few would ever be uploaded, started and fetched.
            job = rng.choice(list(self.jobs)[-12:])
            owner, lock = self.jobs[job]
            who = owner if owner in self.keys and rng.random() < 0.8 else rng.choice(['ann', 'bob', 'chief', 'chief'])
        return (job, who, lock) if lock.acquire(blocking=False) else None

    def status(self, job):
        code, data = self.ask('', 'chief', 'GET', f'/v1/jobs/{job}', step='status')
        return json.loads(data) if code == 200 else {'status': ''}

    def step_create(self, rng):
        if self.idempotency and rng.random() < 0.2:
            who, key = rng.choice(self.idempotency)
        else:
            who, key = self.owner(rng), f'once-{self.name()}'
            self.idempotency.append((who, key))
        if who not in self.keys:
            return
        code, data = self.ask('create', who, 'POST', '/v1/jobs', {'type': 'generate', 'dataset': 'notes', 'plan': PLAN}, {'Idempotency-Key': key}, told=(201,))
        if code in (200, 201):
            with self.lock:
                self.jobs.setdefault(json.loads(data)['id'], (who, threading.Lock()))

    def step_dry(self, rng):
        self.ask('', self.owner(rng), 'POST', '/v1/jobs', {'type': 'generate', 'dataset': 'notes', 'plan': PLAN, 'dry_run': True}, step='dry')

    def step_go_on(self, rng, job, who):
        """What brings the job on: otherwise few would ever be fetched."""
        now = self.status(job)
        if now['status'] == 'awaiting_references':
            self.step_start(rng, job, 'chief') if now.get('references_uploaded') else self.step_upload(rng, job, who)
        elif now['status'] == 'done':
            self.step_fetch(rng, job, who)

    def step_upload(self, rng, job, who):
        data = rng.choice([records(12)] * 5 + [records(3), (CANARY + ' is no record\n').encode() * 3])
        # A job that is ended while its references are looked at tells that they came.
        self.ask('upload', who, 'PUT', f'/v1/jobs/{job}/references', data, told=(204, 422), maybe=(409,), about=job)

    def step_start(self, rng, job, who):
        before = self.status(job)
        headers = {}
        if rng.random() < 0.3 and before.get('approval'):
            headers['If-Match'] = f'"{before["approval"]}"' if rng.random() < 0.7 else '"0"'
        # One that is started already is not started again.
        self.ask('start', rng.choice([who, 'chief', 'chief', 'chief']), 'POST', f'/v1/jobs/{job}/start', headers=headers,
                 told=(202,) if before['status'] == 'awaiting_references' else (), about=job)

    def step_fetch(self, rng, job, who):
        what = rng.choice(['results', 'results', 'receipt', 'receipt', 'trail'])
        path = '/v1/trail' if what == 'trail' else f'/v1/jobs/{job}/{what}'
        self.ask('fetch', who, 'GET', path, told=(200,), about=what if what == 'trail' else job)

    def step_look(self, rng, job, who):
        path = rng.choice([f'/v1/jobs/{job}', '/v1/jobs', '/v1/budget', '/metrics', '/ready', '/v1/keys', '/v1/ledger/notes/entries', f'/v1/{CANARY}'])
        self.ask('', rng.choice([who, 'meter', 'root']), 'GET', path, step='look')

    def step_cancel(self, rng, job, who):
        before = self.status(job)['status']
        # One that runs may end before, and then nothing is cancelled.
        self.ask('cancel', who, 'POST', f'/v1/jobs/{job}/cancel', told=(202,) if before == 'awaiting_references' else (),
                 maybe=(202,) if before in ('queued', 'running') else (), about=job)

    def step_remove(self, rng, job, who):
        code, _ = self.ask('remove', who, 'DELETE', f'/v1/jobs/{job}', told=(204,), about=job)
        if code == 204 and rng.random() < 0.5:
            with self.lock:
                self.jobs.pop(job, None)

    def step_add_key(self, rng):
        who = f'k{self.name()}'
        code, data = self.ask('key_add', rng.choice(['root', 'admin']), 'POST', '/v1/keys', {'id': who, 'role': 'use', 'datasets': ['notes']}, told=(201,), about=who)
        if code == 201:
            token = json.loads(data)['key']
            with self.lock:
                self.keys[who] = self.made[who] = token
                self.secrets.append(token)

    def step_take_key(self, rng):
        with self.lock:
            who = rng.choice(sorted(self.made)) if self.made else None
            self.made.pop(who, None)
        if who:
            self.ask('key_remove', rng.choice(['root', 'admin', 'ann']), 'DELETE', f'/v1/keys/{who}', told=(204,), about=who)

    def step_wrong_key(self, rng):
        wrong = rng.choice(['ann', 'chief', 'nobody']) + '.' + rng.choice([CANARY, f'{rng.random()}'])
        self.ask('', wrong, 'GET', rng.choice(['/v1/jobs', '/v1/trail', '/v1/keys']), step='wrong_key')

    def step_broken(self, rng):
        who = self.owner(rng)
        body = rng.choice([f'{{"type":"{CANARY}"', f'{{"{CANARY}":1}}', f'["{CANARY}"]', '', json.dumps({'type': 'generate', 'dataset': CANARY, 'plan': {}})])
        self.ask('', who, 'POST', '/v1/jobs', body, {'Idempotency-Key': f'once-{self.name()}'}, step='broken')
        self.raw(f'GET /{CANARY}\r\n\r\nHost: {CANARY}\r\n\r\n'.encode())

    def step_leave(self, rng, job, who):
        """An upload that ends before its length, or events that nobody reads on."""
        with self.lock:
            token = self.keys.get(who, '')
        head = f'HTTP/1.1\r\nHost: 127.0.0.1:{self.server.port}\r\nAuthorization: Bearer {token}\r\n'
        if rng.random() < 0.5:
            self.raw(f'PUT /v1/jobs/{job}/references {head}Content-Length: 100000\r\n\r\n'.encode() + records(12))
        else:
            self.raw(f'GET /v1/jobs/{job}/events {head}\r\n'.encode())

    def step(self, rng):
        name = rng.choices(list(STEPS), list(STEPS.values()))[0]
        do = getattr(self, 'step_' + name)
        if name in ('create', 'dry', 'add_key', 'take_key', 'wrong_key', 'broken'):
            return do(rng)
        if found := self.job(rng):
            job, who, lock = found
            try:
                do(rng, job, who)
            finally:
                lock.release()

    def client(self, number, turn):
        rng = random.Random(f'{SEED} {turn} {number}')
        while not self.ending.is_set():
            try:
                self.step(rng)
            except Lost:
                # A key that was taken away ends what it asked for; a server that was killed, all.
                if self.server.process.poll() is not None:
                    return

    def turn(self, rng, number, requests):
        """Serves some requests, and is killed."""
        self.server = Server('--keys', 'keys', '--approval')
        # Each is hashed once, one after the other; what comes meanwhile is refused.
        for who in sorted(self.keys):
            while self.server.ask('GET', '/metrics', key=self.keys[who])[0] == 429:
                time.sleep(0.05)
        clients = [threading.Thread(target=self.guarded, args=(i, number)) for i in range(CLIENTS)]
        until = self.asked + requests
        for client in clients:
            client.start()
        while self.asked < until and not self.ending.is_set():
            time.sleep(rng.random() * 0.05)
            if rng.random() < 0.02:
                self.server.process.send_signal(signal.SIGHUP)
        self.server.kill()
        for client in clients:
            client.join()
        # As the kill left it: what is not in the file waits in the list.
        verify()

    def guarded(self, number, turn):
        try:
            self.client(number, turn)
        except BaseException as error:  # the test fails at its end
            self.failed = error
            self.ending.set()
            raise


# ---- what must be told ---------------------------------------------------------------------------


def what_of(entry):
    """What an entry is about, as `lost` names it."""
    if entry['event'] in ('key_add', 'key_remove'):
        return entry['subject']
    return '' if entry['event'] == 'create' else 'trail' if entry.get('what') == 'trail' else entry.get('job', '')


def check_requests(storm, trail):
    by_request = collections.defaultdict(list)
    for entry in trail:
        if entry.get('request'):
            by_request[entry['request']].append(entry)
    check(len({request for _, request, _, _ in storm.answered}) == len(storm.answered), 'two requests have one name')
    for event, request, often, asked in storm.answered:
        have = by_request.pop(request, [])
        check(len(have) <= 1 if often is None else len(have) == often, f'{asked} is told {len(have)} times: {have}')
        check(all(entry['event'] == event for entry in have), f'{asked}: {have}')
    unknown = collections.Counter((entry['event'], entry['key'], what_of(entry)) for have in by_request.values() for entry in have)
    for which, count in unknown.items():
        check(count <= storm.lost[which], f'{which} was asked {storm.lost[which]} times without an answer, and is told {count} times')
    check(all(len(have) == 1 for have in by_request.values()), 'a request that was not answered is told twice')
    return sum(unknown.values())


def check_jobs(trail):
    """A job is created, ended and removed once; each charge of the ledger is that of one job's end."""
    have = collections.Counter((entry['event'], entry['job']) for entry in trail if entry['event'] in ('create', 'end', 'remove'))
    for (event, job), count in have.items():
        check(count == 1, f'{event} of {job} is told {count} times')
        check(have['create', job] == 1, f'{job} was never created')
    check(all(have['end', job] for event, job in have if event == 'create'), 'a job is created, and its end is not told')
    told = collections.Counter(entry['run'] for entry in trail if entry['event'] == 'end' and entry['run'])
    charged = [json.loads(entry)['run'] for entry in runs()]
    for run in charged:
        check(told[run] == 1, f'the charge {run} is told {told[run]} times')
    return len(charged)


def check_keys(trail):
    have = collections.Counter((entry['event'], entry['subject']) for entry in trail if entry['event'].startswith('key_'))
    with open('keys') as file:
        now = {line.split()[0] for line in file}
    for (event, who), count in have.items():
        check(count == 1, f'{event} of {who} is told {count} times')
        check(have['key_add', who] == 1 and have['key_remove', who] == (who not in now), f'{who} is told otherwise than it is')
    check(all(have['key_add', who] for who in now), 'a key is there, and nobody has added it')


def check_edits(rng, count):
    """Whatever is changed, cut, moved or taken out is found."""
    with open(TRAIL, 'rb') as file:
        lines = file.read().splitlines(keepends=True)
    for _ in range(count):
        bad = list(lines)
        at = rng.randrange(len(lines) - 1)
        kind = rng.choice(['edit', 'cut', 'move', 'take'])
        if kind == 'edit':
            byte = rng.randrange(len(bad[at]) - 1)
            bad[at] = bad[at][:byte] + bytes([bad[at][byte] ^ 1]) + bad[at][byte + 1:]
        elif kind == 'cut':
            del bad[at + 1:]
        elif kind == 'move':
            bad[at], bad[at + 1] = bad[at + 1], bad[at]
        else:
            del bad[at]
        with open(TRAIL, 'wb') as file:
            file.writelines(bad)
        verify(wanted=7)
    with open(TRAIL, 'wb') as file:
        file.writelines(lines)
    verify()


def finish(storm):
    """All jobs end: those that were started by themselves, and the others are cancelled."""
    storm.server = server = Server('--keys', 'keys', '--approval')
    chief = storm.keys['chief']
    while server.ask('GET', '/v1/jobs', key=chief)[0] != 200:
        time.sleep(0.1)
    for job in server.json('GET', '/v1/jobs', 200, key=chief)['data']:
        end = time.monotonic() + 120
        while (now := server.status(job['id'], chief)) in ('queued', 'running'):
            check(time.monotonic() < end, f'{job["id"]} is {now}')
            time.sleep(0.02)
        if now not in ENDED:
            storm.ask('cancel', 'chief', 'POST', f'/v1/jobs/{job["id"]}/cancel', told=(202,), about=job['id'])
    server.stop()
    verify()


def case_storm():
    make_ledger(rho='100000')
    storm = Storm(make_keys(ann='use', bob='use', chief='officer', root='admin', admin='admin', meter='metrics'))
    rng = random.Random(SEED)
    requests, kills, began = int(ARGUMENT), 0, time.monotonic()
    while storm.asked < requests:
        storm.turn(rng, kills, min(rng.randrange(20, 220), requests - storm.asked))
        check(not storm.ending.is_set(), f'a client has failed: {getattr(storm, "failed", None)!r}')
        kills += 1
    finish(storm)
    trail = entries()
    check([entry['number'] for entry in trail] == list(range(1, len(trail) + 1)), 'the numbers are others')
    late = check_requests(storm, trail)
    charges = check_jobs(trail)
    check_keys(trail)
    check_edits(rng, 20)
    no_canary('state', RUN, 'log', 'keys', 'ledger')
    for place in (TRAIL, 'log', 'state/jobs.db', 'keys'):
        with open(place, 'rb') as file:
            text = file.read()
        check(not any(secret.split('.')[1].encode() in text for secret in storm.secrets), f'a key is in {place}')
    seen = {step: {status: count for (name, status), count in sorted(storm.seen.items()) if name == step} for step, _ in sorted(storm.seen)}
    print(f'{storm.asked} requests, {kills} kills, {sum(storm.lost.values())} without an answer, of which {late} are told; {len(trail)} entries, '
          f'{charges} charges, {time.monotonic() - began:.0f} s')
    print(seen)
    for step, status in (('create', 201), ('upload', 204), ('start', 202), ('fetch', 200), ('remove', 204), ('key_add', 201)):
        check(storm.seen[step, status] * 1000 > requests, f'{step} was hardly ever done: {seen}')


if __name__ == '__main__':
    globals()['case_' + sys.argv[1]]()
