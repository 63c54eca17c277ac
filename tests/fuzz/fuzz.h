/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OC_TESTS_FUZZ_H
#define OC_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold for every input; both the fuzzer and a debugger stop there. */
#define FUZZ_CHECK(what)                                                                                               \
	do {                                                                                                           \
		if (!(what))                                                                                           \
			__builtin_trap();                                                                              \
	} while (0)

#endif
