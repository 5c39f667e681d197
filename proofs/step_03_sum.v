(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 3: the private sum S, which dp_invisibleink_private makes with dclip, moves by at most Chat when one place becomes null.
   It holds also with differences clipped around a row's own median (step 12), g places move S by at most g Chat (step 17). *)
Require Import List ZArith Lia Permutation.
Import ListNotations.
Open Scope Z_scope.

Definition clamp (lo hi x : Z) : Z := Z.max lo (Z.min hi x).

(* dclip: the difference at a token, less the row's own centre s, clamped. *)
Definition dclip (Chat L pub s : Z) : Z := clamp (- Chat) Chat (L - pub - s).

(* Place j becomes null; every other place is what it was. *)
Definition blank {X : Type} (places : list (option X)) (j : nat) : list (option X) :=
  firstn j places ++ match skipn j places with [] => [] | _ :: after => None :: after end.

Lemma blank_length {X : Type} (places : list (option X)) j : length (blank places j) = length places.
Proof.
  rewrite <- (firstn_skipn j places) at 2. unfold blank.
  rewrite !app_length. destruct (skipn j places); simpl; auto.
Qed.

(* Place j holds another reference. *)
Definition exchange {X : Type} (places : list (option X)) (j : nat) (x : X) : list (option X) :=
  firstn j places ++ match skipn j places with [] => [] | _ :: after => Some x :: after end.

Lemma exchange_length {X : Type} (places : list (option X)) j x : length (exchange places j x) = length places.
Proof.
  rewrite <- (firstn_skipn j places) at 2. unfold exchange.
  rewrite !app_length. destruct (skipn j places); simpl; auto.
Qed.

Lemma blanks_length {X : Type} js (places : list (option X)) :
  length (fold_left blank js places) = length places.
Proof. revert places; induction js as [|j js IH]; intros p; simpl; auto. rewrite IH, blank_length; auto. Qed.

Section Sum.
Context {Token Reference : Type}.
Variable Chat : Z.
Hypothesis Chat_nonneg : 0 <= Chat.
Variable pub : Token -> Z.
(* s_i, from row i and public numbers alone; 0 without --center median. *)
Variable centre : (Token -> Z) -> Z.
(* A row from its own reference alone (assumption R); None where it is not finite. *)
Variable row : Reference -> option (Token -> Z).

Definition part (y : Token) (place : option Reference) : Z :=
  match place with
  | None => 0
  | Some x => match row x with None => 0 | Some L => dclip Chat (L y) (pub y) (centre L) end
  end.

Definition total (places : list (option Reference)) (y : Token) : Z :=
  fold_right (fun p s => part y p + s) 0 places.

Lemma step_3_part_is_clipped y place : - Chat <= part y place <= Chat.
Proof.
  destruct place as [x|]; simpl; [|lia].
  destruct (row x); [unfold dclip, clamp|]; lia.
Qed.

Lemma step_3_null_is_nothing y : part y None = 0.
Proof. reflexivity. Qed.

Lemma step_3_not_finite_is_null y x : row x = None -> part y (Some x) = part y None.
Proof. simpl. intros ->; auto. Qed.

Lemma total_app a b y : total (a ++ b) y = total a y + total b y.
Proof. induction a; simpl; lia. Qed.

Lemma step_3_sum_moves_by_chat places j y :
  Z.abs (total places y - total (blank places j) y) <= Chat.
Proof.
  rewrite <- (firstn_skipn j places) at 1. unfold blank.
  destruct (skipn j places) as [|p after]; rewrite !total_app; simpl; [lia|].
  pose proof (step_3_part_is_clipped y p). lia.
Qed.

Lemma step_3_sum_fits places y : Z.abs (total places y) <= Z.of_nat (length places) * Chat.
Proof.
  induction places as [|p places IH]; [simpl; lia|].
  simpl length; rewrite Nat2Z.inj_succ; simpl total.
  pose proof (step_3_part_is_clipped y p). nia.
Qed.

(* No sum of the first n rows overflows: |S| <= B Chat <= 2^21. *)
Lemma step_3_no_overflow B places n y : (length places <= B)%nat -> Z.of_nat B * Chat <= 2 ^ 21 ->
  Z.abs (total (firstn n places) y) <= 2 ^ 21.
Proof.
  intros L H. pose proof (step_3_sum_fits (firstn n places) y) as F.
  rewrite firstn_length in F.
  apply Z.le_trans with (1 := F), Z.le_trans with (2 := H), Z.mul_le_mono_nonneg_r; lia.
Qed.

Lemma step_3_order_is_nothing a b y : Permutation a b -> total a y = total b y.
Proof. induction 1; simpl; lia. Qed.

Lemma step_17_sum_moves_by_g_chat js places y :
  Z.abs (total places y - total (fold_left blank js places) y) <= Z.of_nat (length js) * Chat.
Proof.
  revert places; induction js as [|j js IH]; intros p; [simpl; lia|].
  simpl fold_left; simpl length; rewrite Nat2Z.inj_succ.
  pose proof (step_3_sum_moves_by_chat p j y). pose proof (IH (blank p j)). nia.
Qed.

(* To exchange a reference moves S twice as far as to blank it. *)
Lemma exchange_moves_by_2_chat places j x y :
  Z.abs (total places y - total (exchange places j x) y) <= 2 * Chat.
Proof.
  rewrite <- (firstn_skipn j places) at 1. unfold exchange.
  destruct (skipn j places) as [|p after]; rewrite !total_app; [lia|].
  change (total (p :: after) y) with (part y p + total after y).
  change (total (Some x :: after) y) with (part y (Some x) + total after y).
  pose proof (step_3_part_is_clipped y p). pose proof (step_3_part_is_clipped y (Some x)). lia.
Qed.
End Sum.

(* And no less far: step 3 is not about an exchange. *)
Example exchange_is_not_blanking : let S places := total 3 (fun _ : unit => 0) (fun _ => 0)
    (fun x : Z => Some (fun _ => x)) places tt in
  S [Some 9] - S [Some (-9)] = 2 * 3 /\ S [Some 9] - S [None] = 3.
Proof. split; reflexivity. Qed.
