// SPDX-License-Identifier: Apache-2.0
// gemm_panels_body.h: the gemm over planes of bits for many rows (gemm.h), included once by each
// tier that has one. Rows may be private; weights are public.
// All rows read a panel (gemm_panel.h) before the next is unpacked, in tiles of PANEL_TILE rows.
// Neither the size of a panel nor that of a tile changes the arithmetic of a row.

// The including file includes gemm_panel.h, and defines:
//   GEMM_PANELS    the name of its gemm
//   PANEL_TILE     rows of a tile, at most 5
//   panel_tile(type, count, panel, at, blocks, rows, row, block)
//       adds the panel's `blocks` blocks to acc[at] .. acc[at + count - 1]. These are rows row ..
//       row + count - 1 of `rows`, from their block `block` on. type and count are constants after
//       inlining.

#define COUNT(N)                                                                                   \
	case N:                                                                                    \
		if (N <= PANEL_TILE)                                                               \
			panel_tile(type, N <= PANEL_TILE ? N : 1, panel, at, blocks, rows,         \
			           first + at, block);                                             \
		break;
/* Computes PANEL_WIDTH groups for rows first .. first + count - 1, into acc. */
INLINE void multiply_panels(enum packed_type type, struct panel *panel,
                            const struct gemm_rows *rows, size_t first, size_t count,
                            const struct packed_matrix *w, const size_t group[PANEL_WIDTH]) {
	const size_t all_blocks = w->k / GEMM_BLOCK;
	memset(panel->acc, 0, count * sizeof *panel->acc);
	for (size_t block = 0; block < all_blocks; block += PANEL_BLOCKS) {
		const size_t left = all_blocks - block,
		             blocks = left < PANEL_BLOCKS ? left : PANEL_BLOCKS;
		for (size_t g = 0; g < PANEL_WIDTH; g++)
			unpack_panel(type, panel, g, w, group[g], block, blocks);
		sum_panel_rows(type, panel, rows, first, count, block, blocks);
		for (size_t at = 0; at < count; at += PANEL_TILE)
			switch (count - at < PANEL_TILE ? count - at : PANEL_TILE) {
				COUNT(1)
				COUNT(2)
				COUNT(3)
				COUNT(4)
				COUNT(5)
			}
	}
}
#undef COUNT

/* Computes PANEL_WIDTH groups for all rows, and writes the first `width` of them. */
INLINE void panel_groups(enum packed_type type, size_t width, float *out, size_t out_stride,
                         bool add, const struct gemm_rows *rows, const struct packed_matrix *w,
                         const size_t group[PANEL_WIDTH]) {
	struct panel panel;
	for (size_t first = 0; first < rows->rows; first += PANEL_ROWS) {
		const size_t left = rows->rows - first,
		             count = left < PANEL_ROWS ? left : PANEL_ROWS;
		multiply_panels(type, &panel, rows, first, count, w, group);
		for (size_t r = 0; r < count; r++, out += out_stride)
			for (size_t c = 0; c < width * GEMM_GROUP; c++) {
				const float acc = panel.acc[r][c / GEMM_GROUP][c % GEMM_GROUP];
				out[c] = add ? out[c] + acc : acc;
			}
	}
}

/* A last group without a neighbour is computed twice: tiles of one group would be as much code
 * again. */
INLINE void all_panels(enum packed_type type, float *out, size_t out_stride, bool add,
                       const struct gemm_rows *rows, const struct packed_matrix *w,
                       const uint32_t *groups, size_t begin, size_t end) {
	for (size_t place = begin; place < end; place += PANEL_WIDTH) {
		const size_t width = end - place < PANEL_WIDTH ? end - place : PANEL_WIDTH;
		size_t group[PANEL_WIDTH];
		for (size_t g = 0; g < PANEL_WIDTH; g++) {
			const size_t at = place + (g < width ? g : 0);
			group[g] = groups ? groups[at] : at;
		}
		panel_groups(type, width, out + place * GEMM_GROUP, out_stride, add, rows, w,
		             group);
	}
}

#define TYPE(NAME)                                                                                 \
	case NAME:                                                                                 \
		all_panels(NAME, out, out_stride, add, rows, w, groups, begin, end);               \
		break;
void GEMM_PANELS(float *out, size_t out_stride, bool add, const struct gemm_rows *rows,
                 const struct packed_matrix *w, const uint32_t *groups, size_t begin, size_t end) {
	REQUIRE(w->type >= PACKED_Q5_0 && w->type < PACKED_TYPES && w->k == rows->k);
	switch (w->type) {
		PLANE_TYPES(TYPE)
	default:
		break;
	}
}
