#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Cases of tests/cli/quotes.sh: what a run is said to cost, by everybody who says it.

usage: quotes.py command|server CUTTLE [SHORT]
A grid of plans: for each the dry run, the receipt, the ledger, and of a server the new job, GET and
the receipt must name one epsilon, one rho and one charge. A case that fails prints why and ends with
exit code 1.
"""
import itertools
import json
import os
import random
import subprocess
import sys

CUTTLE, SHORT = sys.argv[2], len(sys.argv) > 3 and sys.argv[3] == 'short'
RECORDS = 24
# Whose record i is: all one person's, of persons with many and few, each its own.
OWNERS = {'one': lambda i: 'p', 'few': lambda i: 'p%d' % (i * i % 5), 'each': lambda i: i}
UNITS = [(), ('--one-per-unit',), ('--records-per-unit', '1'), ('--records-per-unit', '2'),
         ('--records-per-unit', '5'), ('--records-per-unit', 'all')]
LOTS = [('--lots', 'off'), ('--lots', 'on'), ()]
CATEGORIES = [(), ('--category-field', 'kind', '--categories', 'a,b', '--category-public'),
              ('--category-field', 'kind', '--categories', 'a,b')]
CHARGES = [(), ('--charge', 'rho'), ('--charge', 'epsilon')]
ACCOUNTANTS = [(), ('--accountant', 'zcdp'), ('--accountant', 'exact')]
BUDGETS = [('-e', '3'), ('--clip', '0.7')]


def fail(why):
    print(why)
    sys.exit(1)


def run(*words, may_fail=False):
    done = subprocess.run([CUTTLE, *words], capture_output=True)
    if done.returncode and not may_fail:
        fail(f'{" ".join(words)}: exit {done.returncode}: {done.stderr.decode()}')
    return done.returncode, done.stdout.decode()


def write_records(name, owner):
    with open(name, 'w') as file:
        for i in range(RECORDS):
            print(json.dumps({'text': f'Note {i} about the sea.', 'who': owner(i), 'kind': 'ab'[i % 2]}), file=file)


def fresh_ledger(unit):
    for ending in ('', '-wal', '-shm'):
        if os.path.exists('spent.db' + ending):
            os.unlink('spent.db' + ending)
    run('ledger', 'init', '--ledger', 'spent.db', '--dataset', 'd', '--epsilon-limit', '1e4', '--delta-limit', '1e-3',
        *(('--unit-key', 'who') if unit else ()))


def entry(what):
    """What the ledger's one charge takes, in its own measure."""
    charges = [json.loads(line) for line in run('ledger', 'export', '--ledger', 'spent.db')[1].splitlines()]
    charges = [line for line in charges if line['kind'] == 'reserve']
    if len(charges) != 1:
        fail(f'{what}: {len(charges)} charges of one run')
    return float(charges[0]['loss' if charges[0].get('measure') else 'rho'])


def compare(what, quote, receipt, charged, asked):
    """One number: of the dry run, the receipt and the ledger."""
    for name in ('epsilon', 'rho', 'delta', 'unit', 'unit_weight', 'unit_limited', 'command_sha256'):
        if quote[name] != receipt[name]:
            fail(f'{what}: {name} is {quote[name]} before and {receipt[name]} in the receipt')
    loss = quote['charge']['loss']
    measure = quote['charge']['measure']
    if not loss == receipt['ledger'][measure] == charged:
        fail(f'{what}: said {loss}, receipt {receipt["ledger"]}, ledger {charged}')
    if 'lots' not in quote and loss != receipt[measure]:
        fail(f'{what}: charged {loss}, promised rho {receipt["rho"]}, epsilon {receipt["epsilon"]}')
    if asked and receipt['epsilon'] > 3:
        fail(f'{what}: epsilon {receipt["epsilon"]} for 3')


def command():
    grid = list(itertools.product(OWNERS, UNITS, LOTS, CATEGORIES, CHARGES, ACCOUNTANTS, BUDGETS))
    random.Random(5).shuffle(grid)
    ran, wanted, met = 0, 40 if SHORT else 100, set()
    for name in OWNERS:
        write_records(name + '.jsonl', OWNERS[name])
    for owners, unit, lots, categories, charge, accountant, budget in grid:
        words = ['generate', '-m', 'tiny.gguf', '-i', owners + '.jsonl', '-B', '2', '-N', '4', '-n', '4', '-q',
                 '--ledger', 'spent.db', '--dataset', 'd', *(('--unit-key', 'who') if unit else ()), *unit, *lots, *categories,
                 *charge, *accountant, *budget]
        fresh_ledger(unit)
        code, said = run(*words, '--dry-run', '--json', may_fail=True)
        if code:
            continue  # these options do not go together
        run(*words, '-o', f'o{ran}.jsonl')
        with open(f'o{ran}.receipt.json') as file:
            receipt = json.load(file)
        compare(' '.join(words), json.loads(said), receipt, entry(words), budget[0] == '-e' and unit[-1:] != ('all',))
        met |= {unit, lots, categories, charge, accountant, budget}
        ran += 1
        if ran == wanted:
            break
    missing = [part for part in UNITS + LOTS + CATEGORIES + CHARGES + ACCOUNTANTS + BUDGETS if part not in met]
    if missing or ran < wanted:
        fail(f'{ran} plans ran, and none with {missing}')


def server():
    sys.argv[3:] = ['']
    import jobs
    for (name, owner), unit in itertools.product(OWNERS.items(), UNITS):
        plan = {'num': 4, 'batch_size': 3, 'max_tokens': 4, 'epsilon': 3}
        if unit:
            plan['unit_key'] = 'who'
            plan[unit[0][2:].replace('-', '_')] = True if len(unit) == 1 else \
                int(unit[1]) if unit[1].isdigit() else unit[1]
        fresh_ledger(unit)
        with jobs_server(jobs) as at:
            request = {'type': 'generate', 'dataset': 'd', 'plan': plan}
            if unit[-1:] == ('all',):
                # What a server says before there are references must hold for any.
                at.error('POST', '/v1/jobs', 400, 'invalid_value', request, headers={'Idempotency-Key': 'k'})
                continue
            dry = at.json('POST', '/v1/jobs', 200, {**request, 'dry_run': True})
            made = at.json('POST', '/v1/jobs', 201, request, headers={'Idempotency-Key': 'k'})
            job = made['id']
            lines = ''.join(json.dumps({'text': f'Note {i}.', 'who': owner(i)}) + '\n' for i in range(12))
            at.upload(job, lines.encode())
            ready = at.json('GET', f'/v1/jobs/{job}', 200)
            at.json('POST', f'/v1/jobs/{job}/start', 202)
            at.wait(job)
            ended = at.json('GET', f'/v1/jobs/{job}', 200)
            receipt = at.json('GET', f'/v1/jobs/{job}/receipt', 200)
        for when, said in (('dry run', dry), ('new', made), ('ready', ready), ('done', ended)):
            for number in ('epsilon', 'rho', 'delta'):
                if said['guarantee'][number] != receipt[number]:
                    fail(f'{name} {unit}, {when}: {number} {said["guarantee"][number]}, in the receipt {receipt[number]}')
            if not said['charge']['loss'] == receipt['ledger']['rho'] == entry(name) == receipt['rho']:
                fail(f'{name} {unit}, {when}: charge {said["charge"]}, receipt {receipt["ledger"]}, ledger {entry(name)}')
            if when != 'done' and said['budget']['charge'] != said['charge']['loss']:
                fail(f'{name} {unit}, {when}: two charges')
        if receipt['epsilon'] > 3:
            fail(f'{name} {unit}: epsilon {receipt["epsilon"]} for 3')
    # Nobody is told less than what its whole person pays.
    fresh_ledger(True)
    with jobs_server(jobs) as at:
        error = at.error('POST', '/v1/jobs', 400, 'invalid_value',
                         {'type': 'generate', 'dataset': 'd', 'plan': {'num': 4, 'batch_size': 3, 'epsilon': 3, 'unit_key': 'who'}},
                         headers={'Idempotency-Key': 'k'})
        if '--records-per-unit' not in error['message']:
            fail(f'{error}')


class jobs_server:
    """A server with a folder of its own, as long as the block lasts."""

    count = 0

    def __init__(self, jobs):
        jobs_server.count += 1
        self.server = jobs.Server(state=f'state{jobs_server.count}', ledger='spent.db')

    def __enter__(self):
        return self.server

    def __exit__(self, *_):
        self.server.kill()


{'command': command, 'server': server}[sys.argv[1]]()
