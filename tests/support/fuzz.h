/* The entry point that libFuzzer, and our replay of the corpora, call. */
#ifndef DSQL_TESTS_FUZZ_H
#define DSQL_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
