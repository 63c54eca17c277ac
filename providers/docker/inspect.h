/* SPDX-License-Identifier: Apache-2.0 */
/* Is what a run has in the engine still what was pinned? */
#ifndef DOCKER_INSPECT_H
#define DOCKER_INSPECT_H

/* `inspect`, with the plan on descriptor 3: 0 it is, or it is gone, which the guard sees too; 1 it isn't, as pin_mismatch that names
 * what differs; 3 the engine can't be asked.  Changes nothing. */
int inspect_main(void);

#endif
