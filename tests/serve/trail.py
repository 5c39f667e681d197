#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of tests/cli/serve_trail.sh: who did what stands in the audit trail, once.

usage: trail.py CASE CUTTLE [ARGUMENT]
Each case begins its own servers in the current folder, as those of jobs.py do.
"""
import hashlib
import hmac
import json
import os
import random
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time

from jobs import (CANARY, CUTTLE, ARGUMENT, LONG, PLAN, RUN, Server, check, command, keep_lines, make_ledger, no_canary, records, runs, wait_until)

TRAIL = 'state/trail.jsonl'


def entries(path=TRAIL):
    return [json.loads(line) for line in open(path)]


def told(event, path=TRAIL):
    return [entry for entry in entries(path) if entry['event'] == event]


def verify(*more, place='state', wanted=0):
    done = subprocess.run([CUTTLE, 'serve', 'trail', 'verify', place, *more], capture_output=True, timeout=60)
    check(done.returncode == wanted, f'verify {place}: exit {done.returncode}: {(done.stdout + done.stderr).decode()}')
    check(wanted == 0 or done.stderr.count(b'\n') == 1, done.stderr.decode())
    return (done.stdout + done.stderr).decode()


def make_keys(**roles):
    return {who: command('serve', 'key', who, role, '--keys', 'keys').strip() for who, role in roles.items()}


def case_story():
    """All that is done with jobs and keys is told: who, when, from where, and no word of a text."""
    make_ledger()
    keys = make_keys(ann='use', chief='officer')
    server = Server('--keys', 'keys', '--approval', '--trail-copy', 'copy.jsonl')
    asked = []

    def ask(wanted, event, who, method, path, body=None, headers=None, **more):
        """Asks, and notes what the trail must say of it; event '' = nothing."""
        status, replied, data = server.ask(method, path, body, keys[who], headers)
        check(status == wanted, f'{method} {path}: {status}: {data[:300]}')
        name = replied['X-Request-Id']
        check(re.fullmatch('[0-9a-f]{24}', name), f'request {name}')
        # The entry is on the disk before the answer is read.
        have = [entry for entry in entries() if entry.get('request') == name]
        check([entry['event'] for entry in have] == ([event] if event else []), f'{method} {path}: {have}')
        if event:
            wanted = {'key': who, 'role': 'officer' if who == 'chief' else 'use', 'address': '127.0.0.1', **more}
            check({**have[0], **wanted} == have[0], f'{have[0]} is not {wanted}')
            check(re.fullmatch(r'20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ', have[0]['time']), have[0]['time'])
            asked.append(name)
        return data

    def create(key, who='ann', wanted=201, event='create'):
        request = {'type': 'generate', 'dataset': 'notes', 'plan': PLAN}
        return json.loads(ask(wanted, event, who, 'POST', '/v1/jobs', json.dumps(request), {'Idempotency-Key': key}))['id']

    check([entry['event'] for entry in entries()] == ['serve_begin', 'key_add', 'key_add'], f'{entries()}')
    check([(e['subject'], e['may']) for e in told('key_add')] == [('ann', 'use'), ('chief', 'officer')], f'{told("key_add")}')
    name = create('one')
    job = f'/v1/jobs/{name}'
    ask(200, '', 'ann', 'POST', '/v1/jobs', json.dumps({'type': 'generate', 'dataset': 'notes', 'plan': PLAN}), {'Idempotency-Key': 'one'})
    about = {'job': name, 'dataset': 'notes', 'owner': 'ann'}
    secret = bytes.fromhex(open('state/trail.key').read())
    check(os.stat('state/trail.key').st_mode & 0o777 == 0o600 and os.stat(TRAIL).st_mode & 0o777 == 0o600, 'others may read the trail')
    for data, wanted in ((records(3), 422), (records(12), 204), (records(12) + b' ' * 70000, 204)):
        mark = hmac.new(secret, data, hashlib.sha256).hexdigest()
        most = 65536 if len(data) <= 65536 else 131072
        ask(wanted, 'upload', 'ann', 'PUT', f'{job}/references', data, hmac_sha256=mark, bytes_at_most=most, kept=wanted == 204, **about)
    document = json.loads(ask(200, '', 'ann', 'GET', job))
    ask(403, '', 'ann', 'POST', f'{job}/start')
    ask(202, 'start', 'chief', 'POST', f'{job}/start', fingerprint=document['fingerprint'], charge=document['charge'], **about)
    ask(202, '', 'chief', 'POST', f'{job}/start')
    server.wait(name, key=keys['ann'])
    end = told('end')
    charged = json.loads(runs()[0])['run']
    check([(e['job'], e['status'], e['run'], e['time'], e['key']) for e in end] == [(name, 'done', charged, None, None)], f'{end}')
    ask(200, 'fetch', 'ann', 'GET', f'{job}/results', what='results', **about)
    ask(200, 'fetch', 'chief', 'GET', f'{job}/receipt', what='receipt', **about)
    ask(403, '', 'ann', 'GET', '/v1/trail')
    whole = ask(200, 'fetch', 'chief', 'GET', '/v1/trail', what='trail')
    check(open(TRAIL, 'rb').read().startswith(whole) and whole.endswith(b'}\n'), 'the trail is another one over HTTP')
    # One that waits is cancelled, and one is removed: how they ended is told once.
    other = create('two')
    ask(202, 'cancel', 'ann', 'POST', f'/v1/jobs/{other}/cancel', job=other)
    ask(202, '', 'ann', 'POST', f'/v1/jobs/{other}/cancel')
    third = create('three')
    for gone in (other, third, name):
        ask(204, 'remove', 'ann', 'DELETE', f'/v1/jobs/{gone}', job=gone)
        ask(404, '', 'ann', 'DELETE', f'/v1/jobs/{gone}')
    check([(e['job'], e['status']) for e in told('end')] == [(name, 'done'), (other, 'cancelled'), (third, 'cancelled')], f'{told("end")}')
    # The trail is checked while the server runs, and its copy is the same.
    check('as the server left it' in verify(), 'its end is not looked at')
    check(open('copy.jsonl').read() == open(TRAIL).read(), 'the copy is another one')
    # Keys that come, go and change.
    before = len(entries())
    keep_lines(lambda name: name != 'ann')
    with open('keys') as file:
        lines = file.read().replace('chief officer', 'chief use')
    with open('keys', 'w') as file:
        file.write(lines)
    keys['new'] = command('serve', 'key', 'ann', 'officer', '--keys', 'keys').strip()
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: len(entries()) >= before + 3, 'a change of keys is not told')
    changed = [(e['event'], e['subject'], e['may']) for e in entries()[before:]]
    check(sorted(changed) == [('key_add', 'ann', 'officer'), ('key_change', 'chief', 'use'), ('key_remove', 'ann', None)], f'{changed}')
    marks = {e['mark'] for e in entries() if e.get('subject') == 'ann'}
    check(len(marks) == 2, 'two keys of one ID have one mark')
    server.process.send_signal(signal.SIGHUP)
    server.stop()
    check(entries()[-1]['event'] == 'serve_end' and len(entries()) == before + 4, 'nothing changed, and something was told')
    # What changed while no server ran.
    keep_lines(lambda name: name != 'chief')
    Server('--keys', 'keys').stop()
    check([e['event'] for e in entries()[-3:]] == ['serve_begin', 'key_remove', 'serve_end'], f'{entries()[-3:]}')
    numbers = [entry['number'] for entry in entries()]
    check(numbers == list(range(1, len(numbers) + 1)), f'{numbers}')
    check(len(set(asked)) == len(asked), 'two requests have one name')
    no_canary('state', RUN, 'log', 'copy.jsonl')
    for entry in entries():
        check(not {'references_needed', 'texts', 'bytes', 'size', 'plan', 'spec'} & set(entry), f'{entry}')
    for secret in keys.values():
        check(secret.split('.')[1] not in open(TRAIL).read(), 'a key is in the trail')


def refused(*more):
    done = subprocess.run([CUTTLE, 'serve', '-m', 'tiny.gguf', '--listen', '127.0.0.1:0', '--state', 'state', '--runtime-dir', RUN,
                           '--ledger', 'ledger', *more], capture_output=True, timeout=60)
    check(done.returncode == 7 and done.stderr.count(b'\n') == 1, f'exit {done.returncode}: {done.stderr.decode()}')
    return done.stderr.decode()


def case_edited():
    """A trail that is not as the server left it is named, and no server goes on with it unasked."""
    make_ledger()
    server = Server()
    for key in 'abc':
        server.create(PLAN, key)
    server.stop()
    whole = open(TRAIL, 'rb').read()
    lines = whole.splitlines(keepends=True)
    head = re.search('head +([0-9a-f]{64})', verify()).group(1)
    check(json.loads(lines[-1])['hash'] == head, 'another head')
    verify('--head', head)
    check('no entry has the hash' in verify('--head', head[:-1] + ('0' if head[-1] != '0' else '1'), wanted=7), 'any hash is there')
    verify('--head', 'xy', wanted=2)
    for bad, why in ((whole.replace(b'create', b'remove', 1), 'entry 2 was changed'), (b''.join(lines[:-1]), 'it was cut'),
                     (b''.join(lines[:2] + lines[3:]), 'line 3: this is not entry 3'), (b''.join([lines[0], lines[2], lines[1], *lines[3:]]), 'line 2: this is not entry 2'),
                     (b'', 'it was cut'), (whole + b'{"number":', 'no whole one'), (whole[:-1], 'it was cut')):
        with open(TRAIL, 'wb') as file:
            file.write(bad)
        check(why in verify(wanted=7), why)
        check(why in refused(), why)
    # A copy of the file alone is not known to be cut, but by a hash that was kept.
    with open('cut.jsonl', 'wb') as file:
        file.writelines(lines[:-1])
    check('not checked' in verify(place='cut.jsonl'), 'a copy says that its end was looked at')
    verify('--head', head, place='cut.jsonl', wanted=7)
    # Killed between the list and the trail, in the middle of a line, and between the trail and its note in the list.
    for cut in (len(lines[-1]), 9, 0):
        left = whole[:len(whole) - cut]
        with open(TRAIL, 'wb') as file:
            file.write(left)
        noted = sqlite3.connect('state/jobs.db', isolation_level=None)
        noted.execute('UPDATE trail SET written = 0')
        noted.close()
        check(('1 of them' in verify()) == (left != whole), 'what waits is not told')
        Server().stop()
        now = open(TRAIL, 'rb').read()
        check(now.startswith(whole) and now.count(b'\n') == len(lines) + 2, 'an entry is lost, or there twice')
        verify()
        whole, lines = now, now.splitlines(keepends=True)
    head = json.loads(lines[-1])['hash']
    os.unlink(TRAIL)
    check('--trail-restored' in refused(), 'a trail that is gone is not missed')
    verify(wanted=4)
    # An older copy was all there was.
    with open(TRAIL, 'wb') as file:
        file.writelines(lines[:-2])
    Server('--trail-restored').stop()
    restored = told('trail_restored')
    check([(e['number'], e['known_entries'], e['known_hash']) for e in restored] == [(len(lines) - 1, len(lines), head)], f'{restored}')
    verify()
    Server().stop()
    # Moved away under a server that runs: nothing more is done.
    server = Server()
    os.rename(TRAIL, 'away')
    server.create(PLAN, 'd', wanted=201)
    server.error('POST', '/v1/jobs', 500, 'internal', {'type': 'generate', 'dataset': 'notes', 'plan': PLAN}, headers={'Idempotency-Key': 'e'})
    server.json('GET', '/ready', 503)
    check(server.json('GET', '/ready', 503)['status'] == 'no_trail', 'a server that can do nothing is ready')
    os.rename('away', TRAIL)
    server.create(PLAN, 'e')
    server.json('GET', '/ready', 200)
    server.stop()
    check('nothing more is done until this is' in open('log').read(), 'nobody is told')
    check(len(told('create')) == 5, f'{told("create")}')
    verify()


def case_signed():
    """Receipts and trail are signed by the key that the server tells."""
    make_ledger()
    pubs = {}
    for name in ('server.key', 'other.key'):
        command('ledger', 'key', '--sign', name)
        pubs[name] = open(name + '.pub').read()
    server = Server(log='unsigned')
    plain = server.create(PLAN, 'plain')
    server.error('GET', '/v1/public-key', 404, 'not_found')
    server.stop()
    verify('--public-key', 'server.key.pub', wanted=7)
    os.chmod('server.key', 0o644)
    done = subprocess.run([CUTTLE, 'serve', '-m', 'tiny.gguf', '--listen', '127.0.0.1:0', '--state', 'state', '--runtime-dir', RUN,
                           '--ledger', 'ledger', '--sign', 'server.key'], capture_output=True, timeout=60)
    check(done.returncode == 2 and b'others may reach this key' in done.stderr, done.stderr.decode())
    os.chmod('server.key', 0o600)
    keys = make_keys(ann='use')
    server = Server('--sign', 'server.key', '--keys', 'keys')
    status, _, data = server.ask('GET', '/v1/public-key')
    check(status == 200 and data.decode() == pubs['server.key'], f'{status}: {data}')
    open('served.pub', 'wb').write(data)
    job = server.create(PLAN, 'one', keys['ann'])
    check(job['approval'] == plain['approval'], 'a signature is part of the plan')
    name = job['id']
    server.upload(name, records(12), key=keys['ann'])
    server.json('POST', f'/v1/jobs/{name}/start', 202, key=keys['ann'])
    server.wait(name, key=keys['ann'])
    for route, file in (('results', 'out.jsonl'), ('receipt', 'out.receipt.json')):
        open(file, 'wb').write(server.ask('GET', f'/v1/jobs/{name}/{route}', key=keys['ann'])[2])
    for pub, wanted in (('served.pub', 0), ('other.key.pub', 7)):
        done = subprocess.run([CUTTLE, 'receipt', 'verify', 'out.receipt.json', '--output', 'out.jsonl', '--key', pub], capture_output=True)
        check(done.returncode == wanted, f'{pub}: {done.returncode}: {done.stderr.decode()}')
    # What the command refuses does not tell where the key is.
    wrong = {'type': 'generate', 'dataset': 'notes', 'plan': {**PLAN, 'num': 0}, 'dry_run': True}
    message = server.error('POST', '/v1/jobs', 400, 'invalid_value', wrong, key=keys['ann'])['message']
    check('server.key' not in message, message)
    server.stop()
    begun = [e['public_key'] for e in told('serve_begin')]
    check(begun == [None, pubs['server.key'].strip()], f'{begun}')
    check('of this key, for all entries' in verify('--public-key', 'served.pub'), 'the signature is not told')
    verify('--public-key', pubs['server.key'].strip())
    verify('--public-key', 'other.key.pub', wanted=7)
    verify('--public-key', 'nothing', wanted=4)
    # Somebody without the key writes the trail anew: each hash is right, and no signature is.
    lines = [re.sub('","signature":"[0-9a-f]*"}$', '"}', line) for line in open(TRAIL).read().splitlines()]
    with open('bare.jsonl', 'w') as file:
        file.write('\n'.join(lines) + '\n')
    verify(place='bare.jsonl')
    verify('--public-key', 'served.pub', place='bare.jsonl', wanted=7)
    last = open(TRAIL).read().splitlines()
    signature = re.search('"signature":"([0-9a-f]*)"', last[-2]).group(1)
    last[-1] = re.sub('("signature":")[0-9a-f]*', r'\g<1>' + signature, last[-1])
    with open('bare.jsonl', 'w') as file:
        file.write('\n'.join(last) + '\n')
    verify('--public-key', 'served.pub', place='bare.jsonl', wanted=7)
    no_canary('state', RUN, 'log')


def case_restored():
    """A ledger is backed up while a server runs. Put back, it is missed, and who takes it is told with what it lacks."""
    make_ledger()
    server = Server()
    first = server.queue(PLAN, 'first', 12)
    server.wait(first)
    told_copy = command('ledger', 'backup', '--ledger', 'ledger', '-o', 'copy')
    second = server.queue(LONG, 'second', 30)
    for number in range(6):
        command('ledger', 'backup', '--ledger', 'ledger', '-o', f'copy-{number}')
        check('each as it was written' in command('ledger', 'verify', '--ledger', f'copy-{number}'), 'a copy is damaged')
    server.wait(second)
    server.stop()
    head = re.search('[0-9a-f]{64}', told_copy).group(0)
    command('ledger', 'verify', '--ledger', 'ledger', '--head', head)
    lost = [json.loads(entry)['hash'] for entry in command('ledger', 'export', '--ledger', 'ledger').splitlines()]
    lost = lost[lost.index(head) + 1:]
    for ending in ('', '-wal', '-shm'):
        if os.path.exists('ledger' + ending):
            os.unlink('ledger' + ending)
    shutil.copy('copy', 'ledger')
    server = Server()
    why = open('log').read()
    check('lacks 2 entries' in why and '--ledger-restored' in why, why)
    check(not told('ledger_restored'), 'it is told before somebody takes it')
    server.stop()
    Server('--ledger-restored').stop()
    check([list(entry['runs'].values()) for entry in told('ledger_restored')] == [[second]], 'not the run that is lost')
    missing = [entry['missing'] for entry in told('ledger_restored')]
    check(len(missing) == 1 and set(missing[0]) <= set(lost) and lost[-1] in missing[0] and second in missing[0].values(), f'{missing}, lost {lost}')
    server = Server()
    check(server.json('GET', f'/v1/jobs/{second}', 200)['charge_lost'] and 'charge_lost' not in server.json('GET', f'/v1/jobs/{first}', 200), 'not the lost one')
    server.stop()
    check(len(told('ledger_restored')) == 1, 'it is told again')
    verify()


def case_backup():
    """Ledgers that are backed up under load, and put back on another machine: no charge is lost, or each that is lacking is told
    with the command that reserves it, and no server charges before."""
    make_ledger()
    keys = make_keys(ann='use', ben='use')
    server = Server('--keys', 'keys')
    copies, busy = [], threading.Event()

    def back_up():
        """Copies the trail first: a ledger that is copied later has what that trail tells of."""
        while not busy.is_set():
            folder = f'machine-{len(copies)}'
            os.mkdir(folder, 0o700)
            for name in ('trail.jsonl', 'trail.key'):
                shutil.copy(f'state/{name}', folder)
            command('ledger', 'backup', '--ledger', 'ledger', '-o', f'{folder}.db')
            copies.append(folder)
            time.sleep(0.1)

    thread = threading.Thread(target=back_up, daemon=True)
    thread.start()
    wait_until(lambda: copies, 'nothing is copied')
    jobs = [server.queue(PLAN, f'{who}-{i}', 12, key=keys[who]) for who in keys for i in range(3)]
    # It must not end before it is cancelled.
    cancelled = server.queue({**LONG, 'num': 1000}, 'cancelled', 3000, key=keys['ann'])
    for job, who in zip(jobs, ['ann'] * 3 + ['ben'] * 3):
        server.wait(job, key=keys[who])
    wait_until(lambda: len(runs()) == 7, 'the long job is not charged')
    server.json('POST', f'/v1/jobs/{cancelled}/cancel', 202, key=keys['ann'])
    wait_until(lambda: server.status(cancelled, keys['ann']) == 'cancelled', 'it is not cancelled')
    server.json('DELETE', f'/v1/jobs/{jobs[0]}', 204, key=keys['ann'])
    wait_until(lambda: len(copies) > 5, 'only few copies are made')
    busy.set()
    thread.join()
    server.stop()
    charged = {json.loads(entry)['run'] for entry in runs()}
    check(len(charged) == 7, f'{len(charged)} charges')
    verify('--ledger', 'ledger')
    # Each copy has all that its trail tells of, and a server over it begins.
    for folder in copies:
        told_copy = verify('--ledger', f'{folder}.db', place=f'{folder}/trail.jsonl')
        check('charges    all' in told_copy, told_copy)
    held = [len(runs(f'{folder}.db')) for folder in copies]
    check(held == sorted(held) and held[0] == 0 and held[-1] > 0, f'copies have {held} charges')
    middle = copies[next(at for at, count in enumerate(held) if count > 0)]
    Server('--keys', 'keys', state=middle, ledger=f'{middle}.db').stop()
    # A trail that was kept elsewhere is newer than the ledger: nothing but the trail knows what is lacking.
    for name in ('trail.jsonl', 'trail.key'):
        shutil.copy(f'state/{name}', copies[0])
    lacking = f'{copies[0]}.db'
    server = Server('--keys', 'keys', state=copies[0], ledger=lacking, log='lacking')
    why = open('lacking').read()
    check(f'{lacking} lacks 6 entries' in why and '--ledger-restored' in why, why)
    waits = server.create(PLAN, 'waits', keys['ann'])['id']
    server.upload(waits, records(12), key=keys['ann'])
    server.json('POST', f'/v1/jobs/{waits}/start', 503, key=keys['ann'])
    server.stop()
    check(not runs(lacking), 'a ledger that lacks charges is charged')
    done = subprocess.run([CUTTLE, 'serve', 'trail', 'verify', copies[0], '--ledger', lacking], capture_output=True, text=True)
    check(done.returncode == 7 and done.stderr == f'cuttle serve: {lacking} lacks 7 of 7 charges that the trail tells of\n', f'{done}')
    commands = re.findall(r'^lacking    job_[a-z2-7]{26}: cuttle (ledger reserve .*)$', done.stdout, re.M)
    check(len(commands) == 7, done.stdout)
    for words in commands:
        command(*shlex.split(words))
    losses = [sorted((entry['run'], entry['rho']) for entry in map(json.loads, runs(name))) for name in ('ledger', lacking)]
    check(losses[0] == losses[1], f'charged by hand: {losses}')
    verify('--ledger', lacking, place=copies[0])
    server = Server('--keys', 'keys', state=copies[0], ledger=lacking)
    check(server.json('GET', '/v1/budget/notes', 200, key=keys['ann'])['runs'] == 7, 'another budget')
    server.stop()
    # Who gives up a charge is asked no more, and the trail says which; verify goes on telling.
    command('ledger', 'init', '--ledger', 'fresh', '--dataset', 'notes', '--rho-limit', '100')
    os.mkdir('given', 0o700)
    for name in ('trail.jsonl', 'trail.key'):
        shutil.copy(f'state/{name}', 'given')
    Server('--keys', 'keys', '--ledger-restored', state='given', ledger='fresh').stop()
    given = told('ledger_restored', 'given/trail.jsonl')
    check(len(given) == 1 and set(given[0]['missing']) < charged and set(given[0]['runs']) == charged, f'{given}')
    check(set(given[0]['missing'].values()) == {*jobs} and set(given[0]['runs'].values()) == {*jobs, cancelled}, f'{given}')
    Server('--keys', 'keys', state='given', ledger='fresh').stop()
    check('lacks 7 of 7' in verify('--ledger', 'fresh', place='given', wanted=7), 'what was given up is called charged')
    verify('--ledger', 'none', wanted=7)


def case_killed():
    """Killed anywhere, a server has told each thing once: a job's creation, upload, start, end and removal."""
    make_ledger()
    answered, ids = [], {}
    rounds = int(ARGUMENT)
    generator = random.Random(5)
    for turn in range(rounds):
        server = Server()
        stop = threading.Event()

        def work(turn=turn, server=server, stop=stop):
            step = 0
            try:
                while not stop.is_set():
                    key = f'{turn}-{step}'
                    step += 1
                    ids[key] = name = server.create(PLAN, key)['id']
                    answered.append(('create', name))
                    server.upload(name, records(12))
                    answered.append(('upload', name))
                    if step % 3 == 0:
                        server.json('POST', f'/v1/jobs/{name}/cancel', 202)
                        answered.append(('cancel', name))
                    else:
                        server.json('POST', f'/v1/jobs/{name}/start', 202)
                        answered.append(('start', name))
                    if step % 2 == 0:
                        server.json('DELETE', f'/v1/jobs/{name}', 204)
                        answered.append(('remove', name))
            except (OSError, ValueError, SystemExit):
                pass
            except Exception as error:  # http.client's, as a connection ends
                check('http.client' in type(error).__module__, repr(error))

        thread = threading.Thread(target=work)
        until = len(answered) + generator.randrange(3, 14)
        thread.start()
        # The next one is under way then.
        wait_until(lambda: len(answered) >= until or not thread.is_alive(), 'nothing is answered')
        server.kill()
        stop.set()
        thread.join()
        # As the kill left it: what is not in the file waits in the list.
        verify()
    server = Server()
    for job in server.json('GET', '/v1/jobs', 200)['data']:
        if job['status'] in ('queued', 'running'):
            server.wait(job['id'])
    listed = {job['id']: job['status'] for job in server.json('GET', '/v1/jobs', 200)['data']}
    server.stop()
    verify()
    have = {}
    for entry in entries():
        if 'job' in entry:
            have.setdefault((entry['event'], entry['job']), []).append(entry)
    for (event, job), found in have.items():
        check(len(found) == 1, f'{event} of {job} is told {len(found)} times')
    for event in answered:
        check(event in have, f'{event} was answered, and is not told')
    for job, status in listed.items():
        check((('end', job) in have) == (status in ('done', 'failed', 'cancelled')), f'{job} is {status}')
        check(('remove', job) not in have, f'{job} is told to be removed, and is there')
    for event, job in have:
        check(('create', job) in have, f'{job} was never created')
        check(job in listed or ('remove', job) in have, f'{job} is gone, and nobody has removed it')
    check(len(told('serve_begin')) == rounds + 1, 'not every begin is told')
    check(len(answered) >= 3 * rounds, f'only {len(answered)} steps in {rounds} rounds')


def case_named():
    """A job that ran when the server was killed is told with its charge, whatever the command had done by then."""
    make_ledger()
    for turn, failure in enumerate(('', 'cancelling')):
        server = Server()
        name = server.queue(PLAN, f'{turn}', 12)
        server.wait(name)
        server.stop()
        charged = json.loads(runs()[-1])['run']
        check(told('end')[-1]['run'] == charged, 'the charge has another name')
        # As if the kill had come when the output was in place and nobody had noticed.
        listed = sqlite3.connect('state/jobs.db', isolation_level=None)
        listed.execute("UPDATE job SET state = 'running', run = '', failure = ? WHERE id = ?", (failure, name))
        listed.close()
        server = Server()
        wait_until(lambda turn=turn: len(told('end')) == 2 * turn + 2, 'its end is not told')
        server.stop()
        end = told('end')[-1]
        check((end['run'], end['status']) == (charged, 'cancelled' if failure else 'done'), f'{end} lacks {charged}')


def case_forged():
    """Commands that trail verify prints are run as they are, so a trail that somebody else wrote puts nothing of its own into them."""
    make_ledger()
    charge = {'measure': 'rho', 'loss': 0.5}
    jobs = [('job_a', 'notes', '0a; echo HACKED', charge), ('job_b\nlacking x: echo HACKED', 'notes', '0b', charge), ('job_c', "no'tes $(echo HACKED)", '0c', charge),
            ('job_d', 'notes\nlacking x: echo HACKED', '0d', charge), ('job_e', 'notes', '0e', {'measure': 'epsilon', 'loss': 1, 'delta': 0.1})]
    previous, number = '0' * 64, 0
    with open('forged.jsonl', 'w') as file:
        for job, dataset, run, charge in jobs:
            for entry in ({'event': 'start', 'job': job, 'charge': charge}, {'event': 'end', 'job': job, 'dataset': dataset, 'status': 'done', 'run': run}):
                number += 1
                line = f'{{"number":{number},"previous":"{previous}",{json.dumps(entry, separators=(",", ":"))[1:-1]}'
                previous = hashlib.sha256(line.encode() + b'}').hexdigest()
                file.write(f'{line},"hash":"{previous}"}}\n')
    lacking = [line for line in verify('--ledger', 'ledger', place='forged.jsonl', wanted=7).splitlines() if line.startswith('lacking')]
    commands = [line.split(': ', 1)[1] for line in lacking]
    words = [shlex.split(line) for line in commands if line.startswith('cuttle ')]
    check(len(lacking) == len(jobs) and [w[-1] for w in words] == ['0b', '0c'], f'{lacking}')
    check(all(len(w) == 11 for w in words) and words[1][6] == jobs[2][1], f'{words}')


def case_full():
    """A full disk refuses what cannot be told, and then tells it once. Needs a small file system."""
    os.mkdir('small')
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', 'small'], capture_output=True).returncode:
        print('skipped: no file system can be mounted')
        return
    try:
        make_ledger()
        server = Server('--plain', 'off', state='small/state')
        trail = 'small/state/trail.jsonl'
        done = server.queue(PLAN, 'done', 12)
        server.wait(done)
        waits = server.create(PLAN, 'waits')['id']
        server.upload(waits, records(12))
        before = len(entries(trail))
        command('ledger', 'init', '--ledger', 'small/ledger', '--dataset', 'notes', '--rho-limit', '1')
        filler = open('small/filler', 'wb', buffering=0)
        try:
            while True:
                filler.write(b'x' * 4096)
        except OSError:
            pass
        refusals = 0
        # Each may still find room in what the list has; then the next one is refused.
        for _ in range(40):
            status, _, data = server.ask('GET', f'/v1/jobs/{done}/results')
            check(status in (200, 507), f'{status}: {data[:200]}')
            refusals += status == 507
        check(server.json('GET', '/ready', 503)['disk'] == 'full', 'a full disk is not told')
        check(refusals > 20, f'a full disk refuses {refusals} of 40')
        fetched = 40 - refusals
        # A ledger on that disk says why it cannot be used, and is charged when there is room again.
        reserve = [CUTTLE, 'ledger', 'reserve', '--ledger', 'small/ledger', '--dataset', 'notes', '--rho', '0.5']
        done_ledger = subprocess.run(reserve, capture_output=True, text=True)
        wanted = 'cuttle ledger: the ledger small/ledger cannot be used: the disk is full\n'
        check((done_ledger.returncode, done_ledger.stderr) == (7, wanted), f'{done_ledger}')
        server.json('POST', f'/v1/jobs/{waits}/start', 507)
        server.json('DELETE', f'/v1/jobs/{done}', 507)
        check(os.path.exists(f'small/state/jobs/{done}/out.jsonl'), 'what cannot be told is removed')
        check(server.status(waits) == 'awaiting_references' and server.status(done) == 'done', 'what cannot be told is done')
        os.truncate('small/filler', 0)
        subprocess.run(reserve, check=True, capture_output=True)
        check(len(runs('small/ledger')) == 1, 'a refused charge counts')
        server.json('DELETE', f'/v1/jobs/{waits}', 204)
        server.stop()
        verify(place='small/state')
        fresh = [entry['event'] for entry in entries(trail)[before:]]
        check(fresh == ['fetch'] * fetched + ['end', 'remove', 'serve_end'], f'{fresh}')
    finally:
        subprocess.run(['umount', '-l', 'small'], check=True)


if __name__ == '__main__':
    globals()['case_' + sys.argv[1]]()
