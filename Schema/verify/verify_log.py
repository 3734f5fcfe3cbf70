#!/usr/bin/env python3
"""Checks a ledger's chain of blocks with nothing but the pages BlockFormat and FileLog.

    verify_log.py PATH      a ledger's folder, a file log's folder, or a file of blocks one after the other, each as
                            its body's count of bytes (4, big-endian), the body, and the same of its redactable part
    verify_log.py ARCHIVE… LEDGER
                            the folders of a ledger's archives, in the order of their blocks, and its own: one chain

Checked are: the chain (numbers, previous hashes, terms, times), SHA-256 of each body, the first block, the canonical
form of every section, dense sequences, salted names, that names are gone where a block erases them and nowhere else,
that each JWS can be put together again from its stored parts, that the debits of each currency are its credits, that
nobody's wallet or held account is ever below zero, that what is moved by a link comes in as it went out, of lots that
the player had, and that Apple was told of purchases that there are, of each thing once.

The first fault is told with its block's number, and the exit status is 1. Otherwise a summary is printed.
"""
import base64
import collections
import hashlib
import pathlib
import struct
import sys

SEQUENCES = ("currency", "actor", "account", "header", "entry", "transfer", "evidence", "assignment", "notification",
             "request")
DENSE = {2: "currency", 3: "actor", 4: "account", 5: "header", 6: "entry", 7: "transfer", 10: "evidence",
         11: "assignment", 12: "notification", 13: "request"}
WALLET, HELD, RECEIVABLE, MOVED, ADJUSTED, IMPORTED = 1, 2, 3, 10, 11, 12
AMOUNT_MAX = 2**53 - 1


class Fault(Exception):
    pass


def need(holds, words):
    if not holds:
        raise Fault(words)


class Reader:
    """The fields of the page's table, read one after the other."""

    def __init__(self, data):
        self.data, self.place, self.end = data, 0, len(data)

    def take(self, count):
        need(count <= self.end - self.place, "the bytes end within a field")
        self.place += count
        return self.data[self.place - count:self.place]

    def u8(self):
        return self.take(1)[0]

    def u32(self):
        return int.from_bytes(self.take(4), "big")

    def i64(self):
        return int.from_bytes(self.take(8), "big", signed=True)

    def digest(self):
        return self.take(32)

    def leb128(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                need(byte != 0 or shift == 7, "a number has more bytes than it needs")
                need(value < 2**64, "a number has more than 64 bits")
                return value

    def number(self):
        value = self.leb128()
        need(value < 2**63, "a number is 2^63 or more")
        return value

    def integer(self):
        value = self.leb128()
        return value >> 1 ^ -(value & 1)

    def time(self, base):
        time = base + self.integer()
        need(abs(time) <= AMOUNT_MAX, "a time is not within ±(2^53 − 1)")
        return time

    def bytes(self):
        return self.take(self.number())

    def text(self):
        try:
            return self.bytes().decode("utf-8")
        except UnicodeDecodeError:
            raise Fault("a text is not UTF-8") from None

    def flags(self, defined):
        flags = self.u8()
        need(flags & ~defined == 0, "a flag is not defined")
        return flags


class Ledger:
    """What is carried from block to block."""

    def __init__(self):
        self.number = self.term = 0
        self.hash, self.time, self.entry_time = bytes(32), -2**63, -2**63
        self.position = dict.fromkeys(SEQUENCES, 0)
        self.owner = None
        self.headers, self.codes = {}, {}
        self.chains = {}  # (player, currency): the last transfer in the wallet's chain
        self.balances = collections.Counter()  # (player or 0, currency, kind): credits less debits
        self.purchases, self.jws, self.skipped = 0, 0, collections.Counter()
        self.erased, self.erasures, self.last_erasures = set(), set(), set()
        self.lots = {}  # by number the currency, and the account of the wallet that each is in, or was opened in
        self.owners = {}  # of each linked token the account of its first link
        self.leads = {}  # of each linked token the account of its last link
        self.asked = {}  # by the number of a CONSUMPTION_REQUEST the purchase
        self.calls = {}  # (kind, purchase, notification): how the last call ended by which Apple was told
        self.began, self.closing = None, -1  # the first block's time; where the last period closed by name ends
        self.closed = -1  # where the last period that was closed ends
        self.stated = {}  # of each purchase that nobody signed when it was stated last, and how much is revoked
        self.keys, self.transactions = set(), set()  # no key has two answers, no transaction id posts twice

    def block(self, body, redactable):
        reader = Reader(body)
        magic = reader.take(4)
        need(magic in (b"CLB\x01", b"CLB\x02"), "the body does not begin as a block of version 1 or 2")
        self.version = magic[3]
        number, term, self.now = reader.i64(), reader.i64(), reader.i64()
        need(number == self.number + 1, f"its number is {number}")
        need(term >= max(1, self.term), "its term is less than that of the block before")
        need(self.now >= self.time, "its time is earlier than that of the block before")
        need(reader.digest() == self.hash, "it does not follow the block before")
        self.last = {name: reader.number() for name in SEQUENCES}
        last_time = reader.time(self.now)
        self.began = self.now if self.began is None else self.began
        need(self.last["currency"] <= 255 and self.last["account"] < 2**51, "there are too many currencies or accounts")
        self.rows, self.redactable = collections.defaultdict(list), Reader(redactable)
        added = dict.fromkeys(SEQUENCES, 0)
        tag = 0
        while reader.place < reader.end:
            before, tag, count, size = tag, reader.u8(), reader.number(), reader.u32()
            need(tag > before, "the sections are not in the order of their tags")
            need(1 <= count <= size <= reader.end - reader.place, f"section {tag} has a wrong count or size")
            section = Reader(reader.take(size))
            if tag not in ROWS:
                need(tag >= 128, f"it has a section of a later version, tag {tag}")
                self.skipped[tag] += 1
                continue
            if tag in DENSE:
                added[DENSE[tag]] = count
            need(count == 1 or tag not in (1, 15), f"section {tag} has more than one row")
            self.step_from, self.hold_from = self.position["entry"], self.position["transfer"]
            for row in range(count):
                try:
                    self.rows[tag].append(ROWS[tag](self, section, row))
                except Fault as fault:
                    raise Fault(f"section {tag}, row {row + 1}: {fault}") from None
            need(section.place == section.end, f"section {tag} is larger than its rows")
        for name in SEQUENCES:
            need(self.last[name] == self.position[name] + added[name], f"the sequence {name} is not dense")
        need((number == 1) == bool(self.rows[1]), "the first block, and no other, says whose books these are")
        part = 0
        while self.redactable.place < self.redactable.end:
            before, part = part, self.redactable.u8()
            need(part > before, "the parts behind the names are not in the order of their tags")
            self.redactable.take(self.redactable.u32())
        self.together(last_time)
        if any(self.rows.values()):
            self.erasures |= self.last_erasures
            self.last_erasures = set(self.rows[21])
        self.number, self.term, self.time, self.hash = number, term, self.now, hashlib.sha256(body).digest()
        self.position, self.entry_time = self.last, last_time

    def together(self, last_time):
        """What concerns several sections."""
        entries, transfers = self.rows[6], self.rows[7]
        need(sum(entry["transfers"] for entry in entries) == len(transfers), "the entries have not all the transfers")
        clock = self.entry_time
        for entry in entries:
            need(entry["time"] >= clock, "an entry is earlier than the one before it")
            clock = entry["time"]
        need(not entries or entries[0]["time"] > self.closed, "an entry is in a period that is closed")
        for end in self.rows[15]:
            need(end > self.closed and end >= self.entry_time, "it closes a period that is closed, or is over")
            self.closed = end
        for end in self.rows[128]:
            need(self.closed >= end or last_time > end, "it closes a period by name that is open")
        need(last_time == (clock if entries or self.number else 0), "the position's time is not that of the last entry")
        need(sum(transfer["opens"] for transfer in transfers) == len(self.rows[8]), "not every opened lot has its row")
        firsts = sum(row["first"] for row in self.rows[10])
        need(sum(row["evidence"] for row in self.rows[9]) == firsts, "purchases have not all the first evidence")
        for row in self.rows[10]:
            need(row["entry"] is None or not entries[row["entry"] - self.position["entry"] - 1]["transaction"],
                 "an entry names the transaction of its evidence by itself")
        for row in self.rows[9]:
            need(row["evidence"] or row["source"] != 1 and row["account"] and row["transaction"] in self.rows[23],
                 "a purchase has no evidence, and nobody stated it for an account")
        need(sorted(self.rows[19]) == sorted(row["transaction"] for row in self.rows[9] if row["source"] == 3),
             "what other stores sold is not what they have ids of")
        carried = sorted(entry["transaction"] - 1 for entry in entries if entry["kind"] == 15 and entry["transaction"])
        need(carried == sorted(row["transaction"] for row in self.rows[9] if row["source"] == 2 and row["grants"]),
             "the purchases that it carries over are not those of its entries")
        corrected = [self.position["entry"] + place for place, entry in enumerate(entries, 1) if entry["kind"] == 14]
        need(self.rows[18] == corrected, "its corrections are not those that its entries made")
        need((self.version == 2) == any(transfer["moved"] for transfer in transfers),
             "it is of version 2, and no transfer names a lot that moved, or the reverse")
        answers = sum(row["consent"] for row in self.rows[13])
        need(len(self.rows[17]) == answers, "its consents are not those that its requests recorded")
        self.purchases += len(self.rows[9])
        for transfer in transfers:
            need(transfer["player"] in self.holders(transfer["lot"]), "a transfer names a lot of another wallet")
        upcoming = iter(transfers)
        for entry in entries:
            touched = [next(upcoming) for _ in range(entry["transfers"])]
            for transfer in touched:
                for kind, units in (transfer["debit"], -transfer["amount"]), (transfer["credit"], transfer["amount"]):
                    # A receivable is the player's debt: it grows by debits.
                    self.balances[transfer["player"] if kind <= 3 else 0, transfer["currency"], kind] += units
            need((entry["kind"] == 13) == any(10 in (transfer["debit"], transfer["credit"]) for transfer in touched),
                 "an entry of a link moves nothing, or another one moves something")
            need((entry["kind"] == 14) == any(ADJUSTED in (transfer["debit"], transfer["credit"])
                                              for transfer in touched),
                 "an entry of a correction corrects nothing, or another one corrects something")
            need((entry["kind"] == 15) == any(IMPORTED == transfer["debit"] for transfer in touched),
                 "an entry of an import brings nothing, or another one does")
            for currency in {transfer["currency"] for transfer in touched}:
                need(self.balances[0, currency, MOVED] == 0, "an entry moves not as much in as out")
            for transfer in touched:
                place = transfer["player"], transfer["currency"]
                need(self.balances[*place, WALLET] >= 0 and self.balances[*place, HELD] >= 0
                     and self.balances[*place, RECEIVABLE] <= 0, "an entry leaves a player's account below zero")
        for row in self.rows[16]:
            for currency in self.codes:
                need(not any(self.balances[row, currency, kind] for kind in (WALLET, HELD, RECEIVABLE)),
                     f"account {row} is linked, and has something left")

    def holders(self, lot):
        """All who ever had a lot: whoever it was opened for, and the accounts of first links from there on."""
        holder = self.lots[lot][0]
        yield holder
        while holder in self.owners:
            holder = self.owners[holder]
            yield holder

    # One row of each section.

    def step(self, reader, optional=True):
        step = reader.number()
        need(optional or step > 0, "it names no entry")
        if step == 0:
            return None
        self.step_from += step
        need(self.step_from <= self.last["entry"], "it names an entry that the block does not have")
        return self.step_from

    def known(self, sequence, number):
        need(1 <= number <= self.last[sequence], f"it names a number of {sequence} that there is not")
        return number

    def account_row(self, reader, row):
        digest, names = reader.digest(), self.redactable
        flag, length = names.u8(), names.u8()
        salted = names.take(16 + length)
        need(flag <= 1 and 1 <= length <= 128, "its redactable part has a wrong flag or length")
        if flag == 1:
            need(not any(salted), "something is left of an erased name")
            self.erased.add(self.position["account"] + row + 1)
        else:
            need(hashlib.sha256(salted).digest() == digest, "the name is not the one that the body has the digest of")

    def header_row(self, reader, row):
        self.headers[self.position["header"] + row + 1] = reader.bytes()

    def currency_row(self, reader, row):
        code = reader.text()
        need(1 <= len(code) <= 100 and all(c.isascii() and (c.isalnum() or c in "_-.") for c in code), "it is no code")
        self.codes[self.position["currency"] + row + 1] = code

    def ledger_row(self, reader, row):
        self.owner = reader.text(), reader.text()

    def entry_row(self, reader, row):
        flags = reader.u8()
        need(flags & 0x1F, "its kind is 0")
        time = reader.time(self.now) if row == 0 else self.rows[6][-1]["time"] + reader.number()
        transfers = reader.number()
        need(transfers >= 1, "it has no transfer")
        entry = {"time": time, "transfers": transfers, "kind": flags & 0x1F,
                 "transaction": reader.number() + 1 if flags & 0x20 else None}
        if flags & 0x40:
            reader.text()
        if flags & 0x80:
            self.known("actor", reader.number())
        return entry

    def transfer_row(self, reader, row):
        number, kinds, flags = self.position["transfer"] + row + 1, reader.u8(), reader.u8()
        before = self.rows[7][-1] if row else {"player": 0, "currency": 0}
        player = before["player"] if flags & 8 else reader.number()
        currency = before["currency"] if flags & 16 else reader.u8()
        need(flags & 8 or player != before["player"], "it repeats the player")
        need(flags & 16 or currency != before["currency"], "it repeats the currency")
        self.known("account", player)
        self.known("currency", currency)
        amount, distance, opens = reader.number(), reader.number(), flags >> 5 & 1
        need(1 <= amount <= AMOUNT_MAX, "its amount is not within 1 … 2^53 − 1")
        need(opens or self.version == 2 or distance >= 1, "it draws from a wallet without a transfer")
        previous = number - distance if distance else 0
        need(previous == self.chains.get((player, currency), 0), "the transfer before it is another")
        self.chains[player, currency] = number
        lot = number if opens else previous - (reader.integer() if self.version == 2 else reader.number())
        need(1 <= lot <= number and (opens or lot < number), "its lot is none")
        for bit in (0x40, 0x80):
            need(not flags & bit or 1 <= reader.number() < number, "it refers to no earlier transfer")
        debit, credit = kinds >> 4, kinds & 15
        need(debit and credit and debit != credit, "its kinds of accounts are 0 or the same")
        if opens:
            self.lots[number] = player, currency
        # Links stand behind the transfers: whose the lot is by now is looked at when they were read.
        need(lot in self.lots and self.lots[lot][1] == currency, "its lot was not opened, or is of another currency")
        return {"player": player, "currency": currency, "amount": amount, "debit": debit, "credit": credit,
                "opens": opens, "lot": lot, "moved": lot > previous and not opens}

    def lot_row(self, reader, row):
        flags = reader.flags(0x0F)
        need(flags & 3 in (1, 2), "its class is not defined")
        need(not flags & 4 or 1 <= reader.number() <= AMOUNT_MAX, "its price is not within 1 … 2^53 − 1")
        if flags & 8:
            reader.time(self.now)

    def purchase_row(self, reader, row):
        flags, detail = reader.u8(), reader.u8()
        need(flags & 7 in (1, 2, 3), "its source is not defined")
        need(detail & 0x30 != 0x30 and detail & 0xC0 != 0xC0 and (detail & 2 or not detail & 12), "its flags cannot be")
        transaction = reader.number()
        need(transaction not in self.transactions, "its transaction id is another purchase's already")
        self.transactions.add(transaction)
        reader.text()
        need(reader.number() >= 1, "it is of nothing")
        reader.time(self.now)
        need(not flags & 0x40 or reader.number() <= AMOUNT_MAX, "its price is more than 2^53 − 1")
        for bit in (flags & 0x80, detail & 1):
            if bit:
                reader.text()
        if detail & 2:
            reader.integer()
        for bit in (4, 8):
            if detail & bit:
                reader.text()
        need(not detail & 0x20 or reader.number() != transaction, "its own number is written as another's")
        need(not detail & 0x80 or reader.text() != "PURCHASED", "the usual ownership is written out")
        if flags & 0x10:
            self.known("account", reader.number())
        if flags & 0x20:
            self.step(reader, optional=False)
        grants = reader.number()
        if grants:
            need(bool(flags & 0x10) == bool(flags & 0x20), "it has an account without an entry, or the reverse")
        else:
            need(flags & 0x37 == 0x12, "it grants nothing, and is none that was carried over, or has an entry")
        for _ in range(grants):
            self.known("currency", reader.u8())
            need(1 <= reader.number() <= AMOUNT_MAX and reader.number() <= AMOUNT_MAX, "it grants what cannot be")
        return {"evidence": flags >> 3 & 1, "source": flags & 7, "transaction": transaction, "account": flags >> 4 & 1,
                "grants": grants}

    def rebuild(self, header, payload, signature):
        """A JWS from its stored parts: three segments of base64url, each of which must decode to what is stored."""
        need(header in self.headers, "it names a header that there is not")
        encode = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
        segments = b".".join((self.headers[header], encode(payload), encode(signature))).split(b".")
        need(len(segments) == 3 and all(segments), "its parts make no JWS of three segments")
        need(len(signature) == 64, "its signature does not have 64 bytes")
        self.jws += 1

    def header_number(self, reader):
        return self.last["header"] - reader.number()

    def evidence_row(self, reader, row):
        flags = reader.flags(7)
        if not flags & 1:
            reader.number()
        reader.time(self.now)
        need(not flags & 2 or 1 <= reader.number() <= 100_000, "it revokes nothing, or more than all")
        need(not flags & 4 or reader.time(self.now) != self.now, "the block's own time is written")
        entry = self.step(reader)
        self.rebuild(self.header_number(reader), reader.bytes(), reader.bytes())
        return {"first": flags & 1, "entry": entry}

    def assignment_row(self, reader, row):
        reader.number(), self.known("account", reader.number()), reader.time(self.now)
        self.step(reader, optional=False)

    def notification_row(self, reader, row):
        flags = reader.flags(31)
        reader.text()
        kind = reader.text()
        if flags & 1:
            reader.text()
        reader.time(self.now)
        if flags & 2:
            reader.text()
        reader.time(self.now)
        transaction = reader.number() if flags & 4 else None
        if flags & 16:
            need(transaction is None, "it is about another purchase than it carries")
            reader.number()
        if kind == "CONSUMPTION_REQUEST" and transaction is not None:
            self.asked[self.position["notification"] + row + 1] = transaction
        header, payload = self.header_number(reader), reader.bytes()
        if flags & 8:
            nested, at = self.header_number(reader), reader.number()
            need(nested in self.headers and at <= len(payload), "its nested header is none")
            payload = payload[:at] + self.headers[nested] + payload[at:]
        self.rebuild(header, payload, reader.bytes())

    def request_row(self, reader, row):
        key = reader.bytes()
        need(1 <= len(key) <= 64 and all(0x20 <= byte <= 0x7E for byte in key), "it has no key")
        need(bytes(key) not in self.keys, "its key has an answer already")
        self.keys.add(bytes(key))
        reader.digest(), self.step(reader)
        return {"consent": reader.bytes()[:1] == b"\x09"}

    def hold_row(self, reader, row):
        step = reader.number()
        need(step >= 1, "it has no transfer")
        self.hold_from += step
        index = self.hold_from - self.position["transfer"] - 1
        need(index < len(self.rows[7]) and self.rows[7][index]["credit"] == HELD, "its transfer sets nothing aside")
        need(1 <= reader.number() <= AMOUNT_MAX, "its amount is not within 1 … 2^53 − 1")
        reader.time(self.now)

    def closing_row(self, reader, row):
        return reader.time(self.now)

    def named_closing_row(self, reader, row):
        flags = reader.flags(1)
        end, time = reader.time(self.now), reader.time(self.now)
        self.actor(reader, flags)
        need(end > self.closing and end >= self.began, "it closes a period that is closed, or before the first block")
        need(end <= time, "it closes a period that is not over")
        self.closing = end
        return end

    def actor(self, reader, flag):
        if flag:
            self.known("actor", reader.number())

    def link_row(self, reader, row):
        flags = reader.flags(1)
        token, account = self.known("account", reader.number()), self.known("account", reader.number())
        entry = self.step(reader)
        reader.time(self.now), self.actor(reader, flags)
        need(token != account and account not in self.leads, "it leads to an account that is linked itself")
        need(token not in self.leads or entry is None, "it moves something once more")
        need(entry is None or self.rows[6][entry - self.position["entry"] - 1]["kind"] == 13, "its entry is another's")
        lead = self.leads.get(token)
        while lead in self.owners:
            lead = self.owners[lead]
        need(lead != account, "it leads where the token's last link does")
        self.owners.setdefault(token, account)
        self.leads[token] = account
        return token

    def consent_row(self, reader, row):
        flags = reader.flags(3)
        self.known("account", reader.number()), reader.time(self.now), self.actor(reader, flags & 2)

    def adjustment_row(self, reader, row):
        flags = reader.flags(7)
        need(flags & 3 in (1, 2), "its class is not defined")
        entry = self.step(reader, optional=False)
        reader.text(), self.actor(reader, flags & 4)
        need(flags & 4, "nobody approved it")
        return entry

    def external_row(self, reader, row):
        transaction, source, identifier = reader.number(), reader.text(), reader.text()
        first = int.from_bytes(hashlib.sha256(f"{source}\0{identifier}".encode()).digest()[:8], "big")
        need(transaction == 1 << 62 | first >> 2, "its number is not that of the source's id")
        return transaction

    def statement_row(self, reader, row):
        flags = reader.flags(3)
        transaction = reader.number()
        revoked = reader.number() if flags & 1 else 0
        need(not flags & 1 or 1 <= revoked <= 100_000, "it revokes nothing, or more than all")
        time, entry = reader.time(self.now), self.step(reader)
        self.actor(reader, flags & 2)
        former = self.stated.get(transaction)
        need(former is None or time > former[0] and revoked != former[1], "it says nothing new")
        need(former is not None or any(row["transaction"] == transaction and not row["evidence"]
                                       for row in self.rows[9]), "it is of a purchase that somebody signed, or of none")
        self.stated[transaction] = time, revoked
        return transaction

    def catalog_row(self, reader, row):
        reader.number(), reader.digest(), reader.time(self.now)

    def erasure_row(self, reader, row):
        flags = reader.flags(1)
        account = self.known("account", reader.number())
        reader.time(self.now), self.actor(reader, flags)
        return account

    def call_row(self, reader, row):
        flags = reader.flags(0x1F)
        kind, end = flags & 3, flags >> 2 & 3
        need(kind and end, "its kind or its end is not defined")
        transaction = reader.number()
        need(transaction in self.transactions, "it is of a purchase that there is not")
        notification = reader.number() if kind == 1 else None
        need(notification is None or self.asked.get(notification) == transaction, "it answers what was not asked")
        code = reader.integer() if end == 2 else None
        need(code is None or abs(code) <= AMOUNT_MAX, "its code is not within ±(2^53 − 1)")
        if flags & 0x10:
            need(1 <= len(reader.text().encode()) <= 1024, "its body is empty or too large")
        reader.time(self.now)
        key = kind, transaction, notification
        former = self.calls.get(key)
        need(former is None or former[0] == 2 and former != (end, code), "it tells Apple once more what it was told")
        self.calls[key] = end, code


ROWS = dict(enumerate((
    Ledger.ledger_row, Ledger.currency_row, lambda ledger, reader, row: reader.text(), Ledger.account_row,
    Ledger.header_row, Ledger.entry_row, Ledger.transfer_row, Ledger.lot_row, Ledger.purchase_row, Ledger.evidence_row,
    Ledger.assignment_row, Ledger.notification_row, Ledger.request_row, Ledger.hold_row, Ledger.closing_row,
    Ledger.link_row, Ledger.consent_row, Ledger.adjustment_row, Ledger.external_row, Ledger.catalog_row,
    Ledger.erasure_row, Ledger.call_row, Ledger.statement_row), start=1))
ROWS[128] = Ledger.named_closing_row


def stream(path):
    """Blocks one after the other, each part after its count of bytes."""
    reader = Reader(path.read_bytes())
    while reader.place < reader.end:
        yield reader.take(reader.u32()), reader.take(reader.u32()), None


def crc_entry(value):
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value


CRC_TABLE = [crc_entry(byte) for byte in range(256)]


def crc32c(*parts):
    value = 0xFFFFFFFF
    for byte in b"".join(parts):
        value = value >> 8 ^ CRC_TABLE[(value ^ byte) & 0xFF]
    return (value ^ 0xFFFFFFFF).to_bytes(4, "big")


def base(folder):
    """The last block that was archived from a file log's folder, and its hash; 0 and zeros where none was."""
    slot = head_slot(folder / "base")
    return (int.from_bytes(slot[16:24], "big"), slot[64:96]) if slot else (0, bytes(32))


def digests(folder):
    """The SHA-256 of each segment of an archive by its name, as its manifest has it; nothing in a ledger."""
    path = folder.parent / "manifest"
    lines = path.read_text().splitlines() if path.exists() else []
    need(not lines or lines[0] == "# currency-ledger archive 1", "the manifest is of another format")
    return {line[66:].removeprefix("log/"): line[:64] for line in lines if not line.startswith("#")}


def segments(folder, last=None):
    """The records of a file log's segments, up to what was written ahead of the last one.

    Those that were archived are left out, and those behind the last block of an archive."""
    first, known = base(folder)[0] + 1, digests(folder)
    paths = sorted(path for path in folder.iterdir() if path.name.isdigit() and int(path.name) >= first)
    for path in paths if last is None else [path for path in paths if int(path.name) <= last]:
        data = path.read_bytes()
        need(not known or known.get(path.name) == hashlib.sha256(data).hexdigest(),
             f"{path.name} does not have the SHA-256 of the manifest")
        need(data[:12] == b"CLedgLog\0\0\0\1" and len(data) >= 96, f"{path.name} is no segment of format 1")
        need(crc32c(data[:92]) == data[92:96], f"the header of {path.name} is damaged")
        need(not any(data[12:16] + data[88:92]), f"{path.name} has reserved bytes that are not 0")
        place = 96
        while data[place:place + 8] == b"CLBk\0\0\0\1":
            header, where = data[place:place + 104], f"in {path.name} at {place}"
            need(crc32c(data[92:96], struct.pack(">I", place), header[:96]) == header[96:100],
                 f"the record's header {where} is damaged")
            size, names = struct.unpack(">II", header[24:32])
            body, redactable = data[place + 104:place + 104 + size], data[place + 104 + size:place + 104 + size + names]
            need(crc32c(header[96:100], redactable) == header[100:104], f"the redactable part {where} is damaged")
            yield body, redactable, header[64:96]
            place += (104 + size + names + 7) // 8 * 8
        need(not any(data[place:]), f"{path.name} has bytes at {place} that are no record: a torn tail, or damage")


def head_slot(path):
    """The slot of a head file that names the later block; nothing where there is no file."""
    if not path.exists():
        return None
    data = path.read_bytes()
    need(len(data) == 4096, f"the {path.name} file does not have 4,096 bytes")
    slots = [data[at:at + 100] for at in (0, 2048) if data[at:at + 8] == b"CLedgHea"]
    slots = [slot for slot in slots if crc32c(slot[:96]) == slot[96:]]
    need(slots, f"the {path.name} file has no whole slot")
    need(all(slot[8:16] == b"\0\0\0\1\0\0\0\0" for slot in slots),
         f"the {path.name} file is of another format, or damaged")
    return max(slots, key=lambda slot: slot[16:24])


def acknowledged(path):
    """The number of the last acknowledged block, of a ledger's head file; 0 where there is none."""
    slot = head_slot(path)
    return int.from_bytes(slot[16:24], "big") if slot else 0


def read(ledger, path):
    """Goes on with a ledger's folder, an archive, a file log's folder or a file of blocks."""
    newest = acknowledged(path / "head")
    is_archive = (path / "manifest").exists()
    path = path / "log" if (path / "log").is_dir() else path
    if path.is_dir():
        archived, hash = base(path)
        need(archived == ledger.number,
             f"{path} begins with block {archived + 1}: name the archives before it, in their order")
        need(hash == ledger.hash, f"{path} does not continue what comes before it")
    for body, redactable, expected in segments(path, newest if is_archive else None) if path.is_dir() else stream(path):
        need(expected in (None, hashlib.sha256(body).digest()), "the body does not have the block's hash")
        ledger.block(body, redactable)
    need(ledger.number >= newest, f"it is missing, and block {newest} was acknowledged: the log went back in time")


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    ledger = Ledger()
    try:
        for path in sys.argv[1:]:
            read(ledger, pathlib.Path(path))
    except Fault as fault:
        sys.exit(f"block {ledger.number + 1}: {fault}")
    for currency, code in ledger.codes.items():
        total = sum(units for (_, other, _), units in ledger.balances.items() if other == currency)
        if total != 0:
            sys.exit(f"the accounts of {code} do not add up to zero, but to {total}")
    for tag, count in sorted(ledger.skipped.items()):
        print(f"skipped: section {tag} of a later version, in {count} blocks")
    if ledger.erasures - ledger.erased:
        sys.exit(f"account {min(ledger.erasures - ledger.erased)} was erased, and its name is still there")
    unsaid = ledger.erased - ledger.erasures - ledger.last_erasures
    if unsaid:
        sys.exit(f"the name of account {min(unsaid)} is gone, and no block erases it")
    last = ledger.position
    print(f"ledger: {' '.join(ledger.owner) if ledger.owner else 'empty'}")
    print(f"blocks: {ledger.number}, entries: {last['entry']}, transfers: {last['transfer']}, "
          f"purchases: {ledger.purchases}, signed: {ledger.jws}, accounts: {last['account']}, erased: {len(ledger.erased)}")
    print(f"head: {ledger.number} {ledger.hash.hex()}")


if __name__ == "__main__":
    main()
