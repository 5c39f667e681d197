(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 9: rho-zCDP gives (epsilon, delta) at every order alpha above 1 (Canonne, Kamath and Steinke 2020), so dp_claim_epsilon may search.
   The same holds of a Renyi loss at one order (dp_rdp_epsilon_at); how doubles are rounded is tested, not proved here. *)
Require Import Reals List Lra Lia.
From Cuttle Require Import laws.
Open Scope R_scope.

(* e^((alpha-1)(L-epsilon)) / (alpha-1) (1-1/alpha)^alpha, L the divergence of order alpha. *)
Definition delta_at (L eps alpha : R) : R :=
  exp ((alpha - 1) * (L - eps)) / (alpha - 1) * exp (alpha * ln (1 - 1 / alpha)).

Lemma hockey alpha z : 1 < alpha ->
  exp z - 1 <= exp (alpha * z) * (exp (alpha * ln (1 - 1 / alpha)) / (alpha - 1)).
Proof.
  intros Ha.
  assert (pos : 0 < 1 - 1 / alpha).
  { apply Rmult_lt_reg_r with alpha; [lra|].
    replace ((1 - 1 / alpha) * alpha) with (alpha - 1) by (field; lra). lra. }
  pose proof (bernoulli alpha (z + ln (1 - 1 / alpha)) Ha) as B.
  rewrite exp_plus, exp_ln, Rmult_plus_distr_l, exp_plus in B; auto.
  apply Rmult_le_reg_r with (alpha - 1); [lra|].
  replace (exp (alpha * z) * (exp (alpha * ln (1 - 1 / alpha)) / (alpha - 1)) * (alpha - 1))
    with (exp (alpha * z) * exp (alpha * ln (1 - 1 / alpha))) by (field; lra).
  eapply Rle_trans; [|exact B]. right. field. lra.
Qed.

(* l need not be all that can come: step 50 has infinitely many outcomes. *)
Theorem step_9_of_a_part {T} (l : list T) (P Q : T -> R) L eps alpha :
  (forall y, In y l -> 0 < P y) -> (forall y, In y l -> 0 < Q y) -> 1 < alpha -> renyi l alpha L P Q ->
  eps_delta l eps (delta_at L eps alpha) P Q.
Proof.
  intros HP HQ Ha HZ A.
  set (k := exp (alpha * ln (1 - 1 / alpha)) / (alpha - 1)).
  assert (kpos : 0 < k) by (apply Rdiv_lt_0_compat; [apply exp_pos|lra]).
  assert (Each : chance l P A <= exp eps * chance l Q A +
                 exp eps * exp (- (alpha * eps)) * k * moment l alpha P Q).
  { unfold chance, moment. rewrite <- !sum_scal, <- sum_plus. apply sum_le. intros y Hy.
    pose proof (HP y Hy). pose proof (HQ y Hy).
    assert (E : 0 < Q y * exp (alpha * loss P Q y)) by (apply Rmult_lt_0_compat; [auto|apply exp_pos]).
    assert (E2 : 0 < exp eps * exp (- (alpha * eps)) * k)
      by (apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; apply exp_pos|exact kpos]).
    destruct (A y).
    - pose proof (hockey alpha (loss P Q y - eps) Ha) as K. fold k in K.
      replace (exp (alpha * (loss P Q y - eps))) with (exp (alpha * loss P Q y) * exp (- (alpha * eps))) in K
        by (rewrite <- exp_plus; f_equal; ring).
      assert (X : exp (loss P Q y - eps) = P y / Q y * / exp eps).
      { unfold Rminus, loss. rewrite exp_plus, exp_Ropp, exp_ln; [reflexivity|].
        apply Rdiv_lt_0_compat; auto. }
      rewrite X in K.
      pose proof (exp_pos eps).
      assert (K' : exp eps * Q y * (P y / Q y * / exp eps - 1) <=
                   exp eps * Q y * (exp (alpha * loss P Q y) * exp (- (alpha * eps)) * k)).
      { apply Rmult_le_compat_l; auto. apply Rlt_le, Rmult_lt_0_compat; auto. }
      replace (exp eps * Q y * (P y / Q y * / exp eps - 1)) with (P y - exp eps * Q y) in K' by (field; lra).
      lra.
    - assert (0 < exp eps * exp (- (alpha * eps)) * k * (Q y * exp (alpha * loss P Q y)))
        by (apply Rmult_lt_0_compat; auto). lra. }
  apply Rle_trans with (1 := Each). apply Rplus_le_compat_l.
  assert (E2 : 0 <= exp eps * exp (- (alpha * eps)) * k)
    by (apply Rlt_le, Rmult_lt_0_compat; [apply Rmult_lt_0_compat; apply exp_pos|exact kpos]).
  apply Rle_trans with (exp eps * exp (- (alpha * eps)) * k * exp ((alpha - 1) * L)).
  - apply Rmult_le_compat_l; auto.
  - right. unfold delta_at, k.
    replace ((alpha - 1) * (L - eps)) with (eps + (- (alpha * eps) + (alpha - 1) * L)) by ring.
    rewrite !exp_plus. field. lra.
Qed.

Theorem step_9_at_one_order {T} (l : list T) (P Q : T -> R) L eps alpha :
  is_law l P -> is_law l Q -> 1 < alpha -> renyi l alpha L P Q ->
  eps_delta l eps (delta_at L eps alpha) P Q.
Proof. intros [HP _] [HQ _]. apply step_9_of_a_part; auto. Qed.

Theorem step_9_zcdp_to_eps_delta {T} (l : list T) (P Q : T -> R) rho eps alpha :
  is_law l P -> is_law l Q -> zcdp l rho P Q -> 1 < alpha ->
  eps_delta l eps (delta_at (alpha * rho) eps alpha) P Q.
Proof. intros HP HQ HZ Ha. apply step_9_at_one_order; auto. Qed.
