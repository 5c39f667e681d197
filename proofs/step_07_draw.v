(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 7: dp_pick returns the first token whose prefix sum exceeds a number u; exactly w(y) of the W numbers below W give y.
   So dp_draw, which starts again while its number of some bits is not below W, gives y with the chance w(y) / W. *)
Require Import Reals List Lra Lia Arith ZArith.
From Cuttle Require Import laws step_05_bounded_range.
Import ListNotations.
Open Scope nat_scope.

Section Draw.
Context {T : Type}.
Variable eq_dec : forall x y : T, {x = y} + {x <> y}.
Variable w : T -> nat.

Fixpoint total_weight (l : list T) : nat :=
  match l with [] => 0 | x :: l => w x + total_weight l end.

Fixpoint pick (l : list T) (u : nat) : option T :=
  match l with
  | [] => None
  | x :: l => if u <? w x then Some x else pick l (u - w x)
  end.

(* The first y whose prefix sum, itself included, exceeds u. *)
Theorem step_7_first_prefix_sum l u y : pick l u = Some y ->
  exists before after, l = before ++ y :: after /\
    total_weight before <= u < total_weight before + w y.
Proof.
  revert u; induction l as [|x l IH]; simpl; intros u H; [discriminate|].
  destruct (Nat.ltb_spec u (w x)) as [L|G].
  - injection H as <-. exists [], l. simpl; split; auto; lia.
  - destruct (IH _ H) as (b & a & -> & B). exists (x :: b), a. simpl. split; auto; lia.
Qed.

Theorem step_7_never_fails l u : u < total_weight l <-> pick l u <> None.
Proof.
  revert u; induction l as [|x l IH]; simpl; intros u; [split; [lia|tauto]|].
  destruct (Nat.ltb_spec u (w x)); [split; [discriminate|lia]|].
  rewrite <- IH. lia.
Qed.

Definition gives (l : list T) (y : T) (u : nat) : bool :=
  match pick l u with Some x => if eq_dec x y then true else false | None => false end.

Definition count (f : nat -> bool) (from n : nat) : nat := length (filter f (seq from n)).

Lemma count_app f from a b : count f from (a + b) = count f from a + count f (from + a) b.
Proof. unfold count. rewrite seq_app, filter_app, app_length; auto. Qed.

Lemma count_all f from n c : (forall u, from <= u < from + n -> f u = c) ->
  count f from n = if c then n else 0.
Proof.
  unfold count. revert from; induction n as [|n IH]; intros from H; simpl; [destruct c; auto|].
  rewrite (H from) by lia. specialize (IH (S from) ltac:(intros; apply H; lia)).
  destruct c; simpl; rewrite IH; auto.
Qed.

Lemma count_shift f g from to n : (forall i, i < n -> f (from + i) = g (to + i)) ->
  count f from n = count g to n.
Proof.
  unfold count. revert from to; induction n as [|n IH]; intros from to H; simpl; auto.
  pose proof (H 0 ltac:(lia)) as E. rewrite !Nat.add_0_r in E. rewrite E.
  assert (R : length (filter f (seq (S from) n)) = length (filter g (seq (S to) n))).
  { apply IH. intros i Hi. specialize (H (S i) ltac:(lia)). rewrite <- !plus_n_Sm in H. auto. }
  destruct (g to); simpl; rewrite R; auto.
Qed.

Theorem step_7_exact_draw l y : NoDup l -> In y l ->
  count (gives l y) 0 (total_weight l) = w y.
Proof.
  assert (Absent : forall l, ~ In y l -> count (gives l y) 0 (total_weight l) = 0).
  { intros m N. rewrite (count_all _ 0 _ false); auto. intros u _. unfold gives.
    destruct (pick m u) as [x|] eqn:E; auto. destruct (eq_dec x y); auto. subst.
    destruct (step_7_first_prefix_sum _ _ _ E) as (b & a & -> & _).
    exfalso; apply N, in_or_app; right; left; auto. }
  induction l as [|x l IH]; intros N I; [destruct I|].
  inversion N; subst. simpl total_weight. rewrite count_app. simpl plus.
  rewrite (count_shift (gives (x :: l) y) (gives l y) (w x) 0 (total_weight l)).
  2:{ intros i Hi. unfold gives. simpl pick.
      destruct (Nat.ltb_spec (w x + i) (w x)); [lia|]. replace (w x + i - w x) with i by lia. auto. }
  destruct (eq_dec x y) as [<-|Ne].
  - rewrite (count_all _ 0 (w x) true). 2:{ intros u Hu. unfold gives; simpl.
      destruct (Nat.ltb_spec u (w x)); [|lia]. destruct (eq_dec x x); auto; congruence. }
    rewrite Absent; auto.
  - rewrite (count_all _ 0 (w x) false). 2:{ intros u Hu. unfold gives; simpl.
      destruct (Nat.ltb_spec u (w x)); [|lia]. destruct (eq_dec x y); auto; congruence. }
    destruct I as [->|I]; [congruence|]. rewrite IH; auto.
Qed.

(* A try has `tries` equally likely numbers, 2^bits of them. Of those that are not thrown away, W, exactly w(y) give y. *)
Theorem step_7_start_again l y tries : NoDup l -> In y l -> total_weight l <= tries ->
  count (gives l y) 0 tries = w y /\
  count (fun u => u <? total_weight l) 0 tries = total_weight l.
Proof.
  intros N I L. replace tries with (total_weight l + (tries - total_weight l)) by lia.
  rewrite !count_app, !Nat.add_0_l. split.
  - rewrite step_7_exact_draw by auto. rewrite (count_all (gives l y) _ _ false); [lia|].
    intros u Hu. unfold gives. destruct (pick l u) eqn:E; auto.
    assert (u < total_weight l) by (apply step_7_never_fails; congruence). lia.
  - rewrite (count_all _ 0 _ true), (count_all _ (total_weight l) _ false); [lia| |]; intros u Hu.
    + apply Nat.ltb_ge; lia.
    + apply Nat.ltb_lt; lia.
Qed.
End Draw.

(* The chance of y among the numbers that are kept is the law of step 5. *)
Theorem step_7_the_law {Token : Type} (eq_dec : forall x y : Token, {x = y} + {x <> y})
  (candidates : list Token) (A : Token -> Z) (E : Z -> Z) (S : Token -> Z) (y : Token) (tries : nat) :
  NoDup candidates -> In y candidates ->
  (forall x, In x candidates -> (1 <= weight A E S x)%Z) ->
  let w x := Z.to_nat (weight A E S x) in
  (total_weight w candidates <= tries)%nat ->
  (INR (count (gives eq_dec w candidates y) 0 tries)
   / INR (count (fun u => u <? total_weight w candidates) 0 tries) = law candidates A E S y)%R.
Proof.
  intros N I Pos w L.
  assert (Hw : forall x, In x candidates -> INR (w x) = IZR (weight A E S x)).
  { intros x Hx. unfold w. specialize (Pos x Hx). rewrite INR_IZR_INZ, Z2Nat.id; auto; lia. }
  assert (HW : forall l, (forall x, In x l -> In x candidates) ->
    INR (total_weight w l) = sum (fun x => IZR (weight A E S x)) l).
  { induction l as [|x l IH]; intros Sub; [reflexivity|].
    simpl total_weight. rewrite plus_INR, Hw, IH; simpl; auto with datatypes. }
  destruct (step_7_start_again eq_dec w candidates y tries N I L) as [-> ->].
  rewrite Hw, HW; auto.
Qed.
