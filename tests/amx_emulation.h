// SPDX-License-Identifier: Apache-2.0
// The AMX instructions kernels/gemm_amx.c uses, as plain C over an array of tiles, so that its source can be tested without the hardware.
// Source: Intel SDM vol. 2, LDTILECFG, TILERELEASE, TILEZERO, TILELOADD, TILESTORED, TDPBSSD (palette 1: 8 tiles of 16 rows x 64 bytes).
// Where the processor raises #GP or #UD the test fails. Include it before the kernel's source.
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
	size_t products; /* TDPBSSD so far: shows that a test came this way */
} amx;

static inline void amx_loadconfig(const void *from) {
	uint8_t bytes[64];
	memcpy(bytes, from, sizeof bytes);
	assert_int_equal(bytes[0], 1);
	assert_int_equal(bytes[1], 0); // start_row is for a load that was interrupted
	for (size_t i = 2; i < 16; i++) assert_int_equal(bytes[i], 0);
	for (size_t i = 16 + 2 * AMX_TILES; i < 48; i++) assert_int_equal(bytes[i], 0);
	for (size_t i = 48 + AMX_TILES; i < 64; i++) assert_int_equal(bytes[i], 0);
	for (size_t t = 0; t < AMX_TILES; t++) {
		amx.row_bytes[t] = (uint16_t)(bytes[16 + 2 * t] | bytes[17 + 2 * t] << 8);
		amx.rows[t] = bytes[48 + t];
		assert_in_range(amx.row_bytes[t], 0, AMX_ROW_BYTES);
		assert_in_range(amx.rows[t], 0, AMX_ROWS);
		assert_int_equal(!amx.rows[t], !amx.row_bytes[t]); // both zero: a tile that may not be used
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
	for (size_t r = 0; r < amx.rows[to]; r++) memcpy(amx.tile[to][r], (const uint8_t *)base + r * stride, amx.row_bytes[to]);
}

static inline void amx_stored(size_t from, void *base, size_t stride) {
	assert_true(amx.configured && from < AMX_TILES && amx.rows[from]);
	for (size_t r = 0; r < amx.rows[from]; r++) memcpy((uint8_t *)base + r * stride, amx.tile[from][r], amx.row_bytes[from]);
}

/* Signed bytes of a times signed bytes of b. */
static inline void amx_dpbssd(size_t c, size_t a, size_t b) {
	assert_true(amx.configured && c < AMX_TILES && a < AMX_TILES && b < AMX_TILES);
	assert_true(c != a && c != b && a != b);
	assert_true(amx.row_bytes[c] % 4 == 0 && amx.row_bytes[a] % 4 == 0 && amx.row_bytes[b] % 4 == 0);
	assert_int_equal(amx.rows[c], amx.rows[a]);
	assert_int_equal(amx.row_bytes[c], amx.row_bytes[b]);
	assert_int_equal(amx.row_bytes[a] / 4, amx.rows[b]);
	amx.products++;
	uint8_t result[AMX_ROWS][AMX_ROW_BYTES] = {{0}}; // what lies beyond the rows and columns in use becomes zero
	for (size_t m = 0; m < amx.rows[c]; m++)
		for (size_t n = 0; n < amx.row_bytes[c] / 4u; n++) {
			uint32_t sum; // wraps, as the instruction does
			memcpy(&sum, amx.tile[c][m] + 4 * n, sizeof sum);
			for (size_t k = 0; k < amx.rows[b]; k++)
				for (size_t i = 0; i < 4; i++)
					sum += (uint32_t)((int8_t)amx.tile[a][m][4 * k + i] * (int8_t)amx.tile[b][k][4 * n + i]);
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
