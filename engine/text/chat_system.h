// SPDX-License-Identifier: Apache-2.0
// chat_system.h: the default system message of a ChatML template, which the template sets before a
// conversation that has none. It is read from the template's text; nothing is executed.
// No private data.
#ifndef CUTTLE_ENGINE_CHAT_SYSTEM_H
#define CUTTLE_ENGINE_CHAT_SYSTEM_H

#include <stddef.h>

#define CHAT_SYSTEM 1024 /* bytes of a default system message, its NUL included */

/* Writes the default system message of the template text[size] to message[], with a NUL. Writes ""
 * when none is found, or it is not plain UTF-8 text of less than CHAT_SYSTEM bytes. O(size).
 * Found is the M of "<|im_start|>system\nM<|im_end|>", on two conditions. All of it is one literal.
 * It stands in a branch for a missing system message: {% if ... != 'system' %}, or the else of
 * {% if ... == 'system' %}. Branches for tools do not count. */
void chat_default_system(const char *text, size_t size, char message[CHAT_SYSTEM]);

#endif
