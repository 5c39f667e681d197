// SPDX-License-Identifier: Apache-2.0
// learn.h: how a learner reads texts: the vector of each, in its own units. See cuttle/learn.h.
// Private data: texts pass through, and a vector is as private as its text.
#ifndef CUTTLE_ENGINE_RUN_LOOP_LEARN_H
#define CUTTLE_ENGINE_RUN_LOOP_LEARN_H

#include "engine/cuttle/learn.h"

/* Reads `count` texts, as cuttle_learner_read does, and gives A g / clip of each to `take`, in
 * their order: u[width], valid until it returns. A null text has zeros. Nothing is protected.
 * False: progress said stop. */
bool learner_read(struct cuttle_learner *learner, size_t count,
                  void (*reference)(void *user, size_t index, const char **text, size_t *size),
                  void *user, void (*take)(void *self, const double *u), void *self);

struct model;

/* shift[vocabulary] = e_y . bias in parts of 2^-fraction_bits, for dp_invisibleink_shift. It does
 * not depend on threads or the tier. USAGE: a number of bias[width] is not finite. NOMEM. */
enum cuttle_status learner_shift(const struct model *model, const double *bias,
                                 unsigned fraction_bits, int32_t *shift,
                                 struct cuttle_error *error);
/* The same into new memory, *shift, to be freed; NULL where bias is NULL, and on failure. */
enum cuttle_status learner_shift_make(const struct model *model, const double *bias,
                                      unsigned fraction_bits, int32_t **shift,
                                      struct cuttle_error *error);

#endif
