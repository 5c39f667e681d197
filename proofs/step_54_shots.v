(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 54: a row of several records is null where one of them is, so that a record that becomes null blanks one row.
   To such rows the proof of step 3 applies as to records; a null record that was only left out would exchange its row. *)
Require Import List ZArith Lia.
From Cuttle Require Import step_03_sum.
Import ListNotations.
Open Scope Z_scope.

Section Shots.
Context {Record : Type}.

(* What prompt_private shows of a row: all of its records, or nothing. *)
Fixpoint row_of (records : list (option Record)) : option (list Record) :=
  match records with
  | [] => Some []
  | None :: _ => None
  | Some x :: more => match row_of more with Some xs => Some (x :: xs) | None => None end
  end.

Definition rows_of (rows : list (list (option Record))) : list (option (list Record)) := map row_of rows.

(* Record k of row j becomes null; every other record is what it was. *)
Definition blank_record (rows : list (list (option Record))) (j k : nat) : list (list (option Record)) :=
  firstn j rows ++ match skipn j rows with [] => [] | row :: after => blank row k :: after end.

Lemma step_54_a_null_record_nulls_its_row row k : (k < length row)%nat -> row_of (blank row k) = None.
Proof.
  revert k; induction row as [|[x|] row IH]; intros k L; [simpl in L; lia| |].
  - destruct k as [|k]; [reflexivity|].
    change (match row_of (blank row k) with Some xs => Some (x :: xs) | None => None end = None).
    rewrite IH; [reflexivity | simpl in L; lia].
  - destruct k; reflexivity.
Qed.

(* As many records a row as all rows have: R of them. *)
Lemma step_54_one_row_is_blanked rows j k :
  (forall row, In row rows -> (k < length row)%nat) ->
  rows_of (blank_record rows j k) = blank (rows_of rows) j.
Proof.
  intros L. unfold blank_record, rows_of, blank.
  rewrite map_app, firstn_map, skipn_map. f_equal.
  destruct (skipn j rows) as [|row after] eqn:E; [auto|].
  change (row_of (blank row k) :: map row_of after = None :: map row_of after).
  rewrite step_54_a_null_record_nulls_its_row; auto.
  apply L. rewrite <- (firstn_skipn j rows), E. apply in_or_app; right; left; auto.
Qed.

Section Sum.
Context {Token : Type}.
Variable Chat : Z.
Hypothesis Chat_nonneg : 0 <= Chat.
Variable pub : Token -> Z.
Variable centre : (Token -> Z) -> Z.
(* The logits of a row, from its own records alone. *)
Variable logits : list Record -> option (Token -> Z).

Lemma step_54_sum_moves_by_chat rows j k y :
  (forall row, In row rows -> (k < length row)%nat) ->
  Z.abs (total Chat pub centre logits (rows_of rows) y -
         total Chat pub centre logits (rows_of (blank_record rows j k)) y) <= Chat.
Proof.
  intros L. rewrite step_54_one_row_is_blanked; auto. apply step_3_sum_moves_by_chat; auto.
Qed.
End Sum.
End Shots.

(* Were a null record left out, the rest of its row would stay, and S could move by 2 Chat. *)
Example leaving_out_is_not_blanking : let S rows := total 3 (fun _ : unit => 0) (fun _ => 0)
    (fun row : list Z => Some (fun _ => fold_right Z.add 0 row)) rows tt in
  S [Some [9; -18]] - S [Some [9]] = - (2 * 3) /\ S [Some [9; -18]] - S [None] = -3.
Proof. split; reflexivity. Qed.
