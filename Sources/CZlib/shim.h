#ifndef CURRENCY_LEDGER_CZLIB_H
#define CURRENCY_LEDGER_CZLIB_H

#include <zlib.h>

#endif
