// SPDX-License-Identifier: Apache-2.0
// peak with AMX: tdpbsud on full tiles does 16 x 16 x 64 multiply-adds. Two tiles of A (4, 5) times
// two of B (6, 7) give four tiles of sums (0-3).
#include "kernels/peak.h"

#include <immintrin.h>
#include <stddef.h>

enum {
	TILES = 8,       /* all that there are */
	TILE_ROWS = 16,  /* the most */
	TILE_BYTES = 64, /* of a row, the most */
	REPEATS = 8      /* in a round */
};

/* The operand of LDTILECFG, palette 1. */
struct tile_configuration {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};
_Static_assert(sizeof(struct tile_configuration) == 64, "as LDTILECFG reads it");

uint64_t int8_peak_amx(uint64_t rounds) {
	struct tile_configuration configuration = {.palette = 1};
	for (size_t tile = 0; tile < TILES; tile++) {
		configuration.rows[tile] = TILE_ROWS;
		configuration.row_bytes[tile] = TILE_BYTES;
	}
	// gcc 12 takes ldtilecfg to read only 8 of these 64 bytes. This has it write them all.
	__asm__ volatile("" : : "r"(&configuration) : "memory");
	_tile_loadconfig(&configuration); // this also sets all tiles to zero
	for (uint64_t round = 0; round < rounds; round++)
#pragma GCC unroll 8
		for (size_t repeat = 0; repeat < REPEATS; repeat++) {
			_tile_dpbsud(0, 4, 6);
			_tile_dpbsud(1, 4, 7);
			_tile_dpbsud(2, 5, 6);
			_tile_dpbsud(3, 5, 7);
		}
	_tile_release();
	return rounds * REPEATS * 4 * 16 * 16 * 64;
}
