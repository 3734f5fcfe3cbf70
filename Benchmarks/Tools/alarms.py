#!/usr/bin/env python3
"""Provokes what an operator is alarmed about, at a real service that a real Prometheus watches.

    alarms.py --binary PATH --work FOLDER [SCENARIO ...]

Each scenario starts a service (or two), and a Prometheus that reads its metrics each second, with the rules of
Schema/metrics/alerts.yml. Their times are shortened (a rate over five minutes is one over ten seconds, and nothing has
to last), their thresholds are not. Nothing may fire before. Then something is done to the service, and the alarms that
it has to bring are awaited. What fired, after how many seconds, and what it said is printed as a table for the page
Metrics. Ends with 1 where an alarm did not fire, or fired before anything was done.

Needs Linux, root (a small disk is mounted for one scenario), Python 3.9, and `prometheus`, `gcc`, `strace` and
`openssl`. Everything is bounded in number and time, and nothing but 127.0.0.1 is spoken to.
"""
import argparse
import contextlib
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import time
import urllib.parse
import urllib.request

HOST = "127.0.0.1"
RULES = pathlib.Path(__file__).resolve().parents[2] / "Schema/metrics/alerts.yml"
# Seconds in which a service starts, and in which an alarm has to fire: the service's own limits are ten at the most.
START_SECONDS_MAX = 20
FIRE_SECONDS_MAX = 60
DISK_BYTES = 256 << 20
# A wall clock that is ahead by the seconds that a file names, and another clock for all else.
CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec *time) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, time);
    FILE *file = clock == CLOCK_REALTIME && !result ? fopen(getenv("AHEAD"), "r") : NULL;
    long ahead = 0;
    if (file && fscanf(file, "%ld", &ahead) == 1) time->tv_sec += ahead;
    if (file) fclose(file);
    return result;
}
"""


class Fault(Exception):
    """What ends the program with a message."""


def free_port():
    with socket.socket() as one:
        one.bind((HOST, 0))
        return one.getsockname()[1]


def until(condition, seconds, what):
    """Asks again until there is an answer."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(OSError, ValueError, KeyError):
            if answer := condition():
                return answer
        time.sleep(0.1)
    raise Fault(f"{what}: not within {seconds} s")


class Line:
    """A client, one request after the other."""

    def __init__(self, port, token=None):
        self.socket = socket.create_connection((HOST, port), timeout=10)
        self.file = self.socket.makefile("rb")
        if token:
            self.ask("authenticate", {"token": token})

    def ask(self, method, params):
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self.socket.sendall(text.encode() + b"\n")
        return json.loads(self.file.readline() or b"{}")


class Service:
    """A service of one ledger, with a folder of its own."""

    def __init__(self, bench, name, folder=None, environment=None, **settings):
        self.bench, self.name = bench, name
        self.folder = folder or bench.folder / name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.port, self.metrics = free_port(), free_port()
        self.environment = environment or {}
        self.scheme = "https" if "tls" in settings else "http"
        self.config = self.folder / "ledger.json"
        self.config.write_text(json.dumps({
            "app": {"bundleId": "com.example.game", "environment": "Sandbox"}, "path": "ledger",
            "listen": [f"{HOST}:{self.port}"], "metrics": {"listen": [f"{HOST}:{self.metrics}"]},
            "anchors": [str(bench.chain / "root.der")], "catalog": str(bench.catalog), **settings}))
        self.start()

    def start(self):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("LEDGER_")}
        with open(self.folder / "log", "ab") as output:
            self.process = subprocess.Popen(
                [self.bench.binary, "serve", "--create", "--config", self.config], stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, env={**clean, **self.environment})
        self.bench.after(self.kill)
        until(lambda: self.get("/health/live"), START_SECONDS_MAX, f"{self.name} starts")

    def get(self, path):
        """A page of the metrics' address; whoever certifies it is believed."""
        trust = ssl._create_unverified_context()
        with urllib.request.urlopen(f"{self.scheme}://{HOST}:{self.metrics}{path}", timeout=5, context=trust) as reply:
            return reply.read().decode()

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def grant(self, count, first=0, account="player"):
        line = Line(self.port)
        for number in range(first, first + count):
            line.ask("grant", {"key": f"grant-{number}", "account": account, "currency": "gems", "amount": 1})


class Watcher:
    """A Prometheus, with the rules, that reads some services."""

    def __init__(self, bench, services):
        folder = bench.folder / "prometheus"
        folder.mkdir()
        rules = re.sub(r"\[\d+[mhd]\]|offset \d+m", lambda found: re.sub(r"\d+[mhd]", "10s", found.group()),
                       re.sub(r"\n +for: \w+", "", RULES.read_text()).replace("[6h], 86400", "[6h], 60"))
        (folder / "rules.yml").write_text(rules)
        targets = json.dumps([f"{HOST}:{service.metrics}" for service in services])
        (folder / "prometheus.yml").write_text(
            "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\n"
            f"scrape_configs: [{{job_name: currency-ledger, scheme: {services[0].scheme}, "
            f"tls_config: {{insecure_skip_verify: true}}, static_configs: [{{targets: {targets}}}]}}]\n")
        self.port = free_port()
        with open(folder / "log", "wb") as output:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address={HOST}:{self.port}"], stdout=output, stderr=output)
        bench.after(self.stop)
        until(lambda: len(self.query("up == 1")) == len(services), START_SECONDS_MAX, "Prometheus reads the services")
        # Rates have something to be rates of.
        time.sleep(4)

    def get(self, path):
        with urllib.request.urlopen(f"http://{HOST}:{self.port}/api/v1/{path}", timeout=5) as reply:
            return json.load(reply)["data"]

    def query(self, text):
        return self.get("query?query=" + urllib.parse.quote(text))["result"]

    def firing(self):
        """Alarms that fire, with a value of each."""
        return {
            one["labels"]["alertname"]: (float(one["value"]), one["annotations"]["summary"])
            for one in self.get("alerts")["alerts"] if one["state"] == "firing"}

    def stop(self):
        self.process.kill()
        self.process.wait()


class Bench:
    """What a scenario has: a folder, the chain, the catalog, and what is to be undone after it."""

    def __init__(self, binary, work, name):
        self.binary, self.name = binary, name
        self.folder = work / name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.undo = contextlib.ExitStack()
        self.chain, self.catalog = self.folder / "chain", self.folder / "catalog.json"
        self.call("sandbox", "init", self.chain)
        self.catalog.write_text(
            json.dumps({"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}))

    def after(self, step):
        self.undo.callback(step)

    def call(self, *arguments):
        done = subprocess.run([self.binary, *arguments], capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise Fault(f"{arguments}: {done.stderr.strip()}")
        return done.stdout.strip()

    def expect(self, services, provoke, *alarms):
        """Watches, provokes, and awaits the alarms. Rows of the table; raises where one does not fire."""
        watcher = Watcher(self, services)
        if before := watcher.firing():
            raise Fault(f"fires before anything was done: {before}")
        begin = time.monotonic()
        rows, missing = [], set(alarms)
        steps = iter(provoke())
        while missing and time.monotonic() - begin < FIRE_SECONDS_MAX:
            next(steps, None)
            for alarm, (value, summary) in watcher.firing().items():
                if alarm in missing:
                    missing.remove(alarm)
                    rows.append((self.name, alarm, time.monotonic() - begin, value, summary))
            time.sleep(0.2)
        if missing:
            raise Fault(f"{sorted(missing)} did not fire; {sorted(watcher.firing())} did")
        return rows


def strace(bench, service, *injections):
    """Has system calls of a running service fail, or take long."""
    process = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync,fsync",
         *(part for text in injections for part in ("-e", f"inject={text}")), "-p", str(service.process.pid)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    bench.after(lambda: (process.kill(), process.wait()))


OPEN = {"insecureLoopback": True}


def killed(bench):
    """the process is killed"""
    service = Service(bench, "ledger", **OPEN)
    return bench.expect([service], lambda: [service.kill()], "LedgerDown")


def disk(bench):
    """a file of others fills the disk"""
    mount = bench.folder / "disk"
    mount.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", mount], check=True)
    bench.after(lambda: subprocess.run(["umount", "-l", mount], check=True))
    service = Service(bench, "ledger", folder=mount, **OPEN)
    service.grant(10)

    def fill():
        with open(mount / "others", "wb") as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 20))
        yield
    return bench.expect([service], fill, "LedgerDiskFilling", "LedgerNotReady")


def clock(bench):
    """the machine's clock jumps 40 days ahead"""
    ahead, source, library = (bench.folder / name for name in ("ahead", "clock.c", "clock.so"))
    ahead.write_text("0")
    source.write_text(CLOCK)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    service = Service(bench, "ledger", environment={"LD_PRELOAD": str(library), "AHEAD": str(ahead)}, **OPEN)
    service.grant(10)

    def jump():
        ahead.write_text(str(40 * 86_400))
        for number in range(1_000):
            service.grant(1, first=100 + number)
            yield
    return bench.expect([service], jump, "LedgerClockHeldBack")


def certificate(bench):
    """the certificate of TLS is one of three days"""
    names = {}
    for name, days in (("long", 300), ("short", 3)):
        key, pem = bench.folder / f"{name}.key", bench.folder / f"{name}.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout",
             key, "-out", pem, "-days", str(days), "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"],
            check=True, capture_output=True)
        key.chmod(0o600)
        names[name] = key, pem
    key, pem = bench.folder / "server.key", bench.folder / "server.pem"
    shutil.copy(names["long"][0], key), shutil.copy(names["long"][1], pem)
    service = Service(bench, "ledger", tls={"certificate": str(pem), "key": str(key)}, **OPEN)

    def replace():
        shutil.copy(names["short"][0], key), shutil.copy(names["short"][1], pem)
        service.signal(signal.SIGHUP)
        yield
    return bench.expect([service], replace, "LedgerCertificateExpires")


def standby(bench, provoke, *alarms):
    token, member = bench.call("token", "new", "two", "--role", "replica").splitlines()
    admin, other = bench.call("token", "new", "all", "--role", "admin").splitlines()
    leader = Service(bench, "leader", tokens=json.loads("{" + member + "," + other + "}"))
    follower = Service(bench, "standby", follow={
        "leader": f"{HOST}:{leader.port}", "token": token, "name": "two"}, **OPEN)
    line = Line(leader.port, admin)
    line.ask("grant", {"key": "one", "account": "player", "currency": "gems", "amount": 1})
    until(lambda: Line(follower.port).ask("balance", {"account": "player"})["result"]["balances"]["gems"]["available"],
          START_SECONDS_MAX, "the standby has what its leader has")
    return bench.expect([leader, follower], lambda: provoke(leader, follower), *alarms)


def leader_stands_still(bench):
    """the leader is stopped (SIGSTOP)"""
    return standby(
        bench, lambda leader, _: [leader.signal(signal.SIGSTOP)],
        "LedgerStandbyBehind", "LedgerNobodyLeads", "LedgerDown")


def standby_lost(bench):
    """its standby is killed"""
    return standby(bench, lambda _, follower: [follower.kill()], "LedgerStandbyGone")


def forgeries(bench):
    """purchases with signatures of random numbers, 50 a second"""
    service = Service(bench, "ledger", **OPEN)
    signed = bench.call("sandbox", "sign", bench.chain, "--transaction-id", "4711").rsplit(".", 1)[0]
    dice = random.Random(1)

    def storm():
        line = Line(service.port)
        while True:
            for _ in range(10):
                signature = "".join(dice.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=86))
                line.ask("credit", {"account": "thief", "signedTransaction": f"{signed}.{signature[:-1]}A"})
            yield
    return bench.expect([service], storm, "LedgerForgeries")


def guessed_tokens(bench):
    """somebody guesses tokens"""
    _, member = bench.call("token", "new", "one", "--role", "game").splitlines()
    service = Service(bench, "ledger", tokens=json.loads("{" + member + "}"))

    def guess():
        while True:
            with contextlib.suppress(OSError, ValueError):
                Line(service.port, "clt_" + "A" * 43)
            yield
    return bench.expect([service], guess, "LedgerTokensRefused")


def connections(bench):
    """more than nine of ten places of connections are taken"""
    service = Service(bench, "ledger", **OPEN)
    kept = []

    def take():
        places = int(re.search(r"^ledger_connections_max (\d+)", service.get("/metrics"), re.M).group(1))
        kept.extend(Line(service.port) for _ in range(places * 92 // 100))
        yield
    return bench.expect([service], take, "LedgerConnectionsFull")


def syncs(bench, injection, *alarms):
    """A service goes on while something is done to its syncs."""
    service = Service(bench, "ledger", **OPEN)
    service.grant(10)

    def change():
        strace(bench, service, f"fdatasync,fsync:{injection}")
        for number in range(1_000):
            service.grant(2, first=100 + 2 * number)
            yield
    return bench.expect([service], change, *alarms)


def slow_disk(bench):
    """each sync takes 0.3 s"""
    return syncs(bench, "delay_enter=300000", "LedgerAppendSlow", "LedgerRequestsSlow")


def failing_disk(bench):
    """each sync fails (EIO)"""
    return syncs(bench, "error=EIO", "LedgerRequestsFail", "LedgerNotReady")


def damage(bench):
    """a row of the tables is changed from outside"""
    service = Service(bench, "ledger", **OPEN)
    for name in ("one", "two"):
        Line(service.port).ask("grant", {"key": name, "account": name, "currency": "gems", "amount": 5})
    service.signal(signal.SIGTERM)
    service.process.wait(20)
    path = next(path for path in (service.folder / "ledger").rglob("*")
                if path.is_file() and path.read_bytes()[:15] == b"SQLite format 3")
    before = path.read_bytes()
    copy = bench.folder / "copy"
    copy.write_bytes(before)
    with contextlib.closing(sqlite3.connect(copy)) as tables:
        tables.execute("PRAGMA ignore_check_constraints = 1")
        tables.execute("UPDATE lot SET remaining = remaining + 100")
        tables.commit()
    after = copy.read_bytes()
    # The first 100 bytes count changes.
    changed = [place for place in range(100, len(before)) if before[place] != after[place]]
    service.start()

    def change():
        with open(path, "r+b") as file:
            for place in changed:
                os.pwrite(file.fileno(), after[place:place + 1], place)
        for number in range(1_000):
            Line(service.port).ask("spend", {
                "key": f"spend-{number}", "account": "one", "debits": [{"currency": "gems", "amount": 1}]})
            yield
    return bench.expect([service], change, "LedgerDamaged")


SCENARIOS = {scenario.__name__.replace("_", "-"): scenario for scenario in (
    killed, disk, clock, certificate, leader_stands_still, standby_lost, forgeries, guessed_tokens, connections,
    slow_disk, failing_disk, damage)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, help="the built command")
    parser.add_argument("--work", required=True, help="a folder for ledgers and logs")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {', '.join(SCENARIOS)}; all by default")
    options = parser.parse_args()
    if unknown := set(options.scenarios) - set(SCENARIOS):
        parser.error(f"there is no scenario {sorted(unknown)[0]}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    work = pathlib.Path(options.work).resolve()
    failed = False
    print("| provoked | alarm | fires after | it says |\n|---|---|---|---|")
    for name in options.scenarios or SCENARIOS:
        bench = Bench(str(pathlib.Path(options.binary).resolve()), work, name)
        with bench.undo:
            try:
                for _, alarm, seconds, _, summary in SCENARIOS[name](bench):
                    said = re.sub(r"127\.0\.0\.1:\d+", "the service", summary)
                    print(f"| {SCENARIOS[name].__doc__} | `{alarm}` | {seconds:.0f} s | {said} |", flush=True)
            except (Fault, OSError, KeyError, subprocess.SubprocessError) as fault:
                failed = True
                print(f"{name}: {fault}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
