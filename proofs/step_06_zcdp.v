(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 6: a step of bounded range eta is (eta^2/8)-zCDP; this is what dp_claim_rho computes of eta, before it multiplies by T.
   The proof is that of Cesar and Rogers 2020, Lemma 3.2: a variance on an interval is at most a quarter of its length's square. *)
Require Import Reals List Lra Lia.
From Cuttle Require Import laws step_05_bounded_range.
Import ListNotations.
Open Scope R_scope.

Lemma exp_sum_derivative {T} (l : list T) (c Z : T -> R) t :
  derivable_pt_lim (fun t => sum (fun y => c y * exp (t * Z y)) l) t
                   (sum (fun y => c y * Z y * exp (t * Z y)) l).
Proof.
  induction l as [|y m IH]; simpl.
  - apply derivable_pt_lim_const.
  - apply (derivable_pt_lim_plus (fun t => c y * exp (t * Z y))
                                 (fun t => sum (fun y => c y * exp (t * Z y)) m)); auto.
    replace (c y * Z y * exp (t * Z y)) with (c y * (exp (t * Z y) * (1 * Z y + t * 0))) by ring.
    apply (derivable_pt_lim_scal (fun t => exp (t * Z y))).
    apply (derivable_pt_lim_comp (fun t => t * Z y) exp).
    + apply (derivable_pt_lim_mult id (fun _ => Z y)); [apply derivable_pt_lim_id|apply derivable_pt_lim_const].
    + apply derivable_pt_lim_exp.
Qed.

Section OneStep.
Context {T : Type}.
Variable l : list T.
Variables (P Q : T -> R) (eta : R).
Hypothesis P_law : is_law l P.
Hypothesis Q_law : is_law l Q.
Hypothesis range : bounded_range l eta P Q.

(* K(t) is ln F0(t); F1 and F2 are the derivatives of F0. *)
Let Z := loss P Q.
Let F0 t := sum (fun y => Q y * exp (t * Z y)) l.
Let F1 t := sum (fun y => Q y * Z y * exp (t * Z y)) l.
Let F2 t := sum (fun y => Q y * Z y * Z y * exp (t * Z y)) l.

Lemma F0_pos t : 0 < F0 t.
Proof.
  destruct (law_has_a_point l Q Q_law) as [y Hy]. apply sum_pos with y; auto.
  intros x Hx. apply Rmult_lt_0_compat; [apply Q_law; auto|apply exp_pos].
Qed.

Lemma F0_at_0 : F0 0 = 1.
Proof.
  unfold F0. transitivity (sum Q l); [|apply Q_law]. apply sum_ext. intros y _.
  replace (0 * Z y) with 0 by ring. rewrite exp_0. ring.
Qed.

Lemma F0_at_1 : F0 1 = 1.
Proof.
  unfold F0. transitivity (sum P l); [|apply P_law]. apply sum_ext. intros y Hy.
  replace (1 * Z y) with (Z y) by ring. unfold Z, loss.
  pose proof (proj1 P_law y Hy). pose proof (proj1 Q_law y Hy).
  rewrite exp_ln by (apply Rdiv_lt_0_compat; auto). field; lra.
Qed.

(* The variance of Z under a tilted law on an interval of length eta. *)
Lemma variance t : F2 t * F0 t - F1 t * F1 t <= eta ^ 2 / 4 * (F0 t * F0 t).
Proof.
  destruct (least Z l (law_has_a_point l P P_law)) as (z & Hz & Mz).
  set (mid := Z z + eta / 2).
  assert (H : F2 t - 2 * mid * F1 t + mid ^ 2 * F0 t <= eta ^ 2 / 4 * F0 t).
  { unfold F2, F1, F0. unfold Rminus.
    replace (- (2 * mid * sum (fun y => Q y * Z y * exp (t * Z y)) l))
      with ((- (2 * mid)) * sum (fun y => Q y * Z y * exp (t * Z y)) l) by ring.
    rewrite <- !sum_scal, <- !sum_plus. apply sum_le. intros y Hy.
    replace (Q y * Z y * Z y * exp (t * Z y) + - (2 * mid) * (Q y * Z y * exp (t * Z y)) +
             mid ^ 2 * (Q y * exp (t * Z y)))
      with ((Z y - mid) ^ 2 * (Q y * exp (t * Z y))) by ring.
    apply Rmult_le_compat_r.
    - apply Rlt_le, Rmult_lt_0_compat; [apply Q_law; auto|apply exp_pos].
    - specialize (Mz y Hy). pose proof (range y z Hy Hz) as Rg. fold Z in Rg.
      assert (0 <= (Z y - Z z) * (eta - (Z y - Z z))) by (apply Rmult_le_pos; lra).
      unfold mid. nra. }
  pose proof (F0_pos t).
  assert (H' : (F2 t - 2 * mid * F1 t + mid ^ 2 * F0 t) * F0 t <= eta ^ 2 / 4 * F0 t * F0 t)
    by (apply Rmult_le_compat_r; lra).
  pose proof (pow2_ge_0 (F1 t - mid * F0 t)). lra.
Qed.

(* G(t) = K(t) - (eta^2/8) t (t - 1), and its first two derivatives. *)
Let G t := ln (F0 t) - eta ^ 2 / 8 * (t * (t - 1)).
Let G1 t := / F0 t * F1 t - eta ^ 2 / 8 * (2 * t - 1).
Let G2 t := (F2 t * F0 t - F1 t * F1 t) / (F0 t * F0 t) - eta ^ 2 / 4.

Lemma G_derivative t : derivable_pt_lim G t (G1 t).
Proof.
  unfold G, G1.
  apply (derivable_pt_lim_minus (fun t => ln (F0 t)) (fun t => eta ^ 2 / 8 * (t * (t - 1)))).
  - apply (derivable_pt_lim_comp F0 ln); [apply exp_sum_derivative|].
    apply derivable_pt_lim_ln, F0_pos.
  - apply (derivable_pt_lim_scal (fun t => t * (t - 1))).
    replace (2 * t - 1) with (1 * (t - 1) + t * (1 - 0)) by ring.
    apply (derivable_pt_lim_mult id (fun t => t - 1)); [apply derivable_pt_lim_id|].
    apply (derivable_pt_lim_minus id (fun _ => 1)); [apply derivable_pt_lim_id|apply derivable_pt_lim_const].
Qed.

Lemma G1_derivative t : derivable_pt_lim G1 t (G2 t).
Proof.
  apply (derivable_pt_lim_ext (fun t => F1 t / F0 t - eta ^ 2 / 8 * (2 * t - 1))).
  { intros s. unfold G1. field. pose proof (F0_pos s); lra. }
  unfold G2.
  apply (derivable_pt_lim_minus (fun t => F1 t / F0 t) (fun t => eta ^ 2 / 8 * (2 * t - 1))).
  - replace ((F2 t * F0 t - F1 t * F1 t) / (F0 t * F0 t))
      with ((F2 t * F0 t - F1 t * F1 t) / Rsqr (F0 t)) by reflexivity.
    apply (derivable_pt_lim_div F1 F0).
    + apply (exp_sum_derivative l (fun y => Q y * Z y) Z).
    + apply exp_sum_derivative.
    + pose proof (F0_pos t); lra.
  - replace (eta ^ 2 / 4) with (eta ^ 2 / 8 * (2 * 1 - 0)) by field.
    apply (derivable_pt_lim_scal (fun t => 2 * t - 1)).
    apply (derivable_pt_lim_minus (fun t => 2 * t) (fun _ => 1)); [|apply derivable_pt_lim_const].
    apply (derivable_pt_lim_scal id), derivable_pt_lim_id.
Qed.

Lemma G2_negative t : G2 t <= 0.
Proof.
  unfold G2. pose proof (F0_pos t). pose proof (variance t).
  assert (0 < F0 t * F0 t) by (apply Rmult_lt_0_compat; auto).
  assert ((F2 t * F0 t - F1 t * F1 t) / (F0 t * F0 t) <= eta ^ 2 / 4).
  { apply Rmult_le_reg_r with (F0 t * F0 t); auto.
    replace ((F2 t * F0 t - F1 t * F1 t) / (F0 t * F0 t) * (F0 t * F0 t))
      with (F2 t * F0 t - F1 t * F1 t) by (field; lra). lra. }
  lra.
Qed.

(* Concave with zeros at 0 and 1, so not positive beyond 1. *)
Lemma G_negative alpha : 1 < alpha -> G alpha <= 0.
Proof.
  intros H.
  assert (G0 : G 0 = 0) by (unfold G; rewrite F0_at_0, ln_1; ring).
  assert (Gone : G 1 = 0) by (unfold G; rewrite F0_at_1, ln_1; ring).
  destruct (MVT_cor2 G G1 0 1 ltac:(lra) (fun c _ => G_derivative c)) as (c & Ec & Hc).
  destruct (MVT_cor2 G G1 1 alpha H (fun c _ => G_derivative c)) as (d & Ed & Hd).
  destruct (MVT_cor2 G1 G2 c d ltac:(lra) (fun c _ => G1_derivative c)) as (e & Ee & He).
  pose proof (G2_negative e).
  assert (0 <= - G2 e * (d - c)) by (apply Rmult_le_pos; lra).
  assert (G1 d <= 0) by lra.
  assert (0 <= - G1 d * (alpha - 1)) by (apply Rmult_le_pos; lra).
  lra.
Qed.

Theorem step_6_zcdp : zcdp l (eta ^ 2 / 8) P Q.
Proof.
  intros alpha H. unfold renyi. change (moment l alpha P Q) with (F0 alpha).
  rewrite <- (exp_ln (F0 alpha)) by apply F0_pos. apply exp_le.
  pose proof (G_negative alpha H) as N. unfold G in N. lra.
Qed.
End OneStep.

Lemma bounded_range_sym {T} (l : list T) eta P Q : is_law l P -> is_law l Q ->
  bounded_range l eta P Q -> bounded_range l eta Q P.
Proof.
  intros HP HQ H y z Hy Hz. specialize (H z y Hz Hy). unfold loss, Rdiv in *.
  pose proof (proj1 HP y Hy). pose proof (proj1 HP z Hz). pose proof (proj1 HQ y Hy). pose proof (proj1 HQ z Hz).
  rewrite !ln_mult, !ln_Rinv in *; auto using Rinv_0_lt_compat. lra.
Qed.

(* "The roles of P and P' can be exchanged." *)
Corollary step_6_both_ways {T} (l : list T) eta P Q : is_law l P -> is_law l Q ->
  bounded_range l eta P Q -> zcdp l (eta ^ 2 / 8) P Q /\ zcdp l (eta ^ 2 / 8) Q P.
Proof.
  intros HP HQ H. split; apply step_6_zcdp; auto. apply bounded_range_sym; auto.
Qed.
