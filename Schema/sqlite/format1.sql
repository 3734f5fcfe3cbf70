-- Format 1. Shipped migrations never change; a later format is a further file.
--
-- The journal is the truth and is only ever appended to. The projection can be computed from it at any time: it is written
-- behind, and what it lacks is in the journal's tail (the views at the end add the two). Times are integer milliseconds since the
-- UNIX epoch, UTC. Amounts are whole units of a currency.
--
-- An account number, as transfers name it, is  player << 12 | currency << 4 | kind  with the kinds
--   1 wallet  2 held  3 receivable                                     (one for each player and currency)
--   4 purchased  5 refunded  6 granted  7 spent  8 expired  9 written_off   (player 0: one for each currency)

-- What this file is; exactly one row. It is opened with no other app or environment.
CREATE TABLE ledger (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    format INTEGER NOT NULL,
    bundle_id TEXT NOT NULL,
    environment TEXT NOT NULL,
    created INTEGER NOT NULL
) STRICT;

---------------------------------------------------------------------------------------------------------------- journal

-- Currencies by number, which never changes its meaning.
CREATE TABLE currency (
    id INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 255),
    code TEXT NOT NULL UNIQUE
) STRICT;

-- Players in the order of first sight. A name stands here once (the projection has the index that finds it).
CREATE TABLE account (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    name TEXT NOT NULL
) STRICT;

-- Posted operations. Time never runs backwards. An entry's transfers are those from its own first_transfer up to the next entry's.
CREATE TABLE entry (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    time INTEGER NOT NULL,
    kind INTEGER NOT NULL,              -- 1 credit, 2 refund, 3 reinstatement, 4 spend, 5 grant, 6 reversal, 7 hold,
                                        -- 8 capture, 9 release, 10 hold_expiry, 11 expiry, 12 atomic
    first_transfer INTEGER NOT NULL,
    transaction_id INTEGER,             -- the purchase that it is about
    key TEXT,                           -- the request that asked for it
    note TEXT
) STRICT;

-- Movements between two accounts of one currency; each names the lot it opens (its own id), fills, draws or refunds.
CREATE TABLE transfer (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    entry INTEGER NOT NULL,
    debit INTEGER NOT NULL,
    credit INTEGER NOT NULL CHECK (credit <> debit AND (credit >> 4 & 255) = (debit >> 4 & 255)),
    amount INTEGER NOT NULL CHECK (amount > 0 AND amount <= 9007199254740991),
    lot INTEGER NOT NULL CHECK (lot BETWEEN 1 AND id),
    debt_lot INTEGER,                   -- where it pays a debt: the lot whose refund the debt came from
    previous INTEGER NOT NULL CHECK (previous BETWEEN 0 AND id - 1), -- the transfer before it of the same wallet, 0 for the first
    spend_order INTEGER CHECK (spend_order BETWEEN 1 AND 4), -- where a spend or hold chose the lot: under 1 free_first, 2 paid_first, 3 oldest, 4 dearest_first
    reference INTEGER CHECK (reference BETWEEN 1 AND id - 1) -- the first transfer of the spend that it gives back, or of the hold that it closes
) STRICT;

-- Finds what became of a spend or a hold.
CREATE INDEX transfer_reference ON transfer (reference) WHERE reference IS NOT NULL;

-- Holds: currency set aside until a transfer refers to the hold, which closes it. Its transfers are those from its id on, to its amount.
CREATE TABLE hold (
    id INTEGER PRIMARY KEY CHECK (id > 0), -- its first transfer
    entry INTEGER NOT NULL,
    account INTEGER NOT NULL,
    currency INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0 AND amount <= 9007199254740991),
    expires_at INTEGER NOT NULL
) STRICT;

-- From when on a free lot can no longer be spent. A lot that is not here does not expire.
CREATE TABLE lot_expiry (
    lot INTEGER PRIMARY KEY CHECK (lot > 0), -- the transfer that opened it
    expires_at INTEGER NOT NULL
) STRICT;

-- Purchases by the App Store's transaction id: each at most once, with the facts of its first JWS.
CREATE TABLE purchase (
    transaction_id INTEGER PRIMARY KEY CHECK (transaction_id >= 0),
    account INTEGER,                    -- NULL: it had none when it was recorded; purchase_assignment then says it
    product TEXT NOT NULL,
    quantity INTEGER NOT NULL CHECK (quantity > 0),
    purchase_date INTEGER NOT NULL,
    price INTEGER,                      -- thousandths of price_currency, as Apple states it
    price_currency TEXT,
    grants TEXT NOT NULL,               -- what the catalog granted for the full quantity, as 'gems:500 tickets:5'
    evidence INTEGER NOT NULL,          -- its first JWS
    entry INTEGER                       -- the entry that opened its lots, one for each grant; NULL where account is
) STRICT;

-- The account of a purchase that was recorded without one.
CREATE TABLE purchase_assignment (
    id INTEGER PRIMARY KEY,
    transaction_id INTEGER NOT NULL UNIQUE,
    account INTEGER NOT NULL,
    time INTEGER NOT NULL,
    entry INTEGER NOT NULL
) STRICT;

-- Header segments of JWS as they were sent (base64url text: algorithm and certificate chain), each once.
CREATE TABLE jws_header (
    id INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32), -- SHA-256 of text
    text BLOB NOT NULL
) STRICT;

-- Every JWS that said something new of a purchase. The JWS is  header.text || '.' || base64url(payload) || '.' || base64url(signature).
CREATE TABLE purchase_evidence (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    transaction_id INTEGER NOT NULL,
    is_first INTEGER NOT NULL CHECK (is_first IN (0, 1)),
    signed_date INTEGER NOT NULL,
    revoked INTEGER NOT NULL CHECK (revoked BETWEEN 0 AND 100000), -- thousandths of a percent of the full quantity
    time INTEGER NOT NULL,
    entry INTEGER,                      -- what it posted; NULL where it changed nothing
    header INTEGER NOT NULL,
    payload BLOB NOT NULL,
    signature BLOB NOT NULL CHECK (length(signature) = 64)
) STRICT;

-- Finds the later JWS of a purchase; the first is named by the purchase, so that a credit maintains no index here.
CREATE INDEX purchase_evidence_later ON purchase_evidence (transaction_id) WHERE is_first = 0;

-- App Store Server Notifications, each once. The header segment of the transaction nested in the payload is cut out and
-- stands in jws_header: the payload as signed is  payload[..nested_at] || header.text || payload[nested_at..].
CREATE TABLE notification (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    uuid TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    subtype TEXT,
    signed_date INTEGER NOT NULL,
    reason TEXT,                        -- of a CONSUMPTION_REQUEST
    time INTEGER NOT NULL,
    transaction_id INTEGER,             -- the consumable purchase that it carries
    header INTEGER NOT NULL,
    payload BLOB NOT NULL,
    nested_header INTEGER,
    nested_at INTEGER CHECK ((nested_at IS NULL) = (nested_header IS NULL)),
    signature BLOB NOT NULL CHECK (length(signature) = 64)
) STRICT;

-- Finds what notifications tell of a purchase beside its JWS.
CREATE INDEX notification_event ON notification (transaction_id) WHERE type IN ('CONSUMPTION_REQUEST', 'REFUND_DECLINED');

-- Used keys, each with the one answer that it has for ever (refusals by state included).
CREATE TABLE request (
    key TEXT PRIMARY KEY,
    id INTEGER NOT NULL,
    fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 32), -- SHA-256 of the request's canonical form
    entry INTEGER,                      -- NULL for a refusal
    answer BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- One row for each commit: the last number of every sequence above, and the hash that chains the commits.
-- hash = SHA-256(previous hash || canonical form of the rows that the commit added); docs: Sources/Ledger/Journal+CanonicalForm.swift.
CREATE TABLE block (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    time INTEGER NOT NULL,              -- of the last entry
    currency INTEGER NOT NULL,
    account INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    transfer INTEGER NOT NULL,
    evidence INTEGER NOT NULL,
    assignment INTEGER NOT NULL,
    notification INTEGER NOT NULL,
    request INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32)
) STRICT;

------------------------------------------------------------------------------------------------------------- projection

-- The projection includes every transfer up to and with `transfer` and every account up to and with `account`. Single wallets and
-- the totals may be ahead: each says itself which transfer it includes last.
CREATE TABLE watermark (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    transfer INTEGER NOT NULL,
    account INTEGER NOT NULL,
    totals_transfer INTEGER NOT NULL
) STRICT;

INSERT INTO watermark (id, transfer, account, totals_transfer) VALUES (1, 0, 0, 0);

-- Players by name.
CREATE TABLE account_name (
    name TEXT PRIMARY KEY,
    account INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Wallets with their held and receivable accounts, and the head of the chain of their transfers.
CREATE TABLE wallet (
    account INTEGER NOT NULL,
    currency INTEGER NOT NULL,
    available INTEGER NOT NULL CHECK (available >= 0),
    paid INTEGER NOT NULL CHECK (paid BETWEEN 0 AND available),
    held INTEGER NOT NULL CHECK (held >= 0),
    debt INTEGER NOT NULL CHECK (debt >= 0 AND (debt = 0 OR available = 0)),
    version INTEGER NOT NULL,
    last_entry INTEGER NOT NULL,
    last_transfer INTEGER NOT NULL,
    PRIMARY KEY (account, currency)
) STRICT, WITHOUT ROWID;

-- Lots: what is left of each credit, and where the rest went.
CREATE TABLE lot (
    id INTEGER PRIMARY KEY,             -- the transfer that opened it
    account INTEGER NOT NULL,
    currency INTEGER NOT NULL,
    class INTEGER NOT NULL CHECK (class IN (1, 2)), -- 1 paid, 2 free
    transaction_id INTEGER,
    time INTEGER NOT NULL,
    price INTEGER NOT NULL,
    granted INTEGER NOT NULL CHECK (granted > 0),
    remaining INTEGER NOT NULL CHECK (remaining >= 0),
    held INTEGER NOT NULL CHECK (held >= 0),
    spent INTEGER NOT NULL CHECK (spent >= 0),
    expired INTEGER NOT NULL CHECK (expired >= 0),
    refunded INTEGER NOT NULL,          -- what stands refunded: taken back, owed or written off
    indebted INTEGER NOT NULL CHECK (indebted >= 0), -- what its refunds put on the wallet's debt, ever
    recovered INTEGER NOT NULL CHECK (recovered BETWEEN 0 AND indebted), -- what later credits paid of that
    written_off INTEGER NOT NULL CHECK (written_off >= 0),
    repaid INTEGER NOT NULL CHECK (repaid >= 0), -- what of its own units paid debts
    expires_at INTEGER CHECK (expires_at IS NULL OR class = 2), -- purchased currency never expires
    is_open INTEGER NOT NULL CHECK (is_open = (remaining > 0 OR held > 0 OR indebted > recovered)),
    CHECK (remaining = granted - spent - held - expired - repaid - (refunded - indebted - written_off))
) STRICT;

-- Finds the lots of a wallet that a spend, a hold or a debt concerns.
CREATE INDEX lot_open ON lot (account, currency) WHERE is_open;

-- Holds that are neither captured nor released, of each player.
CREATE TABLE open_hold (
    account INTEGER NOT NULL,
    id INTEGER NOT NULL,                -- the hold's
    currency INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (account, id)
) STRICT, WITHOUT ROWID;

-- When something of a player expires first: a lot with something left, or a hold. Players of whom nothing does are not here.
CREATE TABLE deadline (
    time INTEGER NOT NULL,
    account INTEGER NOT NULL,
    PRIMARY KEY (time, account)
) STRICT, WITHOUT ROWID;

-- The turnover of every kind of account.
CREATE TABLE total (
    currency INTEGER NOT NULL,
    kind INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 9),
    debits INTEGER NOT NULL,
    credits INTEGER NOT NULL,
    PRIMARY KEY (currency, kind)
) STRICT, WITHOUT ROWID;

------------------------------------------------------------------------------------------------------------------ views

-- Transfers in words.
CREATE VIEW transfer_line AS
WITH kind (id, name) AS (
    VALUES (1, 'wallet'), (2, 'held'), (3, 'receivable'), (4, 'purchased'), (5, 'refunded'), (6, 'granted'),
        (7, 'spent'), (8, 'expired'), (9, 'written_off')
),
spend_order (id, name) AS (VALUES (1, 'free_first'), (2, 'paid_first'), (3, 'oldest'), (4, 'dearest_first'))
SELECT
    t.id, t.entry, e.time, a.name AS account, c.code AS currency, d.name AS debit, k.name AS credit, t.amount, t.lot,
    t.debt_lot, e.transaction_id, e.key, e.note, o.name AS spend_order, t.reference
FROM transfer AS t
    JOIN entry AS e ON e.id = t.entry
    JOIN transfer AS opening ON opening.id = t.lot
    JOIN account AS a ON a.id = opening.credit >> 12
    JOIN currency AS c ON c.id = t.debit >> 4 & 255
    JOIN kind AS d ON d.id = t.debit & 15
    JOIN kind AS k ON k.id = t.credit & 15
    LEFT JOIN spend_order AS o ON o.id = t.spend_order;

-- Exact balances at any moment: what the projection has, and what the journal's tail adds to it.
CREATE VIEW balance AS
WITH tail AS (
    SELECT
        opening.credit >> 12 AS account, t.debit >> 4 & 255 AS currency, t.id,
        t.amount * ((t.credit & 15 = 1) - (t.debit & 15 = 1)) AS available,
        t.amount * ((t.credit & 15 = 2) - (t.debit & 15 = 2)) AS held,
        t.amount * ((t.debit & 15 = 3) - (t.credit & 15 = 3)) AS debt,
        opening.debit & 15 = 4 AS is_paid
    FROM transfer AS t JOIN transfer AS opening ON opening.id = t.lot
    WHERE t.id > (SELECT transfer FROM watermark)
),
part AS (
    SELECT account, currency, available, paid, held, debt FROM wallet
    UNION ALL
    SELECT tail.account, tail.currency, tail.available, tail.available * tail.is_paid, tail.held, tail.debt
    FROM tail LEFT JOIN wallet ON wallet.account = tail.account AND wallet.currency = tail.currency
    WHERE tail.id > coalesce(wallet.last_transfer, 0)
)
SELECT
    account.name AS account, currency.code AS currency, sum(part.available) AS available, sum(part.paid) AS paid,
    sum(part.available) - sum(part.paid) AS free, sum(part.held) AS held, sum(part.debt) AS debt
FROM part JOIN account ON account.id = part.account JOIN currency ON currency.id = part.currency
GROUP BY part.account, part.currency;
