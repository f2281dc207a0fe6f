#!/usr/bin/env python3
"""Judges whether a history of transactions was snapshot isolated.   judge.py [--strong] FILE...

A history is what tests/integ/local/judge_load.c prints: one transaction a line, with its operations in their order. The
order of a key's versions is known: a list says it itself, and a register is only written by a transaction that has
read it. So the dependencies are known, too:

    ww  A's version of a key is followed by B's          wr  B read A's version
    rw  A read the version that B's follows              rt  A had ended before B began (with --strong)

A history is snapshot isolated exactly if each cycle of these has two rw edges one behind the other (write skew is
such a cycle, and is allowed). Everything else is forbidden, and named by the shortest cycle that was found:

    G0         only ww                                   G1c         ww and wr
    G-single   one rw: read skew, or lost update if it is about one key
    long-fork  several rw, no two of them adjacent

Found before any cycle: G1a (a version of a transaction that failed), G1b (a version that its writer replaced itself),
a version that nobody wrote, a committed one that is gone, two lists that do not begin alike, a transaction that does
not see its own writes, a read that is not repeated. With rt in the cycle it says "stale": the same, by real time.
"""
import collections
import sys

Op = collections.namedtuple("Op", "kind key value")


class Violation(Exception):
    """What is wrong: its name, and a sentence."""


class Tx:
    def __init__(self, number, line):
        words = line.split()
        self.number = number
        self.thread, self.begun, self.ended, self.end = int(words[0]), int(words[1]), int(words[2]), words[3]
        self.told = self.end != "info"  # else it may have been committed later than it ended here
        self.ops = [parse(word) for word in words[4:]]
        self.reads = {}  # key: the versions that were there before this transaction's own
        self.writes = collections.defaultdict(list)  # key: its own versions

    def __str__(self):
        shown = " ".join(f"{op.kind}:{op.key}:{op.value if op.kind in 'awg' else ','.join(map(str, op.value))}"
                         for op in self.ops)
        return f"T{self.number} (thread {self.thread}, {self.end}) {shown}"


def parse(word):
    kind, key, value = word.split(":")
    if kind == "r":
        return Op(kind, int(key), tuple(int(v) for v in value.split(",") if v))
    if kind not in "awg":
        raise ValueError(f"no operation: {word}")
    return Op(kind, int(key), int(value))


def look_inside(tx):
    """What it read of others, and that it sees its own."""
    for op in tx.ops:
        if op.kind in "aw":
            tx.writes[op.key].append(op.value)
            continue
        own = tx.writes.get(op.key, [])
        if op.kind == "g":
            if own and op.value != own[-1]:
                raise Violation("internal", f"its own write is not there: {tx}")
            seen = tx.reads.get(op.key, op.value) if own else op.value
        else:
            if own and list(op.value[-len(own):]) != own:
                raise Violation("internal", f"its own appends are not there: {tx}")
            seen = op.value[:len(op.value) - len(own)]
        if tx.reads.setdefault(op.key, seen) != seen:
            raise Violation("G-single", f"a read of key {op.key} is not repeated: {tx}")


def find_writers(txs):
    writers = {}
    for tx in txs:
        for key, values in tx.writes.items():
            for value in values:
                if (key, value) in writers:
                    raise ValueError(f"the value {value} of key {key} is written twice")
                writers[key, value] = tx
    return writers


def order_list(key, txs):
    """The longest list that was seen; the others are its beginnings."""
    seen = [tx.reads[key] for tx in txs if key in tx.reads]
    longest = max(seen, key=len, default=())
    for one in seen:
        if longest[:len(one)] != one:
            raise Violation("order", f"key {key} was seen as {longest} and as {one}")
    return longest


def order_register(key, txs, writers):
    """From 0 on, who read a version and wrote the next one."""
    after = {}
    for tx in txs:
        if key not in tx.writes:
            continue
        if key not in tx.reads:
            raise ValueError(f"a register that was not read is written: {tx}")
        chain = [tx.reads[key]] + tx.writes[key]
        for before, value in zip(chain, chain[1:]):
            if before in after:
                raise Violation("lost-update", f"key {key}, version {before}: {writers[key, after[before]]} and {tx}")
            after[before] = value
    order, value = [], 0
    while value in after:
        value = after[value]
        order.append(value)
    return tuple(order)


def check_version(key, value, writers, reader):
    """A version that somebody read may have been read."""
    writer = writers.get((key, value))
    if not writer:
        raise Violation("unwritten", f"key {key}: nobody wrote {value}, which is in {reader}")
    if writer.end == "fail":
        raise Violation("G1a", f"key {key}: {value} of {writer} is in {reader}")
    if writer is not reader and value != writer.writes[key][-1]:
        raise Violation("G1b", f"key {key}: {value} of {writer} is the last in {reader}")


def settle_unknown(txs, writers):
    """Who was not told how it ended is committed if anybody saw a version of it."""
    for tx in txs:
        for key, seen in tx.reads.items():
            for value in (seen if isinstance(seen, tuple) else (seen,)):
                writer = writers.get((key, value))
                if writer and writer.end == "info":
                    writer.end = "ok"


def committed(txs):
    return [tx for tx in txs if tx.end == "ok"]


class Graph:
    """Dependencies between transactions, and points in time as further nodes."""

    def __init__(self):
        self.edges = collections.defaultdict(list)  # node: (kind, key, node)

    def add(self, from_, kind, key, to):
        if from_ is not to:
            self.edges[from_].append((kind, key, to))

    def add_key(self, key, order, txs, writers):
        place = {value: i for i, value in enumerate(order)}
        for before, value in zip(order, order[1:]):
            self.add(writers[key, before], "ww", key, writers[key, value])
        for tx in txs:
            if key not in tx.reads:
                continue
            seen = tx.reads[key]
            last = (seen[-1] if seen else None) if isinstance(seen, tuple) else (seen or None)
            at = -1 if last is None else place[last]
            if last is not None:
                self.add(writers[key, last], "wr", key, tx)
            if at + 1 < len(order):
                self.add(tx, "rw", key, writers[key, order[at + 1]])

    def add_time(self, txs):
        """Each end is a point; points follow each other, and who begins follows the last of them."""
        events = sorted([(tx.ended, 1, tx) for tx in txs if tx.told] + [(tx.begun, 0, tx) for tx in txs],
                        key=lambda event: event[:2])
        point = None
        for at, is_end, tx in events:
            if not is_end:
                if point:
                    self.add(point, "rt", None, tx)
                continue
            here = ("time", at)
            if point and point != here:
                self.add(point, "rt", None, here)
            self.add(tx, "rt", None, here)
            point = here

    def next_of(self, state):
        """States are a node, and whether the edge to it was rw: then the next one must not be."""
        node, was_rw = state
        for kind, key, to in self.edges.get(node, ()):
            if not (was_rw and kind == "rw"):
                yield kind, key, (to, kind == "rw")

    def cyclic_states(self):
        """Those that can't be taken away by removing, again and again, what nothing leads to."""
        states, todo, into = set(), [(node, False) for node in self.edges], collections.Counter()
        while todo:
            state = todo.pop()
            if state in states:
                continue
            states.add(state)
            for _, _, to in self.next_of(state):
                into[to] += 1
                todo.append(to)
        free = [state for state in states if into[state] == 0]
        while free:
            state = free.pop()
            states.discard(state)
            for _, _, to in self.next_of(state):
                into[to] -= 1
                if into[to] == 0:
                    free.append(to)
        return states

    def shortest_cycle(self):
        """Its edges, or None."""
        best, states = None, self.cyclic_states()
        for start in states:
            came, queue = {start: None}, collections.deque([start])
            found = None
            while queue and not found:
                state = queue.popleft()
                for kind, key, to in self.next_of(state):
                    if to == start:
                        found = (state, kind, key)
                        break
                    if to in states and to not in came:
                        came[to] = (state, kind, key)
                        queue.append(to)
            if not found:
                continue
            cycle, at = [(found[0][0], found[1], found[2], start[0])], found[0]
            while came[at]:
                state, kind, key = came[at]
                cycle.insert(0, (state[0], kind, key, at[0]))
                at = state
            if not best or len(cycle) < len(best):
                best = cycle
            if len(best) == 2:
                break
        return best


def name_cycle(cycle):
    kinds = [kind for _, kind, _, _ in cycle]
    if kinds.count("rw") > 1:
        name = "long-fork"
    elif "rw" in kinds:
        keys = {key for _, kind, key, _ in cycle if kind != "rt"}
        name = "lost-update" if "ww" in kinds and len(keys) == 1 else "G-single"
    else:
        name = "G1c" if "wr" in kinds else "G0"
    return ("stale " if "rt" in kinds else "") + name


def tell_cycle(cycle):
    lines = []
    for from_, kind, key, to in cycle:
        if isinstance(from_, Tx):
            lines.append(f"  {from_}")
        if kind == "rt" and isinstance(to, Tx):
            lines.append("    had ended before")
        elif kind != "rt":
            lines.append(f"    {kind} on key {key}")
    return "\n".join(lines)


def judge(lines, strong):
    """Raises Violation; answers how many transactions were committed and how many failed."""
    txs = [Tx(i, line) for i, line in enumerate(lines, 1)]
    for tx in txs:
        look_inside(tx)
    writers = find_writers(txs)
    settle_unknown(txs, writers)
    # Who failed may have read anything but what was never committed.
    for tx in txs:
        for key, seen in tx.reads.items():
            if isinstance(seen, tuple):
                for value in seen[:-1]:
                    writer = writers.get((key, value))
                    if not writer or writer.end == "fail":
                        check_version(key, value, writers, tx)
                last = seen[-1] if seen else None
            else:
                last = seen or None
            if last is not None:
                check_version(key, last, writers, tx)
    done = committed(txs)
    graph = Graph()
    for key in sorted({key for tx in txs for key in [*tx.reads, *tx.writes]}):
        is_list = any(op.kind in "ar" and op.key == key for tx in txs for op in tx.ops)
        order = order_list(key, txs) if is_list else order_register(key, done, writers)
        for tx in done:
            for value in tx.writes.get(key, ()):
                if value not in order:
                    raise Violation("lost", f"key {key}: {value} is gone: {tx}")
        graph.add_key(key, order, done, writers)
    if strong:
        graph.add_time(done)
    cycle = graph.shortest_cycle()
    if cycle:
        raise Violation(name_cycle(cycle), "\n" + tell_cycle(cycle))
    return len(done), len([tx for tx in txs if tx.end == "fail"])


def main():
    args = sys.argv[1:]
    strong = "--strong" in args
    bad = False
    for path in [arg for arg in args if arg != "--strong"]:
        with open(path, encoding="utf-8") as file:
            lines = [line for line in file.read().splitlines() if line and not line.startswith("#")]
        try:
            done, failed = judge(lines, strong)
            print(f"{path}: snapshot isolated{', in real time too' if strong else ''}: "
                  f"{done} committed, {failed} failed, {len(lines) - done - failed} unknown")
        except Violation as violation:
            print(f"{path}: {violation.args[0]}: {violation.args[1]}")
            bad = True
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
