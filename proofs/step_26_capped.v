(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 26, Theorem F3: with every share at most Lambda below 1, blanking the groups S costs at order 2 at most the bound of dp_share_capped.
   The square root of a mean of squares is a norm; it is used here by the inequality of Cauchy and Schwarz. *)
Require Import Reals List Lra Lia.
From Cuttle Require Import laws.
Import ListNotations.
Open Scope R_scope.

Section Norm.
Context {T : Type}.
Variable l : list T.
Variable w : T -> R.
Hypothesis w_pos : forall y, In y l -> 0 < w y.

Definition square_mean (f : T -> R) : R := sum (fun y => w y * f y ^ 2) l.
Definition norm (f : T -> R) : R := sqrt (square_mean f).

Lemma square_mean_nonneg f : 0 <= square_mean f.
Proof.
  apply sum_nonneg. intros y Hy. apply Rmult_le_pos; [apply Rlt_le; auto|apply pow2_ge_0].
Qed.

(* 2 s t E fg <= s^2 E f^2 + t^2 E g^2, for all s and t. *)
Lemma mixed_square f g s t :
  2 * s * t * sum (fun y => w y * (f y * g y)) l <= s ^ 2 * square_mean f + t ^ 2 * square_mean g.
Proof.
  unfold square_mean. rewrite <- !sum_scal, <- sum_plus. apply sum_le. intros y Hy.
  assert (0 <= w y * (s * f y - t * g y) ^ 2)
    by (apply Rmult_le_pos; [apply Rlt_le; auto|apply pow2_ge_0]). lra.
Qed.

Lemma cauchy_schwarz f g : sum (fun y => w y * (f y * g y)) l <= norm f * norm g.
Proof.
  pose proof (square_mean_nonneg f) as Hf. pose proof (square_mean_nonneg g) as Hg.
  assert (Nf : norm f ^ 2 = square_mean f) by (unfold norm; apply pow2_sqrt; auto).
  assert (Ng : norm g ^ 2 = square_mean g) by (unfold norm; apply pow2_sqrt; auto).
  assert (Pf : 0 <= norm f) by apply sqrt_pos. assert (Pg : 0 <= norm g) by apply sqrt_pos.
  set (x := sum (fun y => w y * (f y * g y)) l).
  destruct (Rle_lt_dec x (norm f * norm g)) as [|Above]; auto. exfalso.
  (* with s = |g| and t = |f|, or with large ones where a norm is 0 *)
  destruct (Rlt_le_dec 0 (norm f * norm g)) as [Pos|Zero].
  - pose proof (mixed_square f g (norm g) (norm f)) as K. fold x in K. rewrite <- Nf, <- Ng in K.
    assert (norm f * norm g * (norm f * norm g) < norm f * norm g * x) by (apply Rmult_lt_compat_l; auto).
    nra.
  - assert (x0 : 0 < x) by nra.
    set (A := square_mean f) in *. set (B := square_mean g) in *.
    pose proof (mixed_square f g 1 ((A + 1) / x)) as K. fold x A B in K.
    pose proof (mixed_square f g ((B + 1) / x) 1) as K'. fold x A B in K'.
    assert (E : (A + 1) / x * x = A + 1) by (field; lra).
    assert (E' : (B + 1) / x * x = B + 1) by (field; lra).
    assert (Z : norm f = 0 \/ norm g = 0) by (destruct (Rle_lt_or_eq_dec 0 (norm f)), (Rle_lt_or_eq_dec 0 (norm g)); auto; nra).
    destruct Z as [Z|Z]; rewrite Z in *.
    + assert (A = 0) by lra. rewrite H in *. nra.
    + assert (B = 0) by lra. rewrite H in *. nra.
Qed.

Lemma norm_triangle f g : norm (fun y => f y + g y) <= norm f + norm g.
Proof.
  assert (Pf : 0 <= norm f) by apply sqrt_pos. assert (Pg : 0 <= norm g) by apply sqrt_pos.
  rewrite <- (sqrt_Rsqr (norm f + norm g)) by lra. apply sqrt_le_1_alt.
  assert (Nf : norm f ^ 2 = square_mean f) by (unfold norm; apply pow2_sqrt, square_mean_nonneg).
  assert (Ng : norm g ^ 2 = square_mean g) by (unfold norm; apply pow2_sqrt, square_mean_nonneg).
  assert (E : square_mean (fun y => f y + g y) =
              square_mean f + 2 * sum (fun y => w y * (f y * g y)) l + square_mean g).
  { unfold square_mean. rewrite <- sum_scal, <- !sum_plus. apply sum_ext. intros; ring. }
  rewrite E, <- Nf, <- Ng. unfold Rsqr. pose proof (cauchy_schwarz f g). nra.
Qed.

Lemma norm_scal c f : 0 <= c -> norm (fun y => c * f y) = c * norm f.
Proof.
  intros Hc. unfold norm.
  replace (square_mean (fun y => c * f y)) with (c ^ 2 * square_mean f).
  - rewrite sqrt_mult_alt by apply pow2_ge_0. rewrite sqrt_pow2; auto.
  - unfold square_mean. rewrite <- sum_scal. apply sum_ext. intros; ring.
Qed.

Lemma norm_of_sum {U} (us : list U) (c : U -> R) (f : U -> T -> R) : (forall j, In j us -> 0 <= c j) ->
  norm (fun y => sum (fun j => c j * f j y) us) <= sum (fun j => c j * norm (f j)) us.
Proof.
  induction us as [|j us IH]; intros H; simpl.
  - unfold norm, square_mean. rewrite sum_zero; [rewrite sqrt_0; lra|]. intros; ring.
  - eapply Rle_trans; [apply (norm_triangle (fun y => c j * f j y) (fun y => sum (fun j => c j * f j y) us))|].
    rewrite norm_scal by (apply H; simpl; auto). apply Rplus_le_compat_l, IH.
    intros; apply H; simpl; auto.
Qed.
End Norm.

Section Capped.
Context {Token Row : Type}.
Variable candidates : list Token.
Variable p : Token -> R.
Variable rows : list Row.
Variable u : Row -> Token -> R.
Variables (lambda : Row -> R) (most : R).
Variable shown : Row -> bool.                (* not blank in both worlds *)
Variable inside : Row -> bool.               (* S *)
Hypothesis p_law : is_law candidates p.
Hypothesis some_row : exists j, In j rows.
Hypothesis u_above : forall j y, In j rows -> In y candidates -> -1 <= u j y.
Hypothesis u_mean : forall j, In j rows -> sum (fun y => p y * u j y) candidates = 0.
Hypothesis shares : forall j, In j rows -> 0 <= lambda j <= most.
Hypothesis most_below_1 : most < 1.

Let m := INR (length rows).
(* The mean of q_j = p (1 + lambda_j u_j) over the rows; blank rows are p. *)
Definition mixture (blank : Row -> bool) (y : Token) : R :=
  p y * (1 + / m * sum (fun j => if blank j then 0 else lambda j * u j y) rows).
Definition here : Token -> R := mixture (fun j => negb (shown j)).
Definition there : Token -> R := mixture (fun j => orb (negb (shown j)) (inside j)).
(* sum over S of lambda_j X_j^(1/2). *)
Definition reach : R := sum (fun j => if inside j then lambda j * norm candidates p (u j) else 0) rows.

Lemma m_pos : 0 < m.
Proof. destruct some_row as [j Hj]. apply lt_0_INR. destruct rows; [destruct Hj|simpl; lia]. Qed.

Lemma p_pos y : In y candidates -> 0 < p y.
Proof. apply p_law. Qed.

Lemma mixture_above blank y : In y candidates -> (1 - most) * p y <= mixture blank y.
Proof.
  intros Hy. pose proof (p_pos y Hy). pose proof m_pos as Hm. unfold mixture. rewrite (Rmult_comm (1 - most)).
  apply Rmult_le_compat_l; [lra|].
  assert (K : m * - most <= sum (fun j => if blank j then 0 else lambda j * u j y) rows).
  { unfold m. rewrite <- sum_const. apply sum_le. intros j Hj.
    pose proof (shares j Hj). pose proof (u_above j y Hj Hy). destruct (blank j); [lra|].
    assert (0 <= lambda j * (u j y + 1)) by (apply Rmult_le_pos; lra). lra. }
  assert (/ m * (m * - most) <= / m * sum (fun j => if blank j then 0 else lambda j * u j y) rows)
    by (apply Rmult_le_compat_l; [apply Rlt_le, Rinv_0_lt_compat; auto|auto]).
  replace (/ m * (m * - most)) with (- most) in H0 by (field; lra). lra.
Qed.

Lemma mixture_law blank : is_law candidates (mixture blank).
Proof.
  split.
  - intros y Hy. pose proof (mixture_above blank y Hy). pose proof (p_pos y Hy).
    assert (0 < (1 - most) * p y) by (apply Rmult_lt_0_compat; lra). lra.
  - unfold mixture.
    rewrite (sum_ext _ (fun y => p y + / m * sum (fun j => p y * (if blank j then 0 else lambda j * u j y)) rows))
      by (intros; rewrite sum_scal; ring).
    rewrite sum_plus, sum_scal, sum_swap, (proj2 p_law), sum_zero; [ring|].
    intros j Hj. destruct (blank j); [apply sum_zero; intros; ring|].
    rewrite (sum_ext _ (fun y => lambda j * (p y * u j y))) by (intros; ring).
    rewrite sum_scal, u_mean by auto. ring.
Qed.

Definition gap (y : Token) : R :=
  sum (fun j => if inside j then (if shown j then lambda j else 0) * u j y else 0) rows.

Lemma difference y : here y - there y = p y * (/ m * gap y).
Proof.
  unfold here, there, mixture, gap. rewrite <- Rmult_minus_distr_l. f_equal.
  replace (1 + / m * sum (fun j => if negb (shown j) then 0 else lambda j * u j y) rows -
           (1 + / m * sum (fun j => if orb (negb (shown j)) (inside j) then 0 else lambda j * u j y) rows))
    with (/ m * (sum (fun j => if negb (shown j) then 0 else lambda j * u j y) rows +
                 -1 * sum (fun j => if orb (negb (shown j)) (inside j) then 0 else lambda j * u j y) rows)) by ring.
  rewrite <- sum_scal, <- sum_plus. f_equal. apply sum_ext. intros j _.
  destruct (shown j), (inside j); simpl; ring.
Qed.

Lemma gap_within : square_mean candidates p gap <= reach ^ 2.
Proof.
  set (cs := fun j => if inside j then if shown j then lambda j else 0 else 0).
  assert (E : square_mean candidates p gap =
              square_mean candidates p (fun y => sum (fun j => cs j * u j y) rows)).
  { apply sum_ext. intros y _. unfold gap, cs. f_equal. f_equal. apply sum_ext. intros j _.
    destruct (inside j); ring. }
  rewrite E.
  pose proof (norm_of_sum candidates p p_pos rows cs u
    ltac:(intros j Hj; pose proof (shares j Hj); unfold cs; destruct (inside j), (shown j); lra)) as K.
  assert (R : sum (fun j => cs j * norm candidates p (u j)) rows <= reach).
  { apply sum_le. intros j Hj. pose proof (shares j Hj). unfold cs.
    assert (0 <= norm candidates p (u j)) by apply sqrt_pos.
    assert (0 <= lambda j * norm candidates p (u j)) by (apply Rmult_le_pos; lra).
    destruct (inside j), (shown j); lra. }
  set (f := fun y => sum (fun j => cs j * u j y) rows) in *.
  rewrite <- (pow2_sqrt (square_mean candidates p f)) by (apply square_mean_nonneg; apply p_pos).
  apply pow_incr. split; [apply sqrt_pos|]. unfold norm in K, R. fold f in K. unfold norm. lra.
Qed.

(* e^D_2 = sum of P^2 / P' = 1 + sum (P - P')^2 / P'. *)
Lemma capped_one_way P Q : is_law candidates P -> is_law candidates Q ->
  (forall y, In y candidates -> (1 - most) * p y <= Q y) ->
  (forall y, In y candidates -> (P y - Q y) ^ 2 = (p y * (/ m * gap y)) ^ 2) ->
  moment candidates 2 P Q <= 1 + reach ^ 2 / (m ^ 2 * (1 - most)).
Proof.
  intros HP HQ Above Gap. pose proof m_pos as Hm.
  replace 2 with (INR 2) at 1 by (simpl; ring). rewrite moment_power by (apply HP || apply HQ).
  apply Rle_trans with (sum (fun y => (2 * P y + -1 * Q y) + / (m ^ 2 * (1 - most)) * (p y * gap y ^ 2)) candidates).
  - apply sum_le. intros y Hy. pose proof (proj1 HP y Hy). pose proof (proj1 HQ y Hy). pose proof (p_pos y Hy).
    replace (Q y * (P y / Q y) ^ 2) with (2 * P y - Q y + (P y - Q y) ^ 2 / Q y) by (field; lra).
    rewrite (Gap y Hy).
    assert (K : (p y * (/ m * gap y)) ^ 2 / Q y <= (p y * (/ m * gap y)) ^ 2 / ((1 - most) * p y)).
    { apply Rmult_le_compat_l; [apply pow2_ge_0|]. apply Rinv_le_contravar; auto.
      apply Rmult_lt_0_compat; lra. }
    replace ((p y * (/ m * gap y)) ^ 2 / ((1 - most) * p y))
      with (/ (m ^ 2 * (1 - most)) * (p y * gap y ^ 2)) in K by (field; lra). lra.
  - rewrite !sum_plus, !sum_scal, (proj2 HP), (proj2 HQ).
    fold (square_mean candidates p gap). pose proof gap_within as G.
    assert (0 < / (m ^ 2 * (1 - most))).
    { apply Rinv_0_lt_compat, Rmult_lt_0_compat; [apply pow_lt; auto|lra]. }
    assert (/ (m ^ 2 * (1 - most)) * square_mean candidates p gap <= / (m ^ 2 * (1 - most)) * reach ^ 2)
      by (apply Rmult_le_compat_l; lra).
    unfold Rdiv. lra.
Qed.

Theorem step_26_theorem_f3 :
  renyi candidates 2 (ln (1 + reach ^ 2 / (m ^ 2 * (1 - most)))) here there /\
  renyi candidates 2 (ln (1 + reach ^ 2 / (m ^ 2 * (1 - most)))) there here.
Proof.
  pose proof m_pos as Hm.
  assert (0 <= reach ^ 2 / (m ^ 2 * (1 - most))).
  { apply Rmult_le_pos; [apply pow2_ge_0|]. apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat; [apply pow_lt; auto|lra]. }
  unfold renyi. replace (2 - 1) with 1 by ring. rewrite Rmult_1_l, exp_ln by lra.
  split; apply capped_one_way; try apply mixture_law; try (intros; apply mixture_above; auto);
    intros y Hy; pose proof (difference y) as D.
  - rewrite D; auto.
  - rewrite <- D. ring.
Qed.
End Capped.
