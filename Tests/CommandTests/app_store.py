"""The part of the App Store Server API that tells what was sent and refunded, and is told: answers what its files say.

    app_store.py FOLDER     prints its port; history.jsonl has {"time", "signedPayload"} lines, refunds.jsonl signed
                            transactions, refusals.json {"path": [status, errorCode]} for what it is told (status 0:
                            it says nothing) and is asked of refunds, attempt.json a test notification's
                            sendAttemptResult; each is read anew for each request. requests.jsonl gets what was asked,
                            with the status of what it was told
"""
import http.server
import json
import pathlib
import sys
import time

folder = pathlib.Path(sys.argv[1])


def lines(name):
    path = folder / name
    return path.read_text().splitlines() if path.exists() else []


class Store(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def asked(self, body, status=None):
        with open(folder / "requests.jsonl", "a") as file:
            file.write(json.dumps({"path": self.path, "body": json.dumps(body, sort_keys=True), "status": status}) + "\n")

    def told(self, body):
        refusals = json.loads("".join(lines("refusals.json")) or "{}")
        status, code = refusals.get(self.path, [202, None])
        self.asked(body, status)
        if status == 0:
            time.sleep(120)
        self.answer(status, {} if code is None else {"errorCode": code, "errorMessage": "refused."})

    def do_PUT(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.told(body)

    def do_POST(self):
        data = self.rfile.read(int(self.headers["Content-Length"] or 0))
        if self.path.endswith("/finish"):
            return self.told(None)
        if self.path == "/inApps/v1/notifications/test":
            return self.answer(200, {"testNotificationToken": "token"})
        query = json.loads(data)
        self.asked(query)
        path, _, token = self.path.partition("?paginationToken=")
        if path != "/inApps/v1/notifications/history" or not self.headers["Authorization"].startswith("Bearer ey"):
            return self.answer(404, {})
        sent = [line for line in map(json.loads, lines("history.jsonl"))
                if query["startDate"] <= line["time"] < query["endDate"]]
        start = int(token or 0)
        page = sent[start:start + 20]
        self.answer(200, {
            "notificationHistory": [{"signedPayload": line["signedPayload"], "sendAttempts": []} for line in page],
            "paginationToken": str(start + len(page)), "hasMore": start + len(page) < len(sent)})

    def do_GET(self):
        self.asked(None)
        if self.path == "/inApps/v1/notifications/test/token":
            result = json.loads("".join(lines("attempt.json")))
            return self.answer(200, {"signedPayload": "jws", "sendAttempts": [
                {"attemptDate": 1, "sendAttemptResult": result}]})
        refusals = json.loads("".join(lines("refusals.json")) or "{}")
        if self.path in refusals:
            status, code = refusals[self.path]
            if status == 0:
                time.sleep(120)
            return self.answer(status, {"errorCode": code, "errorMessage": "refused.\u001b[31m"})
        if not self.path.startswith("/inApps/v2/refund/lookup/"):
            return self.answer(404, {})
        self.answer(200, {"signedTransactions": lines("refunds.jsonl"), "revision": "end", "hasMore": False})

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Store)
print(f"port={server.server_port}", file=sys.stderr, flush=True)
server.serve_forever()
