(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 23, Theorem F2: a share lambda that keeps both sums F and G under e^((alpha-1)c) - 1 keeps both Renyi divergences under c.
   This is what search_share of dp/share.c asks of the moments of one pass, for every integer order alpha of at least 2. *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws.
Import ListNotations.
Open Scope R_scope.

(* (1 + x)^n term by term; C n k is the binomial coefficient. *)
Lemma binomial_terms n x : (1 + x) ^ n = sum (fun k => C n k * x ^ k) (seq 0 (S n)).
Proof.
  rewrite Rplus_comm, binomial.
  assert (K : forall m f, sum_f_R0 f m = sum f (seq 0 (S m))).
  { induction m as [|m IH]; intros f; [simpl; ring|].
    rewrite tech5, IH, (seq_S (S m)), sum_app. simpl. ring. }
  rewrite K. apply sum_ext. intros k _. rewrite pow1. ring.
Qed.

Lemma C_0 n : C n 0 = 1.
Proof. unfold C. rewrite Nat.sub_0_r. simpl. field. apply INR_fact_neq_0. Qed.

Lemma C_1 n : (1 <= n)%nat -> C n 1 = INR n.
Proof.
  intros H. destruct n as [|n]; [lia|]. unfold C. replace (S n - 1)%nat with n by lia.
  rewrite fact_simpl, mult_INR. simpl (INR (fact 1)). field. apply INR_fact_neq_0.
Qed.

Lemma C_2 n : (2 <= n)%nat -> C n 2 = INR n * (INR n - 1) / 2.
Proof.
  intros H. destruct n as [|[|n]]; [lia|lia|]. unfold C. replace (S (S n) - 2)%nat with n by lia.
  rewrite !fact_simpl, !mult_INR, !S_INR. simpl (fact 0). simpl (INR 1). simpl (INR 0).
  field. apply INR_fact_neq_0.
Qed.

(* For -1 < x < 0 the terms after the square only take away. *)
Lemma forward_below n x : -1 < x <= 0 -> (1 + x) ^ n <= 1 + INR n * x + INR n * (INR n - 1) / 2 * x ^ 2.
Proof.
  intros H. induction n as [|n IH]; [simpl; lra|].
  rewrite S_INR. simpl pow at 1.
  assert (K : (1 + x) * (1 + x) ^ n <= (1 + x) * (1 + INR n * x + INR n * (INR n - 1) / 2 * x ^ 2))
    by (apply Rmult_le_compat_l; lra).
  assert (C2 : 0 <= INR n * (INR n - 1) / 2).
  { destruct n as [|n]; [simpl; lra|]. pose proof (pos_INR n). rewrite S_INR.
    assert (0 <= (INR n + 1) * (INR n + 1 - 1)) by (apply Rmult_le_pos; lra). lra. }
  assert (0 <= INR n * (INR n - 1) / 2 * (- x * x ^ 2)).
  { apply Rmult_le_pos; auto. apply Rmult_le_pos; [lra|apply pow2_ge_0]. }
  nra.
Qed.

(* h of the proof, at 1 / (1 + x) = v. *)
Fixpoint h_of (n : nat) (v : R) : R :=
  match n with O => 0 | S n => v * (h_of n v + INR n + 1) end.

Lemma h_is_the_sum n v : h_of n v = sum (fun j => INR j * v ^ (n + 1 - j)) (seq 1 n).
Proof.
  induction n as [|n IH]; [auto|].
  change (h_of (S n) v) with (v * (h_of n v + INR n + 1)).
  rewrite IH, seq_S, sum_app. cbn [sum].
  rewrite (sum_ext (fun j => INR j * v ^ (S n + 1 - j)) (fun j => v * (INR j * v ^ (n + 1 - j))) (seq 1 n)).
  - rewrite sum_scal. replace (S n + 1 - (1 + n))%nat with 1%nat by lia.
    replace (1 + n)%nat with (S n) by lia. rewrite S_INR. ring.
  - intros j Hj. apply in_seq in Hj. replace (S n + 1 - j)%nat with (S (n + 1 - j)) by lia. simpl. ring.
Qed.

Lemma h_nonneg n v : 0 <= v -> 0 <= h_of n v.
Proof.
  intros H. induction n as [|n IH]; simpl; [lra|]. pose proof (pos_INR n). apply Rmult_le_pos; lra.
Qed.

Lemma h_grows n v v' : 0 <= v <= v' -> h_of n v <= h_of n v'.
Proof.
  intros H. induction n as [|n IH]; simpl; [lra|]. pose proof (pos_INR n).
  pose proof (h_nonneg n v ltac:(lra)). apply Rmult_le_compat; lra.
Qed.

Lemma reverse_exact n x : -1 < x -> (/ (1 + x)) ^ n = 1 - INR n * x + x ^ 2 * h_of n (/ (1 + x)).
Proof.
  intros H. induction n as [|n IH]; [simpl; ring|].
  rewrite S_INR. change ((/ (1 + x)) ^ S n) with (/ (1 + x) * (/ (1 + x)) ^ n). rewrite IH.
  change (h_of (S n) (/ (1 + x))) with (/ (1 + x) * (h_of n (/ (1 + x)) + INR n + 1)).
  set (g := h_of n (/ (1 + x))). field. lra.
Qed.

Lemma reverse_above n x : 0 <= x -> (/ (1 + x)) ^ n <= 1 - INR n * x + INR (S n) * INR n / 2 * x ^ 2.
Proof.
  intros H. induction n as [|n IH]; [simpl; lra|].
  rewrite !S_INR in *. simpl pow at 1. pose proof (pos_INR n).
  apply Rmult_le_reg_l with (1 + x); [lra|].
  rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra. apply Rle_trans with (1 := IH).
  assert (0 <= (INR n + 1 + 1) * (INR n + 1) / 2 * (x * x ^ 2)).
  { apply Rmult_le_pos; [|apply Rmult_le_pos; [lra|apply pow2_ge_0]].
    assert (0 <= (INR n + 1 + 1) * (INR n + 1)) by (apply Rmult_le_pos; lra). lra. }
  nra.
Qed.

Section Share.
Context {Token : Type}.
Variable candidates : list Token.
(* The integer laws of dp_rowlaw_make (step 22): entries of at least 1, equal sums. *)
Variables a b : Token -> Z.
Variable lambda : R.
Hypothesis some_candidate : exists y, In y candidates.
Hypothesis a_positive : forall y, In y candidates -> (1 <= a y)%Z.
Hypothesis b_positive : forall y, In y candidates -> (1 <= b y)%Z.
Hypothesis equal_sums : sum (fun y => IZR (a y)) candidates = sum (fun y => IZR (b y)) candidates.
Hypothesis share : 0 <= lambda < 1.

Definition whole : R := sum (fun y => IZR (a y)) candidates.
Definition p (y : Token) : R := IZR (a y) / whole.
Definition u (y : Token) : R := (IZR (b y) - IZR (a y)) / IZR (a y).
(* The mixture that dp_pick_mixed draws from: weights (1 - lambda) a + lambda b. *)
Definition q (y : Token) : R := ((1 - lambda) * IZR (a y) + lambda * IZR (b y)) / whole.

(* mu_k = E_p[u^k; u >= 0], nu = E_p[u^2; u < 0]. *)
Definition mu (k : nat) : R := sum (fun y => if Rle_lt_dec 0 (u y) then p y * u y ^ k else 0) candidates.
Definition nu : R := sum (fun y => if Rle_lt_dec 0 (u y) then 0 else p y * u y ^ 2) candidates.

Definition F_sum (alpha : nat) : R :=
  sum (fun k => C alpha k * lambda ^ k * mu k) (seq 2 (alpha - 1)) + C alpha 2 * lambda ^ 2 * nu.
Definition G_sum (alpha : nat) : R :=
  C alpha 2 * lambda ^ 2 * mu 2 +
  lambda ^ 2 * nu * sum (fun j => INR j * (/ (1 - lambda)) ^ (alpha - j)) (seq 1 (alpha - 1)).

Lemma a_pos y : In y candidates -> 0 < IZR (a y).
Proof. intros H. apply IZR_lt. specialize (a_positive y H). lia. Qed.
Lemma b_pos y : In y candidates -> 0 < IZR (b y).
Proof. intros H. apply IZR_lt. specialize (b_positive y H). lia. Qed.
Lemma whole_pos : 0 < whole.
Proof. destruct some_candidate as [y Hy]. apply sum_pos with y; auto using a_pos. Qed.

Lemma p_is_law : is_law candidates p.
Proof.
  pose proof whole_pos. split; [intros; apply Rdiv_lt_0_compat; auto using a_pos|].
  unfold p. rewrite sum_div. fold whole. field; lra.
Qed.

Lemma q_is_law : is_law candidates q.
Proof.
  pose proof whole_pos. split.
  - intros y Hy. apply Rdiv_lt_0_compat; auto.
    pose proof (a_pos y Hy). pose proof (b_pos y Hy).
    assert (0 < (1 - lambda) * IZR (a y)) by (apply Rmult_lt_0_compat; lra).
    assert (0 <= lambda * IZR (b y)) by (apply Rmult_le_pos; lra). lra.
  - unfold q. rewrite sum_div, sum_plus, !sum_scal, <- equal_sums. fold whole. field; lra.
Qed.

Lemma q_is_p y : In y candidates -> q y = p y * (1 + lambda * u y).
Proof. intros H. unfold q, p, u. pose proof (a_pos y H). pose proof whole_pos. field; lra. Qed.

Lemma mean_zero : sum (fun y => p y * u y) candidates = 0.
Proof.
  pose proof whole_pos.
  rewrite (sum_ext _ (fun y => / whole * IZR (b y) + - / whole * IZR (a y))).
  - rewrite sum_plus, !sum_scal, <- equal_sums. lra.
  - intros y Hy. unfold p, u. pose proof (a_pos y Hy). field; lra.
Qed.

Lemma u_above y : In y candidates -> -1 < u y.
Proof.
  intros H. pose proof (a_pos y H). pose proof (b_pos y H).
  unfold u. apply Rmult_lt_reg_r with (IZR (a y)); [lra|].
  replace ((IZR (b y) - IZR (a y)) / IZR (a y) * IZR (a y)) with (IZR (b y) - IZR (a y)) by (field; lra). lra.
Qed.

Lemma x_above y : In y candidates -> - lambda <= lambda * u y.
Proof.
  intros H. pose proof (u_above y H). assert (0 <= lambda * (u y + 1)) by (apply Rmult_le_pos; lra). lra.
Qed.

(* E_p (1 + x)^alpha <= 1 + F. *)
Lemma step_23_forward n : let alpha := S (S n) in
  sum (fun y => p y * (1 + lambda * u y) ^ alpha) candidates <= 1 + F_sum alpha.
Proof.
  intros alpha.
  set (tail := fun y => sum (fun k => C alpha k * lambda ^ k * (if Rle_lt_dec 0 (u y) then p y * u y ^ k else 0)) (seq 2 (alpha - 1))).
  apply Rle_trans with (sum (fun y => (p y + INR alpha * lambda * (p y * u y)) +
      (tail y + C alpha 2 * lambda ^ 2 * (if Rle_lt_dec 0 (u y) then 0 else p y * u y ^ 2))) candidates).
  - apply sum_le. intros y Hy. pose proof (proj1 p_is_law y Hy). unfold tail.
    destruct (Rle_lt_dec 0 (u y)) as [Up|Down].
    + rewrite binomial_terms. change (seq 0 (S alpha)) with (0%nat :: 1%nat :: seq 2 (alpha - 1)).
      cbn [sum]. rewrite C_0, C_1 by (unfold alpha; lia).
      assert (E : sum (fun k => C alpha k * lambda ^ k * (p y * u y ^ k)) (seq 2 (alpha - 1)) =
                  p y * sum (fun k => C alpha k * (lambda * u y) ^ k) (seq 2 (alpha - 1))).
      { rewrite <- sum_scal. apply sum_ext. intros k _. rewrite Rpow_mult_distr. ring. }
      rewrite E. right. ring.
    + rewrite sum_zero by (intros; ring). rewrite C_2 by (unfold alpha; lia).
      assert (-1 < lambda * u y <= 0).
      { pose proof (x_above y Hy). split; [lra|].
        assert (0 <= lambda * - u y) by (apply Rmult_le_pos; lra). lra. }
      pose proof (forward_below alpha _ H0) as K.
      apply Rle_trans with (p y * (1 + INR alpha * (lambda * u y) + INR alpha * (INR alpha - 1) / 2 * (lambda * u y) ^ 2)).
      * apply Rmult_le_compat_l; lra.
      * right. ring.
  - rewrite !sum_plus, !sum_scal, mean_zero, (proj2 p_is_law). unfold tail. rewrite sum_swap.
    rewrite (sum_ext _ (fun k => C alpha k * lambda ^ k * mu k)) by (intros; unfold mu; rewrite sum_scal; auto).
    fold nu. unfold F_sum. lra.
Qed.

(* E_p (1 + x)^(1 - alpha) <= 1 + G. *)
Lemma step_23_reverse n : let alpha := S (S n) in
  sum (fun y => p y * (/ (1 + lambda * u y)) ^ (alpha - 1)) candidates <= 1 + G_sum alpha.
Proof.
  intros alpha. replace (alpha - 1)%nat with (S n) by (unfold alpha; lia).
  set (v := / (1 - lambda)).
  assert (HG : G_sum alpha = C alpha 2 * lambda ^ 2 * mu 2 + lambda ^ 2 * nu * h_of (S n) v).
  { unfold G_sum. rewrite h_is_the_sum. replace (alpha - 1)%nat with (S n) by (unfold alpha; lia).
    replace (S n + 1)%nat with alpha by (unfold alpha; lia). auto. }
  rewrite HG, C_2 by (unfold alpha; lia). unfold alpha. rewrite (S_INR (S n)).
  set (m := INR (S n)). set (c := (m + 1) * (m + 1 - 1) / 2).
  apply Rle_trans with (sum (fun y => (p y + - (m * lambda) * (p y * u y)) +
      (c * lambda ^ 2 * (if Rle_lt_dec 0 (u y) then p y * u y ^ 2 else 0) +
       lambda ^ 2 * h_of (S n) v * (if Rle_lt_dec 0 (u y) then 0 else p y * u y ^ 2))) candidates).
  - apply sum_le. intros y Hy. pose proof (proj1 p_is_law y Hy). pose proof (x_above y Hy).
    destruct (Rle_lt_dec 0 (u y)) as [Up|Down].
    + assert (0 <= lambda * u y) by (apply Rmult_le_pos; lra).
      pose proof (reverse_above (S n) _ H1) as K. rewrite (S_INR (S n)) in K. fold m in K.
      apply Rle_trans with (p y * (1 - m * (lambda * u y) + (m + 1) * m / 2 * (lambda * u y) ^ 2)).
      * apply Rmult_le_compat_l; lra.
      * right. unfold c. field.
    + rewrite reverse_exact by lra. fold m.
      assert (V : 0 <= / (1 + lambda * u y) <= v).
      { split; [apply Rlt_le, Rinv_0_lt_compat; lra|]. apply Rinv_le_contravar; lra. }
      pose proof (h_grows (S n) _ _ V) as Hh.
      assert ((lambda * u y) ^ 2 * h_of (S n) (/ (1 + lambda * u y)) <= (lambda * u y) ^ 2 * h_of (S n) v)
        by (apply Rmult_le_compat_l; [apply pow2_ge_0|auto]).
      apply Rle_trans with (p y * (1 - m * (lambda * u y) + (lambda * u y) ^ 2 * h_of (S n) v)).
      * apply Rmult_le_compat_l; lra.
      * right. ring.
  - rewrite !sum_plus, !sum_scal, mean_zero, (proj2 p_is_law). fold (mu 2) nu. lra.
Qed.

Theorem step_23_theorem_f2 (alpha : nat) (c : R) : (2 <= alpha)%nat ->
  Rmax (F_sum alpha) (G_sum alpha) <= exp ((INR alpha - 1) * c) - 1 ->
  renyi candidates (INR alpha) c q p /\ renyi candidates (INR alpha) c p q.
Proof.
  intros Ha B. destruct alpha as [|[|n]]; [lia|lia|].
  pose proof (Rmax_l (F_sum (S (S n))) (G_sum (S (S n)))) as BF.
  pose proof (Rmax_r (F_sum (S (S n))) (G_sum (S (S n)))) as BG.
  pose proof (step_23_forward n) as HF. pose proof (step_23_reverse n) as HG. cbv zeta in HF, HG.
  pose proof p_is_law as [Pp _]. pose proof q_is_law as [Qp _].
  unfold renyi. split; rewrite moment_power by auto.
  - apply Rle_trans with (1 + F_sum (S (S n))); [|lra].
    eapply Rle_trans; [right|exact HF]. apply sum_ext. intros y Hy. f_equal.
    rewrite q_is_p by auto. f_equal. pose proof (Pp y Hy). field; lra.
  - apply Rle_trans with (1 + G_sum (S (S n))); [|lra].
    eapply Rle_trans; [right|exact HG]. apply sum_ext. intros y Hy.
    rewrite q_is_p by auto. pose proof (Pp y Hy). pose proof (x_above y Hy).
    replace (S (S n) - 1)%nat with (S n) by lia.
    replace (p y / (p y * (1 + lambda * u y))) with (/ (1 + lambda * u y)) by (field; lra).
    simpl pow. field. lra.
Qed.
End Share.
