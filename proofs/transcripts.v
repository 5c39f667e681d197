(* SPDX-License-Identifier: Apache-2.0 *)
(* This file proves nothing about a mechanism: it says what it means to draw one token after another.
   What comes next may depend in any way on the tokens drawn; after any h it is a law on the tokens that can follow. *)
Require Import Reals List Lra Lia.
From Cuttle Require Import laws.
Import ListNotations.
Open Scope R_scope.

Section Adaptive.
Context {T : Type}.
Variable tokens : list T -> list T.

(* The sequences of n tokens that can follow h. *)
Fixpoint transcripts (n : nat) (h : list T) : list (list T) :=
  match n with
  | O => [[]]
  | S n => flat_map (fun y => map (cons y) (transcripts n (h ++ [y]))) (tokens h)
  end.

(* The chance that t follows h. *)
Fixpoint joint (P : list T -> T -> R) (h t : list T) : R :=
  match t with
  | [] => 1
  | y :: t => P h y * joint P (h ++ [y]) t
  end.

(* What the tokens of t cost, one by one. *)
Fixpoint spent (cost : list T -> R) (h t : list T) : R :=
  match t with
  | [] => 0
  | y :: t => cost h + spent cost (h ++ [y]) t
  end.

(* The number of tokens of t whose step looks at private rows. *)
Fixpoint looked (looks : list T -> bool) (h t : list T) : nat :=
  match t with
  | [] => 0
  | y :: t => (if looks h then 1 else 0) + looked looks (h ++ [y]) t
  end.

Lemma spent_looked (looks : list T -> bool) (c : R) (h t : list T) :
  spent (fun h => if looks h then c else 0) h t = INR (looked looks h t) * c.
Proof.
  revert h; induction t as [|y t IH]; intros h; simpl spent; simpl looked; [simpl; ring|].
  rewrite IH, plus_INR. destruct (looks h); simpl; ring.
Qed.

Definition laws (P : list T -> T -> R) : Prop := forall h, is_law (tokens h) (P h).

Lemma joint_pos P : laws P -> forall n h t, In t (transcripts n h) -> 0 < joint P h t.
Proof.
  intros H. induction n as [|n IH]; intros h t; simpl.
  - intros [<-|[]]; simpl; lra.
  - intros I. apply in_flat_map in I. destruct I as (y & Hy & I).
    apply in_map_iff in I. destruct I as (t' & <- & I). simpl.
    apply Rmult_lt_0_compat; [apply H|]; auto.
Qed.

Lemma joint_one P : laws P -> forall n h, sum (joint P h) (transcripts n h) = 1.
Proof.
  intros H. induction n as [|n IH]; intros h; simpl; [lra|].
  rewrite sum_flat_map, <- (proj2 (H h)). apply sum_ext. intros y _.
  rewrite sum_map. simpl. rewrite sum_scal, IH. ring.
Qed.

Lemma joint_is_law P n h : laws P -> is_law (transcripts n h) (joint P h).
Proof. intros H. split; [intros; eapply joint_pos; eauto|apply joint_one; auto]. Qed.

Lemma transcripts_cons n h y t : In y (tokens h) -> In t (transcripts n (h ++ [y])) ->
  In (y :: t) (transcripts (S n) h).
Proof. intros Hy Ht. simpl. apply in_flat_map. exists y; split; auto. apply in_map; auto. Qed.

Lemma loss_adds P Q n h y t : laws P -> laws Q -> In y (tokens h) -> In t (transcripts n (h ++ [y])) ->
  loss (joint P h) (joint Q h) (y :: t) =
  loss (P h) (Q h) y + loss (joint P (h ++ [y])) (joint Q (h ++ [y])) t.
Proof.
  intros HP HQ Hy Ht. unfold loss. simpl.
  pose proof (proj1 (HP h) y Hy). pose proof (proj1 (HQ h) y Hy).
  pose proof (joint_pos P HP n _ _ Ht). pose proof (joint_pos Q HQ n _ _ Ht).
  rewrite <- ln_mult by (apply Rdiv_lt_0_compat; auto).
  f_equal. field; lra.
Qed.
End Adaptive.
