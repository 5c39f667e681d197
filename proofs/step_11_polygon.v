(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 11: a polygon whose vertices are not below V is nowhere below it, ends included, and a step on it is not below one on V.
   This is what dp/exact.c relies on, whatever its grid and window; how a step is maximised over t, and rounded, is not proved here. *)
Require Import Reals Lra.
From Cuttle Require Import laws step_10_exact.
Open Scope R_scope.

Section Polygon.
(* V of one k: delta as a function of a = e^epsilon, with V(0) = 1. *)
Variable V : R -> R.
Hypothesis convex : forall s a b, 0 <= s <= 1 -> 0 <= a -> 0 <= b -> V (s * a + (1 - s) * b) <= s * V a + (1 - s) * V b.
Hypothesis falls : forall a b, 0 <= a <= b -> V b <= V a.
Hypothesis at_zero : V 0 <= 1.

(* The edge from (a, v) to (b, w). *)
Definition edge (a b v w x : R) : R := ((b - x) * v + (x - a) * w) / (b - a).

Theorem step_11_edge_above a b v w x : 0 <= a < b -> a <= x <= b -> V a <= v -> V b <= w -> V x <= edge a b v w x.
Proof.
  intros Ha Hx Hv Hw. set (s := (b - x) / (b - a)).
  assert (Hs : 0 <= s <= 1).
  { unfold s. split; [apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]|].
    apply Rmult_le_reg_r with (b - a); [lra|]. replace ((b - x) / (b - a) * (b - a)) with (b - x) by (field; lra). lra. }
  pose proof (convex s a b Hs ltac:(lra) ltac:(lra)) as C.
  replace (s * a + (1 - s) * b) with x in C by (unfold s; field; lra).
  apply Rle_trans with (1 := C). apply Rle_trans with (s * v + (1 - s) * w).
  - pose proof (Rmult_le_compat_l s _ _ (proj1 Hs) Hv). pose proof (Rmult_le_compat_l (1 - s) _ _ ltac:(lra) Hw). lra.
  - right. unfold edge, s. field. lra.
Qed.

(* Left of the window straight to (0, 1), right of it constant. *)
Theorem step_11_ends_above first v last w x : 0 < first -> V first <= v -> 0 <= last -> V last <= w ->
  (0 <= x <= first -> V x <= edge 0 first 1 v x) /\ (last <= x -> V x <= w).
Proof.
  intros Hf Hv Hl Hw. split; intros Hx.
  - apply step_11_edge_above; auto; lra.
  - pose proof (falls last x ltac:(lra)). lra.
Qed.
End Polygon.

(* The right side of the recursion grows with what stands in it: on W, not below V, it is not below that on V. *)
Theorem step_11_step_grows eta (V W : R -> R) a u : 0 < eta -> 0 < a -> 1 <= u <= exp eta ->
  (forall x, 0 < x -> V x <= W x) ->
  two_point eta u * V (a / u) + (1 - two_point eta u) * V (a / (u * exp (- eta))) <=
  two_point eta u * W (a / u) + (1 - two_point eta u) * W (a / (u * exp (- eta))).
Proof.
  intros He Ha Hu H. pose proof (shrink eta He) as Sh. pose proof (exp_pos (- eta)).
  assert (one : exp eta * exp (- eta) = 1) by (rewrite <- exp_plus, Rplus_opp_r; apply exp_0).
  assert (p01 : 0 <= two_point eta u <= 1).
  { assert (u * exp (- eta) <= 1) by (rewrite <- one; apply Rmult_le_compat_r; lra).
    assert (1 * exp (- eta) <= u * exp (- eta)) by (apply Rmult_le_compat_r; lra).
    unfold two_point. split.
    - apply Rmult_le_pos; [lra|]. apply Rlt_le, Rinv_0_lt_compat; lra.
    - apply Rmult_le_reg_r with (1 - exp (- eta)); [lra|].
      replace ((1 - u * exp (- eta)) / (1 - exp (- eta)) * (1 - exp (- eta))) with (1 - u * exp (- eta)) by (field; lra). lra. }
  apply Rplus_le_compat; apply Rmult_le_compat_l; try lra; apply H; apply Rdiv_lt_0_compat; auto; try lra.
  apply Rmult_lt_0_compat; lra.
Qed.
