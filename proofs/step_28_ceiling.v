(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 28: who must guess which of C equally likely contents a group has succeeds with a chance that dp_fusion_ceiling is not below.
   Both bounds are proved: from a Renyi loss at one order, and from (epsilon, delta). *)
Require Import Reals List Lra.
From Cuttle Require Import laws.
Import ListNotations.
Open Scope R_scope.

Section Game.
Context {T X : Type}.
Variable l : list T.
Variable contents : list X.
(* The law of the output with content x; blank shows none. *)
Variable P : X -> T -> R.
Variable blank_law : T -> R.
Hypothesis some_content : contents <> [].
Hypothesis P_laws : forall x, In x contents -> is_law l (P x).
Hypothesis blank_is_law : is_law l blank_law.
(* says x y: the guess after the output y is x. It is one of them at most. *)
Variable says : X -> T -> bool.
Hypothesis one_guess : forall y, In y l -> sum (fun x => if says x y then 1 else 0) contents <= 1.

Let C : R := INR (length contents).
Definition success : R := / C * sum (fun x => chance l (P x) (says x)) contents.
Let blind : R := / C * sum (fun x => chance l blank_law (says x)) contents.

Lemma C_pos : 0 < C.
Proof. apply lt_0_INR. destruct contents; [congruence|simpl; auto with arith]. Qed.

(* In the blank world the output tells nothing. *)
Lemma step_28_blind : 0 <= blind <= / C.
Proof.
  pose proof C_pos as HC. pose proof (Rinv_0_lt_compat C HC) as HI. destruct blank_is_law as [H S]. unfold blind, chance. split.
  - apply Rmult_le_pos; [lra|]. apply sum_nonneg. intros x _. apply sum_nonneg. intros y Hy.
    specialize (H y Hy). destruct (says x y); lra.
  - rewrite <- (Rmult_1_r (/ C)) at 2. apply Rmult_le_compat_l; [lra|]. rewrite sum_swap, <- S. apply sum_le.
    intros y Hy. rewrite (sum_ext _ (fun x => blank_law y * (if says x y then 1 else 0))).
    + rewrite sum_scal. rewrite <- (Rmult_1_r (blank_law y)) at 2.
      apply Rmult_le_compat_l; [apply Rlt_le; auto|auto].
    + intros x _. destruct (says x y); ring.
Qed.

Theorem step_28_by_eps_delta eps delta :
  (forall x, In x contents -> eps_delta l eps delta (P x) blank_law) -> success <= exp eps / C + delta.
Proof.
  intros H. pose proof C_pos as HC. pose proof (Rinv_0_lt_compat C HC) as HI. pose proof (exp_pos eps) as HE.
  apply Rle_trans with (exp eps * blind + delta).
  - unfold success, blind. apply Rmult_le_reg_l with C; auto.
    replace (C * (/ C * sum (fun x => chance l (P x) (says x)) contents)) with (sum (fun x => chance l (P x) (says x)) contents)
      by (field; lra).
    replace (C * (exp eps * (/ C * sum (fun x => chance l blank_law (says x)) contents) + delta))
      with (exp eps * sum (fun x => chance l blank_law (says x)) contents + C * delta) by (field; lra).
    unfold C. rewrite <- sum_const, <- sum_scal, <- sum_plus. apply sum_le. intros x Hx. apply (H x Hx).
  - pose proof step_28_blind as [_ B]. pose proof (Rmult_le_compat_l (exp eps) _ _ ltac:(lra) B). unfold Rdiv. lra.
Qed.

(* Hoelder and Jensen at once: Bernoulli's inequality at the ratio of the two means. *)
Theorem step_28_by_renyi alpha c : 1 < alpha ->
  (forall x, In x contents -> renyi l alpha c (P x) blank_law) ->
  success <= exp ((alpha - 1) / alpha * (c - ln C)).
Proof.
  intros Ha H. pose proof C_pos as HC. pose proof (Rinv_0_lt_compat C HC) as HI.
  destruct (Rle_lt_dec success 0) as [N|Pos]; [pose proof (exp_pos ((alpha - 1) / alpha * (c - ln C))); lra|].
  pose proof step_28_blind as [B0 B1]. destruct blank_is_law as [HB _].
  assert (Bpos : 0 < blind).
  { destruct B0 as [|Z]; auto. exfalso. assert (success <= 0); [|lra].
    unfold success. apply Rmult_le_reg_l with C; auto. rewrite Rmult_0_r, <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
    assert (S0 : sum (fun x => chance l blank_law (says x)) contents = 0).
    { apply Rmult_eq_reg_l with (/ C); [|lra]. fold blind. lra. }
    assert (Z0 : forall x, In x contents -> chance l blank_law (says x) = 0).
    { assert (G : forall m, (forall x, In x m -> 0 <= chance l blank_law (says x)) -> sum (fun x => chance l blank_law (says x)) m = 0 ->
        forall x, In x m -> chance l blank_law (says x) = 0).
      { induction m as [|z m IH]; simpl; intros Pz Sz x Hx; [tauto|].
        assert (0 <= chance l blank_law (says z)) by auto.
        assert (0 <= sum (fun x => chance l blank_law (says x)) m) by (apply sum_nonneg; auto).
        destruct Hx as [<-|Hx]; [lra|]. apply IH; auto. lra. }
      apply G; auto. intros x _. apply sum_nonneg. intros y Hy. specialize (HB y Hy). destruct (says x y); lra. }
    right. apply sum_zero. intros x Hx. unfold chance. apply sum_zero. intros y Hy.
    destruct (says x y) eqn:E; auto. exfalso. specialize (Z0 x Hx).
    assert (0 < chance l blank_law (says x)); [|lra]. unfold chance.
    clear -E Hy HB. induction l as [|z m IH]; simpl in *; [tauto|].
    assert (R0 : 0 <= sum (fun y => if says x y then blank_law y else 0) m).
    { apply sum_nonneg. intros w Hw. specialize (HB w (or_intror Hw)). destruct (says x w); lra. }
    destruct Hy as [->|Hy].
    - rewrite E. specialize (HB y (or_introl eq_refl)). lra.
    - assert (0 < sum (fun y => if says x y then blank_law y else 0) m) by auto.
      specialize (HB z (or_introl eq_refl)). destruct (says x z); lra. }
  set (v := ln success - ln blind).
  assert (ev : exp v = success / blind).
  { unfold v, Rminus. rewrite exp_plus, exp_Ropp, !exp_ln by auto. auto. }
  assert (Main : exp (alpha * v) * blind <= exp ((alpha - 1) * c)).
  { apply Rle_trans with (/ C * sum (fun x => moment l alpha (P x) blank_law) contents).
    - apply Rle_trans with (/ C * sum (fun x => exp (alpha * v) * ((1 - alpha) * chance l blank_law (says x) +
                             alpha * exp (- v) * chance l (P x) (says x))) contents).
      + rewrite sum_scal, sum_plus, !sum_scal. fold C.
        replace (/ C * (exp (alpha * v) * ((1 - alpha) * sum (fun x => chance l blank_law (says x)) contents +
                 alpha * exp (- v) * sum (fun x => chance l (P x) (says x)) contents)))
          with (exp (alpha * v) * ((1 - alpha) * blind + alpha * (exp (- v) * success))) by (unfold blind, success; ring).
        assert (U : exp (- v) * success = blind) by (rewrite exp_Ropp, ev; field; lra). rewrite U. right. ring.
      + apply Rmult_le_compat_l; [lra|]. apply sum_le. intros x Hx. unfold moment, chance.
        rewrite <- !sum_scal, <- sum_plus, <- sum_scal. apply sum_le. intros y Hy.
        specialize (HB y Hy). pose proof (proj1 (P_laws x Hx) y Hy) as HPy.
        assert (0 < blank_law y * exp (alpha * loss (P x) blank_law y)) by (apply Rmult_lt_0_compat; [auto|apply exp_pos]).
        destruct (says x y); [|lra].
        pose proof (bernoulli alpha (loss (P x) blank_law y - v) Ha) as K.
        assert (L : exp (loss (P x) blank_law y - v) = P x y / blank_law y * exp (- v)).
        { unfold Rminus. rewrite exp_plus. unfold loss. rewrite exp_ln by (apply Rdiv_lt_0_compat; auto). auto. }
        rewrite L in K.
        replace (exp (alpha * (loss (P x) blank_law y - v))) with (exp (alpha * loss (P x) blank_law y) * / exp (alpha * v)) in K
          by (rewrite <- exp_Ropp, <- exp_plus; f_equal; ring).
        pose proof (exp_pos (alpha * v)).
        apply Rmult_le_compat_l with (r := exp (alpha * v) * blank_law y) in K; [|apply Rlt_le, Rmult_lt_0_compat; auto].
        replace (exp (alpha * v) * blank_law y * (exp (alpha * loss (P x) blank_law y) * / exp (alpha * v)))
          with (blank_law y * exp (alpha * loss (P x) blank_law y)) in K by (field; lra).
        eapply Rle_trans; [|exact K]. right. field. lra.
    - replace (exp ((alpha - 1) * c)) with (/ C * (C * exp ((alpha - 1) * c))) by (field; lra).
      apply Rmult_le_compat_l; [lra|]. unfold C. rewrite <- sum_const. apply sum_le. intros x Hx. apply (H x Hx). }
  rewrite <- (exp_ln success) by auto. apply exp_le.
  assert (Lg : alpha * v + ln blind <= (alpha - 1) * c).
  { rewrite <- (ln_exp ((alpha - 1) * c)), <- (ln_exp (alpha * v)), <- ln_mult by (auto; apply exp_pos).
    destruct Main as [M|M]; [apply Rlt_le, ln_increasing; auto; apply Rmult_lt_0_compat; [apply exp_pos|auto]|rewrite M; lra]. }
  assert (Lb : ln blind <= - ln C).
  { rewrite <- ln_Rinv by auto. destruct B1 as [M|M]; [apply Rlt_le, ln_increasing; auto|rewrite M; lra]. }
  unfold v in Lg. apply Rmult_le_reg_l with alpha; [lra|].
  replace (alpha * ((alpha - 1) / alpha * (c - ln C))) with ((alpha - 1) * c + (alpha - 1) * - ln C) by (field; lra).
  assert ((alpha - 1) * ln blind <= (alpha - 1) * - ln C) by (apply Rmult_le_compat_l; lra). lra.
Qed.
End Game.
