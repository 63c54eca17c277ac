/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OC_BASE_UTF8_H
#define OC_BASE_UTF8_H

#include "base/buf.h"

bool oc_utf8_valid(const char *s, size_t len);
/* Append text for a log or a terminal: control characters, C1, ESC, bidi controls, zero-width
 * characters and invalid bytes become \xNN or \u{N}; newline becomes \n unless keep_lines,
 * which keeps tabs too.  Backslashes stay, so that escaping twice changes nothing. */
int oc_text_escape(struct oc_buf *out, const char *s, size_t len, bool keep_lines);
/* The same of at most `most` bytes of it, and "…" where there is more. */
int oc_text_excerpt(struct oc_buf *out, const char *s, size_t most);
/* Append text quoted for a POSIX shell, only where it has to be. */
int oc_shell_quote(struct oc_buf *out, const char *s);

#endif
