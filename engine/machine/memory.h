// SPDX-License-Identifier: Apache-2.0
// memory.h: how much memory this process may still take. Called before a model is read or unpacked
// and when a job is planned. A request that is too large then ends in one line of explanation; the
// system would kill the process. No private data.
#ifndef CUTTLE_ENGINE_MEMORY_H
#define CUTTLE_ENGINE_MEMORY_H

#include "engine/cuttle/status.h"

/* Bytes available: the least of three. The system's MemAvailable plus its free swap; the same for
 * what each control group still allows; what RLIMIT_AS still allows. SIZE_MAX when the
 * system says nothing. */
size_t memory_available(void);

/* NOMEM when more than memory_available() is needed. The line says what needs how much, how much
 * there is, and then `advice`, which may be "". */
enum cuttle_status memory_check(size_t bytes, const char *what, const char *advice,
                                struct cuttle_error *error);

#endif
