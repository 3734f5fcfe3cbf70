#ifndef CURRENCY_LEDGER_CSQLITE_H
#define CURRENCY_LEDGER_CSQLITE_H

#include <sqlite3.h>

/* sqlite3_config() has a variable number of arguments, which Swift cannot call. Gives SQLite's result: SQLITE_MISUSE
   where SQLite is in use already. */
static inline int ledger_sqlite_count_memory(int counts) {
    return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, counts);
}

#endif
