/* SPDX-License-Identifier: Apache-2.0 */
/* `open-conduit-guest credential ADDRESS BASE REPOSITORY OPERATION`: git's credential helper.  It answers for one repository of
 * one host and says nothing to any other question; what it writes to stderr git's user reads, and no secret is in it.
 *
 *   PORT, PATH       the run's toolbelt is asked, which makes a token for the run
 *   env              a token of the environment, GH_TOKEN or GITHUB_TOKEN; REPOSITORY is "-": any at that host
 *   none:attach      there is none: a person's own terminal has no toolbelt
 *   none:toolbelt    there is none: the run has no toolbelt
 */
#ifndef OC_GUEST_CREDENTIAL_H
#define OC_GUEST_CREDENTIAL_H

/* The exit status: 0, whatever the answer, as git takes any other for the same. */
int oc_guest_credential(const char *address, const char *base, const char *repository, const char *operation);

#endif
