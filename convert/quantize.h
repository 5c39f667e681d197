// SPDX-License-Identifier: Apache-2.0
// quantize.h: writes a GGUF file again, with its matrices in another type.
// It reads public model files only; no private data passes here.
#ifndef CUTTLE_CONVERT_QUANTIZE_H
#define CUTTLE_CONVERT_QUANTIZE_H

#include "convert/rewrite.h"

/* Reads the GGUF file `input`, whose tensors are F32, F16, BF16 or Q8_0. Writes `output` with the
 * matrices in `type`. The same input gives the same output, byte for byte. Metadata is copied, but
 * for entries that would be wrong in the output, such as general.file_type.
 * MODEL: `input` is malformed, a tensor's type is too coarse to start from, or a value is not
 * finite or too large for its new type.
 * INTERNAL: `output` cannot be written. NOMEM: out of memory. */
enum cuttle_status quantize(const char *input, const char *output, const struct weight_type *type,
                            const struct rewrite_report *report, struct cuttle_error *error);

#endif
