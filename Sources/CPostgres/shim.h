#ifndef CURRENCY_LEDGER_CPOSTGRES_H
#define CURRENCY_LEDGER_CPOSTGRES_H

#include <libpq-fe.h>

/* The codes of the fields of an error (protocol, "Error and Notice Message Fields"), which libpq offers as macros of
   character constants only. */
enum {
    ledger_pg_severity = PG_DIAG_SEVERITY_NONLOCALIZED,
    ledger_pg_sqlstate = PG_DIAG_SQLSTATE,
    ledger_pg_message = PG_DIAG_MESSAGE_PRIMARY,
};

#endif
