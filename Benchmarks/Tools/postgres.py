#!/usr/bin/env python3
"""Measures a ledger whose log is PostgreSQL beside the textbook ledger, on one server, in one run.

    postgres.py --binary PATH --work FOLDER [--runs 3] [--seconds 10] [PART ...]

Starts a PostgreSQL of its own (with fsync, and a socket only). Parts, all by default:

- `rate`: credits and spends a second. The textbook ledger has one transaction an operation: an idempotency key or
  transaction id under a unique index, the balance updated, an entry inserted; `pgbench`, prepared, 64 clients. It
  checks no signature and keeps none; pgbench uses a Unix socket. The service verifies and keeps each purchase; 64
  connections, one request at a time each over a Unix socket and over TCP, and 64 at a time over TCP.
- `lone`: one client, one request at a time, held against one commit of 2 KB by one client.
- `standby`: the same rates with a synchronous standby on the same machine, held against none.
- `wal`: bytes of write-ahead log a credit, and a spend.
- `follower`: what a leader at full load loses while a node that follows it is audited, exported and backed up without a
  pause. The database, the leader and its clients have one core, the follower and all that is asked of it the other.

Runs of what is compared follow each other in turn; medians of all runs are printed, and each run as a line of JSON to
--out. Needs Linux, Python 3.9, the command built with the trait Postgres, and PostgreSQL's programs; as root, it runs
the server as the user postgres.
"""
import argparse
import contextlib
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

HOST = "127.0.0.1"
CLIENTS = 64
PLAYERS = 10_000
# How clients speak to the service: the requests that each has under way, and whether by a Unix socket, as pgbench does.
WAYS = (("1 at a time, Unix socket", 1, True), ("1 at a time, TCP", 1, False), ("64 at a time, TCP", 64, False))
SCHEMA = """
CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL CHECK (balance >= 0));
CREATE TABLE entry (id bigserial PRIMARY KEY, key uuid NOT NULL UNIQUE, account bigint NOT NULL REFERENCES account,
    amount bigint NOT NULL, time timestamptz NOT NULL DEFAULT now());
CREATE TABLE purchase (id bigint PRIMARY KEY, account bigint NOT NULL REFERENCES account, product text NOT NULL,
    entry bigint NOT NULL REFERENCES entry);
CREATE SEQUENCE bought;
CREATE TABLE page (id bigserial PRIMARY KEY, body bytea NOT NULL);
INSERT INTO account SELECT id, 1000000 FROM generate_series(1, %d) id;
""" % PLAYERS
CREDIT = f"""\\set account random(1, {PLAYERS})
BEGIN;
UPDATE account SET balance = balance + 500 WHERE id = :account;
WITH one AS (INSERT INTO entry (key, account, amount) VALUES (gen_random_uuid(), :account, 500) RETURNING id)
INSERT INTO purchase SELECT nextval('bought'), :account, 'com.example.game.gems500', id FROM one;
COMMIT;
"""
SPEND = f"""\\set account random(1, {PLAYERS})
BEGIN;
UPDATE account SET balance = balance - 1 WHERE id = :account AND balance >= 1;
INSERT INTO entry (key, account, amount) VALUES (gen_random_uuid(), :account, -1);
COMMIT;
"""
PAGE = "INSERT INTO page (body) VALUES (decode(repeat('7f', 2000), 'hex'));\n"


class Fault(Exception):
    """What ends the program with a message."""


def free_port():
    with socket.socket() as one:
        one.bind((HOST, 0))
        return one.getsockname()[1]


class Database:
    """A PostgreSQL of its own, spoken to over a socket."""

    def __init__(self, work):
        versions = pathlib.Path("/usr/lib/postgresql").glob("*/bin")
        self.bin = max(versions, key=lambda path: float(path.parent.name))
        self.work, self.port = work, free_port()
        self.data, self.copy = work / "data", work / "copy"
        self.user = pwd.getpwnam("postgres") if os.getuid() == 0 else None
        for folder in (self.data, self.copy):
            shutil.rmtree(folder, ignore_errors=True)
        if self.user:
            for parent in [work, *work.parents][:-1]:
                parent.chmod(parent.stat().st_mode | 0o011)
            os.chown(work, self.user.pw_uid, self.user.pw_gid)
        self.run("initdb", "-D", self.data, "-A", "trust", "--no-sync", "-U", "postgres")
        with open(self.data / "postgresql.conf", "a") as file:
            file.write(
                f"unix_socket_directories = '{work}'\nlisten_addresses = ''\nport = {self.port}\n"
                "shared_buffers = '512MB'\nmax_wal_size = '8GB'\nmax_connections = 200\nwal_level = replica\n")
        self.start(self.data, "main")
        self.sql(SCHEMA)
        for name, text in (("credit", CREDIT), ("spend", SPEND), ("page", PAGE)):
            (work / f"{name}.sql").write_text(text)
        self.url = f"postgresql://postgres@/postgres?host={work}&port={self.port}"

    def environment(self):
        return {**os.environ, "PGHOST": str(self.work), "PGPORT": str(self.port), "PGUSER": "postgres",
                "PGDATABASE": "postgres"}

    def run(self, program, *arguments, **options):
        identity = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        done = subprocess.run(
            [self.bin / program, *map(str, arguments)], capture_output=True, text=True, env=self.environment(),
            cwd=self.work, **identity, **options)
        if done.returncode:
            raise Fault(f"{program}: {done.stderr[-1500:]}")
        return done.stdout

    def start(self, data, name):
        # Its output is a file's: a pipe would be kept open by the server.
        identity = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        with open(self.work / f"{name}.log", "w") as log:
            command = [self.bin / "pg_ctl", "-D", data, "-w", "start"]
            if subprocess.run(command, stdout=log, stderr=log, **identity).returncode:
                raise Fault(f"PostgreSQL does not start: {(self.work / f'{name}.log').read_text()[-1500:]}")

    def stop(self, data):
        with contextlib.suppress(Fault):
            self.run("pg_ctl", "-D", data, "-m", "fast", "-w", "stop")

    def sql(self, text):
        return self.run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text).strip()

    def wal(self):
        return int(self.sql("SELECT pg_current_wal_insert_lsn() - '0/0'"))

    def textbook(self, script, clients, seconds):
        """Transactions a second, and each one's latency in microseconds with one client."""
        for path in self.work.glob("latency*"):
            path.unlink()
        more = ["-l", "--log-prefix", self.work / "latency"] if clients == 1 else []
        text = self.run(
            "pgbench", "-n", "-M", "prepared", "-c", clients, "-j", min(clients, 2), "-T", seconds, "-f",
            self.work / f"{script}.sql", *more)
        rate = float(re.search(r"tps = ([\d.]+)", text).group(1))
        latencies = [
            int(line.split()[2]) for path in self.work.glob("latency*") for line in path.read_text().splitlines()]
        return rate, statistics.median(latencies) if latencies else None

    @contextlib.contextmanager
    def synchronous_standby(self):
        shutil.rmtree(self.copy, ignore_errors=True)
        self.run("pg_basebackup", "-D", self.copy, "-R", "-X", "stream", "-c", "fast")
        with open(self.copy / "postgresql.auto.conf", "a") as file:
            file.write(f"\nport = {self.port + 1}\nsynchronous_standby_names = ''\n")
        self.start(self.copy, "copy")
        self.sql("ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.sql("SELECT pg_reload_conf()")
        end = time.monotonic() + 30
        while self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") != "1":
            if time.monotonic() > end:
                raise Fault("the standby is not synchronous")
            time.sleep(0.1)
        try:
            yield
        finally:
            self.sql("ALTER SYSTEM RESET synchronous_standby_names")
            self.sql("SELECT pg_reload_conf()")
            self.stop(self.copy)


class Node:
    """A service of which the log is the database."""

    def __init__(self, bench, name, schema):
        self.bench, self.name = bench, name
        self.port = free_port()
        self.socket = bench.work / f"{name}.sock"
        self.config = bench.work / f"{name}-{schema}.json"
        self.config.write_text(json.dumps({
            "app": {"bundleId": "com.example.game", "environment": "Sandbox"}, "path": f"{name}-{schema}",
            "listen": [f"{HOST}:{self.port}", f"unix:{self.socket}"], "anchors": ["chain/root.der"], "catalog": "catalog.json",
            "insecureLoopback": True, "node": {
                "log": bench.database.url, "schema": schema, "name": name, "address": f"{HOST}:{self.port}"}}))
        shutil.rmtree(bench.work / f"{name}-{schema}", ignore_errors=True)
        self.log = bench.work / f"{name}-{schema}.log"
        with open(self.log, "wb") as output:
            self.process = subprocess.Popen(
                [bench.binary, "serve", "--create", "--config", self.config], stdin=subprocess.DEVNULL, stdout=output,
                stderr=output)
        end = time.monotonic() + 30
        while "addresses=" not in self.log.read_text(errors="replace"):
            if time.monotonic() > end or self.process.poll() is not None:
                raise Fault(f"the node does not start: {self.log.read_text(errors='replace')[-1500:]}")
            time.sleep(0.05)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Bench:
    def __init__(self, options):
        self.binary = str(pathlib.Path(options.binary).resolve())
        self.work = pathlib.Path(options.work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.runs, self.seconds, self.out = options.runs, options.seconds, options.out
        self.database = Database(self.work)
        shutil.rmtree(self.work / "chain", ignore_errors=True)
        subprocess.run([self.binary, "sandbox", "init", self.work / "chain"], check=True, capture_output=True)
        (self.work / "catalog.json").write_text(
            json.dumps({"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}))
        self.schemas = 0
        self.values = {}

    @contextlib.contextmanager
    def node(self, name="one", schema=None):
        if schema is None:
            self.schemas += 1
            schema = f"games{self.schemas}"
        node = Node(self, name, schema)
        try:
            yield node
        finally:
            node.stop()

    def load(self, node, workload, connections, in_flight, seconds=None, is_unix=False, **more):
        arguments = [
            "load", "--server", f"unix:{node.socket}" if is_unix else f"{HOST}:{node.port}", "--chain", self.work / "chain", "--pid", node.process.pid,
            "--workload", workload, "--connections", connections, "--in-flight", in_flight, "--json", "--wallets",
            PLAYERS, *(part for name, value in more.items() for part in (f"--{name}", value))]
        if "count" not in more:
            arguments += ["--duration", seconds or self.seconds]
            if workload == "credits":
                # They are signed before the clock starts: as many as there can be.
                arguments += ["--count", 40_000 * (seconds or self.seconds)]
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise Fault(f"load: {done.stderr[-600:]}{done.stdout[-600:]}")
        return json.loads(done.stdout)

    def note(self, part, name, value):
        self.values.setdefault((part, name), []).append(value)
        line = json.dumps({"part": part, "name": name, "value": round(value, 3)})
        print(line, file=sys.stderr, flush=True)
        if self.out:
            with open(self.out, "a") as file:
                file.write(line + "\n")

    def median(self, part, name):
        return statistics.median(self.values[part, name])

    # MARK: parts

    def rate(self):
        for _ in range(self.runs):
            for workload in ("credits", "spends"):
                textbook, _ = self.database.textbook(workload[:-1], CLIENTS, self.seconds)
                self.note("rate", f"textbook {workload}", textbook)
                for name, each, is_unix in WAYS:
                    with self.node() as node:
                        done = self.load(node, workload, CLIENTS, CLIENTS * each, is_unix=is_unix)
                    self.note("rate", f"service {workload}, {name}", done["requestsPerSecond"])
        for workload in ("credits", "spends"):
            for name, _, _ in WAYS:
                yield (f"{workload}, 64 clients, {name}", self.median("rate", f"textbook {workload}"),
                       self.median("rate", f"service {workload}, {name}"), "ratio")

    def lone(self):
        for _ in range(self.runs):
            self.note("lone", "commit", self.database.textbook("page", 1, self.seconds)[1] / 1_000)
            with self.node() as node:
                for workload in ("credits", "spends"):
                    done = self.load(node, workload, 1, 1, count=2_000)
                    self.note("lone", workload, done["latencyMicroseconds"]["p50"] / 1_000)
        for workload in ("credits", "spends"):
            yield (f"{workload}, one client, p50 in ms", self.median("lone", "commit"), self.median("lone", workload),
                   "more")

    def standby(self):
        for _ in range(self.runs):
            for workload in ("credits", "spends"):
                with self.node() as node:
                    self.note("standby", f"{workload} without",
                              self.load(node, workload, CLIENTS, CLIENTS * 64)["requestsPerSecond"])
            with self.database.synchronous_standby():
                for workload in ("credits", "spends"):
                    with self.node() as node:
                        self.note("standby", f"{workload} with",
                                  self.load(node, workload, CLIENTS, CLIENTS * 64)["requestsPerSecond"])
        for workload in ("credits", "spends"):
            yield (f"{workload}, synchronous standby", self.median("standby", f"{workload} without"),
                   self.median("standby", f"{workload} with"), "ratio")

    def wal(self):
        for workload in ("credits", "spends"):
            for each in (1, 64):
                with self.node() as node:
                    self.load(node, workload, CLIENTS, CLIENTS * each, count=20_000)
                    self.database.sql("CHECKPOINT")
                    before = self.database.wal()
                    # What fills wallets, and warms up, would be counted too.
                    more = {"warmup": 0} if workload == "credits" else {"warmup": 0, "wallets": 1}
                    done = self.load(node, workload, CLIENTS, CLIENTS * each, count=100_000, **more, seed=2)
                    used = (self.database.wal() - before) / done["requests"]
                yield f"{workload}, 64 clients, {each} at a time: bytes of WAL each", None, used, ""

    def follower(self):
        cores = sorted(os.sched_getaffinity(0))[:2]
        if len(cores) < 2:
            raise Fault("follower needs two cores")

        def pin(core, *pids):
            for pid in pids:
                for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                    with contextlib.suppress(ProcessLookupError):
                        os.sched_setaffinity(int(task.name), {core})

        main = int((self.database.data / "postmaster.pid").read_text().splitlines()[0])
        os.sched_setaffinity(0, {cores[0]})
        pin(cores[0], main)
        try:
            with self.node("leader") as leader:
                os.sched_setaffinity(0, {cores[1]})
                with self.node("other", f"games{self.schemas}") as other:
                    os.sched_setaffinity(0, {cores[0]})
                    self.load(leader, "spends", CLIENTS, CLIENTS * 64, seconds=self.seconds)
                    for _ in range(self.runs):
                        self.note("follower", "alone", self.load(
                            leader, "spends", CLIENTS, CLIENTS * 64, seconds=self.seconds)["requestsPerSecond"])
                        stop, done = threading.Event(), []
                        worker = threading.Thread(target=self.ask, args=(other, cores[1], stop, done))
                        worker.start()
                        try:
                            self.note("follower", "asked", self.load(
                                leader, "spends", CLIENTS, CLIENTS * 64, seconds=self.seconds)["requestsPerSecond"])
                        finally:
                            stop.set()
                            worker.join()
                        self.note("follower", "audits, exports and backups meanwhile", len(done))
        finally:
            os.sched_setaffinity(0, set(cores))
        yield ("spends of a leader, a follower audited, exported and backed up", self.median("follower", "alone"),
               self.median("follower", "asked"), "ratio")

    def ask(self, node, core, stop, done):
        """Has a node audited, exported and backed up until that is enough."""
        server = ["--server", f"{HOST}:{node.port}"]
        folder = self.work / "asked"
        while not stop.is_set():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            for arguments in (["audit", "--config", node.config], ["export", "balances", *server, "--output",
                              folder / "balances.csv"]):
                process = subprocess.Popen(
                    [self.binary, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                    preexec_fn=lambda: os.sched_setaffinity(0, {core}))
                while process.poll() is None and not stop.is_set():
                    time.sleep(0.05)
                if process.poll() is None:
                    process.kill()
                    process.wait()
                elif process.returncode:
                    raise Fault(f"{arguments[0]}: {process.stderr.read()[-600:]}")
                else:
                    done.append(arguments[0])


PARTS = ("rate", "lone", "standby", "wal", "follower")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the command, built with the trait Postgres")
    parser.add_argument("--work", required=True, help="a folder for the database and the nodes")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10, help="of each run (10)")
    parser.add_argument("--out", help="a file that each run is added to")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {sorted(unknown)[0]}")
    bench = Bench(options)
    try:
        print("| what | textbook, or without | service, or with | |\n|---|---|---|---|")
        for part in options.parts or PARTS:
            for name, before, after, kind in getattr(bench, part)():
                said = "" if before is None else f"{before:,.2f}" if before < 100 else f"{before:,.0f}"
                last = {"ratio": lambda: f"{after / before:.2f} ×", "more": lambda: f"{after - before:+.2f}",
                        "": lambda: ""}[kind]()
                value = f"{after:,.2f}" if after < 100 else f"{after:,.0f}"
                print(f"| {name} | {said} | {value} | {last} |", flush=True)
    finally:
        bench.database.stop(bench.database.data)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Fault as fault:
        sys.exit(str(fault))
