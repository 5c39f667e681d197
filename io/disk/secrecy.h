// SPDX-License-Identifier: Apache-2.0
// secrecy.h: protects the process that reads private text.
//
// A process that reads private text calls secrecy_begin first. From then on there are no core
// dumps, and no debugger of another user can attach. jansson's memory is wiped when freed. A run
// calls secrecy_room after it has read the public files and before it reads a reference. From then
// on the memory that the process holds does not depend on what the texts say. While
// io/records/records.c reads, jansson's blocks lie in a room of their own, which is given back
// behind it.
#ifndef CUTTLE_IO_DISK_SECRECY_H
#define CUTTLE_IO_DISK_SECRECY_H

#include "engine/cuttle/status.h"
#include "io/disk/arena.h"

/* Call once, when a process that will read private text starts, before any other function of io/.
 */
void secrecy_begin(void);

/* Grows heap and stack once to what private texts can need from here on. `text` bytes are the
 * longest that is tokenised, SIZE_MAX where nobody knows. After that, the memory that the process
 * holds does not depend on private texts. So they do not decide whether a later allocation fails
 * either. NOMEM. */
enum cuttle_status secrecy_room(size_t text, struct cuttle_error *error);

/* How many bytes jansson may allocate from now on; a freed byte still counts. SIZE_MAX = any
 * number. Has no effect without secrecy_begin. */
void secrecy_json(size_t most);

/* Has this thread's jansson lay its blocks into the room, one behind the other, until it is full;
 * NULL = into the heap. To free one does nothing: when none is in use any more, the owner of the
 * room lowers `used` to begin it again. Has no effect without secrecy_begin. */
void secrecy_json_in(struct arena *room);

/* free and realloc for malloc's blocks, which wipe the block they give up. When a block must grow,
 * the new one has room for 2 * size bytes. So a caller that grows byte by byte copies each byte
 * only a few times. secrecy_free also takes jansson's blocks. */
void secrecy_free(void *block);
void *secrecy_realloc(void *block, size_t size);

#endif
