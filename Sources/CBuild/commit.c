#include "CBuild.h"

const char *currency_ledger_commit(void) { return COMMIT; }
