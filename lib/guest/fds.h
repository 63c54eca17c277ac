/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OC_GUEST_FDS_H
#define OC_GUEST_FDS_H

/* Move fd to 3, close-on-exec, and close everything above: 3 or -errno. */
int oc_fds_keep_one(int fd);
/* /dev/null on 0, and on 1 and 2 if they are closed: 0 or -errno. */
int oc_fds_standard(void);

#endif
