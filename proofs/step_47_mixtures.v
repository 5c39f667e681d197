(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 47: a mean of laws within e^b and e^-b of the public law keeps ln(P/P') in an interval of length ln((m - 1 + e^(2b))/m).
   Step 48: with a fixed share of a law, and the rest uniform, the odds of any two texts are within 1 + n lambda/(1 - lambda). *)
Require Import Reals List Lra Lia.
From Cuttle Require Import laws step_05_bounded_range.
Import ListNotations.
Open Scope R_scope.

Section Infinity.
Context {Token Row : Type}.
Variable candidates : list Token.
(* The places whose references are the same in both worlds, and their laws; p is the public one. *)
Variable others : list Row.
Variable q : Row -> Token -> R.
Variable p : Token -> R.
Variable b : R.
Hypothesis b_nonneg : 0 <= b.
Hypothesis p_pos : forall y, In y candidates -> 0 < p y.

(* What dp_share_ratio keeps to, of one place. *)
Definition within (r : Token -> R) : Prop :=
  forall y, In y candidates -> exp (- b) * p y <= r y <= exp b * p y.
Hypothesis others_within : forall j, In j others -> within (q j).

(* The mean of m laws: that of the place in question, and those of the others. *)
Definition mean_with (r : Token -> R) (y : Token) : R :=
  (r y + sum (fun j => q j y) others) / INR (S (length others)).

Let n := INR (length others).
Let L := exp (- b).
Let U := exp b.

Lemma L_pos : 0 < L.
Proof. apply exp_pos. Qed.

Lemma L_below : L <= 1.
Proof. unfold L. rewrite <- exp_0. destruct b_nonneg as [H|H]; [apply Rlt_le, exp_increasing; lra|rewrite <- H, Ropp_0; lra]. Qed.

Lemma U_above : 1 <= U.
Proof. unfold U. rewrite <- exp_0. destruct b_nonneg as [H|H]; [apply Rlt_le, exp_increasing; lra|rewrite <- H; lra]. Qed.

Lemma n_nonneg : 0 <= n.
Proof. apply pos_INR. Qed.

(* The others may take a token away, but not wholly. *)
Lemma others_at_least y : In y candidates -> n * (L * p y) <= sum (fun j => q j y) others.
Proof.
  intros Hy. unfold n. rewrite <- (sum_const (L * p y) others).
  apply sum_le. intros j Hj. apply others_within; auto.
Qed.

Lemma ratio_at_most y r : within r -> In y candidates ->
  (r y + sum (fun j => q j y) others) * (1 + n * L) <= (U + n * L) * (p y + sum (fun j => q j y) others).
Proof.
  intros W Hy. pose proof (others_at_least y Hy) as O. pose proof (proj2 (W y Hy)) as R.
  pose proof L_pos. pose proof U_above. pose proof n_nonneg. pose proof (p_pos y Hy).
  set (s := sum (fun j => q j y) others) in *. fold U in R.
  assert (0 <= n * L) by (apply Rmult_le_pos; lra).
  apply Rle_trans with ((U * p y + s) * (1 + n * L)).
  - apply Rmult_le_compat_r; lra.
  - assert (0 <= (U - 1) * (s - n * (L * p y))) by (apply Rmult_le_pos; lra). nra.
Qed.

Lemma ratio_at_least y r : within r -> In y candidates ->
  (L + n * L) * (p y + sum (fun j => q j y) others) <= (r y + sum (fun j => q j y) others) * (1 + n * L).
Proof.
  intros W Hy. pose proof (others_at_least y Hy) as O. pose proof (proj1 (W y Hy)) as R.
  pose proof L_pos. pose proof L_below. pose proof n_nonneg. pose proof (p_pos y Hy).
  set (s := sum (fun j => q j y) others) in *. fold L in R.
  assert (0 <= n * L) by (apply Rmult_le_pos; lra).
  apply Rle_trans with ((L * p y + s) * (1 + n * L)).
  - assert (0 <= (1 - L) * (s - n * (L * p y))) by (apply Rmult_le_pos; lra). nra.
  - apply Rmult_le_compat_r; lra.
Qed.

Lemma loss_of_means y r : within r -> In y candidates ->
  ln ((L + n * L) / (1 + n * L)) <= loss (mean_with r) (mean_with p) y <= ln ((U + n * L) / (1 + n * L)).
Proof.
  intros W Hy. pose proof (ratio_at_most y r W Hy) as A. pose proof (ratio_at_least y r W Hy) as B.
  pose proof (others_at_least y Hy) as O. pose proof (proj1 (W y Hy)) as R.
  pose proof L_pos. pose proof U_above. pose proof n_nonneg. pose proof (p_pos y Hy). fold L in R.
  set (s := sum (fun j => q j y) others) in *.
  assert (0 <= n * L) by (apply Rmult_le_pos; lra).
  assert (0 < L * p y) by (apply Rmult_lt_0_compat; lra).
  assert (0 <= n * (L * p y)) by (apply Rmult_le_pos; lra).
  assert (E : loss (mean_with r) (mean_with p) y = ln ((r y + s) / (p y + s))).
  { unfold loss, mean_with. fold s. f_equal. field. split; [lra|].
    apply not_0_INR. lia. }
  rewrite E.
  assert (M : forall x z, 0 < x -> x <= z -> ln x <= ln z)
    by (intros x z Hx [Hz|<-]; [apply Rlt_le, ln_increasing; auto|lra]).
  split; apply M.
  - apply Rdiv_lt_0_compat; lra.
  - apply Rmult_le_reg_r with (1 + n * L); [lra|]. apply Rmult_le_reg_r with (p y + s); [lra|].
    replace ((L + n * L) / (1 + n * L) * (1 + n * L) * (p y + s)) with ((L + n * L) * (p y + s)) by (field; lra).
    replace ((r y + s) / (p y + s) * (1 + n * L) * (p y + s)) with ((r y + s) * (1 + n * L)) by (field; lra).
    exact B.
  - apply Rdiv_lt_0_compat; lra.
  - apply Rmult_le_reg_r with (1 + n * L); [lra|]. apply Rmult_le_reg_r with (p y + s); [lra|].
    replace ((U + n * L) / (1 + n * L) * (1 + n * L) * (p y + s)) with ((U + n * L) * (p y + s)) by (field; lra).
    replace ((r y + s) / (p y + s) * (1 + n * L) * (p y + s)) with ((r y + s) * (1 + n * L)) by (field; lra).
    exact A.
Qed.

(* eta, as dp_mixture_eta tells it: m is one more than the others. *)
Definition eta_of_mixtures : R := ln ((n + exp (2 * b)) / INR (S (length others))).

Lemma eta_is : eta_of_mixtures = ln ((U + n * L) / (1 + n * L)) - ln ((L + n * L) / (1 + n * L)).
Proof.
  pose proof L_pos. pose proof U_above. pose proof n_nonneg.
  assert (0 <= n * L) by (apply Rmult_le_pos; lra).
  assert (K : ln ((n + exp (2 * b)) / INR (S (length others))) + ln ((L + n * L) / (1 + n * L))
            = ln ((U + n * L) / (1 + n * L))).
  { rewrite <- ln_mult.
    - f_equal. rewrite S_INR. fold n.
      assert (LU : L * exp (2 * b) = U) by (unfold L, U; rewrite <- exp_plus; f_equal; ring).
      apply Rmult_eq_reg_r with ((1 + n * L) * (n + 1)).
      + replace ((n + exp (2 * b)) / (n + 1) * ((L + n * L) / (1 + n * L)) * ((1 + n * L) * (n + 1)))
          with ((n * L + L * exp (2 * b)) * (n + 1)) by (field; lra).
        replace ((U + n * L) / (1 + n * L) * ((1 + n * L) * (n + 1)))
          with ((U + n * L) * (n + 1)) by (field; lra).
        rewrite LU. ring.
      + apply Rgt_not_eq. apply Rmult_lt_0_compat; lra.
    - apply Rdiv_lt_0_compat; [pose proof (exp_pos (2 * b)); lra|apply lt_0_INR; lia].
    - apply Rdiv_lt_0_compat; lra. }
  unfold eta_of_mixtures. lra.
Qed.

Theorem step_47_order_infinity r : within r ->
  bounded_range candidates eta_of_mixtures (mean_with r) (mean_with p) /\
  bounded_range candidates eta_of_mixtures (mean_with p) (mean_with r).
Proof.
  intros W.
  assert (Flip : forall y, In y candidates -> loss (mean_with p) (mean_with r) y = - loss (mean_with r) (mean_with p) y).
  { intros y Hy. unfold loss. pose proof (others_at_least y Hy). pose proof (proj1 (W y Hy)) as R.
    pose proof L_pos. pose proof n_nonneg. pose proof (p_pos y Hy). fold L in R.
    assert (0 < L * p y) by (apply Rmult_lt_0_compat; lra).
    assert (0 <= n * (L * p y)) by (apply Rmult_le_pos; lra).
    assert (0 < INR (S (length others))) by (apply lt_0_INR; lia).
    assert (0 < mean_with r y) by (apply Rdiv_lt_0_compat; lra).
    assert (0 < mean_with p y) by (apply Rdiv_lt_0_compat; lra).
    unfold Rdiv. rewrite !ln_mult, !ln_Rinv; auto using Rinv_0_lt_compat. ring. }
  split; intros y z Hy Hz; rewrite eta_is.
  - pose proof (loss_of_means y r W Hy). pose proof (loss_of_means z r W Hz). lra.
  - rewrite !Flip by auto. pose proof (loss_of_means y r W Hy). pose proof (loss_of_means z r W Hz). lra.
Qed.
End Infinity.

(* Step 48. The law of a text: a share lambda of its own law, and the rest uniform over n tokens. *)
Definition shared {Token : Type} (lambda n : R) (r : Token -> R) (y : Token) : R := (1 - lambda) / n + lambda * r y.

Theorem step_48_fixed_share {Token : Type} (lambda n : R) (r r' : Token -> R) (y : Token) :
  0 <= lambda < 1 -> 0 < n -> 0 <= r y <= 1 -> 0 <= r' y ->
  shared lambda n r y <= (1 + n * lambda / (1 - lambda)) * shared lambda n r' y.
Proof.
  intros Hl Hn Hr Hr'. unfold shared.
  assert (0 < (1 - lambda) / n) by (apply Rdiv_lt_0_compat; lra).
  assert (0 <= n * lambda / (1 - lambda))
    by (apply Rmult_le_pos; [apply Rmult_le_pos; lra|apply Rlt_le, Rinv_0_lt_compat; lra]).
  apply Rle_trans with ((1 + n * lambda / (1 - lambda)) * ((1 - lambda) / n)).
  - replace ((1 + n * lambda / (1 - lambda)) * ((1 - lambda) / n)) with ((1 - lambda) / n + lambda) by (field; lra).
    assert (lambda * r y <= lambda * 1) by (apply Rmult_le_compat_l; lra). lra.
  - apply Rmult_le_compat_l; [lra|]. assert (0 <= lambda * r' y) by (apply Rmult_le_pos; lra). lra.
Qed.
