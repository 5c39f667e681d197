// SPDX-License-Identifier: Apache-2.0
// amx_emulation.h: the AMX instructions of kernels/gemm_amx.c as plain C over an array of tiles. So
// test_amx_emulated tests the kernel's source without the hardware.
// Use: include it before the kernel's source. Where the processor would raise #GP or #UD, the test
// fails.
// Source: Intel SDM vol. 2, LDTILECFG, TILERELEASE, TILEZERO, TILELOADD, TILESTORED, TDPBSSD
// (palette 1: 8 tiles of 16 rows x 64 bytes).
#ifndef CUTTLE_TESTS_AMX_EMULATION_H
#define CUTTLE_TESTS_AMX_EMULATION_H

#include <immintrin.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { AMX_TILES = 8, AMX_ROWS = 16, AMX_ROW_BYTES = 64 };

static struct {
	bool configured;
	uint8_t rows[AMX_TILES];
	uint16_t row_bytes[AMX_TILES];
	uint8_t tile[AMX_TILES][AMX_ROWS][AMX_ROW_BYTES];
	size_t products; /* TDPBSSD executed so far: the test checks that it used the emulation */
} amx;

static inline void amx_loadconfig(const void *from) {
	uint8_t bytes[64];
	memcpy(bytes, from, sizeof bytes);
	assert_int_equal(bytes[0], 1);
	assert_int_equal(bytes[1], 0); // start_row: not 0 only after an interrupted load
	for (size_t i = 2; i < 16; i++) assert_int_equal(bytes[i], 0);
	for (size_t i = 16 + 2 * AMX_TILES; i < 48; i++) assert_int_equal(bytes[i], 0);
	for (size_t i = 48 + AMX_TILES; i < 64; i++) assert_int_equal(bytes[i], 0);
	for (size_t t = 0; t < AMX_TILES; t++) {
		amx.row_bytes[t] = (uint16_t)(bytes[16 + 2 * t] | bytes[17 + 2 * t] << 8);
		amx.rows[t] = bytes[48 + t];
		assert_in_range(amx.row_bytes[t], 0, AMX_ROW_BYTES);
		assert_in_range(amx.rows[t], 0, AMX_ROWS);
		// Both are zero for a tile that may not be used.
		assert_int_equal(!amx.rows[t], !amx.row_bytes[t]);
	}
	memset(amx.tile, 0, sizeof amx.tile);
	amx.configured = true;
}

static inline void amx_release(void) {
	amx.configured = false;
	memset(amx.tile, 0, sizeof amx.tile);
}

static inline void amx_zero(size_t to) {
	assert_true(amx.configured && to < AMX_TILES && amx.rows[to]);
	memset(amx.tile[to], 0, sizeof amx.tile[to]);
}

static inline void amx_loadd(size_t to, const void *base, size_t stride) {
	amx_zero(to);
	for (size_t r = 0; r < amx.rows[to]; r++)
		memcpy(amx.tile[to][r], (const uint8_t *)base + r * stride, amx.row_bytes[to]);
}

static inline void amx_stored(size_t from, void *base, size_t stride) {
	assert_true(amx.configured && from < AMX_TILES && amx.rows[from]);
	for (size_t r = 0; r < amx.rows[from]; r++)
		memcpy((uint8_t *)base + r * stride, amx.tile[from][r], amx.row_bytes[from]);
}

/* Adds to tile c the products of signed bytes of a and signed bytes of b. Number n of row m of c
 * gets a[m][4k+i] * b[k][4n+i], summed over all k and over i = 0..3. */
static inline void amx_dpbssd(size_t c, size_t a, size_t b) {
	assert_true(amx.configured && c < AMX_TILES && a < AMX_TILES && b < AMX_TILES);
	assert_true(c != a && c != b && a != b);
	assert_true(amx.row_bytes[c] % 4 == 0 && amx.row_bytes[a] % 4 == 0 &&
	            amx.row_bytes[b] % 4 == 0);
	assert_int_equal(amx.rows[c], amx.rows[a]);
	assert_int_equal(amx.row_bytes[c], amx.row_bytes[b]);
	assert_int_equal(amx.row_bytes[a] / 4, amx.rows[b]);
	amx.products++;
	// Rows and columns that are not in use become zero.
	uint8_t result[AMX_ROWS][AMX_ROW_BYTES] = {{0}};
	for (size_t m = 0; m < amx.rows[c]; m++)
		for (size_t n = 0; n < amx.row_bytes[c] / 4u; n++) {
			uint32_t sum; // wraps, as the instruction does
			memcpy(&sum, amx.tile[c][m] + 4 * n, sizeof sum);
			for (size_t k = 0; k < amx.rows[b]; k++)
				for (size_t i = 0; i < 4; i++)
					sum += (uint32_t)((int8_t)amx.tile[a][m][4 * k + i] *
					                  (int8_t)amx.tile[b][k][4 * n + i]);
			memcpy(result[m] + 4 * n, &sum, sizeof sum);
		}
	memcpy(amx.tile[c], result, sizeof result);
}

#undef _tile_loadconfig
#undef _tile_release
#undef _tile_zero
#undef _tile_loadd
#undef _tile_stored
#undef _tile_dpbssd
#define _tile_loadconfig amx_loadconfig
#define _tile_release amx_release
#define _tile_zero amx_zero
#define _tile_loadd amx_loadd
#define _tile_stored amx_stored
#define _tile_dpbssd amx_dpbssd

#endif
