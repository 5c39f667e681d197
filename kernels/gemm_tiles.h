// SPDX-License-Identifier: Apache-2.0
// gemm_tiles.h: all tiles of a gemm, included once by each file whose tile is its compute_tile.
// Rows may be private; weights are public.
// A tile is up to ROWS rows by one group of 16 channels. Example: 11 rows with ROWS = 8 are tiles
// of 8 and 3. The size of a tile does not change the arithmetic of a row.

// The including file defines:
//   INLINE          static inline, always
//   ROWS            rows of a tile, at most 8
//   compute_tile    computes `count` rows from row `first` on, by one group of channels. Its type
//                   and count are constants after inlining.

#define COUNT(N)                                                                                   \
	case N:                                                                                    \
		if (N <= ROWS)                                                                     \
			compute_tile(type, N <= ROWS ? N : 1, to, out_stride, add, rows, first, w, \
			             group);                                                       \
		break;
INLINE void all_tiles(enum packed_type type, float *out, size_t out_stride, bool add,
                      const struct gemm_rows *rows, const struct packed_matrix *w,
                      const uint32_t *groups, size_t begin, size_t end) {
	for (size_t place = begin; place < end; place++) {
		const size_t group = groups ? groups[place] : place;
		for (size_t first = 0; first < rows->rows; first += ROWS) {
			float *to = out + first * out_stride + place * GEMM_GROUP;
			const size_t left = rows->rows - first;
			switch (left < ROWS ? left : ROWS) {
				COUNT(1)
				COUNT(2)
				COUNT(3)
				COUNT(4)
				COUNT(5)
				COUNT(6)
				COUNT(7)
				COUNT(8)
			}
		}
	}
}
#undef COUNT
