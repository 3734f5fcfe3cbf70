#!/usr/bin/env python3
"""Looks for faults in the protocol by which currency moves from one book to another.

    cross_book.py                   every state of small cases, then random walks through a larger one
    cross_book.py --break NAME      the same with one step broken on purpose: exits with 0 where the fault is found
    cross_book.py --check           all of it, each broken step included: what the tests run
    cross_book.py --walks 20000 --seed 7

A ledger is split into books by account. Each book has a chain of blocks of its own (here: a block is one entry), one
leader, and keys with one answer each, for ever. A transfer is two entries over a clearing account:

    out     in the sender's book, under the client's key: wallet to clearing, or a refusal. The entry says to whom.
    in      in the receiver's book, under a key made of the first one: clearing to wallet, or a refusal.
    cancel  in the receiver's book, under the same key as `in`: a refusal, where `in` did not come first.
    back    in the sender's book, after a refusal that is durable: clearing to wallet again.

A courier reads what is durable in each book and sends what is still to be done. It keeps nothing. An account moves to
another book by two entries too: `moved` closes it in one, and `arrived` opens it in the other, with its balance and
with the answers of all its keys.

What can happen here: each message may be lost, be delivered late, in any order and any number of times, also long after
everything is over; each leader may crash before, within and after each append; an append may be in doubt and come to be
later, unless another block has taken its number; routes may be out of date; any number of couriers may run. Messages
are therefore a set from which nothing is ever taken. In each state the program asserts:

    1. a transfer has one `out` at most, and at most one of `in` and `back`; none of these without its `out`
    2. all wallets and clearing accounts together have what the wallets had at the beginning
    3. the clearing accounts together have exactly the transfers and accounts under way
    4. no wallet is below zero; a key has one answer
    5. from there on, where nothing fails any more, every transfer ends and all clearing accounts together are zero

Random walks also compare two cuts as an auditor would: what was received up to one moment was sent up to a later one.

Seeds and counts are printed. Needs Python 3.9; no packages.
"""
import argparse
import collections
import functools
import random
import sys
import time

BROKEN = {
    "new-key": "the courier sends `in` under a new key each time",
    "early": "the courier sends `in` of an `out` that is not durable yet",
    "back-on-timeout": "the courier gives back because no answer came",
    "back-on-look": "the courier gives back because it looks and sees no `in`",
    "cursor-first": "the courier remembers an `out` as done before it is",
    "no-fence": "an append in doubt comes to be beside another one of its number",
    "keys-stay": "an account moves to another book without its keys",
    "open-early": "a book takes an account's transfers before the account has arrived",
    "move-anywhere": "a move does not name the book that the account leaves",
    "refusal-not-kept": "a refusal is answered, and not kept under the key",
}

Transfer = collections.namedtuple("Transfer", "key sender receiver amount")
# `homes`: in which book an account begins; `wallets`: with what; `room`: what a wallet holds at most; `moves`: accounts
# with the book that they move to.
Case = collections.namedtuple("Case", "name books homes wallets room transfers cancels moves")
# What a book's chain makes of it.
Book = collections.namedtuple("Book", "wallets keys clearing closed")
# `floats`: appends in doubt, as (book, number, entry). `messages`: everything ever sent. `done`: what a courier has
# remembered (only where that is broken).
State = collections.namedtuple("State", "chains floats messages done")

ALICE, BOB, CAROL = "alice", "bob", "carol"
SMALL = [
    Case("one transfer, with a cancel", 2, {ALICE: 0, BOB: 1}, {ALICE: 5, BOB: 0}, 9,
         (Transfer("t", ALICE, BOB, 3),), True, {}),
    Case("one transfer that has no room", 2, {ALICE: 0, BOB: 1}, {ALICE: 5, BOB: 8}, 9,
         (Transfer("t", ALICE, BOB, 3),), True, {}),
    Case("two transfers of the same currency", 2, {ALICE: 0, BOB: 1}, {ALICE: 5, BOB: 0}, 9,
         (Transfer("t", ALICE, BOB, 3), Transfer("u", ALICE, BOB, 3)), False, {}),
    Case("there and back again", 2, {ALICE: 0, BOB: 1}, {ALICE: 3, BOB: 0}, 9,
         (Transfer("t", ALICE, BOB, 3), Transfer("u", BOB, ALICE, 3)), False, {}),
    Case("the receiver moves to a third book", 3, {ALICE: 0, BOB: 1}, {ALICE: 5, BOB: 0}, 9,
         (Transfer("t", ALICE, BOB, 3),), False, {BOB: 2}),
    Case("the sender moves, and there is no room", 3, {ALICE: 0, BOB: 1}, {ALICE: 5, BOB: 8}, 9,
         (Transfer("t", ALICE, BOB, 3),), False, {ALICE: 2}),
    Case("no room until another transfer leaves", 2, {ALICE: 0, BOB: 1}, {ALICE: 5, BOB: 8}, 9,
         (Transfer("t", ALICE, BOB, 3), Transfer("u", BOB, ALICE, 3)), False, {}),
    Case("two to a receiver that has room for one, and moves", 3, {ALICE: 0, BOB: 1, CAROL: 2},
         {ALICE: 5, BOB: 5, CAROL: 5}, 9, (Transfer("t", ALICE, BOB, 3), Transfer("u", CAROL, BOB, 3)), True, {BOB: 0}),
    Case("three in a ring", 3, {ALICE: 0, BOB: 1, CAROL: 2}, {ALICE: 3, BOB: 0, CAROL: 0}, 9,
         (Transfer("t", ALICE, BOB, 3), Transfer("u", BOB, CAROL, 3), Transfer("v", CAROL, ALICE, 3)), True, {}),
]

# Of so many states of a case it is seen what they end in; of the others, of one in 64.
ENDS_MAX = 2_000


class Fault(Exception):
    """What must not be."""


def large(seed, transfers=14, books=4, accounts=8):
    """A case that is too large to look at every state of it."""
    generator = random.Random(seed)
    names = [f"a{number}" for number in range(accounts)]
    homes = {name: generator.randrange(books) for name in names}
    wallets = {name: generator.randrange(0, 8) for name in names}
    pairs = [(generator.choice(names), generator.choice(names)) for _ in range(transfers)]
    moved = generator.sample(names, 2)
    return Case(
        "random", books, homes, wallets, 12,
        tuple(Transfer(f"t{number}", sender, receiver, generator.randrange(1, 6))
              for number, (sender, receiver) in enumerate(pairs) if sender != receiver),
        True, {name: generator.choice([book for book in range(books) if book != homes[name]]) for name in moved})


# MARK: A book


class World:
    """The rules, whole or with one broken."""

    def __init__(self, case, broken=None):
        self.case = case
        self.broken = broken
        self.transfers = {transfer.key: transfer for transfer in case.transfers}
        self.total = sum(case.wallets.values())
        self.book = functools.lru_cache(maxsize=200_000)(self._book)

    def first(self):
        messages = {("out", transfer.key, "out:" + transfer.key) for transfer in self.case.transfers}
        messages |= {("move", account, "move:" + account, self.case.homes[account]) for account in self.case.moves}
        return State(((),) * self.case.books, frozenset(), frozenset(messages), frozenset())

    def _book(self, number, chain):
        """What a chain makes of a book: everything is computed from the blocks, as a leader does that takes over."""
        if not chain:
            wallets = {name: self.case.wallets[name] for name, home in self.case.homes.items() if home == number}
            return Book(wallets, {}, 0, {})
        before = self.book(number, chain[:-1])
        entry = chain[-1]
        kind, what, key, answer = entry[:4]
        wallets, keys, closed = dict(before.wallets), dict(before.keys), dict(before.closed)
        clearing = before.clearing
        keys[key] = entry
        if answer == "posted":
            transfer = self.transfers.get(what)
            amount = transfer.amount if transfer else 0
            if kind == "out":
                wallets[transfer.sender] = wallets.get(transfer.sender, 0) - amount
                clearing += amount
            elif kind == "in":
                wallets[transfer.receiver] = wallets.get(transfer.receiver, 0) + amount
                clearing -= amount
            elif kind == "back":
                wallets[transfer.sender] = wallets.get(transfer.sender, 0) + amount
                clearing -= amount
            elif kind == "move":
                clearing += wallets.pop(what, 0)
                closed[what] = entry
            elif kind == "arrive":
                _, _, _, _, balance, carried = entry
                wallets[what] = wallets.get(what, 0) + balance
                clearing -= balance
                for old in carried:
                    keys.setdefault(old[2], old)
        return Book(wallets, keys, clearing, closed)

    def account(self, message):
        """Whose wallet a message is about."""
        kind, what = message[:2]
        if kind in ("move", "arrive"):
            return what
        transfer = self.transfers[what]
        return transfer.receiver if kind in ("in", "cancel") else transfer.sender

    def decide(self, number, chain, message):
        """What a leader makes of a message: the entry to append, or None, and the answer, or None. Pure."""
        kind, what, key = message[:3]
        book = self.book(number, chain)
        if key in book.keys:
            return None, ("answer", key, book.keys[key][3])
        account = self.account(message)
        if kind == "arrive":
            if message[3] != number:
                return None, None
            return (kind, what, key, "posted", message[4], message[5]), ("answer", key, "posted")
        if account not in book.wallets:
            # Closed here, or not here yet: no answer that a key keeps. The sender looks for the account's book again.
            if not (self.broken == "open-early" and account not in book.closed and kind == "in"
                    and self.case.moves.get(account) == number):
                return None, None
        if kind == "move":
            if message[3] != number and self.broken != "move-anywhere":
                return None, None
            balance = book.wallets[account]
            carried = () if self.broken == "keys-stay" else tuple(sorted(
                (entry for entry in book.keys.values() if self.account((entry[0], entry[1])) == account), key=str))
            return (kind, what, key, "posted", balance, carried), ("answer", key, "posted")
        transfer = self.transfers[what]
        if kind == "out":
            answer = "posted" if book.wallets[account] >= transfer.amount else "refused"
        elif kind == "in":
            answer = "posted" if book.wallets.get(account, 0) + transfer.amount <= self.case.room else "refused"
            if answer == "refused" and self.broken == "refusal-not-kept":
                return None, ("answer", key, "refused")
        elif kind == "cancel":
            answer = "refused"
        else:
            # What was taken out always fits again: a wallet's room counts what is under way from it.
            answer = "posted"
        return (kind, what, key, answer), ("answer", key, answer)

    # MARK: What can happen

    def steps(self, state):
        """Everything that can happen next, with its name."""
        for message in sorted(self.duties(state) - state.messages, key=str):
            yield "send " + " ".join(map(str, message[:3])), state._replace(messages=state.messages | {message})
        if self.broken == "cursor-first":
            for message in sorted(self.outs(state) - state.done, key=str):
                yield f"remember {message}", state._replace(done=state.done | {message})
        for message in sorted(state.messages, key=str):
            if message[0] == "answer":
                continue
            for number in range(self.case.books):
                entry, answer = self.decide(number, state.chains[number], message)
                if entry is None:
                    if answer is not None and answer not in state.messages:
                        yield f"repeat {message[2]}", state._replace(messages=state.messages | {answer})
                    continue
                name = f"{message[0]} {message[1]} in book {number}"
                appended = self.appended(state, number, entry)
                yield name, appended._replace(messages=appended.messages | {answer})
                yield name + ", answer lost", appended
                float_ = (number, len(state.chains[number]) + 1, entry)
                if float_ not in state.floats:
                    yield name + ", in doubt", state._replace(floats=state.floats | {float_})
        for float_ in sorted(state.floats, key=str):
            number, place, entry = float_
            if place == len(state.chains[number]) + 1 or self.broken == "no-fence":
                landed = self.appended(state._replace(floats=state.floats - {float_}), number, entry)
                yield f"{entry[0]} {entry[1]} comes to be in book {number}", landed

    def appended(self, state, number, entry):
        """The state with a block more. Appends in doubt whose number is taken never come to be."""
        chains = list(state.chains)
        chains[number] = chains[number] + (entry,)
        floats = state.floats
        if self.broken != "no-fence":
            floats = frozenset(f for f in floats if f[0] != number or f[1] > len(chains[number]))
        return state._replace(chains=tuple(chains), floats=floats)

    def outs(self, state):
        """The keys of the transfers that are durable in the senders' books."""
        return {entry[1] for chain in state.chains for entry in chain if entry[0] == "out" and entry[3] == "posted"}

    def duties(self, state):
        """What couriers send, from nothing but what is durable and the answers that came."""
        found = set()
        outs = self.outs(state)
        if self.broken == "early":
            outs |= {f[2][1] for f in state.floats if f[2][0] == "out" and f[2][3] == "posted"}
        for key in outs - (state.done if self.broken == "cursor-first" else set()):
            tries = range(2) if self.broken == "new-key" else (0,)
            for attempt in tries:
                found.add(("in", key, f"in:{key}" + (f":{attempt}" if attempt else "")))
            if self.case.cancels:
                found.add(("cancel", key, f"in:{key}"))
            refused = ("answer", f"in:{key}", "refused") in state.messages
            if self.broken == "back-on-timeout":
                refused = True
            if self.broken == "back-on-look":
                refused = not any(
                    entry[2] == f"in:{key}" and entry[3] == "posted" for chain in state.chains for entry in chain)
            if refused:
                found.add(("back", key, f"back:{key}"))
        for chain in state.chains:
            for entry in chain:
                if entry[0] == "move":
                    found.add(("arrive", entry[1], f"arrive:{entry[1]}", self.case.moves[entry[1]], entry[4], entry[5]))
        return found

    # MARK: What must hold

    def assert_all(self, state):
        legs = collections.Counter()
        clearing = held = 0
        for number, chain in enumerate(state.chains):
            book = self.book(number, chain)
            clearing += book.clearing
            held += sum(book.wallets.values())
            if min(book.wallets.values(), default=0) < 0:
                raise Fault("a wallet is below zero")
            for entry in chain:
                if entry[3] == "posted":
                    legs[entry[0], entry[1]] += 1
        way = 0
        for key, transfer in self.transfers.items():
            outs, ins, backs = (legs[kind, key] for kind in ("out", "in", "back"))
            if outs > 1:
                raise Fault(f"{key} was sent twice")
            if ins + backs > 1:
                raise Fault(f"{key} ended {ins} times with the receiver and {backs} times with the sender")
            if ins + backs > outs:
                raise Fault(f"{key} was received and never sent")
            way += transfer.amount * (outs - ins - backs)
        for chain in state.chains:
            for entry in chain:
                if entry[0] == "move" and not legs["arrive", entry[1]]:
                    way += entry[4]
        for account in self.case.moves:
            if legs["move", account] > 1 or legs["arrive", account] > legs["move", account]:
                raise Fault(f"{account} moved twice, or arrived without having moved")
        if held + clearing != self.total:
            raise Fault(f"{held} in wallets and {clearing} in clearing are not {self.total}")
        if clearing != way:
            raise Fault(f"{clearing} in clearing where {way} is under way")
        answers = {}
        for message in state.messages:
            if message[0] == "answer" and answers.setdefault(message[1], message[2]) != message[2]:
                raise Fault(f"two answers of {message[1]}")
        return clearing

    def drained(self, state):
        """The state after everything was delivered, in an order of its own, and nothing failed."""
        for _ in range(1_000):
            before = state
            # A courier that lost its cursor to a crash sends nothing of what it remembers.
            state = state._replace(floats=frozenset(), messages=state.messages | frozenset(
                m for m in self.duties(state) if m[0] != "cancel"))
            for message in sorted(state.messages, key=str):
                if message[0] in ("answer", "cancel"):
                    continue
                for number in range(self.case.books):
                    entry, answer = self.decide(number, state.chains[number], message)
                    if entry is not None:
                        state = self.appended(state, number, entry)
                    if answer is not None:
                        state = state._replace(messages=state.messages | {answer})
            if state == before:
                return state
        raise Fault("it does not come to an end")

    def assert_end(self, state):
        end = self.drained(state)
        if self.assert_all(end) != 0:
            raise Fault("something stays in clearing for ever")


# MARK: Looking


def trail(parents, state):
    names = []
    while parents[state] is not None:
        state, name = parents[state]
        names.append(name)
    return list(reversed(names))


def look_at_all(case, broken, states_max):
    """Every state of a case, the shortest way first; then what each of them ends in. Gives back how many states, how
    many steps, the fault, if any, and whether these were all states."""
    world = World(case, broken)
    first = world.first()
    parents = {first: None}
    queue = collections.deque([first])
    steps = 0
    while queue:
        state = queue.popleft()
        try:
            world.assert_all(state)
        except Fault as fault:
            return len(parents), steps, (str(fault), trail(parents, state)), False
        for name, after in world.steps(state):
            steps += 1
            if after not in parents and len(parents) < states_max:
                parents[after] = (state, name)
                queue.append(after)
    for number, state in enumerate(parents):
        # Of many states some, or it takes too long.
        if number >= ENDS_MAX and number % 64:
            continue
        try:
            world.assert_end(state)
        except Fault as fault:
            return len(parents), steps, (str(fault), trail(parents, state)), False
    return len(parents), steps, None, len(parents) < states_max


def walk(seed, broken, length, counts):
    """A random life of a larger case. Gives back the fault, if any."""
    generator = random.Random(seed)
    world = World(large(seed), broken)
    state = world.first()
    said = []
    cut = generator.randrange(length)
    received = sent = None
    try:
        for number in range(length):
            choices = list(world.steps(state))
            if not choices:
                break
            # What fails is rarer than what does not, or nothing would ever end.
            weights = [1 if "doubt" in name or "lost" in name or "repeat" in name else 4 for name, _ in choices]
            name, state = generator.choices(choices, weights)[0]
            said.append(name)
            counts["steps"] += 1
            counts["in doubt"] += "in doubt" in name
            counts["in doubt, and there later"] += "comes to be" in name
            counts["answers lost"] += "answer lost" in name
            counts["repetitions answered"] += "repeat" in name
            world.assert_all(state)
            if number == cut:
                received, sent = legs(state, "in"), legs(state, "out")
        if received is not None:
            if not received <= legs(state, "out"):
                raise Fault("the cut of the receivers shows what the later one of the senders does not")
            # The other way round an auditor sees what nobody sent.
            counts["false alarms of cuts taken the other way round"] += not legs(state, "in") <= sent
        world.assert_end(state)
    except Fault as fault:
        return str(fault), said
    for kind, what in (("out", "sent"), ("in", "received"), ("back", "given back")):
        counts["transfers " + what] += len(legs(state, kind))
    return None


def legs(state, kind):
    return {entry[1] for chain in state.chains for entry in chain if entry[0] == kind and entry[3] == "posted"}


def run(broken, seed, walks, states_max, told=True):
    """Both kinds of looking. Gives back the first fault, if any."""
    for case in SMALL:
        begin = time.monotonic()
        states, steps, fault, whole = look_at_all(case, broken, states_max)
        if told:
            print(f"{case.name}: {states:,} states{'' if whole or fault else ' (not all)'}, {steps:,} steps, "
                  f"{time.monotonic() - begin:.1f} s: {'holds' if fault is None else fault[0]}")
        if fault:
            return fault
    counts = collections.Counter()
    begin = time.monotonic()
    for number in range(walks):
        fault = walk(seed + number, broken, 120, counts)
        if fault:
            if told:
                print(f"walk of seed {seed + number}, after {len(fault[1])} steps: {fault[0]}")
            return fault
    if told:
        print(f"{walks:,} walks of 120 steps from seed {seed} on, {time.monotonic() - begin:.1f} s: holds")
        for name, count in sorted(counts.items()):
            print(f"    {count:9,} {name}")
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--break", dest="broken", choices=sorted(BROKEN), help="break this step on purpose")
    parser.add_argument("--check", action="store_true", help="the protocol as it is, and with each step broken")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--walks", type=int, default=1_000)
    parser.add_argument("--states", type=int, default=150_000, help="look at so many states of a case at most")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}")
    if not arguments.check:
        fault = run(arguments.broken, arguments.seed, arguments.walks, arguments.states)
        for step in fault[1] if fault else []:
            print("    " + step)
        return int((fault is None) == (arguments.broken is not None))
    failures = 0
    fault = run(None, arguments.seed, arguments.walks, arguments.states)
    failures += fault is not None
    for name, what in sorted(BROKEN.items()):
        fault = run(name, arguments.seed, arguments.walks, arguments.states, told=False)
        found = f"found after {len(fault[1])} steps: {fault[0]}" if fault else "NOT FOUND"
        print(f"broken: {what}: {found}")
        failures += fault is None
    print("all as it should be" if failures == 0 else f"{failures} are not as they should be")
    return int(failures != 0)


if __name__ == "__main__":
    sys.exit(main())
