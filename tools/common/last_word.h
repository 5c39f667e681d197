// SPDX-License-Identifier: Apache-2.0
// last_word.h: the command says its exit code on a descriptor, as the last thing it does.
//
// A program that starts the command may never see its exit code: where SIGCHLD is ignored, or where
// another thread waits for any child, the kernel gives the code to no one or to that thread, and
// many callers then take the lost code for 0. The caller therefore opens a pipe and passes the
// number of its writing end in LAST_WORD_VARIABLE. A command that is killed writes nothing there,
// so an empty pipe means that the end is not known. Nothing but the exit code is ever written.
//
// Only a pipe or a socket that the caller left open is taken, never the name of a file, so that no
// one's file can be written over by this. The variable is removed and the descriptor is closed in
// programs that the command starts: only the command itself may say how it ended.
#ifndef CUTTLE_TOOLS_COMMON_LAST_WORD_H
#define CUTTLE_TOOLS_COMMON_LAST_WORD_H

#include <stdbool.h>

#define LAST_WORD_VARIABLE "CUTTLE_END_FD"

/* Sets *file to the descriptor that the variable names, or to -1 where the variable is not set or
 * empty. Returns false, and prints why, where it names no pipe or socket that can be written, from
 * 3 on. Call it before anything is opened and before the first thread. */
bool last_word_open(int *file);
/* Writes the code and a newline, such as "0\n"; nothing where *file is -1. What cannot be written
 * is not reported: no one listens any more. A pipe that is full gets nothing, since to wait for its
 * reader could last for ever. */
void last_word_say(int file, int code);

#endif
