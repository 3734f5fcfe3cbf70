#ifndef CURRENCY_LEDGER_LIBFUZZER_H
#define CURRENCY_LEDGER_LIBFUZZER_H

#include <stddef.h>
#include <stdint.h>

/* https://llvm.org/docs/LibFuzzer.html#using-libfuzzer-as-a-library */
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*check)(const uint8_t *bytes, size_t count));

/* Changes bytes in place as libFuzzer does by itself, and gives how many there are then. */
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t count, size_t count_max);

#endif
