#!/usr/bin/env python3
"""Measures what a ledger takes as it grows: bytes of log and tables, memory, and how long it takes to be there again.

    capacity.py --binary PATH --work FOLDER [--sizes 10000,100000,1000000]

Starts a service with an empty ledger and loads it with signed purchases, of a tenth as many players, then with
as many spends, up to each size; then with some hundred notifications. For each it tells the bytes that were added,
divided by what was asked, the service's processor time and memory, and the time from a start after SIGKILL to the first
answer. Prints a table for the page Capacity. Needs Linux and Python 3.9.
"""
import argparse
import json
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

HOST = "127.0.0.1"
NOTIFICATIONS = 300


def free_port():
    with socket.socket() as one:
        one.bind((HOST, 0))
        return one.getsockname()[1]


def ask(port, method, params, timeout=30):
    """One request on a connection of its own."""
    with socket.create_connection((HOST, port), timeout=timeout) as line:
        text = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        line.sendall(text.encode() + b"\n")
        reply = json.loads(line.makefile("rb").readline())
    if "error" in reply:
        raise SystemExit(f"{method}: {reply['error']}")
    return reply["result"]


class Ledger:
    def __init__(self, binary, work):
        self.binary, self.work = binary, work
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        self.call("sandbox", "init", work / "chain")
        (work / "catalog.json").write_text(
            json.dumps({"currencies": {"gems": {}}, "products": {"com.example.game.gems500": {"gems": 500}}}))
        self.port = free_port()
        (work / "ledger.json").write_text(json.dumps({
            "app": {"bundleId": "com.example.game", "environment": "Sandbox"}, "path": "ledger",
            "listen": [f"{HOST}:{self.port}"], "anchors": ["chain/root.der"], "catalog": "catalog.json",
            "insecureLoopback": True}))
        self.start()

    def call(self, *arguments):
        done = subprocess.run([self.binary, *map(str, arguments)], capture_output=True, text=True, check=True)
        return done.stdout

    def start(self):
        """Seconds until there is an answer."""
        begin = time.monotonic()
        self.process = subprocess.Popen(
            [self.binary, "serve", "--create", "--config", self.work / "ledger.json"], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=open(self.work / "log", "ab"))
        while time.monotonic() < begin + 60:
            try:
                ask(self.port, "balance", {"account": "nobody"})
                return time.monotonic() - begin
            except (OSError, ValueError):
                time.sleep(0.005)
        raise SystemExit("the service does not start")

    def load(self, workload, count, first, players):
        text = self.call(
            "load", "--server", f"{HOST}:{self.port}", "--chain", self.work / "chain", "--pid", self.process.pid,
            "--workload", workload, "--count", count, "--connections", 8, "--in-flight", 1024, "--warmup", 0,
            "--wallets", players, "--first-wallet", first, "--json")
        return json.loads(text)

    def sizes(self):
        """Bytes of the log up to its last block, and of the tables, without what is written ahead."""
        log = sum(path.stat().st_blocks * 512 for path in (self.work / "ledger/log").iterdir())
        tables = sum(path.stat().st_size for path in (self.work / "ledger").glob("*.sqlite"))
        return log, tables

    def settled_sizes(self):
        """The same with nothing on its way."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        sizes = self.sizes()
        self.start()
        return sizes

    def memory(self):
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("VmRSS:")[1].split()[0]) * 1_024

    def restart(self):
        self.process.kill()
        self.process.wait()
        return self.start()

    def notify(self, count):
        """Bytes of the log that each notification with a purchase takes."""
        before = self.settled_sizes()
        for number in range(count):
            signed = self.call(
                "sandbox", "notify", self.work / "chain", "--notification-type", "ONE_TIME_CHARGE", "--transaction-id",
                10 ** 15 + number).strip()
            ask(self.port, "notify", {"signedPayload": signed})
        after = self.settled_sizes()
        return [(now - then) / count for now, then in zip(after, before)]

    def stop(self):
        self.process.kill()
        self.process.wait()


def mega(count):
    return f"{count / 1e6:,.0f} MB"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", required=True, help="a folder for the ledger")
    parser.add_argument("--sizes", default="10000,100000,1000000", help="purchases, and as many spends")
    options = parser.parse_args()
    ledger = Ledger(str(pathlib.Path(options.binary).resolve()), pathlib.Path(options.work).resolve())
    try:
        print("| purchases, spends | players | log, tables | a purchase: log, tables, CPU | a spend: log, tables, CPU "
              "| memory | after SIGKILL |\n|---|---|---|---|---|---|---|")
        done = 0
        before = ledger.settled_sizes()
        for size in map(int, options.sizes.split(",")):
            count, row = size - done, []
            # The wallets that are spent from are filled before: as many grants as players.
            for workload in ("credits", "spends"):
                said = ledger.load(workload, count, done, max(count // 10, 1))
                memory = ledger.memory()
                after = ledger.settled_sizes()
                log, tables = ((now - then) / count for now, then in zip(after, before))
                row.append(f"{log:,.0f} B, {tables:,.0f} B, {said['server']['cpuMicrosecondsPerRequest']:.0f} µs")
                before = after
            print(f"| {size:,} | {size // 10:,} | {mega(after[0])}, {mega(after[1])} | {' | '.join(row)} "
                  f"| {mega(memory)} | {ledger.restart():.2f} s |", flush=True)
            done = size
        log, tables = ledger.notify(NOTIFICATIONS)
        print(f"\na notification with its purchase: {log:,.0f} bytes of log, {tables:,.0f} of tables")
    finally:
        ledger.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
