#!/usr/bin/env python3
"""How the ledger beside this file was made, once, when format 1 was frozen. It is not made again.

    make.py COMMAND     the built `currency-ledger`; writes ledger.tar.gz, root.der, questions.jsonl into this folder

The ledger has every kind of row that version 1 writes. Each line of questions.jsonl is a request, the role that asks
it, and the reply that it got; every later version must give the same (Format1Tests).
"""
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time

command, here = sys.argv[1], pathlib.Path(__file__).parent
folder = pathlib.Path(tempfile.mkdtemp())
TOKENS = {role: f"{role}-token-of-format-1" for role in ("purchases", "game", "finance", "admin")}
for name in ("catalog.json", "ledger.json"):
    shutil.copy(here / name, folder)


def run(*arguments):
    return subprocess.run([command, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


run("sandbox", "init", "chain")
shutil.copy(folder / "chain" / "root.der", folder / "root.der")
START = int(time.time() * 1000) - 86_400_000


def sign(number, product="gems500", **options):
    extra = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    return run("sandbox", "sign", "chain", "--product", f"com.example.game.{product}", "--transaction-id",
               str(2_000_000_000_000_000 + number), "--purchase-date", str(START), "--signed-date",
               str(START + 1000 * number), *extra)


def notify(kind, jws, number, **options):
    (folder / "carried.jws").write_text(jws)
    extra = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    return run("sandbox", "notify", "chain", "--notification-type", kind, "--uuid",
               f"00000000-0000-4000-8000-{number:012}", "--transaction", "carried.jws", "--unchanged", *extra)


class Service:
    def __init__(self):
        self.process = subprocess.Popen([command, "serve", "--create", "--config", "ledger.json"], cwd=folder,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in self.process.stdout:
            if "addresses=" in line:
                host, port = line.split("addresses=")[1].split()[0].split(":")
                break
        self.connections = {}
        for role, token in TOKENS.items():
            stream = socket.create_connection((host, int(port))).makefile("rw")
            self.connections[role] = stream
            self.ask(role, "authenticate", token=token)

    def ask(self, role, method, **params):
        stream = self.connections[role]
        stream.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n")
        stream.flush()
        return json.loads(stream.readline())

    def stop(self):
        for stream in self.connections.values():
            stream.close()
        self.process.terminate()
        assert self.process.wait() == 0


def debits(**amounts):
    return [{"currency": currency, "amount": amount} for currency, amount in amounts.items()]


requests = [
    ("purchases", "credit", dict(account="ann", signedTransaction=sign(1, price=4990, price_currency="USD"))),
    ("purchases", "credit", dict(account="Zoë 語", signedTransaction=sign(2, "starter", quantity=3, price=9990,
                                                                         price_currency="EUR"))),
    ("purchases", "credit", dict(signedTransaction=sign(3, account_token="0F1E2D3C-4B5A-6978-8796-A5B4C3D2E1F0"))),
    ("purchases", "credit", dict(account="free", signedTransaction=sign(4, price=0, price_currency="USD"))),
    ("purchases", "notify", dict(signedPayload=notify("ONE_TIME_CHARGE", sign(5), 1))),
    ("purchases", "credit", dict(account="late", signedTransaction=sign(5))),
    ("game", "grant", dict(key="g1", account="ann", currency="gems", amount=70, note="welcome, 語")),
    ("game", "grant", dict(key="g2", account="ann", currency="tickets", amount=4, expiresAt=START + 86_400_000 * 9000)),
    ("game", "spend", dict(key="s1", account="ann", debits=debits(gems=450), note="a sword")),
    ("game", "spend", dict(key="s2", account="ann", debits=debits(gems=20, tickets=1))),
    ("game", "spend", dict(key="s3", account="ann", debits=debits(gems=5000))),
    ("game", "spend", dict(key="s4", account="nobody", debits=debits(gems=1))),
    ("game", "spend", dict(key="s5", account="Zoë 語", debits=debits(gems=10), funds="paid", expectedVersion=1,
                           minimumRemaining=5)),
    ("game", "reverse", dict(key="r1", spendKey="s1", debits=debits(gems=100))),
    ("game", "hold", dict(key="h1", account="ann", currency="gems", amount=30, timeoutMilliseconds=2_592_000_000)),
    ("game", "hold", dict(key="h2", account="ann", currency="gems", amount=20, timeoutMilliseconds=2_592_000_000)),
    ("game", "hold", dict(key="h3", account="ann", currency="gems", amount=10, timeoutMilliseconds=2_592_000_000)),
    ("game", "hold", dict(key="h4", account="free", currency="gems", amount=10, timeoutMilliseconds=1)),
    ("game", "capture", dict(key="c1", holdKey="h1", amount=12)),
    ("game", "release", dict(key="e1", holdKey="h2")),
    ("game", "atomic", dict(key="a1", operations=[
        {"method": "spend", "params": {"account": "ann", "debits": debits(gems=5)}},
        {"method": "grant", "params": {"account": "bob", "currency": "tickets", "amount": 2}},
        {"method": "hold", "params": {"account": "ann", "currency": "gems", "amount": 1,
                                      "timeoutMilliseconds": 2_592_000_000}}])),
    ("game", "atomic", dict(key="a2", operations=[
        {"method": "grant", "params": {"account": "bob", "currency": "tickets", "amount": 2}},
        {"method": "spend", "params": {"account": "bob", "debits": debits(tickets=50)}}])),
    ("game", "release", dict(key="e2", holdKey="h3")),
    ("game", "release", dict(key="e3", holdKey="a1")),
    # A part is refunded, then all of it after most was spent: a debt, which a later credit pays in part.
    ("purchases", "notify", dict(signedPayload=notify("REFUND", sign(
        1, signed_date=START + 5_000_000, revocation_date=START + 5_000_000, revocation_percentage=20_000), 2))),
    ("purchases", "credit", dict(account="ann", signedTransaction=sign(
        1, signed_date=START + 6_000_000, revocation_date=START + 6_000_000))),
    ("game", "grant", dict(key="g3", account="ann", currency="gems", amount=25)),
    ("purchases", "notify", dict(signedPayload=notify("CONSUMPTION_REQUEST", sign(2, "starter", quantity=3), 3,
                                                      consumption_request_reason="UNINTENDED_PURCHASE"))),
    ("purchases", "credit", dict(account="free", signedTransaction=sign(
        4, signed_date=START + 7_000_000, revocation_date=START + 7_000_000))),
    ("purchases", "notify", dict(signedPayload=notify("REFUND_REVERSED", sign(4, signed_date=START + 8_000_000), 4))),
    ("game", "grant", dict(key="g4", account="gone", currency="gems", amount=9, expiresAt=START)),
]
service = Service()
for role, method, params in requests:
    reply = service.ask(role, method, **params)
    print(method, json.dumps(reply)[:150])
service.stop()
# A second term; a report closes its period, and what its time was over for is posted.
service = Service()
time.sleep(0.1)
service.ask("finance", "report", kind="trial")
service.ask("game", "balance", account="free")

closed = int(time.time() * 1000) - 50
asked = []
for role, method, params in requests:
    asked.append((role, method, params))
for account in ("ann", "bob", "Zoë 語", "free", "late", "gone", "nobody", "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"):
    asked.append(("game", "balance", dict(account=account)))
    asked.append(("game", "history", dict(account=account)))
for number in range(1, 7):
    asked.append(("finance", "purchase", dict(transactionId=str(2_000_000_000_000_000 + number))))
for kind in ("balances", "trial"):
    asked.append(("finance", "report", dict(kind=kind, asOf=closed)))
asked.append(("admin", "journal", dict(after=0)))
with open(here / "questions.jsonl", "w") as out:
    for role, method, params in asked:
        reply = service.ask(role, method, **params)
        line = {"role": role, "method": method, "params": params, "reply": reply.get("result", reply.get("error"))}
        out.write(json.dumps(line, ensure_ascii=False) + "\n")
service.stop()
print(run("--version"))
shutil.copy(folder / "root.der", here)
with tarfile.open(here / "ledger.tar.gz", "w:gz", compresslevel=9) as archive:
    for path in sorted((folder / "ledger").rglob("*")):
        if path.name.endswith(("-shm", "-wal")):
            continue
        archive.add(path, arcname=str(path.relative_to(folder)), recursive=False,
                    filter=lambda item: item.replace(uid=0, gid=0, uname="", gname="", mtime=0, deep=False))
shutil.rmtree(folder)
