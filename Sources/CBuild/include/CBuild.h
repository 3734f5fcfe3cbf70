#ifndef CURRENCY_LEDGER_CBUILD_H
#define CURRENCY_LEDGER_CBUILD_H

/* The commit that was built, as `.ci/package` names it to Package.swift; empty in every other build. */
const char *currency_ledger_commit(void);

#endif
