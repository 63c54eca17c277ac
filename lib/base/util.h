/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OC_BASE_UTIL_H
#define OC_BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OC_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define OC_UNUSED            __attribute__((unused))
#define OC_COUNT(a)          (sizeof(a) / sizeof((a)[0]))
#define OC_MIN(a, b)         ((a) < (b) ? (a) : (b))
#define OC_MAX(a, b)         ((a) > (b) ? (a) : (b))

/* Scope-bound release: `oc_cleanup(oc_freep) char *s = NULL;` */
#define oc_cleanup(fn) __attribute__((cleanup(fn)))
void oc_freep(void *pointer_to_pointer);
void oc_closep(int *fd); /* closes if >= 0 */
struct json_t;
void oc_json_decrefp(struct json_t **json);

/* Hand a pointer over: the variable becomes NULL. */
#define oc_steal(ptr)                                                                                                  \
	__extension__({                                                                                                \
		__typeof__(ptr) oc_stolen = (ptr);                                                                     \
		(ptr) = NULL;                                                                                          \
		oc_stolen;                                                                                             \
	})
#define oc_steal_fd(fd)                                                                                                \
	__extension__({                                                                                                \
		int oc_stolen = (fd);                                                                                  \
		(fd) = -1;                                                                                             \
		oc_stolen;                                                                                             \
	})

/* Copy a sized struct of the caller (its first member is size_t size) into ours: what it lacks
 * reads as zero, what we lack must be zero.  False: an unknown member is set, or size is absurd. */
bool oc_copy_sized(void *dst, size_t dst_size, const void *src);

/* A random identifier of n characters from [a-z2-7]; out has n + 1 bytes.  0 or -errno. */
int oc_random_id(char *out, size_t n);

#define OC_RUN_ID_SIZE 33
bool oc_run_id_valid(const char *id); /* [a-z0-9]{8,32} */

/* A Work's name on the disk and in refs: [a-z0-9-], at most 32, no "-" at either end. */
#define OC_WORK_ID_SIZE 33
bool oc_work_id_valid(const char *id);

/* Kinds of plans that nothing confines: "none", and "attach", the same with a person at its terminal. */
#define OC_KIND_ATTACH "attach"
bool oc_kind_plain(const char *kind);
#define OC_KIND_CONTAINER "container"
bool oc_kind_container(const char *kind);
bool oc_kind_valid(const char *kind); /* of a plan */

#endif
