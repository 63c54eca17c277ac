/* SPDX-License-Identifier: Apache-2.0 */
/* Named kill points for tests/fault, compiled in with -Dfaults=true only: a process whose environment has
 * OPEN_CONDUIT_FAULT=<point> kills itself there with SIGKILL. */
#ifndef OC_BASE_FAULT_H
#define OC_BASE_FAULT_H

#ifdef OC_FAULTS
void oc_fault(const char *point);
#else
#define oc_fault(point) ((void)0)
#endif

#endif
