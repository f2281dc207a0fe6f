"""A bank behind `dsql proxy` while things fail: transfers by many clients, and an audit.

    proxy_bank.py make               the accounts
    proxy_bank.py work FILE COUNT    transfers until COUNT are over, known or not; FILE grows by a byte for each, and
                                     holds them at the end
    proxy_bank.py audit FILE         what the clients were told is what happened, to the last transfer

Each transfer leaves a line with its number in the table moves, in the same transaction. A client that is told of success
finds it there, one that is told of a failure does not; one that hears 08007, or nothing more after its COMMIT, does not
know. `work` and `make` go by the environment's connection, whichever that is.
"""
import collections
import random
import sys
import threading
import time

import psycopg

ACCOUNTS, START, CLIENTS = 10, 1000, 8
ROLLED_BACK = ('40001', '08006', '53300', '57014', 'XX000')
FLOW_LIMIT_S = 600


def connect():
    end = time.monotonic() + FLOW_LIMIT_S
    while True:
        try:
            return psycopg.connect('user=admin dbname=postgres', autocommit=True, connect_timeout=60)
        except psycopg.OperationalError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def make():
    with connect() as conn:
        conn.execute('create table accounts (id int primary key, balance int)')
        conn.execute('create table moves (id int primary key, source int, target int, amount int)')
        for i in range(ACCOUNTS):
            conn.execute('insert into accounts values (%s, %s)', (i, START))


def transfer(conn, number, rng, stage):
    source, target = rng.sample(range(ACCOUNTS), 2)
    amount = rng.randrange(1, 50)
    stage[0] = 'open'
    conn.execute('begin')
    if rng.random() < 0.5:  # what is there is read first: the transaction can't be run again if that changes
        balance, = conn.execute('select balance from accounts where id = %s', (source,)).fetchone()
        amount = min(amount, balance)
    conn.execute('update accounts set balance = balance - %s where id = %s', (amount, source))
    conn.execute('update accounts set balance = balance + %s where id = %s', (amount, target))
    conn.execute('insert into moves values (%s, %s, %s, %s)', (number, source, target, amount))
    stage[0] = 'commit'
    conn.execute('commit')


class Bank:
    def __init__(self, progress, count):
        self.lock = threading.Lock()
        self.numbers = iter(range(count))
        self.outcomes = {}
        self.why = collections.Counter()
        self.progress = progress
        self.wrong = []
        self.over = False

    def note(self, number, outcome, why):
        with self.lock:
            self.outcomes[number] = outcome
            self.why[outcome + ' ' + why] += 1
            self.progress.write('.')
            self.progress.flush()

    def client(self, seed):
        rng = random.Random(seed)
        conn = connect()
        while True:
            with self.lock:
                number = next(self.numbers, None)
            if number is None:
                break
            stage = ['open']
            try:
                transfer(conn, number, rng, stage)
                self.note(number, 'ok', '')
                continue
            except psycopg.Error as error:
                state = error.sqlstate or 'no answer'
                if state == '08007' or (stage[0] == 'commit' and state in ('no answer', 'XX000', '57P01')):
                    self.note(number, 'unknown', state)
                elif state in ROLLED_BACK or state in ('no answer', '57P01', '25P02'):
                    self.note(number, 'failed', state)
                else:
                    with self.lock:
                        self.wrong.append(f'{number}: {state} {error}')
                    self.note(number, 'unknown', state)
            try:
                conn.execute('rollback')
            except psycopg.Error:
                conn.close()
                conn = connect()
        conn.close()

    def auditor(self):
        """The sum is right at every moment."""
        conn = connect()
        while not self.over:
            try:
                total, = conn.execute('select sum(balance) from accounts').fetchone()
                if total != ACCOUNTS * START:
                    self.wrong.append(f'the sum was {total} meanwhile')
            except psycopg.Error:
                conn.close()
                conn = connect()
        conn.close()


def work(file, count):
    with open(file, 'w', encoding='ascii') as progress:
        bank = Bank(progress, count)
        auditor = threading.Thread(target=bank.auditor)
        clients = [threading.Thread(target=bank.client, args=(i,)) for i in range(CLIENTS)]
        for thread in [auditor, *clients]:
            thread.start()
        for thread in clients:
            thread.join()
        bank.over = True
        auditor.join()
    assert not bank.wrong, bank.wrong[:5]
    with open(file, 'w', encoding='ascii') as told:
        for number, outcome in bank.outcomes.items():
            print(number, outcome, file=told)
    print(', '.join(f'{n} {why}' for why, n in sorted(bank.why.items())))


def audit(file):
    with open(file, encoding='ascii') as told:
        outcomes = {int(number): outcome for number, outcome in map(str.split, told)}
    balances = {i: START for i in range(ACCOUNTS)}
    with connect() as conn:
        moves = conn.execute('select id, source, target, amount from moves').fetchall()
        there = dict(conn.execute('select id, balance from accounts').fetchall())
    for _, source, target, amount in moves:
        balances[source] -= amount
        balances[target] += amount
    done = {move[0] for move in moves}
    lost = [n for n, outcome in outcomes.items() if outcome == 'ok' and n not in done]
    undead = [n for n, outcome in outcomes.items() if outcome == 'failed' and n in done]
    assert not lost, f'committed, but not there: {lost}'
    assert not undead, f'told as rolled back, but there: {undead}'
    assert balances == there, f'the moves say {balances}, the accounts {there}'
    assert sum(there.values()) == ACCOUNTS * START, there
    counts = collections.Counter(outcomes.values())
    known = sum(1 for n, outcome in outcomes.items() if outcome == 'unknown' and n in done)
    print(f'{counts["ok"]} committed, {counts["failed"]} rolled back, {counts["unknown"]} unknown, of which {known} committed')


if sys.argv[1] == 'make':
    make()
elif sys.argv[1] == 'work':
    work(sys.argv[2], int(sys.argv[3]))
else:
    audit(sys.argv[2])
