(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 32: the order of dp_rank_select, by key descending and id ascending, is a permutation of the V words, whatever the keys hold.
   The number of ids that stand before an id is its rank; each rank below V belongs to exactly one id. *)
Require Import List ZArith Lia Permutation.
Import ListNotations.

Section Order.
Variable V : nat.
Variable key : nat -> Z.

(* i stands before j. *)
Definition before (i j : nat) : bool :=
  (key j <? key i)%Z || ((key i =? key j)%Z && (i <? j)).

Lemma before_self i : before i i = false.
Proof.
  unfold before. destruct (Z.ltb_spec (key i) (key i)); [lia|].
  destruct (Nat.ltb_spec i i); [lia|]. rewrite Bool.andb_false_r; auto.
Qed.

Lemma before_says i j : before i j = true <-> (key j < key i)%Z \/ key i = key j /\ i < j.
Proof.
  unfold before.
  destruct (Z.ltb_spec (key j) (key i)), (Z.eqb_spec (key i) (key j)), (Nat.ltb_spec i j); simpl; intuition (discriminate || lia).
Qed.

Lemma before_total i j : i <> j -> before i j = negb (before j i).
Proof.
  intros H. unfold before.
  destruct (Z.ltb_spec (key j) (key i)), (Z.ltb_spec (key i) (key j)), (Z.eqb_spec (key i) (key j)),
    (Z.eqb_spec (key j) (key i)), (Nat.ltb_spec i j), (Nat.ltb_spec j i); simpl; auto; lia.
Qed.

Lemma before_chain i j k : before i j = true -> before j k = true -> before i k = true.
Proof. rewrite !before_says. lia. Qed.

(* count_before of dp/rank.c. *)
Definition rank_of (y : nat) : nat := length (filter (fun i => before i y) (seq 0 V)).

Lemma filter_less (f g : nat -> bool) (l : list nat) x : In x l -> f x = false -> g x = true ->
  (forall i, f i = true -> g i = true) -> length (filter f l) < length (filter g l).
Proof.
  intros I Fx Gx S.
  assert (le : forall m, length (filter f m) <= length (filter g m)).
  { induction m as [|a m IH]; simpl; auto. destruct (f a) eqn:Fa.
    - rewrite (S a Fa). simpl. lia.
    - destruct (g a); simpl; lia. }
  induction l as [|a l IH]; [destruct I|]. simpl. destruct I as [->|I].
  - rewrite Fx, Gx. simpl. specialize (le l). lia.
  - specialize (IH I). destruct (f a) eqn:Fa.
    + rewrite (S a Fa). simpl. lia.
    + destruct (g a); simpl; lia.
Qed.

Lemma rank_rises x y : x < V -> before x y = true -> rank_of x < rank_of y.
Proof.
  intros Hx B. apply filter_less with x; auto using before_self.
  - apply in_seq; lia.
  - intros i Hi. apply before_chain with x; auto.
Qed.

Lemma rank_below_V y : y < V -> rank_of y < V.
Proof.
  intros H. unfold rank_of.
  assert (all : filter (fun _ : nat => true) (seq 0 V) = seq 0 V).
  { induction (seq 0 V) as [|a l IH]; simpl; congruence. }
  rewrite <- (seq_length V 0) at 2. rewrite <- all at 2. apply filter_less with y; auto using before_self. apply in_seq; lia.
Qed.

Lemma step_32_ranks_differ x y : x < V -> y < V -> rank_of x = rank_of y -> x = y.
Proof.
  intros Hx Hy E. destruct (Nat.eq_dec x y) as [|N]; auto. exfalso.
  destruct (before x y) eqn:B.
  - pose proof (rank_rises x y Hx B). lia.
  - rewrite before_total in B by auto. apply Bool.negb_false_iff in B.
    pose proof (rank_rises y x Hy B). lia.
Qed.

Theorem step_32_order_is_a_permutation : Permutation (map rank_of (seq 0 V)) (seq 0 V).
Proof.
  apply NoDup_Permutation_bis.
  - assert (K : forall l, NoDup l -> (forall i, In i l -> i < V) -> NoDup (map rank_of l)).
    { induction l as [|a l IH]; simpl; intros N B; constructor; inversion N; subst.
      - intros I. apply in_map_iff in I. destruct I as (b & E & I).
        apply H1. rewrite <- (step_32_ranks_differ b a); auto.
      - apply IH; auto. }
    apply K; [apply seq_NoDup|]. intros i I. apply in_seq in I. lia.
  - rewrite map_length, !seq_length; auto.
  - intros r I. apply in_map_iff in I. destruct I as (y & <- & I). apply in_seq in I.
    apply in_seq. pose proof (rank_below_V y). lia.
Qed.

(* So every rank drawn finds exactly one word: pi(r). *)
Corollary step_32_one_word_for_each_rank r : r < V ->
  exists y, y < V /\ rank_of y = r /\ forall z, z < V -> rank_of z = r -> z = y.
Proof.
  intros H. assert (I : In r (map rank_of (seq 0 V))).
  { apply Permutation_in with (1 := Permutation_sym step_32_order_is_a_permutation). apply in_seq; lia. }
  apply in_map_iff in I. destruct I as (y & E & I). apply in_seq in I.
  exists y. repeat split; auto; try lia. intros z Hz Ez. apply step_32_ranks_differ; auto; lia.
Qed.
End Order.
