#!/usr/bin/env python3
"""Three machines with etcd, Patroni, PostgreSQL and a service node each, under load and under faults.

    sudo ./patroni_trial.py --binary .build/release/currency-ledger --faults 12 --seed 1 --folder /tmp/patroni-trial

A machine is a network namespace. Clients write and read all the time, and repeat with the same key what was not
answered. Faults come one after the other, by a seed. Then a checker, which knows nothing of how the service works,
compares what was answered with the feeds of all nodes and with the tables of all three servers. The exit status is 0
only where it found nothing. `--self-test` alone shows that the checker finds what it has to find; `--break async` runs
the cluster without synchronous standbys, and has to fail.

It needs root, and from Debian: patroni etcd-server python3-etcd postgresql nftables iproute2; `--can` says what is
missing. Everything runs in namespaces of its own (mounts, processes, networks), which end with this program, however
that ends.
"""
import argparse
import bisect
import collections
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

NET = "10.77.0."
HUB = NET + "254"
MACHINES = (1, 2, 3)
TOKEN = "trial-of-three-machines"
CREDIT = 500
AS_POSTGRES = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
# Patroni's times in seconds, of which loop_wait + 2 * retry_timeout must not be more than ttl; and how long a fault
# lasts that ends before Patroni promotes a standby, or after it.
Times = collections.namedtuple("Times", "ttl loop_wait retry_timeout brief long")
# The least ttl that Patroni's documentation allows.
USUAL = Times(20, 2, 5, (2, 8), (26, 30))
# Patroni 3.0.2 takes it; later ones take 20 s instead, and then the trial does.
QUICK = Times(10, 1, 4, (2, 5), (14, 17))
# How long the load or the cluster may need to be whole again after a fault before the trial gives up.
GIVE_UP_SECONDS = 150


def now():
    return time.monotonic()


def say(words):
    print(time.strftime("%H:%M:%S ", time.gmtime()) + words, flush=True)


def run(*command, check=True, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if check and result.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {result.stdout}{result.stderr}")
    return result


# MARK: - The cluster


class Machine:
    """A network namespace with etcd, Patroni (which starts PostgreSQL) and a service node."""

    def __init__(self, trial, number):
        self.trial, self.number = trial, number
        self.name, self.address = f"m{number}", f"{NET}{number}"
        self.folder = f"{trial.folder}/{self.name}"
        self.data = f"{self.folder}/disk/data"
        self.processes, self.wanted = {}, set()

    def __repr__(self):
        return self.name

    def make(self, disk_bytes):
        run("ip", "netns", "add", self.name)
        run("ip", "link", "add", f"port{self.number}", "type", "veth", "peer", "name", "eth0", "netns", self.name)
        run("ip", "link", "set", f"port{self.number}", "master", "hub", "up")
        inside = ("ip", "-n", self.name)
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "addr", "add", f"{self.address}/24", "dev", "eth0")
        run(*inside, "link", "set", "eth0", "up")
        self.net = os.stat(f"/run/netns/{self.name}").st_ino
        # PostgreSQL has a small disk of its own, which a fault fills. A killed process loses nothing there.
        for part, size in (("disk", disk_bytes), ("etcd", 256 << 20)):
            os.makedirs(f"{self.folder}/{part}")
            run("mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", f"{self.folder}/{part}")
            shutil.chown(f"{self.folder}/{part}", "postgres", "postgres")
        os.makedirs(f"{self.folder}/run")
        shutil.chown(f"{self.folder}/run", "postgres", "postgres")
        self.configure()

    def configure(self):
        trial, address, times = self.trial, self.address, self.trial.seconds
        strict = trial.arguments.breaking != "async"
        hosts = ",".join(machine.address for machine in trial.machines)
        parameters = {
            "max_connections": 60, "shared_buffers": "64MB", "max_wal_size": "128MB", "min_wal_size": "32MB",
            "wal_keep_size": "64MB", "wal_sender_timeout": "5s", "wal_receiver_timeout": "5s", "wal_log_hints": "on",
            "wal_receiver_status_interval": "1s", "wal_retrieve_retry_interval": "1s", "hot_standby": "on",
        }
        anyone = ["local all all trust", "host all all 0.0.0.0/0 trust", "host replication all 0.0.0.0/0 trust"]
        patroni = {
            "scope": "trial", "name": self.name,
            "restapi": {"listen": f"{address}:8008", "connect_address": f"{address}:8008"},
            # Over etcd's API of version 3 Patroni 3.0.2 renews the leader's key without looking whose it is: a primary
            # that stood still takes the lead back, and what was committed meanwhile is lost. Over that of version 2 it
            # compares.
            "etcd": {"hosts": ",".join(f"{machine.address}:2379" for machine in trial.machines)},
            "bootstrap": {
                "dcs": {
                    "ttl": times.ttl, "loop_wait": times.loop_wait, "retry_timeout": times.retry_timeout,
                    "synchronous_mode": strict, "synchronous_mode_strict": strict,
                    "postgresql": {"use_pg_rewind": True, "use_slots": True, "parameters": parameters},
                },
                "initdb": [{"encoding": "UTF8"}, {"locale": "C"}, "data-checksums"],
            },
            "postgresql": {
                "listen": f"{address}:5432", "connect_address": f"{address}:5432", "use_unix_socket": True,
                "data_dir": self.data, "bin_dir": trial.programs, "pgpass": f"{self.folder}/run/pgpass",
                "parameters": {"unix_socket_directories": f"{self.folder}/run"}, "pg_hba": anyone,
                "authentication": {"superuser": {"username": "postgres"}, "replication": {"username": "replicator"}},
                "remove_data_directory_on_rewind_failure": True,
                "remove_data_directory_on_diverged_timelines": True,
            },
        }
        node = {
            "path": f"{self.folder}/tables", "listen": [f"{address}:7001"], "insecurePlaintext": True,
            "tokens": {"trial": {"role": "admin", "sha256": hashlib.sha256(TOKEN.encode()).hexdigest()}},
            "app": {"bundleId": "com.example.game", "environment": "Sandbox"},
            "anchors": [f"{trial.folder}/chain/root.der"], "catalog": f"{trial.folder}/catalog.json",
            "node": {
                "log": f"postgresql://ledger@{hosts}/games?target_session_attrs=read-write&connect_timeout=2",
                "name": self.name, "address": f"{address}:7001", "requireSynchronousStandby": strict,
            },
        }
        for name, content in (("patroni", patroni), ("node", node)):
            with open(f"{self.folder}/{name}.json", "w") as file:
                json.dump(content, file, indent=1)

    def command(self, name):
        if name == "patroni":
            return AS_POSTGRES + ["patroni", f"{self.folder}/patroni.json"]
        if name == "node":
            return [self.trial.binary, "serve", "--create", "--config", f"{self.folder}/node.json"]
        members = ",".join(f"{machine.name}=http://{machine.address}:2380" for machine in self.trial.machines)
        client, peer = f"http://{self.address}:2379", f"http://{self.address}:2380"
        return AS_POSTGRES + [
            "etcd", "--name", self.name, "--data-dir", f"{self.folder}/etcd/data", "--listen-peer-urls", peer,
            "--initial-advertise-peer-urls", peer, "--listen-client-urls", client, "--advertise-client-urls", client,
            "--initial-cluster", members, "--heartbeat-interval", "200", "--election-timeout", "2000",
            "--enable-v2", "--logger", "zap", "--log-level", "warn",
        ]

    def start(self, *names):
        for name in names:
            with open(f"{self.folder}/{name}.log", "ab") as log:
                self.processes[name] = subprocess.Popen(
                    ["ip", "netns", "exec", self.name] + self.command(name), stdin=subprocess.DEVNULL, stdout=log,
                    stderr=log, start_new_session=True, cwd=self.folder)  # The user postgres has to come there.
            self.wanted.add(name)

    def last_words(self):
        """The last line that the service node has logged."""
        with open(f"{self.folder}/node.log", "rb") as file:
            file.seek(-min(2000, file.seek(0, os.SEEK_END)), os.SEEK_END)
            return file.read().decode(errors="replace").strip().split("\n")[-1]

    def pids(self):
        """All processes of this namespace."""
        found = []
        for entry in os.listdir("/proc"):
            try:
                if entry.isdigit() and os.stat(f"/proc/{entry}/ns/net").st_ino == self.net:
                    found.append(int(entry))
            except OSError:
                pass
        return found

    def signal_all(self, number):
        for pid in self.pids():
            send(pid, number)

    def postgres(self):
        """The postmaster, then its children."""
        try:
            with open(f"{self.data}/postmaster.pid") as file:
                postmaster = int(file.readline())
        except (OSError, ValueError):
            return []
        return [pid for pid in [postmaster] + children(postmaster) if pid in set(self.pids())]

    def cut(self, incoming=(), outgoing=()):
        """Drops what comes from these addresses, and what goes to these."""
        self.heal()
        chains = ""
        for hook, word, addresses in (("input", "saddr", incoming), ("output", "daddr", outgoing)):
            if addresses:
                rule = f"ip {word} {{ {', '.join(addresses)} }} drop;"
                chains += f"chain {hook} {{ type filter hook {hook} priority 0; {rule} }}\n"
        run("ip", "netns", "exec", self.name, "nft", "-f", "-", input=f"table inet cut {{\n{chains}}}\n")

    def heal(self):
        run("ip", "netns", "exec", self.name, "nft", "delete", "table", "inet", "cut", check=False)

    def lose(self):
        """All processes end at once, and nothing of them is heard any more, as when the power fails."""
        self.wanted.clear()
        everyone = self.trial.others(self) + [HUB]
        self.cut(everyone, everyone)
        for _ in range(100):
            pids = self.pids()
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in pids:
                    send(pid, number)
            if not pids:
                return
            time.sleep(0.02)
        raise RuntimeError(f"the processes of {self.name} do not end")

    def status(self):
        """What Patroni says of its server; `{}` where it says nothing."""
        return self.patroni("patroni")

    def patroni(self, path):
        try:
            with urllib.request.urlopen(f"http://{self.address}:8008/{path}", timeout=2) as reply:
                return json.load(reply)
        except urllib.error.HTTPError as error:  # Of a server that does not run: the answer is the same.
            return json.loads(error.read() or "{}")
        except (OSError, ValueError):
            return {}

    def sql(self, text, check=True):
        result = run(
            f"{self.trial.programs}/psql", "-XAtq", "-h", self.address, "-U", "postgres", "-d", "games", "-c", text,
            check=check, env={**os.environ, "PGCONNECT_TIMEOUT": "3"})
        return result.stdout


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def children(parent):
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/stat") as file:
                if entry.isdigit() and int(file.read().rsplit(")", 1)[1].split()[1]) == parent:
                    found.append(int(entry))
        except OSError:
            pass
    return found


# MARK: - Clients


class Connection:
    """One connection of the line protocol, with one request at a time."""

    def __init__(self, address, seconds):
        self.socket = socket.create_connection((address, 7001), timeout=min(seconds, 1))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.seconds = b"", seconds
        if "result" not in json.loads(self.ask(request("authenticate", {"token": TOKEN}))):
            raise OSError("the token is refused")

    def ask(self, line, seconds=None):
        end = now() + (seconds or self.seconds)
        self.socket.settimeout(seconds or self.seconds)
        self.socket.sendall(line)
        while b"\n" not in self.buffer:
            self.socket.settimeout(max(0.001, end - now()))
            received = self.socket.recv(1 << 18)
            if not received:
                raise OSError("the connection was closed")
            self.buffer += received
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line

    def close(self):
        self.socket.close()


def request(method, params, number=1):
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n"


class Operation:
    """What was asked under one key, or one purchase, and all answers to it."""

    __slots__ = ("name", "line", "sent", "answers", "attempts")

    def __init__(self, name, method, params):
        self.name, self.line = name, request(method, params)
        self.sent, self.answers, self.attempts = 0.0, [], 0

    @property
    def method(self):
        return json.loads(self.line)["method"]

    @property
    def params(self):
        return json.loads(self.line)["params"]


class Read:
    """A balance as one node told it."""

    __slots__ = ("account", "sent", "answered", "node", "available", "held", "version")

    def __init__(self, account, sent, answered, node, balances):
        gems = balances.get("gems", {})
        self.account, self.sent, self.answered, self.node = account, sent, answered, node
        self.available, self.held, self.version = (gems.get(word, 0) for word in ("available", "held", "version"))


class Load:
    """Clients that write, and one reader for each node."""

    def __init__(self, trial, purchases):
        arguments = trial.arguments
        self.trial, self.seed, self.rate = trial, arguments.seed, arguments.rate
        self.lock = threading.Lock()
        self.operations, self.reads, self.commits = [], [], []
        self.purchases = collections.deque(purchases)
        self.reasons = collections.Counter()
        self.leader = 1
        self.ending, self.stopped = threading.Event(), threading.Event()
        self.accounts = [f"player-{number}" for number in range(40)]
        self.writers = [threading.Thread(target=self.write, args=(number,)) for number in range(arguments.clients)]
        self.readers = [threading.Thread(target=self.read, args=(number,), daemon=True) for number in MACHINES]

    def start(self):
        for thread in self.writers + self.readers:
            thread.daemon = True
            thread.start()

    def end(self):
        """No new request begins. Those that have begun are repeated until they are answered."""
        self.ending.set()
        end = now() + GIVE_UP_SECONDS
        for thread in self.writers:
            thread.join(max(0, end - now()))
        self.stopped.set()
        for thread in self.writers + self.readers:
            thread.join(30)

    def longest_gap(self, since):
        """The longest time without a commit from `since` on; what is running still counts."""
        times = self.commits[:]
        first = max(0, bisect.bisect_left(times, since) - 1)
        points = [max(since, times[first]) if times else since] + times[first + 1:] + [now()]
        return max((b - a for a, b in zip(points, points[1:])), default=0)

    def write(self, number):
        dice = random.Random(f"{self.seed}/{number}")
        held, spent, count = [], [], 0
        connections = {}
        while not self.ending.is_set():
            time.sleep(dice.expovariate(self.rate / len(self.writers)))
            count += 1
            operation = self.next(dice, f"{number}-{count}-{dice.randrange(1 << 32):08x}", held, spent)
            with self.lock:
                self.operations.append(operation)
            operation.sent = now()
            reply = self.answer(operation, connections)
            if reply is None:
                return
            if "result" in reply and operation.method in ("hold", "spend"):
                (held if operation.method == "hold" else spent).append(operation.name)
            # A client that did not hear an answer asks again, and some do without need.
            if dice.random() < (0.5 if operation.attempts > 1 else 0.03):
                self.answer(operation, connections)

    def next(self, dice, key, held, spent):
        one, other = dice.sample(self.accounts, 2)
        kind = dice.random()
        if kind < 0.02 and self.purchases:
            transaction, jws = self.purchases.popleft()
            return Operation(f"purchase {transaction}", "credit", {"account": one, "signedTransaction": jws})
        if kind < 0.12 and held:
            params = {"key": key, "holdKey": held.pop(dice.randrange(len(held)))}
            return Operation(key, dice.choice(("capture", "release")), params)
        if kind < 0.18 and spent:
            return Operation(key, "reverse", {"key": key, "spendKey": spent.pop(dice.randrange(len(spent)))})
        amount = dice.randint(1, 120)
        spend = {"account": one, "debits": [{"currency": "gems", "amount": amount}]}
        grant = {"account": other, "currency": "gems", "amount": amount}
        if kind < 0.45:
            return Operation(key, "grant", {"key": key, **grant})
        if kind < 0.70:
            return Operation(key, "spend", {"key": key, **spend})
        if kind < 0.85:
            both = [{"method": "spend", "params": spend}, {"method": "grant", "params": grant}]
            return Operation(key, "atomic", {"key": key, "operations": both})
        hold = {"account": one, "currency": "gems", "amount": amount, "timeoutMilliseconds": 7 * 86_400_000}
        return Operation(key, "hold", {"key": key, **hold})

    def answer(self, operation, connections):
        """Repeats until there is an answer, wherever the leader is. `None`: the trial has ended before."""
        node = self.leader
        while not self.stopped.is_set():
            operation.attempts += 1
            try:
                if node not in connections:
                    connections[node] = Connection(f"{NET}{node}", 2)
                line = connections[node].ask(operation.line)
                reply = json.loads(line)
            except (OSError, ValueError):
                if node in connections:
                    connections.pop(node).close()
                node = self.leader if node != self.leader else node % 3 + 1
                time.sleep(0.03)
                continue
            error = reply.get("error")
            if error is None or not error["data"].get("retryable"):
                with self.lock:
                    answered = now()
                    operation.answers.append((answered, node, line))
                    # A first answer that is told again needs no commit.
                    if b'"replayed":true' not in line and b"already_credited" not in line:
                        self.commits.append(answered)
                self.leader = node
                return reply
            self.reasons[error["data"]["reason"]] += 1
            address = error["data"].get("address", "")
            if address.startswith(NET) and address != f"{NET}{node}:7001":
                node = int(address.split(":")[0].rsplit(".", 1)[1])
            else:
                node = node % 3 + 1
            time.sleep(0.03)
        return None

    def read(self, number):
        dice = random.Random(f"{self.seed}/reader/{number}")
        connection = None
        while not self.stopped.is_set():
            time.sleep(dice.expovariate(8))
            account = dice.choice(self.accounts)
            sent = now()
            try:
                connection = connection or Connection(f"{NET}{number}", 3)
                reply = json.loads(connection.ask(request("balance", {"account": account})))
                if "result" in reply:
                    self.reads.append(Read(account, sent, now(), number, reply["result"]["balances"]))
            except (OSError, ValueError):
                if connection:
                    connection.close()
                connection = None


# MARK: - The checker


class Books:
    """What the requests mean, in the order of the journal: the checker's own, small ledger of one currency."""

    def __init__(self):
        self.wallets = collections.defaultdict(lambda: [(0, 0)])  # by version: available, held
        self.holds, self.spends = {}, {}

    def apply(self, operation):
        """- Returns: the accounts that it touches, and what cannot be, in words."""
        method, params = operation.method, operation.params
        changes, words = {}, []

        def change(account, available, held=0):
            was = changes.get(account, self.wallets[account][-1])
            changes[account] = (was[0] + available, was[1] + held)
            if min(changes[account]) < 0:
                words.append(f"{operation.name} overdraws {account}")

        parts = params["operations"] if method == "atomic" else [{"method": method, "params": params}]
        for part in parts:
            kind, of = part["method"], part["params"]
            if kind == "credit":
                change(of["account"], CREDIT)
            elif kind == "grant":
                change(of["account"], of["amount"])
            elif kind == "spend":
                amount = of["debits"][0]["amount"]
                change(of["account"], -amount)
                self.spends[operation.name] = (of["account"], amount)
            elif kind == "hold":
                change(of["account"], -of["amount"], of["amount"])
                self.holds[operation.name] = (of["account"], of["amount"])
            elif kind in ("capture", "release"):
                account, amount = self.holds.pop(of["holdKey"], (None, 0))
                if account is None:
                    words.append(f"{operation.name} closes a hold that is not open")
                else:
                    change(account, amount if kind == "release" else 0, -amount)
            elif kind == "reverse":
                account, amount = self.spends.pop(of["spendKey"], (None, 0))
                if account is None:
                    words.append(f"{operation.name} reverses what was not spent")
                else:
                    change(account, amount)
        for account, wallet in changes.items():
            self.wallets[account].append(wallet)
        return list(changes), words


class Findings:
    """What does not hold, by kind."""

    KINDS = ("lost", "doubled", "gaps", "not linear", "stale reads", "contradicted", "feeds differ", "unanswered",
             "audit", "crashed")

    def __init__(self):
        self.words = {kind: [] for kind in Findings.KINDS}

    def add(self, kind, words):
        self.words[kind].append(words)

    def count(self, kind):
        return len(self.words[kind])

    @property
    def total(self):
        return sum(map(len, self.words.values()))


def payer(operation):
    """Whose wallet may not have enough."""
    params = operation.params
    return params["operations"][0]["params"]["account"] if operation.method == "atomic" else params.get("account")


def meaning(operation, reply):
    """What all answers of one request have in common."""
    if "error" in reply:
        data = {name: value for name, value in reply["error"]["data"].items() if name != "replayed"}
        return json.dumps(["error", reply["error"]["code"], data], sort_keys=True)
    result = reply["result"]
    if operation.method == "credit":  # A repetition is told `already_credited`, and the balances of now.
        return json.dumps(["credited", result["transactionId"], result["account"]])
    return json.dumps([{name: value for name, value in result.items() if name != "replayed"}], sort_keys=True)


def check(operations, reads, feeds):
    """Compares what was answered with the feeds.

    - `feeds`: by node, all entries in the order of its journal: number, key (or `purchase ID`), digest of the rest.
    """
    findings = Findings()
    by_name = {operation.name: operation for operation in operations}
    done, refused = {}, {}  # By name: the entry and the first answer's balances; the refusal's data.
    for operation in operations:
        replies = [json.loads(line) for _, _, line in operation.answers]
        if not replies:
            findings.add("unanswered", f"{operation.name} has no answer after {operation.attempts} attempts")
            continue
        if len({meaning(operation, reply) for reply in replies}) > 1:
            findings.add("contradicted", f"{operation.name} has answers that differ: {replies}")
        entries = {reply["result"]["entry"] for reply in replies if "result" in reply} - {None}
        if len(entries) > 1:
            findings.add("doubled", f"{operation.name} was answered with the entries {sorted(entries)}")
        if "result" in replies[0]:
            result = replies[0]["result"]
            balances = result["balances"]
            if operation.method == "credit":
                is_first = result["outcome"] == "credited"
                balances = {operation.params["account"]: balances} if is_first else {}
            elif operation.method != "atomic":
                balances = {"": balances}
            done[operation.name] = (result["entry"], balances)
        else:
            refused[operation.name] = replies[0]["error"]["data"]

    # Feeds: without gaps, each key once, and all of them equal.
    longest = max(feeds.values(), key=len)
    for node, feed in feeds.items():
        seen = {}
        for place, (entry, name, _) in enumerate(feed):
            if entry != place + 1:
                findings.add("gaps", f"node {node}: entry {entry} stands at place {place + 1}")
                break
        for entry, name, _ in feed:
            if name in seen:
                findings.add("doubled", f"node {node}: {name} is entry {seen[name]} and entry {entry}")
            seen[name] = entry
            if name not in by_name:
                findings.add("contradicted", f"node {node}: nobody asked for entry {entry} ({name})")
            elif name in refused:
                findings.add("contradicted", f"node {node}: {name} was refused, and is entry {entry}")
        for name, (entry, _) in done.items():
            if name not in seen:
                findings.add("lost", f"node {node}: {name} was acknowledged as entry {entry}, and is not there")
            elif seen[name] != entry:
                findings.add("contradicted", f"node {node}: {name}: entry {entry} was told, {seen[name]} it is")
        if feed != longest:
            place = next((i for i, pair in enumerate(zip(feed, longest)) if pair[0] != pair[1]), len(feed))
            findings.add("feeds differ", f"node {node}: from place {place + 1} on, {len(feed)} of {len(longest)}")

    # Balances: as they are when the requests are carried out in the order of the journal.
    books, versions = Books(), {}
    for entry, name, _ in longest:
        if name not in by_name:
            continue
        accounts, words = books.apply(by_name[name])
        for text in words:
            findings.add("not linear", f"entry {entry}: {text}")
        versions[name] = {account: len(books.wallets[account]) - 1 for account in accounts}
        told = done.get(name, (0, {}))[1]
        for account, balances in told.items():
            for account in [account] if account else accounts:
                available, held = books.wallets[account][-1]
                expected = {"available": available, "held": held, "debt": 0, "version": versions[name][account]}
                gems = balances.get("gems", {})
                is_sum = gems.get("paid", -1) + gems.get("free", 0) == available
                if not is_sum or any(gems.get(word) != value for word, value in expected.items()):
                    findings.add("not linear", f"entry {entry}, {name}, {account}: told {gems}, expected {expected}")

    # Time: what was answered before something else was asked stands before it, and is seen by it.
    known = collections.Counter()
    last_entry, events = 0, []
    for operation in operations:
        if operation.answers:
            events.append((operation.answers[0][0], 0, operation))
            events.append((operation.sent, 1, operation))
    events += [(read.sent, 1, read) for read in reads]
    lowest, highest = {}, {}
    for _, is_sent, event in sorted(events, key=lambda event: event[:2]):
        if isinstance(event, Read):
            lowest[event] = known[event.account]
        elif is_sent:
            lowest[event] = known[payer(event)]
            if event.name in done and done[event.name][0] <= last_entry:
                findings.add("not linear", f"{event.name} is entry {done[event.name][0]}, asked after {last_entry}")
        elif event.name in done:
            last_entry = max(last_entry, done[event.name][0])
            for account, version in versions.get(event.name, {}).items():
                known[account] = max(known[account], version)
    later = {account: len(wallet) - 1 for account, wallet in books.wallets.items()}
    events = [(read.answered, 1, read) for read in reads]
    for operation in operations:
        events.append((operation.sent, 0, operation))
        if operation.name in refused:
            events.append((operation.answers[0][0], 1, operation))
    for _, is_answered, event in sorted(events, key=lambda event: event[:2], reverse=True):
        if is_answered:
            highest[event] = later.get(event.account if isinstance(event, Read) else payer(event), 0)
        else:
            for account, version in versions.get(event.name, {}).items():
                later[account] = min(later[account], version - 1)
    for read in reads:
        wallet, low, high = books.wallets[read.account], lowest[read], highest[read]
        is_there = read.version < len(wallet) and wallet[read.version] == (read.available, read.held)
        if not low <= read.version <= high or not is_there:
            findings.add(
                "stale reads" if is_there and read.version < low else "not linear",
                f"node {read.node} told {read.account}: {read.available}, {read.held}, version {read.version} "
                f"at {read.sent:.3f}; it was between the versions {low} and {high}")
    for name, data in refused.items():
        operation = by_name[name]
        params = operation.params["operations"][0]["params"] if operation.method == "atomic" else operation.params
        account = payer(operation)
        if data["reason"] != "insufficient_funds":
            findings.add("contradicted", f"{name} was refused: {data}")
            continue
        amount = params["debits"][0]["amount"] if "debits" in params else params["amount"]
        low, high = lowest[operation], highest[operation]
        window = [available for available, _ in books.wallets[account][low:high + 1]]
        if data["available"] >= amount or data["available"] not in window:
            findings.add("not linear", f"{name}: {account} has {data['available']}, not {amount}; it had {window}")
    return findings


def check_chain(machines):
    """Reads the table of blocks of each server with SQL. - Returns: the number of blocks, and faults in words."""
    faults, digests = [], {}
    for machine in machines:
        text = "SELECT id, term, encode(previous, 'hex'), encode(hash, 'hex'), encode(sha256(body), 'hex') " \
            "FROM ledger.block ORDER BY id"
        previous, term, rows = "0" * 64, 0, machine.sql(text).splitlines()
        for place, row in enumerate(rows):
            number, of, before, own, computed = row.split("|")
            if int(number) != place + 1:
                faults.append(f"{machine.name}: block {number} is row {place + 1}")
            if before != previous or own != computed or int(of) < term:
                faults.append(f"{machine.name}: block {number} does not continue the row before it")
            previous, term = own, int(of)
        digests[machine.name] = (len(rows), previous)
    if len(set(digests.values())) > 1:
        faults.append(f"the servers' chains differ: {digests}")
    return max(count for count, _ in digests.values()), faults


def self_test():
    """A history that is right, and the same with one thing wrong at a time."""

    def history():
        books, operations, reads, feed, clock = Books(), [], [], [], 0.0
        for number in range(60):
            key, account = f"k{number}", f"player-{number % 3}"
            method = ("grant", "spend", "hold", "spend")[number // 3 % 4]
            params = {"key": key, "account": account, "currency": "gems", "amount": 10}
            if method == "spend":
                params = {"key": key, "account": account, "debits": [{"currency": "gems", "amount": 3}]}
            operation = Operation(key, method, params)
            operation.sent, operation.attempts = clock + 0.1, 1
            available = books.wallets[account][-1][0]
            amount = {"grant": 0, "spend": 3, "hold": 10}[method]
            if available < amount:
                data = {"reason": "insufficient_funds", "available": available}
                reply = {"error": {"code": -32012, "data": data}}
            else:
                books.apply(operation)
                available, held = books.wallets[account][-1]
                version = len(books.wallets[account]) - 1
                gems = {"available": available, "held": held, "debt": 0, "paid": 0, "free": available}
                gems["version"] = version
                feed.append((len(feed) + 1, key, key))
                reply = {"result": {"entry": len(feed), "replayed": False, "balances": {"gems": gems}}}
                reads.append(Read(account, clock + 0.3, clock + 0.4, 2, {"gems": gems}))
            operation.answers.append((clock + 0.2, 1, json.dumps(reply).encode()))
            operations.append(operation)
            clock += 1
        return operations, reads, {node: list(feed) for node in MACHINES}

    def alter(reply_of, body):
        reply = json.loads(reply_of.answers[0][2])
        body(reply)
        reply_of.answers[0] = (*reply_of.answers[0][:2], json.dumps(reply).encode())

    def gems_of(reply):
        return reply["result"]["balances"]["gems"]

    def index(operations, is_result, after=20):
        return next(i for i, o in enumerate(operations)
                    if i >= after and ("result" in json.loads(o.answers[0][2])) == is_result)

    def lose(operations, _, feeds):
        for feed in feeds.values():
            del feed[-1]

    def lose_at_one(operations, _, feeds):
        del feeds[3][-1]

    def double(operations, _, feeds):
        for feed in feeds.values():
            feed.append((len(feed) + 1, feed[5][1], "again"))

    def answer_twice(operations, *_):
        operation = operations[index(operations, True)]
        operation.answers.append((operation.answers[0][0] + 0.1, 2, operation.answers[0][2]))
        alter(operation, lambda reply: reply["result"].update(entry=reply["result"]["entry"] + 1))

    def gap(_, __, feeds):
        for feed in feeds.values():
            del feed[10]

    def other_balance(operations, *_):
        alter(operations[index(operations, True)], lambda reply: gems_of(reply).update(available=999))

    def other_version(operations, *_):
        alter(operations[index(operations, True)], lambda reply: gems_of(reply).update(version=1))

    def stale_read(_, reads, __):
        reads[-1].available, reads[-1].held, reads[-1].version = reads[5].available, reads[5].held, reads[5].version

    def wrong_refusal(operations, *_):
        alter(operations[index(operations, False)], lambda reply: reply["error"]["data"].update(available=2, x=1))

    def refused_and_done(operations, _, feeds):
        for feed in feeds.values():
            feed.append((len(feed) + 1, operations[index(operations, False)].name, "x"))

    def other_order(operations, *_):
        one = operations[index(operations, True, 40)]
        one.sent = one.answers[0][0] - 30.05
        one.answers[0] = (one.sent + 0.01, *one.answers[0][1:])

    def other_feed(_, __, feeds):
        feeds[2][7] = (*feeds[2][7][:2], "other")

    def unanswered(operations, *_):
        operations[-1].answers.clear()

    def invented(_, __, feeds):
        for feed in feeds.values():
            feed.append((len(feed) + 1, "nobody", "x"))

    expected = {
        lose: "lost", lose_at_one: "lost", double: "doubled", answer_twice: "doubled", gap: "gaps",
        other_balance: "not linear", other_version: "not linear", stale_read: "stale reads",
        wrong_refusal: "not linear", refused_and_done: "contradicted", other_order: "not linear",
        other_feed: "feeds differ", unanswered: "unanswered", invented: "contradicted",
    }
    right = check(*history())
    missed = [f"the right history is refused: {right.words}"] if right.total else []
    for body, kind in expected.items():
        wrong = history()
        body(*wrong)
        if check(*wrong).count(kind) == 0:
            missed.append(f"{body.__name__} is not found as {kind}")
    say(f"self-test of the checker: {len(expected)} histories that are wrong, {len(missed)} of them missed")
    for words in missed:
        say(f"  {words}")
    return not missed


# MARK: - Faults


class Trial:
    def __init__(self, arguments):
        self.arguments = arguments
        self.seconds = QUICK if arguments.quick else USUAL
        self.stage = "the beginning"
        self.folder, self.binary = os.path.abspath(arguments.folder), os.path.abspath(arguments.binary)
        versions = sorted(os.listdir("/usr/lib/postgresql"), key=float)
        self.programs = f"/usr/lib/postgresql/{versions[-1]}/bin"
        self.machines = [Machine(self, number) for number in MACHINES]
        self.dice = random.Random(arguments.seed)
        self.exits = collections.Counter()
        self.troubles, self.crashes = [], []
        self.times = collections.defaultdict(list)
        self.goals = {}

    def others(self, machine):
        return [other.address for other in self.machines if other is not machine]

    def patronictl(self, *words):
        command = ["patronictl", "-c", f"{self.machines[0].folder}/patroni.json", *words]
        try:
            result = run(*command, check=False, env={**os.environ, "LC_ALL": "C.UTF-8"}, timeout=90)
        except subprocess.TimeoutExpired:
            return "it does not end"
        return result.stdout + result.stderr

    # -- Beginning

    def begin(self):
        arguments = self.arguments
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "hub", "type", "bridge")
        run("ip", "addr", "add", f"{HUB}/24", "dev", "hub")
        run("ip", "link", "set", "hub", "up")
        with open(f"{self.folder}/catalog.json", "w") as file:
            json.dump({"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": CREDIT}}}, file)
        self.stage = "signed purchases"
        run(self.binary, "sandbox", "init", f"{self.folder}/chain")
        purchases = []
        for number in range(min(400, 10 * arguments.faults)):
            transaction = str(2_000_000_000_000_001 + number)
            jws = run(self.binary, "sandbox", "sign", f"{self.folder}/chain", "--transaction-id", transaction).stdout
            purchases.append((transaction, jws.strip()))
        for machine in self.machines:
            machine.make((400 + 10 * arguments.faults) << 20)
            machine.start("etcd")
        for machine in self.machines:
            machine.start("patroni")
        primary = self.wait("PostgreSQL and its standbys", self.whole_database, 120)
        if self.time_to_live(primary) > self.seconds.ttl:
            say(f"this version of Patroni does not take a ttl of {self.seconds.ttl} s")
            self.seconds = USUAL
        for text in ("CREATE ROLE ledger LOGIN", "GRANT pg_read_all_stats TO ledger"):
            run(f"{self.programs}/psql", "-XAtq", "-h", primary.address, "-U", "postgres", "-c", text)
        run(f"{self.programs}/createdb", "-h", primary.address, "-U", "postgres", "-O", "ledger", "games")
        for machine in self.machines:
            self.wait("the database on its standbys", lambda: machine.sql("SELECT 1", check=False), 60)
        threading.Thread(target=self.supervise, daemon=True).start()
        for machine in self.machines:
            machine.start("node")
            self.wait(f"the node {machine.name}", lambda: self.info(machine), 60)
        self.load = Load(self, purchases)
        self.load.start()
        self.wait("the load", lambda: len(self.load.commits) > 100 and self.whole(), 60)

    def time_to_live(self, machine):
        """The leader key's, in seconds, as etcd says it."""
        url = f"http://{machine.address}:2379/v2/keys/service/trial/leader"
        with urllib.request.urlopen(url, timeout=5) as reply:
            return json.load(reply)["node"]["ttl"]

    def wait(self, what, condition, seconds):
        self.stage = what
        end = now() + seconds
        while now() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.25)
        raise RuntimeError(f"{what} did not come within {seconds} s")

    def supervise(self):
        """What ends by itself is started again after a second, as an operator's service manager does it."""
        ended = {}
        while True:
            time.sleep(0.25)
            for machine in self.machines:
                for name in list(machine.wanted):
                    process = machine.processes[name]
                    if process.poll() is None:
                        continue
                    if process not in ended:
                        ended[process] = now()
                        self.exits[name] += 1
                        say(f"   {name} of {machine.name} ended by itself, status {process.returncode}")
                        # By a signal, and not by the one that faults send.
                        if name == "node" and process.returncode < 0 and process.returncode != -signal.SIGKILL:
                            self.crashes.append(f"{machine.name}: signal {-process.returncode}: {machine.last_words()}")
                    if now() - ended[process] > 1 and name in machine.wanted:
                        machine.start(name)

    # -- How the cluster stands

    def info(self, machine):
        try:
            connection = Connection(machine.address, 2)
            try:
                return json.loads(connection.ask(request("info", {}))).get("result")
            finally:
                connection.close()
        except (OSError, ValueError):
            return None

    def database(self):
        """The machines by role: `primary`, `sync`, `other`; and whether all is as it should be."""
        states = {machine: machine.status() for machine in self.machines}
        primaries = [m for m, state in states.items() if state.get("role") in ("master", "primary")
                     and state.get("state") == "running"]
        roles = {}
        if len(primaries) != 1:
            return roles, False
        roles["primary"] = primaries[0]
        streams = {line["application_name"]: line for line in states[primaries[0]].get("replication", [])}
        for machine in self.machines:
            if machine.name in streams and machine is not primaries[0]:
                role = "sync" if streams[machine.name]["sync_state"] == "sync" else "other"
                roles[role if role not in roles else "sync"] = machine
        is_streaming = sum(line["state"] == "streaming" for line in streams.values()) == 2
        is_running = all(state.get("state") == "running" for state in states.values())
        if len(roles) < 3 or not is_streaming or not is_running:
            return roles, False
        # Patroni promotes the standby that etcd calls synchronous, which may be another for a moment.
        members = {member["name"]: member["role"] for member in primaries[0].patroni("cluster").get("members", [])}
        return roles, self.arguments.breaking == "async" or members.get(roles["sync"].name) == "sync_standby"

    def whole_database(self):
        roles, is_whole = self.database()
        return roles.get("primary") if is_whole else None

    def leading(self):
        """The machine whose node leads, where the others follow it."""
        infos = {machine: self.info(machine) for machine in self.machines}
        if not all(infos.values()):
            return None
        leaders = [machine for machine, info in infos.items() if "standby" not in info]
        following = [info for info in infos.values() if info.get("standby", {}).get("state") == "following"]
        return leaders[0] if len(leaders) == 1 and len(following) == 2 else None

    def whole(self):
        recent = len(self.load.commits) - bisect.bisect_left(self.load.commits, now() - 1)
        return recent >= 10 and self.whole_database() and self.leading()

    # -- The faults. Each takes machines by role, does something, waits, and undoes it.

    def brief_or_long(self):
        """Long enough for Patroni to promote a standby, or not."""
        return self.dice.uniform(*(self.seconds.brief if self.dice.random() < 0.5 else self.seconds.long))

    def postgres_killed(self, machine):
        for pid in machine.postgres()[:1]:
            send(pid, signal.SIGKILL)

    def postgres_stopped(self, machine):
        seconds, stopped = self.brief_or_long(), []
        for _ in range(2):
            for pid in machine.postgres():
                send(pid, signal.SIGSTOP)
                stopped.append(pid)
        time.sleep(seconds)
        alive = set(machine.pids())
        for pid in reversed(stopped):
            if pid in alive:
                send(pid, signal.SIGCONT)
        return seconds

    def machine_killed(self, machine):
        seconds = self.brief_or_long()
        if self.arguments.breaking == "async":
            # What sends to the standbys stands still for a while, so the primary has what they have not.
            seconds = self.seconds.long[1]
            for pid in machine.postgres():
                with open(f"/proc/{pid}/cmdline") as file:
                    if "walsender" in file.read():
                        send(pid, signal.SIGSTOP)
            time.sleep(3)
        machine.lose()
        time.sleep(seconds)
        machine.heal()
        machine.start("etcd", "patroni", "node")
        return seconds

    def machine_stopped(self, machine):
        seconds = self.brief_or_long()
        for _ in range(2):
            machine.signal_all(signal.SIGSTOP)
        time.sleep(seconds)
        machine.signal_all(signal.SIGCONT)
        return seconds

    def cut_off(self, machine):
        seconds, others = self.brief_or_long(), self.others(machine)
        # Clients may still reach what the other machines do not.
        everyone = others + [HUB] if self.dice.random() < 0.5 else others
        machine.cut(everyone, everyone)
        time.sleep(seconds)
        machine.heal()
        return seconds

    def one_way(self, machine):
        seconds, others = self.brief_or_long(), self.others(machine)
        if self.dice.random() < 0.5:
            machine.cut(incoming=others)
        else:
            machine.cut(outgoing=others)
        time.sleep(seconds)
        machine.heal()
        return seconds

    def pair_cut(self, machine):
        seconds = self.brief_or_long()
        other = self.dice.choice(self.others(machine))
        machine.cut([other], [other])
        time.sleep(seconds)
        machine.heal()
        return seconds

    def disk_full(self, machine):
        seconds, path = self.dice.uniform(4, 10), f"{machine.folder}/disk/filler"
        with open(path, "wb", buffering=0) as file:
            state = os.fstatvfs(file.fileno())
            os.posix_fallocate(file.fileno(), 0, state.f_bavail * state.f_frsize - (1 << 20))
            file.seek(0, os.SEEK_END)
            end = now() + seconds
            while now() < end:  # What the server frees is taken as well.
                try:
                    file.write(b"x" * 4096)
                except OSError:
                    time.sleep(0.05)
        os.remove(path)
        return seconds

    def switched_over(self, machine):
        roles, _ = self.database()
        if "primary" in roles and "sync" in roles:
            leader, candidate = roles["primary"].name, roles["sync"].name
            words = self.patronictl("switchover", "trial", "--leader", leader, "--candidate", candidate, "--force")
            if "Successfully" not in words:
                self.trouble(f"patronictl switchover: {words[-300:]!r}")

    def node_killed(self, machine):
        machine.wanted.discard("node")
        machine.processes["node"].kill()
        time.sleep(5)
        machine.start("node")
        return 5

    def node_stopped(self, machine):
        seconds = self.dice.uniform(3, 8)
        machine.processes["node"].send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        machine.processes["node"].send_signal(signal.SIGCONT)
        return seconds

    def node_ended(self, machine):
        machine.wanted.discard("node")
        machine.processes["node"].terminate()
        try:
            status = machine.processes["node"].wait(30)
            if status != 0:
                self.trouble(f"the node {machine.name} ended with the status {status}")
        except subprocess.TimeoutExpired:
            self.trouble(f"the node {machine.name} did not end within 30 s of SIGTERM")
            machine.processes["node"].kill()
        time.sleep(2)
        machine.start("node")

    def trouble(self, words):
        self.troubles.append(words)
        say(f"   {words}")

    def kinds(self):
        """Name, function, whether it is the service's (or the database's), and its goal in seconds."""
        lost = self.seconds.ttl + 10
        all_kinds = [
            ("postgres killed", self.postgres_killed, False, lost),
            ("postgres stopped", self.postgres_stopped, False, lost),
            ("machine killed", self.machine_killed, False, lost),
            ("machine stopped", self.machine_stopped, False, lost),
            ("machine cut off", self.cut_off, False, lost),
            ("cut off one way", self.one_way, False, lost),
            ("two machines cut apart", self.pair_cut, False, lost),
            ("disk full", self.disk_full, False, None),
            ("switched over", self.switched_over, False, lost),
            ("node killed", self.node_killed, True, 3),
            ("node stopped", self.node_stopped, True, None),
            ("node ended", self.node_ended, True, 0.5),
        ]
        if self.arguments.breaking == "async":
            return [kind for kind in all_kinds if kind[0] == "machine killed"]
        wanted = self.arguments.only.split(",") if self.arguments.only else None
        return [kind for kind in all_kinds if not wanted or kind[0] in wanted]

    def fault(self, number, kind):
        name, body, is_of_service, goal = kind
        roles, _ = self.database()
        roles["leading"] = self.leading()
        first = "leading" if is_of_service else "primary"
        choices = [(first, 0.75), ("sync", 0.15), ("other", 0.10)]
        role = first if number <= len(self.kinds()) else self.dice.choices(*zip(*choices))[0]
        machine = roles.get(role) or self.machines[0]
        names = ", ".join(word for word in ("primary", "sync", "leading") if roles.get(word) is machine) or "neither"
        say(f"{number:3} {name}: {machine.name} ({names})")
        before = now()
        self.stage = f"the end of the fault {number}, {name}"
        seconds = body(machine)
        self.stage = f"the cluster to be whole after the fault {number}, {name}"
        end = now() + GIVE_UP_SECONDS
        while not self.whole():
            if now() > end:
                self.trouble(f"not whole {GIVE_UP_SECONDS} s after {name}: {self.database()[0]}, {self.leading()}")
                if now() - self.load.commits[-1] > 5:
                    raise RuntimeError("nothing is committed any more")
                break
            self.begin_nodes_anew()
            time.sleep(0.25)
        whole = now()
        gap = self.load.longest_gap(before)
        label = name if first in names else f"{name} (another)"
        self.times[label].append(gap)
        self.goals[label] = goal
        held = f", undone after {seconds:.1f} s" if seconds else ""
        say(f"    {gap:.2f} s without a commit{held}; whole {whole - before:.1f} s after the beginning")
        with self.load.lock:
            del self.load.commits[:-100]

    def begin_nodes_anew(self):
        """A node that read a block which the database lost answers nothing. Its operator moves its tables away."""
        for machine in self.machines:
            reason = machine.last_words()
            says_so = ["move its tables away", "the log went back in time"]
            if self.arguments.breaking == "async":  # Otherwise it says this for a moment only.
                says_so.append("was read from it before")
            if not any(words in reason for words in says_so):
                continue
            self.trouble(f"the node {machine.name} is begun anew: {reason}")
            machine.wanted.discard("node")
            machine.processes["node"].kill()
            machine.processes["node"].wait()
            shutil.rmtree(f"{machine.folder}/tables", ignore_errors=True)
            machine.start("node")
            time.sleep(2)  # So that it has said something else.

    # -- The end

    def feed(self, machine):
        """All entries of a node's journal."""
        entries, after = [], 0
        connection = Connection(machine.address, 30)
        deadline = now() + GIVE_UP_SECONDS
        while True:
            reply = json.loads(connection.ask(request("journal", {"after": after, "limit": 1000})))
            # The last fault may not be over for this node.
            if reply.get("error", {}).get("data", {}).get("retryable") and now() < deadline:
                time.sleep(0.5)
                continue
            if "error" in reply:
                raise RuntimeError(f"the journal of {machine.name}: {reply['error']}")
            page = reply["result"]["entries"]
            if not page:
                connection.close()
                return entries
            for entry in page:
                name = f"purchase {entry['transactionId']}" if entry["kind"] == "credit" else entry.get("key")
                content = json.dumps(entry, sort_keys=True).encode()
                entries.append((entry["entry"], name, hashlib.sha256(content).digest()[:12]))
            after = reply["result"]["next"]

    def ask_again(self):
        """Each key again at the leader, after all faults; of very many, those that were repeated and some others."""
        operations = self.load.operations
        if len(operations) > 40_000:
            some = set(self.dice.sample(range(len(operations)), 40_000))
            operations = [o for place, o in enumerate(operations) if place in some or o.attempts > 1]
        leader = self.wait("a leading node", self.leading, 60)
        connection = Connection(leader.address, 30)
        for start in range(0, len(operations), 200):
            some = [operation for operation in operations[start:start + 200] if operation.answers]
            connection.socket.sendall(b"".join(operation.line for operation in some))
            for operation in some:
                line = connection.ask(b"")
                reply = json.loads(line)
                if "error" in reply and reply["error"]["data"].get("retryable"):
                    raise RuntimeError(f"asked again: {reply['error']}")
                operation.answers.append((now(), leader.number, line))
        connection.close()
        return len(operations)

    def verify(self):
        self.stage = "answers to what was asked"
        self.load.end()
        say("the load has ended; the checker begins")
        self.wait("a whole database", self.whole_database, 90)
        leader = self.wait("a leading node", self.leading, 60)
        self.stage = "the checker"
        # What is lost would be carried out anew when it is asked again.
        feeds = {machine.name: self.feed(machine) for machine in self.machines}
        asked = self.ask_again()
        findings = check(self.load.operations, self.load.reads, feeds)
        time.sleep(2)
        blocks, faults = check_chain(self.machines)
        for words in faults:
            findings.add("gaps", words)
        uri = f"postgresql://ledger@{self.whole_database().address}/games"
        audit = run(self.binary, "audit", uri, "--anchors", f"{self.folder}/chain/root.der", check=False)
        if audit.returncode != 0:
            findings.add("audit", f"{audit.stdout}{audit.stderr}")
        for words in self.crashes:
            findings.add("crashed", words)
        self.tell(findings, feeds[leader.name], asked, blocks, audit)
        return findings

    def tell(self, findings, feed, asked, blocks, audit):
        load = self.load
        print("\nThe longest time without a commit, in seconds, by kind of fault")
        print(f"{'kind':34} {'n':>4} {'median':>8} {'longest':>8} {'goal':>6}  over")
        for label, times in sorted(self.times.items()):
            goal = self.goals[label]
            over = "" if goal is None else sum(gap > goal for gap in times)
            print(f"{label:34} {len(times):4} {statistics.median(times):8.2f} {max(times):8.2f} "
                  f"{'' if goal is None else goal:>6}  {over}")
        answers = sum(len(operation.answers) for operation in load.operations)
        refused = sum("error" in json.loads(o.answers[0][2]) for o in load.operations if o.answers)
        print(f"\nrequests {len(load.operations)} (refused {refused}), answers {answers}, asked again at the end "
              f"{asked}, reads {len(load.reads)}, entries {len(feed)}, blocks {blocks}")
        print(f"answers that said 'again': {dict(load.reasons)}")
        print(f"ended by themselves: {dict(self.exits)}; troubles: {len(self.troubles)}")
        print(f"audit: {'holds' if audit.returncode == 0 else 'DOES NOT HOLD'}: {audit.stdout.strip()[-300:]}")
        for kind, words in findings.words.items():
            for text in words[:5]:
                print(f"{kind}: {text[:600]}")
        print("; ".join(f"{kind} {findings.count(kind)}" for kind in Findings.KINDS))

    def keep_history(self):
        with open(f"{self.folder}/history.jsonl", "w") as file:
            for operation in self.load.operations:
                answers = [[at, node, json.loads(line)] for at, node, line in operation.answers]
                line = {"name": operation.name, "request": json.loads(operation.line), "sent": operation.sent}
                file.write(json.dumps({**line, "attempts": operation.attempts, "answers": answers}) + "\n")

    def last_logged(self):
        """The end of each log."""
        for machine in self.machines:
            for name in sorted(machine.processes):
                print(f"-- {name} of {machine.name}")
                print(run("tail", "-n", "12", f"{machine.folder}/{name}.log", check=False).stdout)

    def run(self):
        began = now()
        self.begin()
        times = self.seconds
        say(f"all runs after {now() - began:.0f} s: seed {self.arguments.seed}, ttl {times.ttl} s, loop_wait "
            f"{times.loop_wait} s, retry_timeout {times.retry_timeout} s, {self.load.rate} requests a second")
        bag = []
        for number in range(1, self.arguments.faults + 1):
            if not bag:
                bag = self.kinds()
                self.dice.shuffle(bag)
            self.fault(number, bag.pop())
            time.sleep(self.dice.uniform(0.5, 2))
        findings = self.verify()
        if findings.total:
            self.keep_history()
        say(f"{'PASSED' if findings.total == 0 else 'FAILED'} after {now() - began:.0f} s: "
            f"{self.arguments.faults} faults, seed {self.arguments.seed}")
        return 0 if findings.total == 0 else 1


# MARK: - Namespaces


NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc"]


def absence():
    """What keeps this machine from it, in words; `None`: nothing."""
    if os.getuid() != 0:
        return "it needs root"
    for program in ("patroni", "patronictl", "etcd", "nft", "ip", "unshare", "setpriv"):
        if not shutil.which(program):
            return f"it needs {program}, which is not installed"
    if not os.path.isdir("/usr/lib/postgresql"):
        return "it needs PostgreSQL as Debian installs it"
    if run("/usr/bin/python3", "-c", "import etcd", check=False).returncode != 0:
        return "it needs python3-etcd, which is not installed"
    if "enable-v2" not in run("etcd", "--help", check=False).stdout:
        return "it needs an etcd with the API of version 2"
    parts = [
        "mount -t tmpfs tmpfs /run", "ip netns add m1", "ip link add hub type bridge",
        "ip link add port1 type veth peer name eth0 netns m1", "ip netns exec m1 nft add table inet cut",
    ]
    made = run(*NAMESPACES, "sh", "-c", " && ".join(parts), check=False)
    return None if made.returncode == 0 else f"it needs namespaces: {made.stderr.strip()}"


def outside(arguments):
    """Runs this program again in namespaces of its own, all processes of which end with it."""
    program = [sys.executable, "-u", os.path.abspath(__file__), *sys.argv[1:], "--inside"]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    child = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", *NAMESPACES, *program], stdin=subprocess.DEVNULL)
    if arguments.leash:
        threading.Thread(target=end_with_input, daemon=True).start()
    try:
        # It ends by itself before, and says what it waited for.
        return child.wait(arguments.limit and arguments.limit + 30)
    except subprocess.TimeoutExpired:
        say(f"FAILED: it did not end within {arguments.limit + 30} s")
        return 2
    finally:
        child.kill()
        child.wait()
        if arguments.leash:
            shutil.rmtree(arguments.folder, ignore_errors=True)


def end_with_input():
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


class Late(Exception):
    """The trial took longer than it may."""


def inside(arguments):
    """The first process of the namespace takes leave of what others leave behind; the second one is the trial."""
    child = os.fork()
    if child:
        while True:
            pid, status = os.wait()
            if pid == child:
                os._exit(os.waitstatus_to_exitcode(status) & 255)
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    for place in ("/run", "/dev/shm"):
        run("mount", "-t", "tmpfs", "-o", "mode=1777", "tmpfs", place)
    trial = Trial(arguments)

    def end(*_):
        raise Late(f"{arguments.limit} s have passed, and it waits for {trial.stage}")

    signal.signal(signal.SIGALRM, end)
    signal.alarm(arguments.limit or 0)
    try:
        status = trial.run()
    except BaseException as error:
        say(f"FAILED: {error!r}; seed {arguments.seed}; logs are in {trial.folder}")
        if hasattr(trial, "load"):
            trial.keep_history()
        status = 2
    if status != 0 and arguments.leash:  # The folder is removed.
        trial.last_logged()
    sys.stdout.flush()
    os._exit(status)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", help="the command, built with the trait Postgres")
    parser.add_argument("--faults", type=int, default=12)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--folder", default="/tmp/patroni-trial", help="for logs; what is there is removed")
    parser.add_argument("--rate", type=float, default=200, help="requests a second")
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--only", help="kinds of faults, separated by commas")
    parser.add_argument("--quick", action="store_true", help="a shorter ttl, and faults that are as much shorter")
    parser.add_argument("--limit", type=int, help="seconds after which it fails, and says what it waits for")
    parser.add_argument(
        "--leash", action="store_true", help="end with the standard input, and remove the folder at the end")
    parser.add_argument("--break", dest="breaking", choices=["async"], help="has to fail: no synchronous standby")
    parser.add_argument("--self-test", action="store_true", help="only the checker")
    parser.add_argument("--can", action="store_true", help="only whether this machine can")
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        inside(arguments)
    missing = None if arguments.self_test else absence()
    if arguments.can:
        print(missing or "it can")
        return 1 if missing else 0
    if not self_test():
        return 1
    if arguments.self_test:
        return 0
    if missing or not arguments.binary:
        parser.error(missing or "it needs --binary")
    mark = f"{arguments.folder}/of-a-patroni-trial"
    if os.path.exists(arguments.folder) and os.listdir(arguments.folder) and not os.path.exists(mark):
        parser.error(f"{arguments.folder} has something else in it")
    shutil.rmtree(arguments.folder, ignore_errors=True)
    os.makedirs(arguments.folder)
    os.chmod(arguments.folder, 0o755)
    open(mark, "w").close()
    if subprocess.run([*AS_POSTGRES, "test", "-x", arguments.folder]).returncode != 0:
        shutil.rmtree(arguments.folder)
        parser.error(f"the user postgres does not come to {arguments.folder}")
    # The seed may be one that was chosen just now.
    sys.argv += ["--seed", str(arguments.seed)]
    say(f"seed {arguments.seed}")
    return outside(arguments)


if __name__ == "__main__":
    sys.exit(main())
