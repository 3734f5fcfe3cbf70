#!/usr/bin/env python3
"""Measures what an honest client's latency is while another client does its worst.

    attacks.py attack --binary PATH --work FOLDER --pin --runs 3 --out runs.jsonl
    attacks.py attack --binary PATH --work FOLDER --client-first --runs 3 --out runs.jsonl
    attacks.py attack --binary PATH --work FOLDER --client-first --beside --runs 3 --out runs.jsonl
    attacks.py overload --binary PATH --work FOLDER --pin --out runs.jsonl
    attacks.py table runs.jsonl

`attack` starts a service for each run, on a copy of a ledger that it fills once (tens of thousands of players, some
hundred thousand entries), loads it with `currency-ledger load` at a fixed rate (the honest client, with a token of its
own), and has other clients attack it meanwhile, with tokens of their own or with none. The latency of the honest
client, its errors, and the service's memory and processor time are recorded, one line of JSON a run. The attack begins
when the honest client begins to measure, and ends with it.

`overload` finds what the service can sustain, and then offers it twice as much.

`table` prints medians of recorded runs, and the ratio of each 99th percentile to that of quiet in the same series.
"others" is the part of the service's core that other processes had: where that is much, the run says little.

With --beside the attackers attack a second service, of the same build and with a copy of the same ledger, on the same
machine: what the honest client waits for then it waits for because the machine is shared, and not the service.

With --client-first the honest client has a core whenever it wants one (SCHED_FIFO, which needs CAP_SYS_NICE): it stands
for one on a machine of its own. Otherwise most of what is measured beside an attack that keeps the cores busy is how
long the client itself waits for a core.

With --sync-milliseconds a sync of the services takes at least so long (`slow_sync.c`, which needs a C compiler), as on
a disk across a network: what is waited for beside an attack is held against what is waited for anyway.

With --pin the service has the first core alone, and the generator and the attackers share the second, where the
attackers run only when the generator does not (SCHED_IDLE): a shared core would measure the scheduler. What is random
has a seed, which is printed. Everything is bounded in number and time, and nothing but 127.0.0.1 is spoken to. Needs
Linux and Python 3.9; no packages.
"""
import argparse
import base64
import collections
import contextlib
import errno
import fcntl
import itertools
import json
import multiprocessing
import os
import pathlib
import random
import re
import resource
import selectors
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

HOST = "127.0.0.1"
# The ledger that is filled once.
PLAYERS = 60_000
FIRST_PLAYER = 1_000_000
SPENDS = 140_000
# One player with a long history.
WHALE = "whale"
WHALE_ENTRIES = 20_000
# The sandbox chain gets its table of multiples after some hundred good signatures; so many are sent before each run.
PRIMING_CREDITS = 1_500
# Seconds after which a run is given up.
RUN_SECONDS_MAX = 60
# Bytes that a connection of an attacker has written ahead.
UNSENT_BYTES_MAX = 128 << 10
# Roles of the tokens that a service is started with.
TOKENS = {
    "honest-purchases": "purchases", "honest-game": "game", "attack-purchases": "purchases", "attack-game": "game",
    "attack-finance": "finance",
}
CONNECTING = (errno.EINPROGRESS, errno.EAGAIN)


def request(method, params, number=1):
    """A request as a line, with its end."""
    return json.dumps(
        {"jsonrpc": "2.0", "id": number, "method": method, "params": params}, separators=(",", ":")).encode() + b"\n"


def batch(method, all_params):
    """Requests as one line, with its end."""
    return b"[" + b",".join(request(method, params)[:-1] for params in all_params) + b"]\n"


class Fault(Exception):
    """What ends the program with a message."""


# MARK: What attackers send


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def from_base64url(text):
    return base64.urlsafe_b64decode(text + b"=" * (-len(text) % 4))


class ForgedSignatures:
    """A genuine purchase with signatures of random numbers, each another one."""

    def __init__(self, jws, generator, count=2_048):
        signed = jws.rsplit(b".", 1)[0].decode()
        self.lines = itertools.cycle([
            request("credit", {
                "signedTransaction": f"{signed}.{base64url(generator.randbytes(64)).decode()}", "account": "storm"})
            for _ in range(count)
        ])

    def __call__(self, room):
        count = min(room, 16)
        return b"".join(itertools.islice(self.lines, count)), count


class ForgedCertificates:
    """A genuine purchase of which the intermediate's certificate or the leaf's is changed in its signature, each in
    another way: nobody can have seen it before."""

    numbers = itertools.count(1)

    def __init__(self, jws):
        header, self.payload, self.signature = jws.split(b".")
        self.header = json.loads(from_base64url(header))
        self.chain = [base64.b64decode(text) for text in self.header["x5c"]]

    def line(self):
        number = next(self.numbers)
        place = number % 2
        der = bytearray(self.chain[place])
        for index, byte in enumerate((number & 0xFFFFFFFF).to_bytes(4, "big")):
            der[len(der) - 4 + index] ^= byte
        x5c = list(self.header["x5c"])
        x5c[place] = base64.b64encode(der).decode()
        header = base64url(json.dumps(dict(self.header, x5c=x5c), separators=(",", ":")).encode())
        return request("credit", {
            "signedTransaction": b".".join((header, self.payload, self.signature)).decode(), "account": "storm"})

    def __call__(self, room):
        count = min(room, 4)
        return b"".join(self.line() for _ in range(count)), count


class Cycle:
    """The same chunks again and again, from a random place on."""

    def __init__(self, chunks, generator):
        start = generator.randrange(len(chunks))
        # An empty line is not answered.
        self.chunks = itertools.cycle([
            (chunk, sum(1 for line in chunk.split(b"\n") if line.strip())) for chunk in chunks[start:] + chunks[:start]
        ])

    def __call__(self, _):
        return next(self.chunks)


class Spends:
    """Spends under ever new keys, of players that are mostly not in the service's cache."""

    def __init__(self, generator):
        self.generator = generator
        self.prefix = generator.randbytes(8).hex().encode()
        self.number = 0

    def __call__(self, room):
        count = min(room, 64)
        lines = []
        for _ in range(count):
            self.number += 1
            player = FIRST_PLAYER + int(self.generator.random() * PLAYERS)
            lines.append(
                b'{"jsonrpc":"2.0","id":1,"method":"spend","params":{"key":"%s-%d","account":"load-%07d",'
                b'"debits":[{"currency":"gems","amount":1}]}}\n' % (self.prefix, self.number, player))
        return b"".join(lines), count


class Guesses:
    """Tokens that look like tokens."""

    def __init__(self, generator):
        self.generator = generator

    def __call__(self, room):
        lines = [
            request("authenticate", {"token": "clt_" + base64url(self.generator.randbytes(32)).decode()})
            for _ in range(room)
        ]
        return b"".join(lines), len(lines)


def report_chunks(filled):
    """Reports and reads of the deep past, of every kind that walks far."""
    early = filled["begin"] + (filled["end"] - filled["begin"]) // 3
    last = filled["entries"]
    lines = []
    for step in range(8):
        account = 1 + step * PLAYERS // 8
        lines += [
            request("report", {"kind": "debts", "limit": 1}),
            request("report", {"kind": "debts", "limit": 4_000, "asOf": early, "after": f"debts.{account}.0"}),
            request("report", {"kind": "balances", "limit": 4_000, "asOf": early, "after": f"balances.{account}.0"}),
            request("report", {"kind": "balances", "limit": 4_000, "asOf": early}),
            request("report", {"kind": "trial", "asOf": early + step * 1_000}),
            request("report", {"kind": "trial"}),
            request("history", {"account": WHALE, "limit": 1_000, "before": last - step * WHALE_ENTRIES // 8}),
            request("history", {"account": WHALE, "limit": 1, "before": last - WHALE_ENTRIES + 10 + step}),
            request("balance", {"account": WHALE, "asOf": early}),
            request("journal", {"after": step * last // 8, "limit": 1_000}),
        ]
    return lines


def bad_chunks(generator, is_stranger):
    """Lines that no service should take, some dozens of each kind together."""
    spend = {"key": "k", "account": "a", "debits": [{"currency": "gems", "amount": 1}]}
    wrong = [
        dict(spend, key=1), dict(spend, debits=[]), dict(spend, amount=1), dict(spend, account=None),
        dict(spend, debits=[{"currency": "gems", "amount": 1.5}]), dict(spend, debits={"gems": 1}), [1], "text",
    ]
    chunks = [
        b"".join(request("spend", params) for params in wrong) * 8,
        b'{"jsonrpc":"2.0","id":1,"method":"spend","params":{"key":\n' * 64,
        b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}\n' * 64,
        b"[" * 4_000 + b"\n",
        b'{"a":' * 1_000 + b"\n",
        b'{"jsonrpc":"2.0","id":"\\ud800","method":"\xff\xfe"}\n' * 64,
        b"GET / HTTP/1.1\r\nHost: ledger\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + generator.randbytes(200) + b"\n",
        b"1e999999999\n" * 64 + b'"' + b"\\u0000" * 1_000 + b'"\n',
        request("no_such_method", {}) * 64,
    ]
    if not is_stranger:
        chunks += [
            b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"spend","params":{"key":7}}'] * 1_000) + b"]\n",
            b"[" + b",".join([b"1"] * 1_001) + b"]\n",
            b'"' + b"x" * 900_000 + b'"\n',
        ]
    chunks.append(b"x" * (1 << 20) + b"xxxx\n")
    return chunks


# MARK: Attackers


class Member:
    """One connection of an attack, which is made again when it is closed."""

    def __init__(self, source=None, token=None, window=1, reads=True, address=None, chunks_max=None, reply_bytes=None):
        """source: called with the room that there is; gives bytes and how many replies they are worth.
        window: requests without a reply.
        reads: whether replies are read; otherwise it writes until nobody takes anything.
        address: whence it comes.
        chunks_max: chunks after which it closes the connection by itself.
        reply_bytes: the size of its receive buffer."""
        self.source, self.token, self.window, self.reads = source, token, window, reads
        self.address, self.chunks_max, self.reply_bytes = address, chunks_max, reply_bytes
        self.socket = None
        self.interest = 0
        self.reset()

    def reset(self):
        self.unsent = bytearray()
        self.in_flight = 0
        self.chunks = 0
        self.is_connected = False
        if self.token:
            self.unsent += request("authenticate", {"token": self.token}, 0)
            self.in_flight = 1

    @property
    def room(self):
        if self.source is None or len(self.unsent) >= UNSENT_BYTES_MAX:
            return 0
        if self.chunks_max is not None and self.chunks >= self.chunks_max:
            return 0
        return self.window - self.in_flight if self.reads else self.window


class Swarm:
    """All connections of an attack, on one thread."""

    def __init__(self, port, members):
        self.port = port
        self.members = members
        self.selector = selectors.DefaultSelector()
        self.counts = collections.Counter()
        self.reasons = collections.Counter()
        self.closed = []

    def run(self, stop, seconds):
        begin = time.monotonic()
        for member in self.members:
            self.open(member)
        while not stop.is_set() and time.monotonic() - begin < seconds:
            for key, events in self.selector.select(0.05):
                member = key.data
                try:
                    if events & selectors.EVENT_READ:
                        self.receive(member)
                    if member.socket and events & selectors.EVENT_WRITE:
                        self.send(member)
                except OSError as error:
                    self.counts["failed"] += 1
                    self.reasons[errno.errorcode.get(error.errno, str(error))] += 1
                    self.close(member)
            again, self.closed = self.closed, []
            for member in again:
                self.open(member)
        elapsed = time.monotonic() - begin
        for member in self.members:
            if member.socket:
                member.socket.close()
        return {
            "seconds": elapsed, "counts": dict(self.counts), "reasons": dict(self.reasons.most_common(8)),
            "cpu": time.process_time() / elapsed,
        }

    def open(self, member):
        member.reset()
        try:
            member.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            member.socket.setblocking(False)
            if member.reply_bytes:
                member.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, member.reply_bytes)
            if member.address:
                # IP_BIND_ADDRESS_NO_PORT: the port is chosen when it connects.
                member.socket.setsockopt(socket.IPPROTO_IP, 24, 1)
                member.socket.bind((member.address, 0))
            code = member.socket.connect_ex((HOST, self.port))
        except OSError as error:
            code = error.errno
        if code not in (0, *CONNECTING):
            self.reasons[errno.errorcode.get(code, str(code))] += 1
            self.counts["failed"] += 1
            if member.socket:
                member.socket.close()
            member.socket = None
            self.closed.append(member)
            return
        self.counts["connections"] += 1
        member.interest = selectors.EVENT_READ | selectors.EVENT_WRITE
        self.selector.register(member.socket, member.interest, member)

    def close(self, member):
        self.selector.unregister(member.socket)
        member.socket.close()
        member.socket = None
        self.closed.append(member)

    def receive(self, member):
        data = member.socket.recv(256 << 10)
        if not data:
            self.counts["cut"] += 1
            self.close(member)
            return
        lines = data.count(b"\n")
        self.counts["replies"] += lines
        self.counts["errors"] += data.count(b'"error":')
        self.counts["replyBytes"] += len(data)
        if self.counts["replies"] % 16 < lines:
            self.reasons.update(match.decode() for match in re.findall(rb'"reason":"(\w+)"', data[:4_096]))
        member.in_flight -= lines
        if member.in_flight <= 0 and member.chunks_max is not None and member.chunks >= member.chunks_max:
            self.close(member)
            return
        if member.room > 0:
            self.send(member)

    def send(self, member):
        if not member.is_connected:
            code = member.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
            if code:
                raise OSError(code, os.strerror(code))
            member.is_connected = True
        while True:
            while (room := member.room) > 0:
                data, lines = member.source(room)
                member.unsent += data
                member.chunks += 1
                member.in_flight += lines
                self.counts["requests"] += lines
            if not member.unsent:
                break
            try:
                sent = member.socket.send(member.unsent)
            except BlockingIOError:
                break
            self.counts["sentBytes"] += sent
            del member.unsent[:sent]
            if member.unsent:
                break
        self.watch(member, selectors.EVENT_READ | (selectors.EVENT_WRITE if member.unsent else 0))

    def watch(self, member, interest):
        if interest != member.interest:
            member.interest = interest
            self.selector.modify(member.socket, interest, member)


class SlowSwarm(Swarm):
    """Connections whose replies stay unread."""

    def receive(self, member):
        if member.socket.recv(1, socket.MSG_PEEK) == b"":
            self.counts["cut"] += 1
            self.close(member)
            return
        # There is something to be read from now on. What is closed then tells so when it is written to.
        self.watch(member, selectors.EVENT_WRITE)

    def watch(self, member, interest):
        is_answered = member.interest == selectors.EVENT_WRITE
        super().watch(member, selectors.EVENT_WRITE if is_answered else interest)


def loopback(number):
    """Whence a connection comes: all of 127.0.0.0/8 is this machine."""
    return f"127.0.0.{2 + number % 64}"


def members_of(attack, context):
    """The connections of an attack."""
    generator = random.Random(context["seed"])
    tokens, jws = context["tokens"], context["jws"].encode()
    if attack == "forged-signatures":
        return [Member(ForgedSignatures(jws, generator), tokens["attack-purchases"], window=256) for _ in range(4)]
    if attack == "forged-certificates":
        source = ForgedCertificates(jws)
        return [Member(source, tokens["attack-purchases"], window=128) for _ in range(4)]
    if attack == "reports":
        chunks = report_chunks(context["filled"])
        return [Member(Cycle(chunks, generator), tokens["attack-finance"], window=4) for _ in range(8)]
    if attack == "slow-readers":
        page = {"account": WHALE, "limit": 1_000}
        short = [{"account": WHALE, "limit": 30}] * 100
        sources = [
            [batch("history", [page] * 1_000)], [request("history", page)], [batch("history", short)],
            [batch("balance", [{"account": f"load-{FIRST_PLAYER + step:07d}"} for step in range(1_000)])],
        ]
        return [
            Member(Cycle(sources[number % 4], generator), tokens["attack-game"], reads=False, reply_bytes=4_096)
            for number in range(128)
        ]
    if attack == "bad-lines":
        known, unknown = bad_chunks(generator, False), bad_chunks(generator, True)
        return [
            Member(Cycle(known, generator), tokens["attack-game"], window=256, chunks_max=20) for _ in range(32)
        ] + [
            Member(Cycle(unknown, generator), None, window=256, chunks_max=20, address=loopback(number))
            for number in range(32)
        ]
    if attack == "connection-flood":
        return [Member(address=loopback(number)) for number in range(2_500)]
    if attack == "token-guessing":
        return [Member(Guesses(generator), window=3, address=loopback(number)) for number in range(64)]
    if attack == "spends-flood":
        source = Spends(generator)
        return [Member(source, tokens["attack-game"], window=500) for _ in range(8)]
    raise Fault(f"there is no attack {attack}")


ATTACKS = (
    "quiet", "forged-signatures", "forged-certificates", "reports", "slow-readers", "bad-lines", "connection-flood",
    "token-guessing", "spends-flood")


def run_attack(attack, context, ready, begin, stop, results):
    """The attackers' process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if context["cores"]:
        os.sched_setaffinity(0, {context["cores"][1]})
    # Behind the honest client, which is to be measured and not to be starved by its neighbour on the same core.
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8_192), hard))
    kind = SlowSwarm if attack == "slow-readers" else Swarm
    swarm = kind(context["port"], members_of(attack, context))
    ready.set()
    begin.wait(RUN_SECONDS_MAX)
    results.send(swarm.run(stop, RUN_SECONDS_MAX))
    results.close()


# MARK: The service


class Line:
    """An honest connection that asks for one thing after the other."""

    def __init__(self, port, token):
        self.socket = socket.create_connection((HOST, port), 20)
        self.file = self.socket.makefile("rb")
        self.ask([request("authenticate", {"token": token})])

    def ask(self, lines):
        """Sends lines, some at a time; the replies must be no errors."""
        for start in range(0, len(lines), 100):
            part = lines[start:start + 100]
            self.socket.sendall(b"".join(part))
            for _ in part:
                reply = self.file.readline()
                if b'"error":' in reply[:2_000] or not reply:
                    raise Fault(f"the service answered {reply[:300]}")
        return json.loads(reply)

    def close(self):
        self.file.close()
        self.socket.close()


class Service:
    """A service with a ledger of its own."""

    def __init__(self, binary, config, log, cores, more):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("LEDGER_")}
        environment.update(more)
        self.log = log
        with open(log, "wb") as output:
            self.process = subprocess.Popen(
                [binary, "serve", "--create", "--config", config], stdin=subprocess.DEVNULL, stdout=output,
                stderr=output, env=environment,
                preexec_fn=(lambda: os.sched_setaffinity(0, {cores[0]})) if cores else None)
        self.pid = self.process.pid
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            found = re.search(r"addresses=(\S+:(\d+))", pathlib.Path(log).read_text(errors="replace"))
            if found:
                self.port = int(found.group(2))
                return
            time.sleep(0.02)
        self.discard()
        raise Fault(f"the service did not start: {pathlib.Path(log).read_text(errors='replace')[-2000:]}")

    def memory(self):
        """Resident bytes, and their peak."""
        try:
            text = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        except OSError:
            return None, None
        sizes = [re.search(rf"{name}:\s+(\d+) kB", text) for name in ("VmRSS", "VmHWM")]
        return tuple(int(size.group(1)) * 1_024 if size else None for size in sizes)

    def stop(self):
        """Ends it as an operator does. Its status, and how long it took."""
        begin = time.monotonic()
        if self.process.poll() is None:
            self.process.terminate()
        try:
            status = self.process.wait(15)
        except subprocess.TimeoutExpired:
            self.discard()
            status = "did not end"
        return status, time.monotonic() - begin

    def discard(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Core:
    """How much of the service's core others than the service had, where it should have it alone."""

    def __init__(self, number, pid):
        self.number, self.pid = number, pid
        self.begin = None

    def now(self):
        """The time, and seconds of work on the core and of the service."""
        fields = re.search(rf"^cpu{self.number} (.*)$", pathlib.Path("/proc/stat").read_text(), re.M).group(1).split()
        user, nice, system, _, _, interrupts, soft, stolen = map(int, fields[:8])
        own = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        tick = os.sysconf("SC_CLK_TCK")
        return (
            time.monotonic(), (user + nice + system + interrupts + soft + stolen) / tick,
            (int(own[11]) + int(own[12])) / tick)

    def start(self):
        self.begin = self.now()

    def foreign(self):
        """The part of the core that others had since `start`; steps are of 10 ms."""
        if self.begin is None:
            return None
        elapsed, busy, own = (now - before for now, before in zip(self.now(), self.begin))
        return round(max(0.0, busy - own) / elapsed, 3)


class Bench:
    """What all runs share: the chain, the tokens, and the filled ledger that each run gets a copy of."""

    def __init__(self, options):
        self.options = options
        self.binary = str(pathlib.Path(options.binary).resolve())
        self.label = options.label or pathlib.Path(self.binary).name
        self.work = pathlib.Path(options.work).resolve() / self.label
        self.work.mkdir(parents=True, exist_ok=True)
        self.cores = None
        if options.pin:
            cores = sorted(os.sched_getaffinity(0))
            if len(cores) < 2:
                raise Fault("--pin needs two cores")
            self.cores = cores[:2]
        self.chain = self.work / "chain"
        if not self.chain.exists():
            self.call("sandbox", "init", str(self.chain))
        self.environment = self.slow_syncs()
        self.jws = self.call("sandbox", "sign", str(self.chain), "--transaction-id", "4711").strip()
        self.configure()

    def call(self, *arguments):
        done = subprocess.run([self.binary, *arguments], capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise Fault(f"{' '.join(arguments[:2])}: {done.stderr.strip()}")
        return done.stdout

    def slow_syncs(self):
        """What a service's environment has more, where its syncs take at least a time."""
        if not self.options.sync_milliseconds:
            return {}
        library = self.work / "slow_sync.so"
        source = pathlib.Path(__file__).with_name("slow_sync.c")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        microseconds = int(self.options.sync_milliseconds * 1_000)
        return {"LD_PRELOAD": str(library), "SLOW_SYNC_MICROSECONDS": str(microseconds)}

    def configure(self):
        catalog = {"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}
        (self.work / "catalog.json").write_text(json.dumps(catalog))
        members, self.tokens = {}, {}
        for name, role in TOKENS.items():
            token, member = self.call("token", "new", name, "--role", role).strip().splitlines()
            self.tokens[name] = token
            members.update(json.loads("{" + member + "}"))
        for path in ("ledger", "beside"):
            config = {
                "app": {"bundleId": "com.example.game", "environment": "Sandbox"}, "path": path,
                "listen": [f"{HOST}:0"], "anchors": ["chain/root.der"], "catalog": "catalog.json", "tokens": members,
            }
            (self.work / f"{path}.json").write_text(json.dumps(config))

    @contextlib.contextmanager
    def lock(self):
        """Nothing else that heeds it is measured or built meanwhile."""
        if not self.options.lock:
            yield
            return
        with open(self.options.lock, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def start(self, path="ledger"):
        return Service(
            self.binary, str(self.work / f"{path}.json"), str(self.work / f"{path}.log"), self.cores, self.environment)

    def load(self, service, name, *arguments, begun=None):
        """Runs the generator; calls `begun` when it begins to measure. Its summary."""
        environment = dict(os.environ, LEDGER_TOKEN=self.tokens[name])
        def prepare():
            if self.cores:
                os.sched_setaffinity(0, {self.cores[1]})
            # One that sends without a pause would leave the service nothing.
            if begun and self.options.client_first:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))

        process = subprocess.Popen(
            [self.binary, "load", "--server", f"{HOST}:{service.port}", "--pid", str(service.pid), "--json",
             "--chain", str(self.chain), *map(str, arguments)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=prepare)
        guard = threading.Timer(self.options.seconds_max, process.kill)
        guard.start()
        said = []
        try:
            # The one line of its output fits into a pipe, so that the other can be read first.
            for text in process.stderr:
                said.append(text.strip())
                if begun and "measuring the service" in text:
                    begun()
            output = process.stdout.read()
            process.wait()
        finally:
            guard.cancel()
            process.kill()
        try:
            return json.loads(output)
        except ValueError:
            return {"failed": " / ".join(said[-2:])[:300] or f"status {process.returncode}"}

    def fill(self):
        """Makes the ledger that every run begins with, once."""
        ledger, filled = self.work / "ledger", self.work / "filled"
        note = self.work / "filled.json"
        if note.exists() and filled.exists():
            self.filled = json.loads(note.read_text())
            return
        for folder in (ledger, filled):
            shutil.rmtree(folder, ignore_errors=True)
        with self.lock():
            service = self.start()
            try:
                begin = int(time.time() * 1_000)
                summary = self.load(
                    service, "honest-game", "--workload", "spends", "--wallets", PLAYERS, "--first-wallet",
                    FIRST_PLAYER, "--batch", 1_000, "--count", SPENDS, "--in-flight", 4_000, "--warmup", 0)
                if summary.get("errors", 1):
                    raise Fault(f"filling the ledger: {summary}")
                line = Line(service.port, self.tokens["honest-game"])
                line.ask([
                    batch("grant", [
                        {"key": f"whale-{start + step}", "account": WHALE, "currency": "gems", "amount": 1}
                        for step in range(1_000)])
                    for start in range(0, WHALE_ENTRIES, 1_000)])
                newest = line.ask([request("history", {"account": WHALE, "limit": 1})])
                line.close()
                end = int(time.time() * 1_000)
            finally:
                status, _ = service.stop()
            if status:
                raise Fault(f"the service ended with {status}")
        ledger.rename(filled)
        self.filled = {"begin": begin, "end": end, "entries": newest["result"]["entries"][0]["entry"]}
        note.write_text(json.dumps(self.filled))
        print(f"filled a ledger: {self.filled}", file=sys.stderr)

    def fresh(self, path="ledger"):
        """A service on a copy of the filled ledger, whose chain has its table."""
        ledger = self.work / path
        shutil.rmtree(ledger, ignore_errors=True)
        shutil.copytree(self.work / "filled", ledger)
        # Otherwise the service's first checkpoint writes the whole copy out, and is measured.
        os.sync()
        service = self.start(path)
        try:
            line = Line(service.port, self.tokens["honest-purchases"])
            line.ask([request("credit", {"signedTransaction": self.jws, "account": "first"})] * PRIMING_CREDITS)
            line.close()
        except BaseException:
            service.discard()
            raise
        return service

    def record(self, result):
        with open(self.options.out, "a") as file:
            file.write(json.dumps(result) + "\n")

    def attack(self, attack, workload, number):
        """One run, and again where others than the service had much of its core."""
        for _ in range(self.options.repeats + 1):
            result = self.attack_once(attack, workload, number)
            if (result["foreign"] or 0) <= self.options.foreign_max:
                break
            print(f"others had {result['foreign']:.0%} of the core: {one_line(result)}", file=sys.stderr, flush=True)
        self.record(result)
        print(one_line(result), flush=True)

    def attack_once(self, attack, workload, number):
        """The honest client's latency under one attack."""
        seed = self.options.seed + number
        options = self.options
        with self.lock():
            service = self.fresh()
            attacked_service = self.fresh("beside") if options.beside else service
            context = {
                "port": attacked_service.port, "tokens": self.tokens, "jws": self.jws, "seed": seed,
                "cores": self.cores, "filled": self.filled,
            }
            core = Core(self.cores[0], service.pid) if self.cores else None

            def begun():
                begin.set()
                if core:
                    core.start()

            begin, stop, ready = (multiprocessing.Event() for _ in range(3))
            receiver, sender = multiprocessing.Pipe(False)
            attacker = None
            try:
                if attack != "quiet":
                    attacker = multiprocessing.Process(
                        target=run_attack, args=(attack, context, ready, begin, stop, sender), daemon=True)
                    attacker.start()
                    sender.close()
                    ready.wait(RUN_SECONDS_MAX)
                name = "honest-purchases" if workload == "credits" else "honest-game"
                summary = self.load(
                    service, name, "--workload", workload, "--rate", options.rate, "--duration", options.duration,
                    "--connections", 4, "--seed", seed, begun=begun)
                foreign = core.foreign() if core else None
                stop.set()
                attacked = receiver.recv() if attacker and receiver.poll(10) else None
                resident, peak = service.memory()
            finally:
                stop.set()
                begin.set()
                if attacker:
                    attacker.join(5)
                    attacker.kill()
                if attacked_service is not service:
                    attacked_service.stop()
                status, ending = service.stop()
        result = {
            "mode": "attack", "label": self.label + (" beside" if options.beside else ""), "pinned": bool(self.cores),
            "clientFirst": options.client_first, "syncMilliseconds": options.sync_milliseconds,
            "attack": attack, "workload": workload, "run": number, "seed": seed, "honest": trimmed(summary),
            "attacker": attacked, "resident": resident, "peak": peak, "foreign": foreign, "status": status,
            "ending": round(ending, 2),
        }
        return result

    def overload(self, workload):
        """What can be sustained, and twice as much."""
        options = self.options
        name = "honest-purchases" if workload == "credits" else "honest-game"
        many = ("--workload", workload, "--connections", 16)
        with self.lock():
            service = self.fresh()
            try:
                most = self.load(
                    service, name, *many, "--in-flight", 8_192, "--duration", options.max_seconds)
                most_peak = service.memory()[1]
            finally:
                service.stop()
        if "failed" in most:
            raise Fault(f"the unpaced run failed: {most['failed']}")
        sustained = most["requestsPerSecond"]
        # The generator sends all that was due, however late: twice as much for half of the time keeps the service
        # overloaded for all of it.
        offered = options.overload_seconds / 2
        sizes = []
        with self.lock():
            service = self.fresh()
            ended = threading.Event()

            def watch():
                while not ended.wait(0.5):
                    sizes.append(service.memory()[0])

            watcher = threading.Thread(target=watch, daemon=True)
            watcher.start()
            try:
                twice = self.load(
                    service, name, *many, "--in-flight", 1 << 20, "--rate", round(2 * sustained), "--duration",
                    offered)
                ended.set()
                resident, peak = service.memory()
            finally:
                ended.set()
                status, ending = service.stop()
        result = {
            "mode": "overload", "label": self.label, "pinned": bool(self.cores), "workload": workload,
            "most": trimmed(most), "mostPeak": most_peak, "twice": trimmed(twice), "offered": round(2 * sustained),
            "due": round(round(2 * sustained) * offered), "resident": resident, "peak": peak,
            "sizes": sizes[::10], "status": status, "ending": round(ending, 2),
        }
        self.record(result)
        print_overload([result])


# MARK: What came of it


def trimmed(summary):
    """What of a summary is kept."""
    if "failed" in summary:
        return summary
    server = summary.get("server") or {}
    kept = {
        name: summary[name] for name in ("requests", "errors", "seconds", "requestsPerSecond", "latencyMicroseconds")}
    reasons = collections.Counter(
        found.group(1) for text in summary["firstErrors"] if (found := re.search(r'"reason":"(\w+)"', text)))
    kept["firstReasons"] = dict(reasons)
    kept["remark"] = summary.get("remark")
    kept["cpu"] = server.get("cpuMicrosecondsPerRequest", 0) * summary["requestsPerSecond"] / 1e6
    kept["peak"] = server.get("residentPeakBytes")
    return kept


def one_line(result):
    honest, attacker = result["honest"], result["attacker"]
    head = f"{result['label']} {result['attack']} {result['workload']} #{result['run']}: "
    if "failed" in honest:
        return head + f"FAILED {honest['failed']}"
    latency = honest["latencyMicroseconds"]
    text = head + " ".join(f"{name} {latency[name] / 1e3:.2f}" for name in ("p50", "p99", "p99_9", "max")) + " ms"
    text += f", {honest['errors']} errors {honest['firstReasons'] or ''}"
    text += f", {(result['peak'] or 0) >> 20} MiB, CPU {honest['cpu']:.2f}"
    if result.get("foreign") is not None:
        text += f", others {result['foreign']:.2f}"
    if attacker:
        counts = {name: round(count / attacker["seconds"]) for name, count in attacker["counts"].items()}
        text += f"; a second {counts}, {attacker['reasons']}, CPU {attacker['cpu']:.2f}"
    if result["status"] != 0:
        text += f"; the service ended with {result['status']}"
    return text


def got_through(attack, attacker):
    """What the attacker got done a second, in words."""
    if not attacker:
        return ""
    rate = {name: count / attacker["seconds"] for name, count in attacker["counts"].items()}
    if attack == "connection-flood":
        return f"{rate.get('connections', 0):,.0f} connections, {rate.get('cut', 0):,.0f} cut"
    if attack == "slow-readers":
        return f"{rate.get('sentBytes', 0) / 1e3:,.0f} kB taken, " \
               f"{rate.get('cut', 0) + rate.get('failed', 0):,.1f} cut"
    if attack == "bad-lines":
        return f"{rate.get('sentBytes', 0) / 1e6:,.1f} MB, {rate.get('replies', 0):,.0f} replies, " \
               f"{rate.get('connections', 0):,.0f} connections"
    if attack == "spends-flood":
        return f"{rate.get('replies', 0) - rate.get('errors', 0):,.0f} spends"
    return f"{rate.get('replies', 0):,.0f} replies"


def print_attacks(results):
    groups = collections.defaultdict(list)
    for result in results:
        way = "pinned" if result["pinned"] else "client first" if result.get("clientFirst") else "not pinned"
        groups[result["label"], way, result["workload"], result["attack"]].append(result)
    quiet = {}
    print("| build | honest | attack | runs | p50 ms | p99 ms | p99.9 ms | p99 / quiet | errors | peak MiB | CPU "
          "| others | attacker, a second |")
    print("|---|---|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---|")
    order = {attack: place for place, attack in enumerate(ATTACKS)}
    for (label, way, workload, attack), runs in sorted(
            groups.items(), key=lambda item: (item[0][0], item[0][1], item[0][2], order[item[0][3]])):
        good = [run for run in runs if "failed" not in run["honest"]]
        name = f"{label} ({way})"
        failed = f"{len(runs) - len(good)} runs failed " if len(good) < len(runs) else ""
        if not good:
            print(f"| {name} | {workload} | {attack} | {len(runs)} | | | | | {failed} | | | | |")
            continue

        def median(value):
            return statistics.median(value(run) for run in good)

        figures = [median(lambda run, name=name: run["honest"]["latencyMicroseconds"][name]) / 1e3
                   for name in ("p50", "p99", "p99_9")]
        if attack == "quiet":
            quiet[label, way, workload] = figures[1]
        reference = quiet.get((label, way, workload))
        ratio = f"{figures[1] / reference:.2f}" if reference else ""
        reasons = collections.Counter()
        for run in good:
            reasons.update(run["honest"]["firstReasons"])
        errors = sum(run["honest"]["errors"] for run in good)
        errors = f"{errors} ({', '.join(reasons)})" if errors else "0"
        foreign = [run["foreign"] for run in good if run.get("foreign") is not None]
        foreign = f"{statistics.median(foreign):.2f}" if foreign else ""
        middle = sorted(good, key=lambda run: run["honest"]["latencyMicroseconds"]["p99"])[len(good) // 2]
        print(
            f"| {name} | {workload} | {attack} | {len(runs)} | {figures[0]:.2f} | {figures[1]:.2f} | {figures[2]:.2f} "
            f"| {ratio} | {failed}{errors} | {median(lambda run: run['peak'] or 0) / (1 << 20):.0f} "
            f"| {median(lambda run: run['honest']['cpu']):.2f} | {foreign} "
            f"| {got_through(attack, middle['attacker'])} |")


def print_overload(results):
    print("| build | honest | maximum/s | offered/s | accepted/s | of the maximum | due | answered | errors "
          "| peak MiB (maximum's) | s |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---|---:|---:|")
    for result in results:
        most, twice = result["most"], result["twice"]
        head = f"| {result['label']} | {result['workload']} | {most['requestsPerSecond']:,.0f} | {result['offered']:,} "
        if "failed" in twice:
            print(head + f"| failed: {twice['failed']} | | {result['due']:,} | | | {result['peak']} | |")
            continue
        accepted = (twice["requests"] - twice["errors"]) / twice["seconds"]
        print(
            head + f"| {accepted:,.0f} | {100 * accepted / most['requestsPerSecond']:.0f} % | {result['due']:,} "
            f"| {twice['requests']:,} | {twice['errors']} {', '.join(twice['firstReasons'])} "
            f"| {result['peak'] >> 20} ({result['mostPeak'] >> 20}) | {twice['seconds']:.0f} |")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    modes = parser.add_subparsers(dest="mode", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--binary", required=True, help="the command, currency-ledger")
    shared.add_argument("--label", help="what the build is called in tables; the file's name otherwise")
    shared.add_argument("--work", required=True, help="a folder for ledgers, chains and logs")
    shared.add_argument("--out", required=True, help="a file to which each run's result is added, a line of JSON each")
    shared.add_argument("--pin", action="store_true", help="the service on one core, all clients on another")
    shared.add_argument(
        "--sync-milliseconds", type=float, default=0, help="how long a sync takes at least (0: as long as it takes)")
    shared.add_argument("--lock", help="a file that is locked (flock) during each run")
    shared.add_argument("--seed", type=int, default=14, help="seed of what is random (14)")
    shared.add_argument("--workloads", nargs="+", choices=("credits", "spends"), default=("credits", "spends"))
    attack = modes.add_parser("attack", parents=[shared], help="latency under attacks")
    attack.add_argument("--attacks", nargs="+", choices=ATTACKS, default=ATTACKS)
    attack.add_argument("--runs", type=int, default=3, help="runs of each attack (3)")
    attack.add_argument("--first-run", type=int, default=1, help="the first one's number (1)")
    attack.add_argument("--rate", type=int, default=1_000, help="the honest client's requests a second (1000)")
    attack.add_argument(
        "--repeats", type=int, default=3, help="how often a run is repeated that others disturbed, with --pin (3)")
    attack.add_argument(
        "--foreign-max", type=float, default=0.05, help="the part of the service's core that others may have (0.05)")
    attack.add_argument("--beside", action="store_true", help="attack another service on the same machine")
    attack.add_argument(
        "--client-first", action="store_true", help="the honest client has a core whenever it wants one")
    attack.add_argument("--duration", type=float, default=10, help="seconds of each run (10)")
    overload = modes.add_parser("overload", parents=[shared], help="twice of what can be sustained")
    overload.add_argument("--max-seconds", type=float, default=8, help="seconds of the unpaced run (8)")
    overload.add_argument("--overload-seconds", type=float, default=60, help="seconds of overload (60)")
    table = modes.add_parser("table", help="medians of recorded runs")
    table.add_argument("files", nargs="+")
    table.add_argument(
        "--foreign-max", type=float, default=1, help="leave out runs in which others had more of the core (1: none)")
    options = parser.parse_args()
    if options.mode == "attack":
        if not (1 <= options.runs <= 20 and 1 <= options.rate <= 100_000 and 1 <= options.duration <= 60):
            parser.error("--runs is 1 to 20, --rate 1 to 100000, --duration 1 to 60")
        options.seconds_max = options.duration + RUN_SECONDS_MAX / 2
    elif options.mode == "overload":
        if not (1 <= options.max_seconds <= 60 and 2 <= options.overload_seconds <= 300):
            parser.error("--max-seconds is 1 to 60, --overload-seconds 2 to 300")
        options.seconds_max = options.overload_seconds * 3 + RUN_SECONDS_MAX
    return options


def main():
    options = parse()
    # So that what it has started ends with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if options.mode == "table":
        results = [json.loads(line) for name in options.files for line in pathlib.Path(name).read_text().splitlines()]
        attacks = [result for result in results if result["mode"] == "attack"]
        kept = [result for result in attacks if (result.get("foreign") or 0) <= options.foreign_max]
        print_attacks(kept)
        if len(kept) < len(attacks):
            print(f"\nLeft out: {len(attacks) - len(kept)} runs in which others had more of the service's core.")
        print()
        print_overload([result for result in results if result["mode"] == "overload"])
        return
    bench = Bench(options)
    bench.fill()
    print(f"{bench.label}: seed {options.seed}, cores {bench.cores or 'shared'}", file=sys.stderr)
    if options.mode == "overload":
        for workload in options.workloads:
            bench.overload(workload)
        return
    for number in range(options.first_run, options.first_run + options.runs):
        for workload in options.workloads:
            for attack in options.attacks:
                bench.attack(attack, workload, number)


if __name__ == "__main__":
    try:
        main()
    except Fault as fault:
        sys.exit(f"attacks.py: {fault}")
    except KeyboardInterrupt:
        sys.exit(130)
