-- The tables that are computed from the ledger's blocks, and from nothing else. They are exact up to the block that
-- the row of `projection` names. They can be deleted at any time and are then computed anew: never change them,
-- change nothing by them.
--
-- Times are integer milliseconds since the UNIX epoch, UTC. Amounts are whole units of a currency. Evidence (what
-- Apple signed) stands in the blocks; a row here says in which.
--
-- Every row is checked by the code that computes it, and again by the code that reads it. The CHECKs are for other
-- hands; there are few on the tables to which each request adds a row, for there they are a tenth of the work.

-- What these tables hold; exactly one row.
CREATE TABLE projection (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    format INTEGER NOT NULL,            -- of these tables
    bundle_id TEXT,                     -- whose books these are, as the first block says; NULL before it
    environment TEXT,
    block INTEGER NOT NULL,             -- the last block that was applied; 0 before the first
    term INTEGER NOT NULL,              -- of that block
    hash BLOB NOT NULL CHECK (length(hash) = 32), -- of that block
    time INTEGER NOT NULL,              -- of that block
    -- The last number that was given of each sequence.
    currency INTEGER NOT NULL,
    actor INTEGER NOT NULL,
    account INTEGER NOT NULL,
    header INTEGER NOT NULL,
    entry INTEGER NOT NULL,
    transfer INTEGER NOT NULL,
    evidence INTEGER NOT NULL,
    assignment INTEGER NOT NULL,
    notification INTEGER NOT NULL,
    request INTEGER NOT NULL,
    entry_time INTEGER NOT NULL,        -- of the last entry
    closed_through INTEGER NOT NULL,    -- the end of the last period that was closed; -1 where none was
    -- Of each other table the number of its rows and a sum of their hashes, then a hash of this row: what no block says
    -- does not fit these.
    sums BLOB NOT NULL
) STRICT;

-- Blocks, with the last entry and the last transfer after each: those of a block are the numbers up to these from the
-- block before.
CREATE TABLE block (
    number INTEGER PRIMARY KEY CHECK (number > 0),
    term INTEGER NOT NULL,
    time INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    entry INTEGER NOT NULL,
    transfer INTEGER NOT NULL
) STRICT;

-- Currencies by number.
CREATE TABLE currency (
    id INTEGER PRIMARY KEY CHECK (id BETWEEN 1 AND 255),
    code TEXT NOT NULL UNIQUE
) STRICT;

-- The names of the tokens under which entries were asked for.
CREATE TABLE actor (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    name TEXT NOT NULL UNIQUE
) STRICT;

-- Players in the order of first sight.
CREATE TABLE account (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    name TEXT                           -- NULL where it was erased
) STRICT;

CREATE UNIQUE INDEX account_name ON account (name) WHERE name IS NOT NULL;

-- The header segments of what Apple signed (algorithm and certificate chain), each once.
CREATE TABLE jws_header (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32), -- SHA-256 of the segment
    block INTEGER NOT NULL              -- where it stands
) STRICT;

---------------------------------------------------------------------------------- entries, transfers

-- Posted operations. Time never runs backwards. An entry's transfers are those from its first up to the next entry's.
CREATE TABLE entry (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    time INTEGER NOT NULL,
    kind TEXT NOT NULL,                 -- credit, refund, reinstatement, spend, grant, reversal, hold, capture,
                                        -- release, hold_expiry, expiry, atomic, link, adjustment, imported
    first_transfer INTEGER NOT NULL,
    transaction_id INTEGER,             -- the purchase that it is about
    key TEXT,                           -- the request that asked for it
    note TEXT,
    actor INTEGER                       -- who asked for it; NULL for what the ledger does by itself
) STRICT;

-- Movements between two accounts of one currency. The kinds of account are wallet, held and receivable, of which each
-- player has one, and purchased, refunded, granted, spent, expired, written_off, moved, adjusted and imported, of
-- which there is one each.
CREATE TABLE transfer (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    entry INTEGER NOT NULL,
    account INTEGER NOT NULL,           -- whose wallet it is that the transfer changes
    currency INTEGER NOT NULL,
    debit TEXT NOT NULL,
    credit TEXT NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0),
    -- The lot that it opens (then its own id), fills, draws or refunds.
    lot INTEGER NOT NULL,
    debt_lot INTEGER,                   -- where it pays or moves a debt: the lot whose refund the debt came from
    -- The one before it of the same wallet; 0 for the first.
    previous INTEGER NOT NULL,
    -- Where a spend or a hold chose the lot: under free_first, paid_first, oldest or dearest_first.
    spend_order TEXT,
    -- The first transfer of the spend that it gives back, or of the hold that it ends.
    reference INTEGER,
    lot_previous INTEGER NOT NULL,      -- the one before it of the same lot; 0 for the first
    -- After it: what is left of the lot, in the wallet or held, and what of it stands refunded.
    lot_left INTEGER NOT NULL,
    lot_refunded INTEGER NOT NULL,
    -- Of the lot's price, after it: what is not earned yet, and what was given back.
    money_deferred INTEGER NOT NULL,
    money_refunded INTEGER NOT NULL
) STRICT;

-- Finds what of a spend went back.
CREATE INDEX transfer_returned ON transfer (reference) WHERE debit = 'spent';

-- Finds what a player's debts are made of.
CREATE INDEX transfer_debt ON transfer (account) WHERE debit = 'receivable' OR debt_lot IS NOT NULL;

-- Finds what of a period paid debts.
CREATE INDEX transfer_debt_lot ON transfer (id) WHERE debt_lot IS NOT NULL;

-- Used keys, each with the one answer that it has for ever (refusals by state included).
CREATE TABLE request (
    key TEXT PRIMARY KEY,
    fingerprint BLOB NOT NULL,          -- SHA-256 of the request's canonical form
    entry INTEGER,                      -- NULL for a refusal
    answer BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-------------------------------------------------------------------------------- wallets, lots, holds

-- Wallets with their held and receivable accounts, and the head of the chain of their transfers.
CREATE TABLE wallet (
    account INTEGER NOT NULL,
    currency INTEGER NOT NULL,
    available INTEGER NOT NULL CHECK (available >= 0),
    paid INTEGER NOT NULL CHECK (paid >= 0 AND paid <= available), -- what of it was bought
    held INTEGER NOT NULL CHECK (held >= 0),
    held_paid INTEGER NOT NULL CHECK (held_paid >= 0 AND held_paid <= held), -- what of it was bought
    debt INTEGER NOT NULL CHECK (debt >= 0 AND (debt = 0 OR available = 0)),
    version INTEGER NOT NULL,           -- how many entries have changed it
    last_entry INTEGER NOT NULL,        -- the last of them
    last_transfer INTEGER NOT NULL,
    transfers INTEGER NOT NULL,         -- how many there were
    PRIMARY KEY (account, currency)
) STRICT, WITHOUT ROWID;

-- What wallets had after entries of their past: each that brought a wallet's transfers to a multiple of 64, or past one.
-- What a wallet had at any time is counted back from the next of these, however long ago that is.
CREATE TABLE wallet_past (
    account INTEGER NOT NULL,
    currency INTEGER NOT NULL,
    transfer INTEGER NOT NULL,          -- the wallet's last then
    available INTEGER NOT NULL,
    paid INTEGER NOT NULL,
    held INTEGER NOT NULL,
    debt INTEGER NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (account, currency, transfer)
) STRICT, WITHOUT ROWID;

-- Lots: what is left of each credit, and where the rest went.
CREATE TABLE lot (
    id INTEGER PRIMARY KEY,             -- the transfer that opened it
    account INTEGER NOT NULL,           -- to which it was credited; whose it is, where that is linked, says owner
    currency INTEGER NOT NULL,
    class TEXT NOT NULL,                -- paid, free
    transaction_id INTEGER,             -- the purchase that it came from
    time INTEGER NOT NULL,
    price INTEGER NOT NULL,             -- its share of what was paid, in thousandths; 0 where unknown or free
    granted INTEGER NOT NULL,
    remaining INTEGER NOT NULL CHECK (remaining >= 0),
    held INTEGER NOT NULL,
    spent INTEGER NOT NULL,
    expired INTEGER NOT NULL,
    refunded INTEGER NOT NULL,          -- what stands refunded: taken back, owed or written off
    indebted INTEGER NOT NULL,          -- what its refunds put on the wallet's debt, ever
    recovered INTEGER NOT NULL,         -- what later credits paid of that
    written_off INTEGER NOT NULL,
    repaid INTEGER NOT NULL,            -- what of its own units paid debts
    adjusted INTEGER NOT NULL,          -- what corrections by hand took of it
    expires_at INTEGER,                 -- NULL for what was bought: purchased currency never expires
    last_transfer INTEGER NOT NULL,     -- the last that changed it
    last_own INTEGER NOT NULL,          -- the last of its own: another may pay its debt
    money_deferred INTEGER NOT NULL,    -- of its price, what is not earned yet
    money_refunded INTEGER NOT NULL,    -- and what was given back; the rest was earned
    is_open INTEGER NOT NULL            -- whether remaining > 0, held > 0 or indebted > recovered
) STRICT;

-- Finds the lots of a wallet that a spend, a hold or a debt concerns, and those of which the time is over.
CREATE INDEX lot_open ON lot (account, currency, expires_at) WHERE is_open;

-- Finds what expires first. Its condition names no amount, so that a spend does not touch it.
CREATE INDEX lot_expiry ON lot (expires_at, account) WHERE is_open AND expires_at IS NOT NULL;

-- Find, in the order of their numbers, the lots of which something is left, and those of which something was left at a
-- time of the past: what closed since was changed since. Each lot is in one of them; a spend that leaves something of
-- it touches neither.
CREATE INDEX lot_number_open ON lot (id, is_open) WHERE is_open;
CREATE INDEX lot_number_closed ON lot (id, last_own, is_open) WHERE NOT is_open;

-- Holds. What each set aside are the transfers from its id on, up to its amount.
CREATE TABLE hold (
    id INTEGER PRIMARY KEY CHECK (id > 0), -- its first transfer
    entry INTEGER NOT NULL,
    account INTEGER NOT NULL,           -- that asked for it; whose it is, where that is linked, says owner
    currency INTEGER NOT NULL,
    amount INTEGER NOT NULL CHECK (amount > 0 AND amount <= 9007199254740991),
    expires_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'closed', 'expired')), -- closed: captured or released
    ended INTEGER CHECK ((ended IS NULL) = (state = 'open')) -- the entry that ended it
) STRICT;

CREATE INDEX hold_open ON hold (account) WHERE state = 'open';
CREATE INDEX hold_expiry ON hold (expires_at, account) WHERE state = 'open';

-- The turnover of every kind of account, of paid and of free lots. Where one lot pays the debt of another, the receivable
-- is of the other's class. A sum is an integer where 64 bits hold it, and otherwise its decimal digits as text, here and
-- in total_past.
CREATE TABLE total (
    currency INTEGER NOT NULL,
    class TEXT NOT NULL,                -- paid, free
    kind TEXT NOT NULL,
    debits ANY NOT NULL CHECK (typeof(debits) IN ('integer', 'text')),
    credits ANY NOT NULL CHECK (typeof(credits) IN ('integer', 'text')),
    PRIMARY KEY (currency, class, kind)
) STRICT, WITHOUT ROWID;

-- The same as it was after each 4,096th transfer, where there was any. What it was at any time is counted on from the
-- last of these before.
CREATE TABLE total_past (
    transfer INTEGER NOT NULL,
    currency INTEGER NOT NULL,
    class TEXT NOT NULL,
    kind TEXT NOT NULL,
    debits ANY NOT NULL CHECK (typeof(debits) IN ('integer', 'text')),
    credits ANY NOT NULL CHECK (typeof(credits) IN ('integer', 'text')),
    PRIMARY KEY (transfer, currency, class, kind)
) STRICT, WITHOUT ROWID;

-- Of each 4,096 transfers up to one of these, where entries of the kind expiry are among them: when the first of the lots
-- expired that they emptied. Finds what had expired at a time of the past and was not posted then.
CREATE TABLE expiry_past (
    transfer INTEGER PRIMARY KEY CHECK (transfer > 0),
    expires_at INTEGER NOT NULL
) STRICT;

---------------------------------------------------------------------------- purchases, notifications

-- Purchases by the App Store's transaction id, with the facts of their first JWS and what that JWS said. Purchases of
-- other stores, which nobody signed, have numbers of the ledger's own from 2^62 on, and are as they were stated first.
CREATE TABLE purchase (
    transaction_id INTEGER PRIMARY KEY,
    -- To which it was credited, NULL while that is not known; whose it is, where that is linked, says owner.
    account INTEGER,
    entry INTEGER,                      -- the entry that opened its lots, one for each grant; NULL with account
    product TEXT NOT NULL,
    quantity INTEGER NOT NULL,
    purchase_date INTEGER NOT NULL,
    price INTEGER,                      -- thousandths of price_currency, as Apple states it
    price_currency TEXT,
    source TEXT NOT NULL,               -- app_store, imported, external
    storefront TEXT,
    offer_type INTEGER,                 -- Apple's number; NULL where there was no offer
    offer_id TEXT,
    offer_discount TEXT,
    original_id INTEGER,                -- the transaction that it restores or renews
    ownership TEXT,
    -- What the catalog granted for the full quantity, and the weight of each in the price: 'gems:500:3 tickets:5:1'.
    grants TEXT NOT NULL,
    signed_date INTEGER NOT NULL,       -- of the first JWS, or statement: the newest counts
    -- By the first JWS or statement, in thousandths of a percent.
    revoked INTEGER NOT NULL,
    revocation_date INTEGER,            -- by the first JWS: when the App Store took it back
    time INTEGER NOT NULL,              -- when the first word on it was recorded
    evidence INTEGER NOT NULL,          -- the number of the first JWS; 0 where nobody signed it
    block INTEGER NOT NULL              -- where that stands
) STRICT;

-- Finds the purchases in the order in which they were recorded.
CREATE INDEX purchase_evidence ON purchase (evidence) WHERE source = 'app_store';

-- Finds the purchases of a period.
CREATE INDEX purchase_time ON purchase (time, transaction_id);

-- Finds those that no account has claimed.
CREATE INDEX purchase_unassigned ON purchase (transaction_id) WHERE account IS NULL;

-- What other stores call the purchases that they sold.
CREATE TABLE external (
    transaction_id INTEGER PRIMARY KEY, -- its number in purchase
    source TEXT NOT NULL,               -- the store
    identifier TEXT NOT NULL            -- its id there
) STRICT;

-- Accounts that purchases found after their first JWS, each once.
CREATE TABLE assignment (
    id INTEGER PRIMARY KEY CHECK (id > 0),
    transaction_id INTEGER NOT NULL,
    account INTEGER NOT NULL,
    entry INTEGER NOT NULL,             -- the entry that opened its lots
    time INTEGER NOT NULL
) STRICT;

-- Finds those that were made after a time.
CREATE INDEX assignment_time ON assignment (time);

-- What the ledger was told of a purchase after its first JWS, and what it told Apple, block after block. Of one block
-- by time; of one time JWS come first, then the assignment, then what notifications told, then what Apple was told. An
-- account that came with a newer JWS is told by that alone. There may be very many of one purchase.
CREATE TABLE purchase_event (
    transaction_id INTEGER NOT NULL,
    number INTEGER NOT NULL,            -- within the purchase, from 2 without gaps: its first JWS is 1
    kind TEXT NOT NULL CHECK (
        kind IN (
            'signed', 'stated', 'assigned', 'consumption_request', 'refund_declined', 'consumption_sent', 'finished',
            'account_token_set'
        )
    ),
    -- The number of the JWS, of the assignment, or of the notification; 0 of a statement. Of what Apple was told, the number of the
    -- notification that it answers, and 0 where it answers none.
    record INTEGER NOT NULL,
    time INTEGER NOT NULL,
    signed_date INTEGER,                -- of a statement its time; NULL for an assignment, and for what Apple was told
    revoked INTEGER CHECK (revoked >= 0 AND revoked <= 100000), -- by a JWS or a statement, in thousandths of a percent
    revocation_date INTEGER,            -- by a JWS: when the App Store took the purchase back
    entry INTEGER,                      -- what it posted; NULL where it changed nothing
    reason TEXT,                        -- of a consumption_request
    result TEXT CHECK (result IN ('accepted', 'refused', 'expired')), -- how the call ended by which Apple was told
    code INTEGER CHECK ((code IS NOT NULL) = (result IS 'refused')), -- with which Apple refused it
    body TEXT,                          -- the JSON that was sent
    block INTEGER NOT NULL,             -- where it stands
    PRIMARY KEY (transaction_id, number)
) STRICT, WITHOUT ROWID;

-- Finds what the newest JWS or statement of a purchase says.
CREATE INDEX purchase_event_signed ON purchase_event (transaction_id, signed_date, revoked) WHERE revoked IS NOT NULL;

-- Finds what was posted for a purchase after its first JWS.
CREATE INDEX purchase_event_entry ON purchase_event (transaction_id, entry) WHERE entry IS NOT NULL;

-- Finds how the last call ended by which Apple was told something.
CREATE INDEX purchase_event_call ON purchase_event (transaction_id, kind, record) WHERE result IS NOT NULL;

-- App Store Server Notifications, each once.
CREATE TABLE notification (
    uuid TEXT PRIMARY KEY,
    number INTEGER NOT NULL,
    type TEXT NOT NULL,
    subtype TEXT,
    signed_date INTEGER NOT NULL,
    reason TEXT,                        -- of a CONSUMPTION_REQUEST
    time INTEGER NOT NULL,
    transaction_id INTEGER,             -- the purchase that it carries, where that grants something
    subject INTEGER,                    -- the transaction that it is about, where that grants nothing
    entry INTEGER,                      -- what the JWS in it posted; NULL where that changed nothing
    block INTEGER NOT NULL              -- where it stands
) STRICT, WITHOUT ROWID;

-- Finds them in the order in which they came.
CREATE INDEX notification_time ON notification (time, number);

-- Find Apple's questions in the order in which they came, and by the time until which it takes an answer.
CREATE INDEX notification_request ON notification (number)
    WHERE type = 'CONSUMPTION_REQUEST' AND transaction_id IS NOT NULL;
CREATE INDEX notification_request_date ON notification (signed_date, number)
    WHERE type = 'CONSUMPTION_REQUEST' AND transaction_id IS NOT NULL;

------------------------------------------------------------------------------------ links, consents, closings

-- Tokens that were linked to accounts. What a token had is that of its first link's account, for ever; what comes under
-- it is that of its last one's.
CREATE TABLE link (
    token INTEGER NOT NULL,             -- the account that has the token as its name
    number INTEGER NOT NULL CHECK (number > 0), -- of the token's links, from 1 without gaps
    account INTEGER NOT NULL CHECK (account <> token),
    entry INTEGER,                      -- what moved that the token's wallets had; NULL where they had nothing
    time INTEGER NOT NULL,
    actor INTEGER,                      -- who asked for it
    PRIMARY KEY (token, number)
) STRICT, WITHOUT ROWID;

-- Finds the tokens of which an account has everything.
CREATE INDEX link_account ON link (account) WHERE number = 1;

-- What players said of telling Apple how much they consumed; the newest counts, of all accounts of one owner.
CREATE TABLE consent (
    id INTEGER PRIMARY KEY CHECK (id > 0), -- the number of the request that recorded it
    account INTEGER NOT NULL,
    consumption INTEGER NOT NULL CHECK (consumption IN (0, 1)), -- whether Apple may be told
    time INTEGER NOT NULL,
    actor INTEGER                       -- who recorded it
) STRICT;

CREATE INDEX consent_account ON consent (account);

-- Why entries of the kind adjustment correct a wallet by hand.
CREATE TABLE adjustment (
    entry INTEGER PRIMARY KEY,
    class TEXT NOT NULL,                -- of the lots that were corrected: paid, free
    reason TEXT NOT NULL,
    approver INTEGER                    -- who approved it; who asked for it is the entry's actor
) STRICT;

-- Periods that were closed by name, each later than the one before. Every entry up to its end stands in its block or
-- before.
CREATE TABLE closing (
    through INTEGER PRIMARY KEY,        -- the last millisecond of the period
    block INTEGER NOT NULL,             -- which says so
    time INTEGER NOT NULL,
    actor INTEGER                       -- who asked for it
) STRICT;

-- The catalogs that decisions followed, each from its block on.
CREATE TABLE catalog (
    version INTEGER PRIMARY KEY,        -- one more than that of the catalog before
    digest BLOB NOT NULL CHECK (length(digest) = 32), -- SHA-256 of the catalog's file
    time INTEGER NOT NULL,
    block INTEGER NOT NULL              -- which says so, and the first that follows it
) STRICT;

----------------------------------------------------------------------------------------------- views

-- Whose everything is that a linked account had. Of accounts that are not linked there is no row. It is computed of all
-- links together, however few are asked for.
CREATE VIEW owner AS
WITH RECURSIVE step (account, owner) AS (
    SELECT token, account FROM link WHERE number = 1
    UNION ALL
    SELECT step.account, link.account FROM step JOIN link ON link.token = step.owner AND link.number = 1
)
SELECT account, owner FROM step WHERE NOT EXISTS (SELECT 1 FROM link WHERE link.token = step.owner);

-- What players have.
CREATE VIEW balance AS
SELECT
    account.name AS account, currency.code AS currency, wallet.available, wallet.paid,
    wallet.available - wallet.paid AS free, wallet.held, wallet.debt
FROM wallet
    JOIN account ON account.id = wallet.account
    JOIN currency ON currency.id = wallet.currency
-- One of which only used lots moved there has had no balance yet.
WHERE wallet.version > 0;

-- Transfers in words.
CREATE VIEW transfer_line AS
SELECT
    transfer.id, transfer.entry, entry.time, entry.kind, account.name AS account, currency.code AS currency,
    transfer.debit, transfer.credit, transfer.amount, transfer.lot, transfer.debt_lot, entry.transaction_id, entry.key,
    entry.note, actor.name AS actor, transfer.spend_order, transfer.reference
FROM transfer
    JOIN entry ON entry.id = transfer.entry
    JOIN account ON account.id = transfer.account
    JOIN currency ON currency.id = transfer.currency
    LEFT JOIN actor ON actor.id = entry.actor;

-- The catalog of which each purchase has its grants. There is no row for those that were recorded before the blocks
-- said which catalog it was; what was carried over from other books brought its grants along.
CREATE VIEW purchase_catalog AS
SELECT purchase.transaction_id, catalog.version, catalog.digest
FROM purchase
    JOIN catalog
        ON catalog.version = (SELECT max(former.version) FROM catalog AS former WHERE former.block <= purchase.block)
WHERE purchase.source <> 'imported';
