// SPDX-License-Identifier: Apache-2.0
// cuttle model quantize: a GGUF file again, its matrices in another type.
#ifndef CUTTLE_CONVERT_QUANTIZE_H
#define CUTTLE_CONVERT_QUANTIZE_H

#include "convert/rewrite.h"

/* Writes `input` (F32, F16, BF16, Q8_0) to `output` with the matrices in `type`. The same bytes in give the same bytes out. Metadata is
 * copied but for general.file_type and the like. MODEL: malformed, of a type too coarse to start from, a value the type cannot hold.
 * INTERNAL: cannot be written. NOMEM. */
enum cuttle_status quantize(const char *input, const char *output, const struct weight_type *type, const struct rewrite_report *report,
                            struct cuttle_error *error);

#endif
