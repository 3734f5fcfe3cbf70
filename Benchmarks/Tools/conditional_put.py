#!/usr/bin/env python3
"""Tries an object store's conditional put (`If-None-Match: *`) as a log: block n is an object, put if absent.

    conditional_put.py fence   --endpoint http://127.0.0.1:8000 --key K --secret S
    conditional_put.py doubt   --endpoint ...       appends whose answer is lost: what can be known, and how
    conditional_put.py measure --endpoint ...       one block at a time, as a leader appends; beside a file's sync
    conditional_put.py cost                         of a million credits, from published prices
    conditional_put.py --check                      all of it against stores in this process: what the tests run

The endpoint speaks S3 with signatures of version 4, and is on this machine: nothing else is spoken to. Keys may come
from LEDGER_S3_KEY and LEDGER_S3_SECRET too. The bucket (`--bucket`) is made where it is not there.

`fence` has several writers put other bytes under the same number at the same time, for many numbers. Each number must
have one winner, the object must be the winner's, and all others must be refused (412) or told to try again (409). With
`--without-condition` the header is left out, and the faults must be found.

`doubt` cuts the connection before the answer, at random moments. Then it looks whether the block is there, and settles
it as a log does: it puts a block of its own under the same number. It counts how often the look said "not there" of a
block that was there in the end. Whoever had told the client "not appended" would have been wrong so often.

`measure` puts blocks of 1 to 10,000 credits, each after the answer of the one before.

Seeds are printed. Needs Python 3.9; no packages.
"""
import argparse
import datetime
import hashlib
import hmac
import http.client
import http.server
import os
import random
import socket
import statistics
import sys
import tempfile
import threading
import time
import urllib.parse

# Bytes of a credit in a block, its evidence included: 9.0 GB of log for 10 million purchases (Performance.md).
CREDIT_BYTES = 900
# Bytes of a block without a row: a header and two hashes.
BLOCK_BYTES = 300
BATCHES = (1, 10, 100, 1_000, 10_000)
# Dollars: of a thousand puts, of a GB sent, of a GB kept for a month. The article says whose page, and when.
PRICES = {
    "S3 Standard": (0.005, 0.0, 0.023),
    "S3 Express One Zone": (0.00113, 0.0032, 0.11),
    "GCS Standard, one region": (0.005, 0.0, 0.020),
}


class Store:
    """One connection to a bucket."""

    def __init__(self, options):
        self.endpoint = urllib.parse.urlsplit(options.endpoint)
        if self.endpoint.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise SystemExit("the endpoint must be on this machine")
        self.key, self.secret, self.bucket = options.key, options.secret, options.bucket
        self.connection = None

    def headers(self, method, path, body, extra):
        """The headers of a request, signed (AWS Signature Version 4)."""
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        digest = hashlib.sha256(body).hexdigest()
        headers = {"host": self.endpoint.netloc, "x-amz-content-sha256": digest, "x-amz-date": stamp, **extra}
        names = sorted(headers)
        canonical = "\n".join(
            [method, path, "", *(f"{name}:{headers[name]}" for name in names), "", ";".join(names), digest])
        scope = f"{day}/us-east-1/s3/aws4_request"
        to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        key = b"AWS4" + self.secret.encode()
        for part in (day, "us-east-1", "s3", "aws4_request"):
            key = hmac.new(key, part.encode(), hashlib.sha256).digest()
        signature = hmac.new(key, to_sign.encode(), hashlib.sha256).hexdigest()
        headers["authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders={';'.join(names)}, Signature={signature}")
        return headers

    def path(self, name):
        return f"/{self.bucket}/{name}" if name else f"/{self.bucket}"

    def request(self, method, name="", body=b"", extra={}):
        """Sends a request and waits for its answer: the status and the body."""
        path = self.path(name)
        for attempt in range(2):
            if self.connection is None:
                self.connection = http.client.HTTPConnection(self.endpoint.hostname, self.endpoint.port, timeout=30)
                self.connection.connect()
                self.connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            try:
                self.connection.request(method, path, body, self.headers(method, path, body, extra))
                answer = self.connection.getresponse()
                return answer.status, answer.read()
            except (http.client.HTTPException, OSError):
                # A connection that the server closed while it was idle. A put is sent again only under its condition.
                self.connection.close()
                self.connection = None
                if attempt or (method == "PUT" and name and "if-none-match" not in extra):
                    raise
        raise AssertionError

    def put(self, name, body, conditional=True):
        return self.request("PUT", name, body, {"if-none-match": "*"} if conditional else {})[0]

    def get(self, name):
        status, body = self.request("GET", name)
        return body if status == 200 else None

    def put_and_cut(self, name, body, share, wait):
        """Sends a part of a conditional put, waits, and cuts the connection without reading an answer."""
        path = self.path(name)
        headers = self.headers("PUT", path, body, {"if-none-match": "*"})
        lines = [f"PUT {path} HTTP/1.1", *(f"{key}: {value}" for key, value in headers.items()),
                 f"content-length: {len(body)}", "", ""]
        data = "\r\n".join(lines).encode() + body
        with socket.create_connection((self.endpoint.hostname, self.endpoint.port), timeout=30) as connection:
            connection.sendall(data[: max(1, int(len(data) * share))])
            time.sleep(wait)

    def make_bucket(self):
        status, answer = self.request("PUT")
        if status not in (200, 409):
            raise SystemExit(f"the bucket cannot be made: {status} {answer[:200]!r}")


def prefix(what):
    """Names that no earlier run has used."""
    return f"{what}-{time.time_ns():x}"


def name(run, number):
    return f"{run}/{number:016d}"


def block(generator, batch=1):
    return generator.randbytes(BLOCK_BYTES + CREDIT_BYTES * batch)


# MARK: What is tried


def fence(options):
    """Gives back how many faults were found."""
    generator = random.Random(options.seed)
    run = prefix("fence")
    Store(options).make_bucket()
    answers, faults = {}, []
    won = [[] for _ in range(options.numbers)]
    bodies = [[block(generator) for _ in range(options.writers)] for _ in range(options.numbers)]
    barrier = threading.Barrier(options.writers, timeout=60)
    lock = threading.Lock()

    def write(writer):
        store = Store(options)
        for number in range(options.numbers):
            barrier.wait()
            status = store.put(name(run, number), bodies[number][writer], not options.without_condition)
            with lock:
                answers[status] = answers.get(status, 0) + 1
                if status == 200:
                    won[number].append(writer)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(options.writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store = Store(options)
    for number in range(options.numbers):
        stored = store.get(name(run, number))
        if len(won[number]) > 1:
            faults.append(f"block {number} was appended by {len(won[number])} writers")
        elif not won[number]:
            # Everybody was told to try again. Nothing may be there.
            if stored is not None and stored not in bodies[number]:
                faults.append(f"block {number} is nobody's")
        elif stored != bodies[number][won[number][0]]:
            faults.append(f"block {number} is not the winner's")
    told = ", ".join(f"{count:,} x {status}" for status, count in sorted(answers.items()))
    print(f"fence: {options.numbers} numbers, {options.writers} writers each: {told}; {len(faults)} faults")
    for fault in faults[:3]:
        print(f"    {fault}")
    return len(faults)


def doubt(options):
    """Gives back how many faults were found."""
    generator = random.Random(options.seed)
    run = prefix("doubt")
    store = Store(options)
    store.make_bucket()
    settled = {"ours": 0, "not there": 0}
    ends = []
    misled = faults = again = 0
    for number in range(options.numbers):
        ours, term = block(generator, 10), block(generator)
        # Half of them whole: those may come to be.
        share = 1.0 if generator.random() < 0.5 else generator.random()
        store.put_and_cut(name(run, number), ours, share, generator.random() * options.cut_milliseconds / 1000)
        looked = store.get(name(run, number))
        status = store.put(name(run, number), term)
        while status == 409:
            again += 1
            status = store.put(name(run, number), term)
        stored = store.get(name(run, number))
        ends.append(stored)
        if status == 412 and stored == ours:
            settled["ours"] += 1
            misled += looked is None
        elif status == 200 and stored == term:
            settled["not there"] += 1
            faults += looked is not None
        else:
            faults += 1
            what = "ours" if stored == ours else "nothing" if stored is None else f"{len(stored)} other bytes"
            print(f"    block {number}: {status}, and what is there is {what}")
    # What was settled stays settled: what was not there never comes.
    time.sleep(options.later_seconds)
    faults += sum(store.get(name(run, number)) != stored for number, stored in enumerate(ends))
    print(f"doubt: {options.numbers} appends cut: {settled['ours']} were there, {settled['not there']} were not; "
          f"looking said \"not there\" of {misled} that were; {again} x 409; {faults} faults")
    return faults


def measure(options):
    generator = random.Random(options.seed)
    store = Store(options)
    store.make_bucket()
    print("credits a block | bytes | put: median, 99 % ms | blocks/s | credits/s | unconditional: median ms | "
          "file and fdatasync: median ms")
    for batch in options.batches:
        body = block(generator, batch)
        times = {}
        for kind in ("conditional", "unconditional", "file"):
            run = prefix("measure")
            taken = []
            with tempfile.NamedTemporaryFile(dir=options.folder) as file:
                end = time.monotonic() + options.seconds
                number = 0
                while time.monotonic() < end or number < 5:
                    begin = time.monotonic()
                    if kind == "file":
                        os.write(file.fileno(), body)
                        os.fdatasync(file.fileno())
                    else:
                        status = store.put(name(run, number), body, kind == "conditional")
                        if status != 200:
                            raise SystemExit(f"a put was answered with {status}")
                    taken.append((time.monotonic() - begin) * 1000)
                    number += 1
                    if number * len(body) > options.bytes_max:
                        break
            times[kind] = sorted(taken)
        put = times["conditional"]
        rate = 1000 * len(put) / sum(put)
        late = put[int(0.99 * len(put))]
        print(f"{batch:,} | {len(body):,} | {statistics.median(put):.2f}, {late:.2f} | {rate:,.0f} | "
              f"{rate * batch:,.0f} | {statistics.median(times['unconditional']):.2f} | "
              f"{statistics.median(times['file']):.2f}", flush=True)
    return 0


def million(prices, batch):
    """Dollars of a million credits: to put them, and to keep them for a month."""
    put, sent, kept = prices
    blocks = 1e6 / batch
    gigabytes = blocks * (BLOCK_BYTES + CREDIT_BYTES * batch) / 1e9
    return blocks / 1000 * put + gigabytes * sent, gigabytes * kept


def cost(options):
    print("credits a block | " + " | ".join(PRICES) + " (dollars a million credits: puts, and a month's keeping)")
    for batch in BATCHES:
        cells = ["{:.4g}, {:.2g}".format(*million(prices, batch)) for prices in PRICES.values()]
        print(f"{batch:,} | " + " | ".join(cells))
    return 0


# MARK: Checking


class Shelf(http.server.ThreadingHTTPServer):
    """A store in this process: whole, or with a fence that looks first and writes later."""

    daemon_threads = True

    def __init__(self, is_atomic):
        super().__init__(("127.0.0.1", 0), Hand)
        self.is_atomic = is_atomic
        self.objects = {}
        self.lock = threading.Lock()

    def handle_error(self, request, client_address):
        """A connection that was cut on purpose is no news."""


class Hand(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self):
        wanted = int(self.headers["content-length"] or 0)
        body = self.rfile.read(wanted)
        if len(body) < wanted:
            self.close_connection = True
            return
        # What was sent may come to be while the sender looks.
        time.sleep(0.002)
        shelf = self.server
        if shelf.is_atomic:
            with shelf.lock:
                taken = self.headers["if-none-match"] == "*" and self.path in shelf.objects
                if not taken:
                    shelf.objects[self.path] = body
        else:
            taken = self.headers["if-none-match"] == "*" and self.path in shelf.objects
            time.sleep(0.001)
            if not taken:
                shelf.objects[self.path] = body
        self.answer(412 if taken else 200)

    def do_GET(self):
        body = self.server.objects.get(self.path)
        self.answer(404 if body is None else 200, body or b"")


def check(options):
    """The tool against stores that are known: faults are found where there are some, and only there."""
    wrong = 0
    for is_atomic, without in ((True, False), (True, True), (False, False)):
        shelf = Shelf(is_atomic)
        threading.Thread(target=shelf.serve_forever, daemon=True).start()
        options.endpoint = f"http://127.0.0.1:{shelf.server_address[1]}"
        options.numbers, options.writers, options.without_condition = 30, 4, without
        options.cut_milliseconds, options.later_seconds = 2, 0
        print(f"a store {'with' if is_atomic else 'without'} an atomic fence"
              f"{', and puts without a condition' if without else ''}")
        found = fence(options)
        wrong += (found == 0) != (is_atomic and not without)
        if is_atomic and not without:
            wrong += doubt(options) != 0
            options.seconds, options.batches = 0.05, (1, 10)
            wrong += measure(options) != 0
        shelf.shutdown()
        shelf.server_close()
    puts, kept = million((0.005, 0.1, 0.02), 1_000)
    wrong += abs(puts - (0.005 + 0.09003)) > 1e-9 or abs(kept - 0.9003 * 0.02) > 1e-9
    wrong += cost(options)
    print("all as it should be" if not wrong else f"{wrong} are not as they should be")
    return int(wrong != 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", nargs="?", choices=["fence", "doubt", "measure", "cost"])
    parser.add_argument("--check", action="store_true", help="against stores in this process")
    parser.add_argument("--endpoint", default="http://127.0.0.1:8000")
    parser.add_argument("--key", default=os.environ.get("LEDGER_S3_KEY", "key"))
    parser.add_argument("--secret", default=os.environ.get("LEDGER_S3_SECRET", "secret"))
    parser.add_argument("--bucket", default="ledger-blocks")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--numbers", type=int, default=300, help="of blocks that are tried")
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--without-condition", action="store_true", help="leave the fence out: faults must be found")
    parser.add_argument("--cut-milliseconds", type=float, default=5, help="connections are cut within so long")
    parser.add_argument("--later-seconds", type=float, default=5, help="until all is read again")
    parser.add_argument("--seconds", type=float, default=3, help="for each row of measure")
    parser.add_argument("--batches", type=lambda text: tuple(map(int, text.split(","))), default=BATCHES)
    parser.add_argument("--bytes-max", type=int, default=400 << 20, help="of each row of measure")
    parser.add_argument("--folder", help="where the file for comparison is")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    if options.check:
        return check(options)
    if options.what is None:
        parser.error("say what to try")
    outcome = {"fence": fence, "doubt": doubt, "measure": measure, "cost": cost}[options.what](options)
    return int((outcome == 0) == options.without_condition if options.what == "fence" else outcome != 0)


if __name__ == "__main__":
    sys.exit(main())
