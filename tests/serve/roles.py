#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of tests/cli/serve_roles.sh: what a key may do, how much of it, and when its turn comes.

usage: roles.py CASE CUTTLE [ARGUMENT]
Each case begins its own servers in the current folder, as those of jobs.py do.
"""
import json
import os
import shutil
import signal
import socket
import sys
import time

from jobs import (CANARY, CUTTLE, LONG, PLAN, RUN, Server, check, command, ends_within, follow, keep_lines, make_ledger, no_canary, records, runs, wait_until)


def make_key(who, role, *datasets):
    more = [word for name in datasets for word in ('--dataset', name)]
    return command('serve', 'key', who, role, '--keys', 'keys', *more).strip()


def entries(event):
    return [entry for entry in map(json.loads, open('state/trail.jsonl')) if entry['event'] == event]


def request(dataset='notes', plan=None, **more):
    return {'type': 'generate', 'dataset': dataset, 'plan': plan or PLAN, **more}


def case_roles():
    """Each role may what it is for, and each key sees and charges the data sets that it was given."""
    make_ledger()
    for name in ('ward7', 'ward 7%'):
        command('ledger', 'init', '--ledger', 'ledger', '--dataset', name, '--rho-limit', '100')
    keys = {'ann': make_key('ann', 'use', 'notes'), 'eve': make_key('eve', 'use', 'ward7', 'ward 7%'), 'bob': make_key('bob', 'use'),
            'chief': make_key('chief', 'officer'), 'boss': make_key('boss', 'officer', 'ward7'),
            'meter': make_key('meter', 'metrics'), 'root': make_key('root', 'admin')}
    lines = {line.split()[0]: line.split()[3:] for line in open('keys')}
    check(lines['eve'] == ['ward7', 'ward%207%25'] and lines['bob'] == [], f'{lines}')
    server = Server('--keys', 'keys')

    def status(who, method, path, body=None, key='x'):
        headers = {'Idempotency-Key': key} if path == '/v1/jobs' and method == 'POST' else None
        return server.ask(method, path, body, keys[who], headers)[0]

    # Roles: who may ask at all.
    asked = (('GET', '/metrics', None, 'ann eve bob chief boss meter root'), ('GET', '/v1/models', None, 'ann eve bob chief boss'),
             ('POST', '/v1/completions', {'prompt': 'a', 'max_tokens': 2}, 'ann eve bob chief boss'),
             ('GET', '/v1/jobs', None, 'ann eve bob chief boss'), ('GET', '/v1/budget', None, 'ann eve bob chief boss'),
             ('POST', '/v1/jobs', request('ward7', dry_run=True), 'eve bob chief boss'),
             ('GET', '/v1/ledger/ward7/entries', None, 'chief boss'), ('POST', '/v1/ledger/verify', {}, 'chief boss'),
             ('GET', '/v1/trail', None, 'chief'), ('GET', '/v1/trail/entries', None, 'chief'), ('GET', '/v1/ledger/gap', None, 'chief'),
             ('POST', '/v1/ledger/gap', {}, 'chief'), ('GET', '/v1/keys', None, 'root'), ('POST', '/v1/keys', {}, 'root'), ('DELETE', '/v1/keys/none', None, 'root'))
    for method, path, body, may in asked:
        for who in keys:
            got = status(who, method, path, body)
            check((got != 403) == (who in may.split()), f'{who} {method} {path}: {got}')
    # Data sets: whether there is one is not told either.
    for name in ('ward7', 'none', 'note'):
        server.error('POST', '/v1/jobs', 403, 'forbidden_dataset', request(name), key=keys['ann'], headers={'Idempotency-Key': 'f'})
        server.error('GET', f'/v1/budget/{name}', 404, 'not_found', key=keys['ann'])
        server.error('GET', f'/v1/ledger/{"notes" if name == "ward7" else name}/entries', 404, 'not_found', key=keys['boss'])
    for who, seen in (('ann', ['notes']), ('eve', ['ward7', 'ward 7%']), ('boss', ['ward7']), ('bob', ['notes', 'ward7', 'ward 7%'])):
        budgets = [budget['dataset'] for budget in server.json('GET', '/v1/budget', 200, key=keys[who])['data']]
        check(budgets == seen, f'{who} sees {budgets}')
    notes = server.create(PLAN, 'a', keys['ann'])['id']
    for number, (name, who) in enumerate((('ward7', 'eve'), ('ward 7%', 'eve'))):
        server.json('POST', '/v1/jobs', 201, request(name), key=keys[who], headers={'Idempotency-Key': f'e{number}'})
    count = {who: len(server.json('GET', '/v1/jobs', 200, key=keys[who])['data']) for who in ('ann', 'eve', 'chief', 'boss')}
    check(count == {'ann': 1, 'eve': 2, 'chief': 3, 'boss': 1}, f'{count}')
    for method, end in (('GET', ''), ('DELETE', ''), ('POST', '/start'), ('POST', '/cancel'), ('GET', '/events'), ('GET', '/results'), ('PUT', '/references')):
        server.error(method, f'/v1/jobs/{notes}{end}', 404, 'not_found', b'{}\n' if method == 'PUT' else None, key=keys['boss'])
    # A data set that is taken away: its jobs are gone for the key, and what it follows ends.
    watched = follow(server, notes, keys['ann'])
    with open('keys') as file:
        text = file.read()
    with open('keys', 'w') as file:
        file.write(text.replace(' notes\n', ' ward7\n'))
    server.process.send_signal(signal.SIGHUP)
    check(ends_within(watched), 'a data set is taken away, and its job is followed on')
    server.error('GET', f'/v1/jobs/{notes}', 404, 'not_found', key=keys['ann'])
    check(server.json('GET', '/v1/jobs', 200, key=keys['ann'])['data'] == [], 'a job of another data set is listed')
    # It holds at once, and is told then: the disk may be full.
    wait_until(lambda: entries('key_change'), 'a change of keys is not told')
    check([e['may'] for e in entries('key_change')] == ['use ward7'], f'{entries("key_change")}')
    roles = {e['key']: e['role'] for e in entries('create')}
    check(roles == {'ann': 'use', 'eve': 'use'}, f'{roles}')
    server.stop()
    # Lines that will do for no server.
    for line in (' boss\n', ' use nothash\n'):
        with open('bad', 'w') as file:
            file.write('zoe' + line)
        os.chmod('bad', 0o600)
        try:
            Server('--keys', 'bad', log='bad.log')
        except SystemExit:
            continue
        check(False, f'a server begins with the key line zoe{line}')


def case_officer():
    """An officer approves, reads the trail by pages, and says what becomes of a ledger that was put back; nobody else does."""
    make_ledger()
    keys = {'ann': make_key('ann', 'use'), 'chief': make_key('chief', 'officer'), 'boss': make_key('boss', 'officer', 'notes'),
            'meter': make_key('meter', 'metrics'), 'root': make_key('root', 'admin')}
    server = Server('--keys', 'keys', '--approval', '--plain', 'off')
    chief = keys['chief']

    def ready(name):
        job = server.create(PLAN, name, keys['ann'])['id']
        server.upload(job, records(12), key=keys['ann'])
        server.error('POST', f'/v1/jobs/{job}/start', 403, 'forbidden_role', key=keys['ann'])
        seen = server.json('GET', f'/v1/jobs/{job}', 200, key=chief)
        check(seen['fingerprint'] and seen['charge']['loss'] > 0 and seen['owner'] == 'ann', f'{seen}')
        return job, seen['approval']

    def run(name):
        job, approval = ready(name)
        server.json('POST', f'/v1/jobs/{job}/start', 202, key=chief, headers={'If-Match': f'"{approval}"'})
        server.wait(job, key=chief)
        return job

    def pages(query, limit=3):
        found, before = [], ''
        while before is not None:
            page = server.json('GET', f'/v1/trail/entries?{query}&limit={limit}{before and f"&before={before}"}', 200, key=chief)
            check(len(page['data']) <= limit, f'{len(page["data"])} entries')
            found, before = found + page['data'], page['next']
        return found

    first = run('first')
    command('ledger', 'backup', '--ledger', 'ledger', '-o', 'copy')
    second, third = run('second'), run('third')
    server.json('DELETE', f'/v1/jobs/{third}', 204, key=keys['ann'])
    refused, _ = ready('refused')
    server.json('POST', f'/v1/jobs/{refused}/cancel', 202, key=chief)
    check([(e['key'], e['job']) for e in entries('cancel')] == [('chief', refused)], 'who refused a job is not told')
    # The trail, the newest first: every entry once, and each page is told.
    before = [json.loads(line) for line in open('state/trail.jsonl')]
    seen = pages('x')
    check([e['number'] for e in seen] == sorted((e['number'] for e in seen), reverse=True), 'not the newest first')
    check(seen[1:] == before[::-1] and seen[0]['what'] == 'trail' and seen[0]['key'] == 'chief', 'an entry is another one, or there twice')
    check(len(entries('fetch')) == (len(seen) + 2) // 3, f'{len(entries("fetch"))} fetches are told')
    for query, wanted in (('event=start', entries('start')), (f'job={second}', [e for e in before if e.get('job') == second]), ('event=none', []),
                          (f'event=end&job={third}', [e for e in entries('end') if e['job'] == third])):
        check(pages(query) == wanted[::-1], f'{query}: {pages(query)}')
    for query in ('limit=0', 'limit=201', 'limit=x', 'limit=', 'before=5', 'before=0', 'before=-1', 'before=99999999999', 'event=', 'event=A', 'job=%6a', 'job=' + 'a' * 65):
        server.error('GET', '/v1/trail/entries?' + query, 400, 'invalid_value', key=chief)
    for who, code in (('ann', 'forbidden_role'), ('meter', 'forbidden_role'), ('root', 'forbidden_role'), ('boss', 'forbidden_dataset')):
        for path in ('/v1/trail', '/v1/trail/entries', '/v1/ledger/gap'):
            server.error('GET', path, 403, code, key=keys[who])
    check(server.json('GET', '/v1/ledger/gap', 200, key=chief) == {'object': 'ledger_gap', 'held': False}, 'a whole ledger lacks something')
    server.error('POST', '/v1/ledger/gap', 409, 'no_gap', {'gap': 'x'}, key=chief)
    # The ledger is put back: nothing is charged, and officers of all data sets learn what is lost, removed jobs included.
    next, approval = ready('next')
    server.stop()
    for ending in ('', '-wal', '-shm'):
        if os.path.exists('ledger' + ending):
            os.unlink('ledger' + ending)
    shutil.copy('copy', 'ledger')
    server = Server('--keys', 'keys', '--approval', '--plain', 'off')
    check(server.json('GET', '/ready', 503)['status'] == 'ledger_restored', 'it is ready')
    gap = server.json('GET', '/v1/ledger/gap', 200, key=chief)
    check(sorted(r['job'] for r in gap['runs']) == sorted((second, third)) and {r['owner'] for r in gap['runs']} == {'ann'}, f'{gap}')
    charge = {e['job']: e['charge'] for e in entries('start')}
    check(all(r['charge'] == charge[r['job']] for r in gap['runs']), f'{gap}')
    total = gap['datasets'][0]
    check((total['dataset'], total['measure'], total['runs']) == ('notes', 'rho', 2) and abs(total['loss'] - 2 * charge[second]['loss']) < 1e-9, f'{gap}')

    def start(who, wanted='ledger_restored'):
        return server.error('POST', f'/v1/jobs/{next}/start', 503, wanted, key=keys[who], headers={'If-Match': f'"{approval}"'})['message']

    check('notes rho' in start('chief') and '2 runs' in start('chief'), 'the officer is not told what is lost')
    check('notes' not in start('boss') and '2 runs' not in start('boss'), 'an officer of one data set is told of all')
    for who, code in (('ann', 'forbidden_role'), ('meter', 'forbidden_role'), ('root', 'forbidden_role'), ('boss', 'forbidden_dataset')):
        server.error('POST', '/v1/ledger/gap', 403, code, {'gap': gap['gap']}, key=keys[who])
    for body in ({}, {'gap': 5}, {'gap': None}):
        server.error('POST', '/v1/ledger/gap', 400, 'invalid_value', body, key=chief)
    server.error('POST', '/v1/ledger/gap', 412, 'not_as_approved', {'gap': '0' * 64}, key=chief)
    start('chief')
    check(len(runs()) == 1, 'a ledger that was put back is charged')
    # Killed, nothing is confirmed; what was confirmed stays.
    server.kill()
    server = Server('--keys', 'keys', '--approval', '--plain', 'off')
    start('chief')
    check(server.json('POST', '/v1/ledger/gap', 200, {'gap': gap['gap']}, key=chief)['held'] is False, 'it is still held')
    server.kill()
    server = Server('--keys', 'keys', '--approval', '--plain', 'off')
    server.error('POST', '/v1/ledger/gap', 409, 'no_gap', {'gap': gap['gap']}, key=chief)
    server.json('GET', '/ready', 200)
    told = entries('ledger_restored')
    check([(e['key'], e['role'], sorted(e['runs'].values())) for e in told] == [('chief', 'officer', sorted((second, third)))], f'{told}')
    check(second in told[0]['missing'].values(), f'{told}')
    check(server.json('GET', f'/v1/jobs/{second}', 200, key=chief)['charge_lost'], 'the job does not say that its charge is lost')
    check('charge_lost' not in server.json('GET', f'/v1/jobs/{first}', 200, key=chief), 'a charge that stands is called lost')
    server.json('POST', f'/v1/jobs/{next}/start', 202, key=chief, headers={'If-Match': f'"{approval}"'})
    server.wait(next, key=chief)
    check(len(runs()) == 2, 'what was approved is not charged')
    check(pages('event=ledger_restored') == told, 'it is not shown')
    check(CANARY not in json.dumps(pages('x', 200)) and CANARY not in json.dumps(gap), 'a text is shown')
    server.stop()
    no_canary('state', 'log')


def case_admin():
    """Keys are made and taken away over HTTP by who keeps them; the trail says who did."""
    make_ledger()
    keys = {'root': make_key('root', 'admin'), 'bob': make_key('bob', 'use')}
    server = Server('--keys', 'keys')
    root = keys['root']
    for body in ({}, {'id': 'new'}, {'id': 'new', 'role': 'boss'}, {'id': 'New', 'role': 'use'}, {'id': 5, 'role': 'use'}, {'id': 'bob', 'role': 'use'},
                 {'id': 'new', 'role': 'use', 'datasets': []}, {'id': 'new', 'role': 'use', 'datasets': [5]}, {'id': 'new', 'role': 'use', 'datasets': ['']},
                 {'id': 'new', 'role': 'metrics', 'datasets': ['notes']}, {'id': 'new', 'role': 'use', 'more': 1},
                 {'id': 'new', 'role': 'use', 'datasets': ['x' * 100] * 40}):
        server.error('POST', '/v1/keys', 400, 'invalid_value', body, key=root)
    made = server.json('POST', '/v1/keys', 201, {'id': 'new', 'role': 'use', 'datasets': ['notes']}, key=root)
    check(made['key'].startswith('new.') and made['datasets'] == ['notes'], f'{list(made)}')
    new = made['key']
    server.error('POST', '/v1/jobs', 403, 'forbidden_dataset', request('other'), key=new, headers={'Idempotency-Key': 'x'})
    job = server.create(PLAN, 'one', new)['id']
    listed = server.json('GET', '/v1/keys', 200, key=root)['data']
    check([(k['id'], k['role'], k['datasets']) for k in listed] == [('root', 'admin', []), ('bob', 'use', []), ('new', 'use', ['notes'])], f'{listed}')
    check(all('key' not in k and 'hash' not in k for k in listed), f'{listed}')
    watched = follow(server, job, new)
    server.json('DELETE', '/v1/keys/new', 204, key=root)
    check(ends_within(watched), 'a key is gone, and what it began goes on')
    server.error('GET', '/v1/jobs', 401, 'invalid_api_key', key=new)
    server.error('DELETE', '/v1/keys/new', 404, 'not_found', key=root)
    server.json('GET', '/v1/jobs', 200, key=keys['bob'])
    check([line.split()[0] for line in open('keys')] == ['root', 'bob'], 'the file of keys')
    # A line that somebody took out of the file: whoever asks for its end is told the truth.
    gone = make_key('gone', 'use')
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: server.ask('GET', '/v1/jobs', None, gone)[0] == 200, 'a new key is not read')
    keep_lines(lambda name: name != 'gone')
    server.error('DELETE', '/v1/keys/gone', 404, 'not_found', key=root)
    server.error('GET', '/v1/jobs', 401, 'invalid_api_key', key=gone)
    # A file that the server does not take: the key holds, and nobody is told that there is none.
    with open('keys') as file:
        whole = file.read()
    with open('keys', 'a') as file:
        file.write('eve boss\n')
    for _ in range(2):
        server.error('DELETE', '/v1/keys/bob', 500, 'internal', key=root)
    server.json('GET', '/v1/jobs', 200, key=keys['bob'])
    with open('keys', 'w') as file:
        file.write(whole)
    # What somebody did in the file is not said to be the admin's, who had it read.
    make_key('eve', 'use')
    server.json('POST', '/v1/keys', 201, {'id': 'late', 'role': 'use'}, key=root)
    server.json('DELETE', '/v1/keys/late', 204, key=root)
    late = [(e['subject'], e['key']) for e in entries('key_add')[4:]]
    check(sorted(late) == [('eve', None), ('late', 'root')], f'{late}')
    keep_lines(lambda name: name != 'eve')
    changes = [(e['event'], e['subject'], e['may'], e['key'], e['role']) for e in entries('key_add')[2:3] + entries('key_remove')[:1]]
    check(changes == [('key_add', 'new', 'use notes', 'root', 'admin'), ('key_remove', 'new', None, 'root', 'admin')], f'{changes}')
    server.stop()
    for key in (new, root):
        for place in ('state/trail.jsonl', 'log', 'keys'):
            check(key.split('.')[1] not in open(place).read(), f'a key is in {place}')
    no_canary('state', 'log')


def case_quota():
    """A key has so many jobs, so many that wait, and so many bytes; others do not feel it."""
    make_ledger()
    keys = {'ann': make_key('ann', 'use'), 'bob': make_key('bob', 'use'), 'chief': make_key('chief', 'officer')}
    ann, bob = keys['ann'], keys['bob']
    server = Server('--keys', 'keys', '--key-jobs', '4', '--key-waiting', '3', '--key-bytes', '150000')

    def refuse(key, idempotency, code='quota_exceeded'):
        server.error('POST', '/v1/jobs', 429, code, request(), key=key, headers={'Idempotency-Key': idempotency})

    ids = [server.create(PLAN, f'a{i}', ann)['id'] for i in range(3)]
    refuse(ann, 'a3')
    mine = server.create(PLAN, 'b', bob)['id']
    # Bytes: of all jobs of a key that have not ended, with what arrives.
    big = records(12) + b' ' * 90000
    server.upload(ids[0], big, key=ann)
    server.error('PUT', f'/v1/jobs/{ids[1]}/references', 413, 'quota_exceeded', big, key=ann)
    check(not os.path.exists(f'state/jobs/{ids[1]}/refs'), 'what does not fit is kept')
    server.error('PUT', f'/v1/jobs/{mine}/references', 413, 'quota_exceeded', big * 2, key=bob)
    server.upload(mine, big, key=bob)
    server.upload(ids[0], big, key=ann)  # in the place of the first
    server.upload(ids[1], records(12), key=ann)
    server.json('POST', f'/v1/jobs/{ids[0]}/cancel', 202, key=ann)
    server.upload(ids[1], big, key=ann)
    # Two that arrive together are counted together.
    server.json('POST', f'/v1/jobs/{ids[1]}/cancel', 202, key=ann)
    fourth = server.create(PLAN, 'a4', ann)['id']
    refuse(ann, 'a5')  # four are in the list
    half = socket.create_connection(('127.0.0.1', server.port))
    half.sendall(f'PUT /v1/jobs/{fourth}/references HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {ann}\r\n'
                 f'Transfer-Encoding: chunked\r\n\r\n'.encode() + b'186a0\r\n' + b' ' * 100000 + b'\r\n')
    # Pieces are passed on by 256 KiB, so what arrives counts from then on.
    half.sendall(b'30d40\r\n' + b' ' * 200000 + b'\r\n')
    half.settimeout(20)
    half.sendall(b'0\r\n\r\n')
    check(b' 413 ' in half.recv(1000), 'more than the quota arrives in chunks')
    server.upload(ids[2], big, key=ann)
    server.json('DELETE', f'/v1/jobs/{ids[0]}', 204, key=ann)
    server.create(PLAN, 'a6', ann)
    server.stop()
    # Without keys there is one user, who has all of it.
    server = Server(state='alone')
    for i in range(5):
        server.create(PLAN, f'a{i}')
    server.stop()


def case_fair():
    """Who has few jobs does not wait for who has many."""
    make_ledger()
    keys = {who: make_key(who, 'use') for who in ('ann', 'bob', 'eve')}
    most = 20 if os.environ.get('CUTTLE_TEST_SHORT') else 60
    server = Server('--keys', 'keys', '--queue', str(2 * most), '--plain', 'off')

    def queue(who, name, plan=PLAN):
        job = server.create(plan, name, keys[who])['id']
        server.upload(job, records(plan['num'] * plan['batch_size']), key=keys[who])
        return job, server.ask('POST', f'/v1/jobs/{job}/start', key=keys[who])[0]

    # Minutes of work on any machine: it is killed and cancelled, and must not end before.
    first, _ = queue('ann', 'first', {**LONG, 'num': 4000})
    many = []
    for number in range(most - 1):
        job, status = queue('ann', f'many-{number}')
        check(status == 202, f'job {number}: {status}')
        many.append(job)
    server.error('POST', f'/v1/jobs/{queue("ann", "more")[0]}/start', 429, 'queue_full', key=keys['ann'])
    check(server.status(first, keys['ann']) == 'running', 'the first job has ended too soon for this test')
    other, status = queue('bob', 'one')
    check(status == 202, f'half of the places are not kept: {status}')
    # All wait before one of them may run, so that their order does not depend on how fast this machine is.
    for number in range(3):
        check(queue('eve', f'eve-{number}')[1] == 202, 'there is no place for eve')
    # Killed, the job that ran goes on first: its owner has not had all of the turn.
    server.kill()
    server = Server('--keys', 'keys', '--queue', str(2 * most), '--plain', 'off')
    wait_until(lambda: server.status(first, keys['ann']) == 'running', 'the job that ran does not go on')
    server.json('POST', f'/v1/jobs/{first}/cancel', 202, key=keys['ann'])
    server.wait(other, key=keys['bob'])
    ends = [entry['job'] for entry in entries('end')]
    check(ends[:2] == [first, other], f'{ends.index(other)} jobs ended before that of who has one')
    # Two who wait take turns, however late the second came.
    wait_until(lambda: len([e for e in entries('end') if e['owner'] == 'eve']) == 3, 'eve waits for all of ann\'s')
    owners = [entry['owner'] for entry in entries('end')][:7]
    check(owners == ['ann', 'bob', 'eve', 'ann', 'eve', 'ann', 'eve'], f'{owners}')
    server.stop()


def case_proxy():
    """Behind a proxy the trail has the client's address; who is no proxy is not believed. A key has so many requests."""
    make_ledger()
    keys = {'ann': make_key('ann', 'use'), 'bob': make_key('bob', 'use')}
    told = (({'X-Forwarded-For': '10.1.2.3'}, '10.1.2.3'), ({'X-Forwarded-For': '6.6.6.6, 10.1.2.3'}, '10.1.2.3'), ({'X-Forwarded-For': '10.1.2.3, x'}, None),
            ({'Forwarded': 'for=6.6.6.6, for="[2001:DB8::1]:4711";proto=https'}, '2001:db8::1'), ({'Forwarded': 'for=10.9.8.7;by=1.1.1.1'}, '10.9.8.7'),
            ({'Forwarded': 'by=1.1.1.1'}, None), ({'X-Forwarded-For': '10.1.2.3:80'}, '10.1.2.3'), ({'X-Forwarded-For': ''}, None),
            ({'X-Forwarded-For': '"; drop'}, None), ({}, None))
    for trusted in ('127.0.0.1', '127.0.0.9', ''):
        server = Server('--keys', 'keys', '--plain', 'off', *(('--trusted-proxy', trusted) if trusted else ()))
        for number, (headers, address) in enumerate(told):
            body = json.dumps(request())
            status, replied, _ = server.ask('POST', '/v1/jobs', body, keys['ann'], {**headers, 'Idempotency-Key': f'{trusted}{number}'})
            check(status == 201, f'{headers}: {status}')
            entry = [e for e in entries('create') if e['request'] == replied['X-Request-Id']][0]
            wanted = address if address and trusted == '127.0.0.1' else '127.0.0.1'
            check(entry['address'] == wanted, f'{trusted}: {headers} is {entry["address"]}')
        if trusted == '127.0.0.1':
            jobs = [job['id'] for job in server.json('GET', '/v1/jobs', 200, key=keys['ann'])['data']]
            followed = [follow(server, jobs[0], keys['ann']) for _ in range(32)]
            server.error('GET', '/v1/jobs', 429, 'queue_full', key=keys['ann'])
            server.json('GET', '/v1/jobs', 200, key=keys['bob'])
            for sock in followed:
                sock.close()
            wait_until(lambda: server.ask('GET', '/v1/jobs', key=keys['ann'])[0] == 200, 'places are not given back')
        server.stop()


if __name__ == '__main__':
    globals()['case_' + sys.argv[1]]()
