(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 8: adaptive steps add up, whatever each costs, where no course of events spends more than a budget (dp_invisibleink_public's cap T).
   Free steps (14, 15) cost 0, an early end costs nothing, and further texts of a batch (13) are more of the same sequence. *)
Require Import Reals List Lra Lia.
From Cuttle Require Import laws transcripts.
Import ListNotations.
Open Scope R_scope.

Section Compose.
Context {T : Type}.
Variable tokens : list T -> list T.
Variables P Q : list T -> T -> R.
Hypothesis P_laws : laws tokens P.
Hypothesis Q_laws : laws tokens Q.

Section OneOrder.
Variable alpha : R.
Hypothesis order : 1 < alpha.
Variable cost : list T -> R.
Hypothesis step : forall h, renyi (tokens h) alpha (cost h) (P h) (Q h).

(* What is lost, less what is paid for it, never grows. *)
Lemma paid n : forall h,
  sum (fun t => joint Q h t * exp (alpha * loss (joint P h) (joint Q h) t
                                   - (alpha - 1) * spent cost h t)) (transcripts tokens n h) <= 1.
Proof.
  induction n as [|n IH]; intros h.
  - simpl. unfold loss; simpl. replace (1 / 1) with 1 by field. rewrite ln_1.
    replace (alpha * 0 - (alpha - 1) * 0) with 0 by ring. rewrite exp_0. lra.
  - simpl transcripts. rewrite sum_flat_map.
    set (k := (alpha - 1) * cost h).
    apply Rle_trans with (sum (fun y => exp (- k) * (Q h y * exp (alpha * loss (P h) (Q h) y))) (tokens h)).
    + apply sum_le. intros y Hy. rewrite sum_map.
      rewrite (sum_ext _ (fun t => Q h y * exp (alpha * loss (P h) (Q h) y) * exp (- k) *
        (joint Q (h ++ [y]) t * exp (alpha * loss (joint P (h ++ [y])) (joint Q (h ++ [y])) t
                                    - (alpha - 1) * spent cost (h ++ [y]) t)))).
      * rewrite sum_scal. specialize (IH (h ++ [y])).
        assert (0 <= Q h y * exp (alpha * loss (P h) (Q h) y) * exp (- k)).
        { pose proof (proj1 (Q_laws h) y Hy). apply Rlt_le. repeat apply Rmult_lt_0_compat; auto using exp_pos. }
        match goal with |- ?c * ?s <= _ => assert (c * s <= c * 1) by (apply Rmult_le_compat_l; auto) end.
        lra.
      * intros t Ht. rewrite (loss_adds tokens P Q n h y t) by auto. simpl.
        match goal with |- _ * exp ?e = _ =>
          replace e with (alpha * loss (P h) (Q h) y + (- k + (alpha * loss (joint P (h ++ [y])) (joint Q (h ++ [y])) t
                           - (alpha - 1) * spent cost (h ++ [y]) t))) by (unfold k; ring) end.
        rewrite !exp_plus. ring.
    + rewrite sum_scal. fold (moment (tokens h) alpha (P h) (Q h)).
      pose proof (step h) as S. unfold renyi in S. fold k in S.
      apply Rle_trans with (exp (- k) * exp k).
      * apply Rmult_le_compat_l; auto. apply Rlt_le, exp_pos.
      * rewrite <- exp_plus. replace (- k + k) with 0 by ring. rewrite exp_0; lra.
Qed.

(* At one order of Renyi's divergence: steps 19 and 24. *)
Theorem step_8_one_order n h budget :
  (forall t, In t (transcripts tokens n h) -> spent cost h t <= budget) ->
  renyi (transcripts tokens n h) alpha budget (joint P h) (joint Q h).
Proof.
  intros B. unfold renyi, moment.
  set (k := (alpha - 1) * budget).
  apply Rle_trans with (exp k * sum (fun t => joint Q h t * exp (alpha * loss (joint P h) (joint Q h) t
                                   - (alpha - 1) * spent cost h t)) (transcripts tokens n h)).
  - rewrite <- sum_scal. apply sum_le. intros t Ht.
    replace (exp k * (joint Q h t * exp (alpha * loss (joint P h) (joint Q h) t - (alpha - 1) * spent cost h t)))
      with (joint Q h t * (exp k * exp (alpha * loss (joint P h) (joint Q h) t - (alpha - 1) * spent cost h t))) by ring.
    rewrite <- exp_plus. apply Rmult_le_compat_l; [apply Rlt_le; eapply joint_pos; eauto|].
    apply exp_le. specialize (B t Ht).
    assert ((alpha - 1) * spent cost h t <= k) by (unfold k; apply Rmult_le_compat_l; lra). lra.
  - pose proof (paid n h). pose proof (exp_pos k).
    match goal with |- ?c * ?s <= _ => assert (c * s <= c * 1) by (apply Rmult_le_compat_l; lra) end. lra.
Qed.
End OneOrder.

Lemma spent_scal c (cost : list T -> R) h t : spent (fun h => c * cost h) h t = c * spent cost h t.
Proof. revert h; induction t as [|y t IH]; intros h; simpl; [ring|]. rewrite IH; ring. Qed.

Theorem step_8_composition cost n h budget :
  (forall h, zcdp (tokens h) (cost h) (P h) (Q h)) ->
  (forall t, In t (transcripts tokens n h) -> spent cost h t <= budget) ->
  zcdp (transcripts tokens n h) budget (joint P h) (joint Q h).
Proof.
  intros step B alpha Ha. apply step_8_one_order with (cost := fun h => alpha * cost h); auto.
  - intros h'. apply step; auto.
  - intros t Ht. rewrite spent_scal. apply Rmult_le_compat_l; [lra|auto].
Qed.

(* T steps that cost c each; every other step is the same law in both worlds. *)
Theorem step_8_capped (looks : list T -> bool) c cap n h : 0 <= c ->
  (forall h, looks h = true -> zcdp (tokens h) c (P h) (Q h)) ->
  (forall h y, looks h = false -> In y (tokens h) -> P h y = Q h y) ->
  (forall t, In t (transcripts tokens n h) -> (looked looks h t <= cap)%nat) ->
  zcdp (transcripts tokens n h) (INR cap * c) (joint P h) (joint Q h).
Proof.
  intros Hc step free B.
  apply step_8_composition with (cost := fun h => if looks h then c else 0).
  - intros h'. destruct (looks h') eqn:L; [auto|]. intros alpha Ha.
    unfold renyi, moment. replace ((alpha - 1) * (alpha * 0)) with 0 by ring. rewrite exp_0.
    right. transitivity (sum (Q h') (tokens h')); [|apply Q_laws].
    apply sum_ext. intros y Hy. unfold loss. rewrite (free h' y L Hy).
    pose proof (proj1 (Q_laws h') y Hy). replace (Q h' y / Q h' y) with 1 by (field; lra).
    rewrite ln_1, Rmult_0_r, exp_0. ring.
  - intros t Ht. rewrite spent_looked. apply Rmult_le_compat_r; auto. apply le_INR; auto.
Qed.
End Compose.
