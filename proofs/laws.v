(* SPDX-License-Identifier: Apache-2.0 *)
(* This file proves nothing about cuttle: it says what a law on finitely many points is, and adds up over them.
   A law is a function and the list of its points; all later files speak of laws in these words. *)
Require Import Reals List Lra Lia.
Import ListNotations.
Open Scope R_scope.

Fixpoint sum {T : Type} (f : T -> R) (l : list T) : R :=
  match l with
  | [] => 0
  | x :: m => f x + sum f m
  end.

Section Sums.
Context {T : Type}.
Implicit Types (f g : T -> R) (l : list T).

Lemma sum_ext f g l : (forall x, In x l -> f x = g x) -> sum f l = sum g l.
Proof. induction l as [|a l IH]; simpl; intros H; [lra|]. rewrite (H a), IH; auto. Qed.

Lemma sum_le f g l : (forall x, In x l -> f x <= g x) -> sum f l <= sum g l.
Proof. induction l as [|a l IH]; simpl; intros H; [lra|]. apply Rplus_le_compat; auto. Qed.

Lemma sum_plus f g l : sum (fun x => f x + g x) l = sum f l + sum g l.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_scal c f l : sum (fun x => c * f x) l = c * sum f l.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_scal_r c f l : sum (fun x => f x * c) l = sum f l * c.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_div c f l : sum (fun x => f x / c) l = sum f l / c.
Proof. apply sum_scal_r. Qed.

Lemma sum_const c l : sum (fun _ => c) l = INR (length l) * c.
Proof.
  induction l as [|a l IH]; [simpl; lra|].
  simpl length; rewrite S_INR; simpl sum; rewrite IH; lra.
Qed.

Lemma sum_nonneg f l : (forall x, In x l -> 0 <= f x) -> 0 <= sum f l.
Proof.
  induction l as [|a l IH]; simpl; intros H; [lra|].
  assert (0 <= f a) by auto. assert (0 <= sum f l) by auto. lra.
Qed.

Lemma sum_pos f l y : In y l -> (forall x, In x l -> 0 < f x) -> 0 < sum f l.
Proof.
  destruct l as [|a l]; simpl; intros Hy H; [tauto|].
  assert (0 < f a) by auto.
  assert (0 <= sum f l) by (apply sum_nonneg; intros; apply Rlt_le; auto).
  lra.
Qed.

Lemma sum_app f l m : sum f (l ++ m) = sum f l + sum f m.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_zero f l : (forall x, In x l -> f x = 0) -> sum f l = 0.
Proof. induction l as [|a l IH]; simpl; intros H; [lra|]. rewrite (H a), IH; auto; lra. Qed.

(* A sum in which a single point counts. *)
Lemma sum_single f l i :
  NoDup l -> In i l -> (forall j, In j l -> j <> i -> f j = 0) -> sum f l = f i.
Proof.
  induction l as [|a l IH]; simpl; intros N I H; [tauto|].
  inversion N; subst. destruct I as [->|I].
  - rewrite sum_zero; [lra|]. intros x Hx. apply H; auto. intros ->. auto.
  - rewrite IH; auto. rewrite (H a); auto; [lra|]. intros ->; auto.
Qed.
End Sums.

Lemma sum_swap {T U : Type} (f : T -> U -> R) (l : list T) (m : list U) :
  sum (fun x => sum (f x) m) l = sum (fun y => sum (fun x => f x y) l) m.
Proof.
  induction l as [|a l IH]; simpl.
  - symmetry; apply sum_zero; auto.
  - rewrite IH. symmetry. apply sum_plus.
Qed.

Lemma sum_map {T U : Type} (f : U -> R) (g : T -> U) (l : list T) :
  sum f (map g l) = sum (fun x => f (g x)) l.
Proof. induction l as [|a l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_flat_map {T U} (f : U -> R) (g : T -> list U) (l : list T) :
  sum f (flat_map g l) = sum (fun y => sum f (g y)) l.
Proof. induction l as [|y l IH]; simpl; [auto|]. rewrite sum_app, IH; auto. Qed.

(* A list with a point has one where Z is least. *)
Lemma least {T} (Z : T -> R) (m : list T) :
  (exists y, In y m) -> exists z, In z m /\ forall y, In y m -> Z z <= Z y.
Proof.
  induction m as [|y m IH]; intros [x Hx]; [destruct Hx|].
  destruct m as [|y' m'].
  - exists y; simpl; split; auto. intros ? [<-|[]]; lra.
  - destruct IH as (z & Hz & Mz); [exists y'; simpl; auto|].
    destruct (Rle_lt_dec (Z y) (Z z)) as [C|C].
    + exists y; split; [left; auto|]. intros v [<-|Hv]; [lra|]. specialize (Mz v Hv); lra.
    + exists z; split; [right; auto|]. intros v [<-|Hv]; [lra|]. auto.
Qed.

(* A law gives each of its points a positive chance, and 1 to all of them together. *)
Definition is_law {T} (l : list T) (P : T -> R) : Prop :=
  (forall y, In y l -> 0 < P y) /\ sum P l = 1.

Lemma law_has_a_point {T} (l : list T) P : is_law l P -> exists y, In y l.
Proof. intros [_ H]. destruct l as [|y m]; [simpl in H; lra|]. exists y; simpl; auto. Qed.

(* The chance of an event. *)
Definition chance {T : Type} (l : list T) (P : T -> R) (event : T -> bool) : R :=
  sum (fun y => if event y then P y else 0) l.

(* (epsilon, delta), one way round: for every event. *)
Definition eps_delta {T : Type} (l : list T) (eps delta : R) (P Q : T -> R) : Prop :=
  forall event, chance l P event <= exp eps * chance l Q event + delta.

(* The loss at y; and E_Q (P/Q)^alpha, whose logarithm is alpha - 1 times the Renyi divergence of order alpha. *)
Definition loss {T} (P Q : T -> R) (y : T) : R := ln (P y / Q y).
Definition moment {T} (l : list T) (alpha : R) (P Q : T -> R) : R :=
  sum (fun y => Q y * exp (alpha * loss P Q y)) l.
(* D_alpha(P || Q) <= c. *)
Definition renyi {T} (l : list T) (alpha c : R) (P Q : T -> R) : Prop :=
  moment l alpha P Q <= exp ((alpha - 1) * c).
Definition zcdp {T} (l : list T) (rho : R) (P Q : T -> R) : Prop :=
  forall alpha, 1 < alpha -> renyi l alpha (alpha * rho) P Q.

Lemma moment_pos {T} (l : list T) alpha P Q : is_law l Q -> 0 < moment l alpha P Q.
Proof.
  intros H. destruct (law_has_a_point l Q H) as [y Hy].
  apply sum_pos with y; auto. intros x Hx. apply Rmult_lt_0_compat; [apply H; auto|apply exp_pos].
Qed.

(* renyi says what its name says. *)
Lemma renyi_is_a_divergence {T} (l : list T) alpha c P Q : is_law l Q -> 1 < alpha ->
  (renyi l alpha c P Q <-> ln (moment l alpha P Q) / (alpha - 1) <= c).
Proof.
  intros H Ha. pose proof (moment_pos l alpha P Q H) as M. unfold renyi.
  assert (E : ln (moment l alpha P Q) / (alpha - 1) * (alpha - 1) = ln (moment l alpha P Q)) by (field; lra).
  split; intros K.
  - apply Rmult_le_reg_r with (alpha - 1); [lra|]. rewrite E, (Rmult_comm c), <- (ln_exp ((alpha - 1) * c)).
    destruct K as [K|K]; [apply Rlt_le, ln_increasing; auto|rewrite K; lra].
  - rewrite <- (exp_ln (moment l alpha P Q)) by auto.
    assert (L : ln (moment l alpha P Q) <= (alpha - 1) * c).
    { rewrite <- E, Rmult_comm. apply Rmult_le_compat_l; lra. }
    destruct L as [L|L]; [apply Rlt_le, exp_increasing; auto|rewrite L; lra].
Qed.

Lemma exp_le a b : a <= b -> exp a <= exp b.
Proof. intros [H| ->]; [apply Rlt_le, exp_increasing; auto|lra]. Qed.

Lemma renyi_more {T} (l : list T) alpha c d P Q : 1 < alpha -> c <= d ->
  renyi l alpha c P Q -> renyi l alpha d P Q.
Proof. intros Ha H K. eapply Rle_trans; [exact K|]. apply exp_le, Rmult_le_compat_l; lra. Qed.

(* For an integer order the moment is the sum of P^n / Q^(n-1). *)
Lemma moment_power {T} (l : list T) n P Q :
  (forall y, In y l -> 0 < P y) -> (forall y, In y l -> 0 < Q y) ->
  moment l (INR n) P Q = sum (fun y => Q y * (P y / Q y) ^ n) l.
Proof.
  intros HP HQ. apply sum_ext. intros y Hy. f_equal. unfold loss.
  apply (Rpower_pow n (P y / Q y)). apply Rdiv_lt_0_compat; auto.
Qed.

(* Bernoulli's inequality s^alpha >= 1 + alpha (s - 1), with s = e^v. *)
Lemma bernoulli alpha v : 1 < alpha -> 1 + alpha * (exp v - 1) <= exp (alpha * v).
Proof.
  intros Ha.
  set (f := fun v => exp (alpha * v) - alpha * exp v).
  assert (D : forall c, derivable_pt_lim f c (alpha * (exp (alpha * c) - exp c))).
  { intros c. unfold f.
    replace (alpha * (exp (alpha * c) - exp c)) with (exp (alpha * c) * (alpha * 1) - alpha * exp c) by ring.
    apply (derivable_pt_lim_minus (fun v => exp (alpha * v)) (fun v => alpha * exp v)).
    - apply (derivable_pt_lim_comp (fun v => alpha * v) exp).
      + apply (derivable_pt_lim_scal id), derivable_pt_lim_id.
      + apply derivable_pt_lim_exp.
    - apply (derivable_pt_lim_scal exp), derivable_pt_lim_exp. }
  assert (f0 : f 0 = 1 - alpha) by (unfold f; rewrite Rmult_0_r, exp_0; ring).
  assert (K : 1 - alpha <= f v).
  { rewrite <- f0. destruct (total_order_T 0 v) as [[Up|<-]|Down]; [|lra|].
    - destruct (MVT_cor2 f _ 0 v Up (fun c _ => D c)) as (c & E & Hc).
      assert (0 < (alpha - 1) * c) by (apply Rmult_lt_0_compat; lra).
      pose proof (exp_increasing c (alpha * c) ltac:(lra)).
      assert (0 <= alpha * (exp (alpha * c) - exp c) * (v - 0)).
      { apply Rmult_le_pos; [apply Rmult_le_pos|]; lra. } lra.
    - destruct (MVT_cor2 f _ v 0 Down (fun c _ => D c)) as (c & E & Hc).
      assert (0 < (alpha - 1) * - c) by (apply Rmult_lt_0_compat; lra).
      pose proof (exp_increasing (alpha * c) c ltac:(lra)).
      assert (0 <= alpha * (exp c - exp (alpha * c)) * (0 - v)).
      { apply Rmult_le_pos; [apply Rmult_le_pos|]; lra. } lra. }
  unfold f in K. lra.
Qed.
