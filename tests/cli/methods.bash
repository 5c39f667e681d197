# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
# The methods of generate beside invisibleink, a line each, for the tests that every method must pass.
# A line has the method and options with which the same tokens are drawn from any two inputs: with
# the least parameters there are, or a temperature at which logits count little. B N is at most 8.
methods=(
	'amin -e 10 --svt-noise 4 --units 3 -k 1 -B 2 -N 4 -n 3 --insecure-seed 2'
	'pmixed --divergence 1e-8 -B 2 -N 4 -n 12 --insecure-seed 1'
	'pmixed --order 2 --divergence 1e-14 -B 2 -N 4 -n 12 --insecure-seed 1'
	'pmixed --order 4 --record-filter -e 8 --divergence 1e-14 -B 2 -N 4 -n 12 --insecure-seed 1'
	'dp-decoding --mix 0.00002 -B 1 -N 4 -n 3 --insecure-seed 2'
	'amin -e 60000 --svt-noise 0.01 --svt-threshold 2 --units 3 -B 2 -N 4 -n 3 --insecure-seed 2'
	'dp-prompt --clip-width 0.0005 -B 1 -N 8 -n 12 --insecure-seed 1'
	'adapmixed --not-private --divergence 1e-12 -B 2 -N 4 -n 3 --insecure-seed 2'
	'none --not-private --temperature 1000 -B 2 -N 2 -n 1 --insecure-seed 2'
)
