/* SPDX-License-Identifier: Apache-2.0 */
/* Running out of memory on purpose: the n-th allocation fails, for n = 0, 1, … until a run needs fewer.
 * Executables link alloc_fail_lib with alloc_fail_args (tests/harness/meson.build), so that the project's
 * objects in them come here; jansson comes by its own hook. */
#ifndef OC_TESTS_ALLOC_FAIL_H
#define OC_TESTS_ALLOC_FAIL_H

/* Run fn once for each allocation it makes, with that one failing, then once undisturbed.
 * fn returns 0 or a negative code, frees all it made, and asserts nothing itself while armed (Check
 * allocates too).  Fails the test unless:
 *  - the undisturbed run returns 0,
 *  - each disturbed run returns a negative code (or, where `may_cope`, 0),
 *  - each run leaves as many blocks as it found.
 * Returns the number of allocations that were made to fail. */
long alloc_fail_each(int (*fn)(void *userdata), void *userdata, int may_cope);

/* By hand: arm the n-th allocation from now on; disarm, and was it reached? */
void alloc_fail_arm(long n);
int alloc_fail_disarm(void);
long alloc_fail_live(void); /* blocks in use */

#endif
