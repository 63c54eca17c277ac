/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_TREE_H
#define COMMON_TREE_H

/* Remove what is in a directory, and (tree_remove) the directory: without following links, on its
 * own device only.  0, or -1 with errno. */
int tree_empty(const char *dir);
int tree_remove(const char *dir);

#endif
