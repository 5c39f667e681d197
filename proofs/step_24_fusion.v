(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 24, Theorem F1: blanking the groups S costs a token at most L_S, and T tokens T L_S, at every order alpha above 1 and either way round.
   It is the number that dp_fusion_loss tells; the law of a token is the mean of m rows' laws, as draw_place and dp_pick_mixed make it (step 25). *)
Require Import Reals List Lra Lia.
From Cuttle Require Import laws transcripts step_08_composition step_09_conversion.
Import ListNotations.
Open Scope R_scope.

Section Mean.
Context {Token : Type}.
Variable candidates : list Token.
Variable alpha : R.
Hypothesis order : 1 < alpha.
Context {Row : Type}.
Variable rows : list Row.
Hypothesis some_row : exists j, In j rows.

Definition mean (P : Row -> Token -> R) (y : Token) : R :=
  sum (fun j => / INR (length rows) * P j y) rows.

Lemma rows_pos : 0 < INR (length rows).
Proof. destruct some_row as [j Hj]. apply lt_0_INR. destruct rows; [destruct Hj|simpl; lia]. Qed.

Lemma mean_is_law P : (forall j, In j rows -> is_law candidates (P j)) -> is_law candidates (mean P).
Proof.
  intros H. pose proof rows_pos. split.
  - intros y Hy. destruct some_row as [i Hi]. apply sum_pos with i; auto. intros j Hj.
    apply Rmult_lt_0_compat; [apply Rinv_0_lt_compat; auto|apply H; auto].
  - unfold mean. rewrite sum_swap. rewrite (sum_ext _ (fun _ => / INR (length rows))).
    + rewrite sum_const. field; lra.
    + intros j Hj. rewrite sum_scal, (proj2 (H j Hj)). ring.
Qed.

(* (P, Q) -> P^alpha Q^(1-alpha) is jointly convex: it lies above its tangent at the means. *)
Lemma tangent (P Q P1 Q1 : R) : 0 < P -> 0 < Q -> 0 < P1 -> 0 < Q1 ->
  exp (alpha * ln (P1 / Q1)) * (Q + alpha * (P / (P1 / Q1) - Q)) <= Q * exp (alpha * ln (P / Q)).
Proof.
  intros HP HQ HP1 HQ1. set (c := P1 / Q1). assert (Hc : 0 < c) by (apply Rdiv_lt_0_compat; auto).
  assert (Hr : 0 < P / Q) by (apply Rdiv_lt_0_compat; auto).
  pose proof (bernoulli alpha (ln (P / Q) - ln c) order) as B.
  assert (E : exp (ln (P / Q) - ln c) = P / Q / c)
    by (unfold Rminus; rewrite exp_plus, exp_Ropp, !exp_ln by auto; auto).
  rewrite E in B.
  replace (alpha * ln (P / Q)) with (alpha * ln c + alpha * (ln (P / Q) - ln c)) by ring.
  rewrite exp_plus. pose proof (exp_pos (alpha * ln c)).
  replace (Q + alpha * (P / c - Q)) with (Q * (1 + alpha * (P / Q / c - 1))) by (field; lra).
  replace (Q * (exp (alpha * ln c) * exp (alpha * (ln (P / Q) - ln c))))
    with (exp (alpha * ln c) * (Q * exp (alpha * (ln (P / Q) - ln c)))) by ring.
  apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; lra.
Qed.

Lemma step_24_joint_convexity P Q :
  (forall j, In j rows -> is_law candidates (P j)) -> (forall j, In j rows -> is_law candidates (Q j)) ->
  moment candidates alpha (mean P) (mean Q) <=
  sum (fun j => / INR (length rows) * moment candidates alpha (P j) (Q j)) rows.
Proof.
  intros HP HQ. pose proof rows_pos as Hm. unfold moment.
  apply Rle_trans with (sum (fun y => sum (fun j => / INR (length rows) *
      (Q j y * exp (alpha * loss (P j) (Q j) y))) rows) candidates).
  - apply sum_le. intros y Hy.
    pose proof (proj1 (mean_is_law P HP) y Hy) as MP. pose proof (proj1 (mean_is_law Q HQ) y Hy) as MQ.
    set (c := mean P y / mean Q y). set (e := exp (alpha * ln c)).
    apply Rle_trans with (sum (fun j => e * (1 - alpha) * (/ INR (length rows) * Q j y) +
                                        e * alpha / c * (/ INR (length rows) * P j y)) rows).
    + rewrite sum_plus, (sum_scal (e * (1 - alpha))), (sum_scal (e * alpha / c)).
      fold (mean Q y) (mean P y). right.
      unfold loss. fold c e. clearbody e. unfold c. field. lra.
    + apply sum_le. intros j Hj.
      pose proof (tangent (P j y) (Q j y) (mean P y) (mean Q y)
        (proj1 (HP j Hj) y Hy) (proj1 (HQ j Hj) y Hy) MP MQ) as K. fold c e in K.
      replace (e * (1 - alpha) * (/ INR (length rows) * Q j y) + e * alpha / c * (/ INR (length rows) * P j y))
        with (/ INR (length rows) * (e * (Q j y + alpha * (P j y / c - Q j y)))).
      * apply Rmult_le_compat_l; [apply Rlt_le, Rinv_0_lt_compat; auto|exact K].
      * field. split; [lra|]. unfold c. apply Rgt_not_eq, Rdiv_lt_0_compat; auto.
  - rewrite sum_swap. right. apply sum_ext. intros j _. apply sum_scal.
Qed.
End Mean.

(* ln(1 + (1/m) sum over S of (e^((alpha-1) c_j) - 1)) / (alpha - 1). *)
Definition loss_of {Row : Type} (rows : list Row) (inside : Row -> bool) (alpha : R) (c : Row -> R) : R :=
  ln (1 + / INR (length rows) * sum (fun j => if inside j then exp ((alpha - 1) * c j) - 1 else 0) rows)
  / (alpha - 1).

(* One token. Rows outside S are equal in both worlds. *)
Theorem step_24_one_token {Token Row : Type} (candidates : list Token) (rows : list Row) inside alpha c
  (P Q : Row -> Token -> R) :
  1 < alpha -> (exists j, In j rows) -> (forall j, In j rows -> 0 <= c j) ->
  (forall j, In j rows -> is_law candidates (P j)) -> (forall j, In j rows -> is_law candidates (Q j)) ->
  (forall j, In j rows -> inside j = true -> renyi candidates alpha (c j) (P j) (Q j)) ->
  (forall j y, In j rows -> inside j = false -> In y candidates -> P j y = Q j y) ->
  renyi candidates alpha (loss_of rows inside alpha c) (mean rows P) (mean rows Q).
Proof.
  intros Ha So Hc HP HQ In_S Out_S. pose proof (rows_pos rows So) as Hm.
  set (s := sum (fun j => if inside j then exp ((alpha - 1) * c j) - 1 else 0) rows).
  assert (s0 : 0 <= s).
  { apply sum_nonneg. intros j Hj. destruct (inside j); [|lra].
    assert (0 <= (alpha - 1) * c j) by (apply Rmult_le_pos; [lra|auto]).
    pose proof (exp_le 0 _ H) as K. rewrite exp_0 in K. lra. }
  unfold renyi, loss_of. fold s.
  replace ((alpha - 1) * (ln (1 + / INR (length rows) * s) / (alpha - 1)))
    with (ln (1 + / INR (length rows) * s)) by (field; lra).
  assert (0 <= / INR (length rows) * s)
    by (apply Rmult_le_pos; auto; apply Rlt_le, Rinv_0_lt_compat; auto).
  rewrite exp_ln by lra.
  eapply Rle_trans; [apply step_24_joint_convexity; auto|].
  apply Rle_trans with (sum (fun j => / INR (length rows) * 1 +
      / INR (length rows) * (if inside j then exp ((alpha - 1) * c j) - 1 else 0)) rows).
  - apply sum_le. intros j Hj. rewrite <- Rmult_plus_distr_l.
    apply Rmult_le_compat_l; [apply Rlt_le, Rinv_0_lt_compat; auto|].
    destruct (inside j) eqn:I.
    + pose proof (In_S j Hj I) as K. unfold renyi in K. lra.
    + right. rewrite Rplus_0_r. transitivity (sum (Q j) candidates); [|apply HQ; auto].
      unfold moment. apply sum_ext. intros y Hy. unfold loss. rewrite (Out_S j y Hj I Hy).
      pose proof (proj1 (HQ j Hj) y Hy). replace (Q j y / Q j y) with 1 by (field; lra).
      rewrite ln_1, Rmult_0_r, exp_0. ring.
  - rewrite sum_plus, sum_const, sum_scal. fold s. right. field. lra.
Qed.

Section Text.
Context {Token Row Content : Type}.
(* Public functions of the tokens drawn so far. *)
Variable candidates : list Token -> list Token.
Variable public_law : list Token -> Token -> R.
Variable looks : list Token -> bool.
Variable rows : list Row.
Hypothesis some_row : exists j, In j rows.
(* Assumptions R and C: q_j, the law of row j, is a function of the contents of group j, public numbers and the past. *)
Variable row_law : Content -> list Token -> Row -> Token -> R.
Variables (alpha : R) (c : Row -> R).
Hypothesis order : 1 < alpha.
Hypothesis c_nonneg : forall j, In j rows -> 0 <= c j.
Hypothesis public_laws : laws candidates public_law.
Hypothesis row_laws : forall x h j, is_law (candidates h) (row_law x h j).
(* What step 23 says of every share that search_share finds. *)
Hypothesis within : forall x h j, In j rows ->
  renyi (candidates h) alpha (c j) (row_law x h j) (public_law h) /\
  renyi (candidates h) alpha (c j) (public_law h) (row_law x h j).

(* A document gives each group its contents, or blanks it; then its row is the public row. *)
Definition row_in (document : Row -> option Content) (h : list Token) (j : Row) : Token -> R :=
  match document j with Some x => row_law x h j | None => public_law h end.
Definition next_token (document : Row -> option Content) (h : list Token) : Token -> R :=
  if looks h then mean rows (row_in document h) else public_law h.
Definition blank_groups (inside : Row -> bool) (document : Row -> option Content) (j : Row) : option Content :=
  if inside j then None else document j.

Lemma row_in_laws document h j : is_law (candidates h) (row_in document h j).
Proof. unfold row_in. destruct (document j); auto. Qed.

Lemma token_laws document : laws candidates (next_token document).
Proof.
  intros h. unfold next_token. destruct (looks h); auto. apply mean_is_law; auto.
  intros; apply row_in_laws.
Qed.

Lemma same_renyi {T} (l : list T) k P : is_law l P -> 0 <= k -> renyi l alpha k P P.
Proof.
  intros H Hk. unfold renyi, moment. apply Rle_trans with 1.
  - right. transitivity (sum P l); [|apply H]. apply sum_ext. intros y Hy. unfold loss.
    pose proof (proj1 H y Hy). replace (P y / P y) with 1 by (field; lra). rewrite ln_1, Rmult_0_r, exp_0. ring.
  - apply Rle_trans with (exp 0); [rewrite exp_0; lra|]. apply exp_le, Rmult_le_pos; lra.
Qed.

Variables (inside : Row -> bool) (document : Row -> option Content) (n T : nat).
Hypothesis cap : forall t, In t (transcripts candidates n []) -> (looked looks [] t <= T)%nat.

Let L := loss_of rows inside alpha c.

Lemma L_nonneg : 0 <= L.
Proof.
  pose proof (rows_pos rows some_row) as Hm. unfold L, loss_of.
  apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat; lra].
  set (s := sum _ _).
  assert (0 <= s).
  { apply sum_nonneg. intros j Hj. destruct (inside j); [|lra].
    assert (K0 : 0 <= (alpha - 1) * c j) by (apply Rmult_le_pos; [lra|auto]).
    pose proof (exp_le 0 _ K0) as K. rewrite exp_0 in K. lra. }
  assert (0 <= / INR (length rows) * s)
    by (apply Rmult_le_pos; auto; apply Rlt_le, Rinv_0_lt_compat; auto).
  apply Rle_trans with (ln 1); [rewrite ln_1; lra|].
  destruct (Rle_lt_or_eq_dec 0 _ H0) as [K|K]; [apply Rlt_le, ln_increasing; lra|rewrite <- K, Rplus_0_r; lra].
Qed.

Theorem step_24_theorem_f1 :
  renyi (transcripts candidates n []) alpha (INR T * L)
    (joint (next_token document) []) (joint (next_token (blank_groups inside document)) []) /\
  renyi (transcripts candidates n []) alpha (INR T * L)
    (joint (next_token (blank_groups inside document)) []) (joint (next_token document) []).
Proof.
  assert (Budget : forall t, In t (transcripts candidates n []) ->
    spent (fun h => if looks h then L else 0) [] t <= INR T * L).
  { intros t Ht. rewrite spent_looked. apply Rmult_le_compat_r; [apply L_nonneg|]. apply le_INR; auto. }
  assert (Inside : forall h j, In j rows -> inside j = true ->
    renyi (candidates h) alpha (c j) (row_in document h j) (row_in (blank_groups inside document) h j) /\
    renyi (candidates h) alpha (c j) (row_in (blank_groups inside document) h j) (row_in document h j)).
  { intros h j Hj I. unfold row_in, blank_groups. rewrite I.
    destruct (document j); [apply within; auto|split; apply same_renyi; auto]. }
  assert (Out : forall h j, inside j = false ->
    row_in document h j = row_in (blank_groups inside document) h j).
  { intros h j I. unfold row_in, blank_groups. rewrite I. auto. }
  assert (Step : forall h,
    renyi (candidates h) alpha (if looks h then L else 0)
      (next_token document h) (next_token (blank_groups inside document) h) /\
    renyi (candidates h) alpha (if looks h then L else 0)
      (next_token (blank_groups inside document) h) (next_token document h)).
  { intros h. unfold next_token. destruct (looks h); [|split; apply same_renyi; auto; lra].
    split; apply step_24_one_token; auto using row_in_laws.
    - intros j Hj I. apply Inside; auto.
    - intros j y Hj I _. rewrite Out; auto.
    - intros j Hj I. apply Inside; auto.
    - intros j y Hj I _. rewrite Out; auto. }
  split; apply step_8_one_order with (cost := fun h => if looks h then L else 0); auto using token_laws;
    intros h; apply Step.
Qed.

Theorem step_24_eps_delta eps :
  eps_delta (transcripts candidates n []) eps (delta_at (INR T * L) eps alpha)
    (joint (next_token document) []) (joint (next_token (blank_groups inside document)) []) /\
  eps_delta (transcripts candidates n []) eps (delta_at (INR T * L) eps alpha)
    (joint (next_token (blank_groups inside document)) []) (joint (next_token document) []).
Proof.
  destruct step_24_theorem_f1.
  split; apply step_9_at_one_order; auto; apply joint_is_law, token_laws.
Qed.
End Text.
