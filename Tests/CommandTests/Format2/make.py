#!/usr/bin/env python3
"""How the ledger beside this file was made, once, when version 2 of blocks was frozen. It is not made again.

    make.py COMMAND     the built `currency-ledger`; writes ledger.tar.gz, root.der, questions.jsonl and summary.txt

The ledger has links of every kind, consents, and blocks of both versions. Each line of questions.jsonl is a request, the
role that asks it, and the reply that it got; every later version must give the same (Format2Tests).
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

command, here = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(__file__).resolve().parent
folder = pathlib.Path(tempfile.mkdtemp())
# The tokens, catalog and configuration are those of Format1.
TOKENS = {role: f"{role}-token-of-format-1" for role in ("purchases", "game", "finance", "admin")}
for name in ("catalog.json", "ledger.json"):
    shutil.copy(here / name, folder)


def run(*arguments):
    return subprocess.run([command, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


run("sandbox", "init", "chain")
shutil.copy(folder / "chain" / "root.der", folder / "root.der")
START = int(time.time() * 1000) - 86_400_000
GUEST, SECOND, THIRD = (f"5f0e8c2a-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))


def sign(number, product="gems500", **options):
    extra = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    return run("sandbox", "sign", "chain", "--product", f"com.example.game.{product}", "--transaction-id",
               str(2_000_000_000_000_000 + number), "--purchase-date", str(START),
               *([] if "signed_date" in options else ["--signed-date", str(START + 1000 * number)]), *extra)


def refund(number, token, after, **options):
    return sign(number, account_token=token, signed_date=START + after, revocation_date=START + after, **options)


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


def gems(amount):
    return [{"currency": "gems", "amount": amount}]


requests = [
    # A guest with used and half-refunded purchases, a hold, a grant and a consent; an account that has something.
    ("purchases", "credit", dict(signedTransaction=sign(1, account_token=GUEST, price=4990, price_currency="USD"))),
    ("purchases", "credit", dict(signedTransaction=sign(2, account_token=GUEST))),
    ("game", "grant", dict(key="g1", account=GUEST, currency="gems", amount=70, expiresAt=START + 86_400_000 * 9000)),
    ("game", "spend", dict(key="s1", account=GUEST, debits=gems(600))),
    ("purchases", "credit", dict(signedTransaction=refund(2, GUEST, 5_000_000, revocation_percentage=50_000))),
    ("game", "hold", dict(key="h1", account=GUEST, currency="gems", amount=30, timeoutMilliseconds=2_592_000_000)),
    ("purchases", "consent", dict(key="y1", account=GUEST, consumption=True)),
    ("game", "grant", dict(key="g2", account="ann", currency="gems", amount=25)),
    ("purchases", "link", dict(token=GUEST, account="ann")),
    ("purchases", "link", dict(token=GUEST, account="bob")),
    ("purchases", "link", dict(token=GUEST, account=GUEST)),
    ("game", "spend", dict(key="s2", account=GUEST, debits=gems(20))),
    ("game", "capture", dict(key="c1", holdKey="h1", amount=12)),
    ("game", "reverse", dict(key="r1", spendKey="s1", debits=gems(40))),
    ("purchases", "credit", dict(account="ann", signedTransaction=refund(1, GUEST, 6_000_000))),
    ("game", "consent", dict(key="y2", account="ann", consumption=False)),
    # A guest whose lots are all used: a refund finds them in a wallet that has had nothing before.
    ("purchases", "credit", dict(signedTransaction=sign(3, account_token=SECOND))),
    ("game", "spend", dict(key="s3", account=SECOND, debits=gems(500))),
    ("purchases", "link", dict(token=SECOND, account="bob")),
    ("purchases", "credit", dict(signedTransaction=refund(3, SECOND, 7_000_000))),
    # A token of a token, and one that an admin links anew.
    ("purchases", "link", dict(token=THIRD, account=SECOND)),
    ("purchases", "credit", dict(signedTransaction=sign(4, account_token=THIRD))),
    ("admin", "relink", dict(token=GUEST, account="bob")),
    ("purchases", "credit", dict(signedTransaction=sign(5, account_token=GUEST))),
]
service = Service()
for role, method, params in requests:
    reply = service.ask(role, method, **params)
    print(method, json.dumps(reply)[:150])
service.stop()
service = Service()
time.sleep(0.1)
service.ask("finance", "report", kind="trial")

closed = int(time.time() * 1000) - 50
# What was answered by a key, and what changes nothing once it is done.
asked = [request for request in requests if request[1] not in ("relink", "link")]
for role, method, params in requests:
    if method == "link" and params["token"] != GUEST:
        asked.append((role, method, params))
asked.append(("admin", "relink", dict(token=GUEST, account="bob")))
for account in ("ann", "bob", GUEST, SECOND, THIRD):
    asked.append(("game", "balance", dict(account=account)))
    asked.append(("game", "history", dict(account=account)))
    asked.append(("game", "find", dict(account=account)))
    asked.append(("game", "balance", dict(account=account, asOf=closed)))
for number in range(1, 6):
    asked.append(("finance", "purchase", dict(transactionId=str(2_000_000_000_000_000 + number))))
    asked.append(("finance", "find", dict(transactionId=str(2_000_000_000_000_000 + number))))
for kind in ("balances", "trial"):
    asked.append(("finance", "report", dict(kind=kind, asOf=closed)))
asked.append(("finance", "find", dict(key="y1")))
asked.append(("admin", "journal", dict(after=0)))
with open(here / "questions.jsonl", "w") as out:
    for role, method, params in asked:
        reply = service.ask(role, method, **params)
        line = {"role": role, "method": method, "params": params, "reply": reply.get("result", reply.get("error"))}
        out.write(json.dumps(line, ensure_ascii=False) + "\n")
service.stop()
summary = subprocess.run([sys.executable, here.parents[2] / "Schema" / "verify" / "verify_log.py", folder / "ledger"],
                         check=True, capture_output=True, text=True).stdout
(here / "summary.txt").write_text(summary)
print(len(asked), run("--version"), summary)
shutil.copy(folder / "root.der", here)
with tarfile.open(here / "ledger.tar.gz", "w:gz", compresslevel=9) as archive:
    for path in sorted((folder / "ledger").rglob("*")):
        if path.name.endswith(("-shm", "-wal")):
            continue
        archive.add(path, arcname=str(path.relative_to(folder)), recursive=False,
                    filter=lambda item: item.replace(uid=0, gid=0, uname="", gname="", mtime=0, deep=False))
shutil.rmtree(folder)
