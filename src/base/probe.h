/* SPDX-License-Identifier: MIT */
/*
 * Probes for bpftrace, perf and SystemTap: places in the code with a name. An instruction that does nothing marks the
 * place, and a note of the file (readelf -n) says where its arguments are. So probes stand only where one instruction
 * more does not matter: not in the paths that yield, park, fork and spawn. docs/OBSERVABILITY.md has the table.
 *
 * Without sys/sdt.h there are no probes. Builds with a sanitizer have none: such builds are not traced.
 */
#ifndef WEFT_BASE_PROBE_H
#define WEFT_BASE_PROBE_H

#include "base/sanitizer.h"

#if __has_include(<sys/sdt.h>) && !defined(WEFT_ASAN) && !defined(WEFT_TSAN)
#include <sys/sdt.h>
#define weft__probe1(name, a) DTRACE_PROBE1(weft, name, a)
#define weft__probe2(name, a, b) DTRACE_PROBE2(weft, name, a, b)
#define weft__probe3(name, a, b, c) DTRACE_PROBE3(weft, name, a, b, c)
#else
#define weft__probe1(name, a) ((void)(a))
#define weft__probe2(name, a, b) ((void)(a), (void)(b))
#define weft__probe3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif

#endif
