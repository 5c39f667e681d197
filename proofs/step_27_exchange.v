(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 27: to exchange a content for another, through blank, costs (2 alpha - 1)/(alpha - 1) times as much at order alpha^2/(2 alpha - 1).
   This is Mironov 2017, Proposition 11, at the split that dp_fusion_epsilon_exchange takes. *)
Require Import Reals List Lra.
From Cuttle Require Import laws.
Open Scope R_scope.

Lemma exp_convex s a b : 0 <= s <= 1 -> exp (s * a + (1 - s) * b) <= s * exp a + (1 - s) * exp b.
Proof.
  intros H. set (m := s * a + (1 - s) * b).
  assert (K : forall x, exp m * (1 + (x - m)) <= exp x).
  { intros x. replace (exp x) with (exp m * exp (x - m)) by (rewrite <- exp_plus; f_equal; ring).
    apply Rmult_le_compat_l; [apply Rlt_le, exp_pos|apply exp_ineq1_le]. }
  pose proof (Rmult_le_compat_l s _ _ ltac:(lra) (K a)).
  pose proof (Rmult_le_compat_l (1 - s) _ _ ltac:(lra) (K b)).
  replace (exp m) with (s * (exp m * (1 + (a - m))) + (1 - s) * (exp m * (1 + (b - m)))); [lra|].
  unfold m. ring.
Qed.

Definition exchange_order (alpha : R) : R := alpha ^ 2 / (2 * alpha - 1).
Definition exchange_loss (alpha loss : R) : R := (2 * alpha - 1) / (alpha - 1) * loss.

(* P is the law of one content, Q of the other, B of the blank. *)
Theorem step_27_exchange {T} (l : list T) alpha c P B Q : 1 < alpha ->
  is_law l P -> is_law l B -> is_law l Q -> renyi l alpha c P B -> renyi l alpha c B Q ->
  1 < exchange_order alpha /\ renyi l (exchange_order alpha) (exchange_loss alpha c) P Q.
Proof.
  intros Ha [HP _] [HB _] [HQ _] H1 H2. split.
  { unfold exchange_order. apply Rmult_lt_reg_r with (2 * alpha - 1); [lra|].
    replace (alpha ^ 2 / (2 * alpha - 1) * (2 * alpha - 1)) with (alpha ^ 2) by (field; lra).
    assert (0 < (alpha - 1) * (alpha - 1)) by (apply Rmult_lt_0_compat; lra). lra. }
  unfold renyi in *. set (s := alpha / (2 * alpha - 1)).
  assert (Hs : 0 <= s <= 1).
  { unfold s. split; [apply Rmult_le_pos; [lra|apply Rlt_le, Rinv_0_lt_compat; lra]|].
    apply Rmult_le_reg_r with (2 * alpha - 1); [lra|].
    replace (alpha / (2 * alpha - 1) * (2 * alpha - 1)) with alpha by (field; lra). lra. }
  replace ((exchange_order alpha - 1) * exchange_loss alpha c) with ((alpha - 1) * c)
    by (unfold exchange_order, exchange_loss; field; lra).
  apply Rle_trans with (s * moment l alpha P B + (1 - s) * moment l alpha B Q).
  - unfold moment. rewrite <- !sum_scal, <- sum_plus. apply sum_le. intros y Hy.
    specialize (HP y Hy). specialize (HB y Hy). specialize (HQ y Hy).
    assert (E : forall beta U V, 0 < U y -> 0 < V y ->
      V y * exp (beta * loss U V y) = exp (ln (V y) + beta * (ln (U y) - ln (V y)))).
    { intros beta U V HU HV. rewrite exp_plus, exp_ln by auto. unfold loss, Rdiv.
      rewrite ln_mult, ln_Rinv by auto using Rinv_0_lt_compat. auto. }
    rewrite !E by auto. eapply Rle_trans; [|apply exp_convex; auto].
    right. f_equal. unfold s, exchange_order. field. lra.
  - pose proof (Rmult_le_compat_l s _ _ (proj1 Hs) H1).
    pose proof (Rmult_le_compat_l (1 - s) _ _ ltac:(lra) H2). lra.
Qed.
