(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 51: where each token is preceded by the place that it is drawn from, told to everybody, a batch costs one record R at order alpha.
   What a step costs may follow from the record's own row; dp_record_filter_left sees that no course of events takes more than R from it. *)
Require Import Reals List Lra Lia.
From Cuttle Require Import laws transcripts step_08_composition step_09_conversion.
Import ListNotations.
Open Scope R_scope.

Section Filter.
Context {Token Row : Type}.
Variable same_row : forall j k : Row, {j = k} + {j <> k}.

Inductive event := drew (j : Row) | wrote (y : Token).

(* The place that was just drawn, and from which a token comes next. *)
Definition drawn (h : list event) : option Row :=
  match rev h with
  | drew j :: _ => Some j
  | _ => None
  end.

Variable rows : list Row.
Hypothesis some_row : exists j, In j rows.
(* Public functions of the past. *)
Variable candidates : list event -> list Token.
Definition events (h : list event) : list event :=
  match drawn h with
  | Some _ => map wrote (candidates h)
  | None => map drew rows
  end.

(* The law of a token, from row j after h: in the world that has record i, and in that where it is null. Sums that the filter has
   kept for j are in it: they follow from row j and h. *)
Variables with_record without_record : list event -> Row -> Token -> R.
Hypothesis laws_with : forall h j, is_law (candidates h) (with_record h j).
Hypothesis laws_without : forall h j, is_law (candidates h) (without_record h j).

Variable i : Row.
Hypothesis others_know_nothing : forall h j y, j <> i -> In y (candidates h) -> with_record h j y = without_record h j y.

Variable alpha : R.
Hypothesis order : 1 < alpha.
(* What the row costs after h, for this record: not a number that is known to anybody else. *)
Variable d : list event -> R.
Hypothesis d_nonneg : forall h, 0 <= d h.
Hypothesis within : forall h,
  renyi (candidates h) alpha (d h) (with_record h i) (without_record h i) /\
  renyi (candidates h) alpha (d h) (without_record h i) (with_record h i).

Definition next_event (law : list event -> Row -> Token -> R) (h : list event) (e : event) : R :=
  match drawn h, e with
  | Some j, wrote y => law h j y
  | None, drew _ => / INR (length rows)
  | _, _ => 0
  end.

Definition cost (h : list event) : R :=
  match drawn h with
  | Some j => if same_row j i then d h else 0
  | None => 0
  end.

Lemma rows_counted : 0 < INR (length rows).
Proof. destruct some_row as [j Hj]. apply lt_0_INR. destruct rows; [destruct Hj|simpl; lia]. Qed.

Lemma events_are_laws law : (forall h j, is_law (candidates h) (law h j)) -> laws events (next_event law).
Proof.
  intros H h. unfold events, next_event. pose proof rows_counted. destruct (drawn h) as [j|].
  - split.
    + intros e He. apply in_map_iff in He. destruct He as (y & <- & Hy). apply H; auto.
    + rewrite sum_map. apply H.
  - split.
    + intros e He. apply in_map_iff in He. destruct He as (k & <- & _). apply Rinv_0_lt_compat; auto.
    + rewrite sum_map, sum_const. field. lra.
Qed.

(* Laws that are equal where they count cost nothing. *)
Lemma equal_laws {T} (l : list T) P Q : is_law l Q -> (forall y, In y l -> P y = Q y) -> renyi l alpha 0 P Q.
Proof.
  intros H E. unfold renyi, moment. rewrite Rmult_0_r, exp_0. right.
  transitivity (sum Q l); [|apply H]. apply sum_ext. intros y Hy. unfold loss. rewrite (E y Hy).
  pose proof (proj1 H y Hy). replace (Q y / Q y) with 1 by (field; lra). rewrite ln_1, Rmult_0_r, exp_0. ring.
Qed.

Lemma renyi_of_tokens law law' h j c : drawn h = Some j ->
  renyi (candidates h) alpha c (law h j) (law' h j) ->
  renyi (events h) alpha c (next_event law h) (next_event law' h).
Proof.
  intros D K. unfold renyi, moment, events, next_event, loss in *. rewrite D, sum_map. exact K.
Qed.

Lemma each_event h :
  renyi (events h) alpha (cost h) (next_event with_record h) (next_event without_record h) /\
  renyi (events h) alpha (cost h) (next_event without_record h) (next_event with_record h).
Proof.
  unfold cost. destruct (drawn h) as [j|] eqn:D.
  - destruct (same_row j i) as [->|Other].
    + destruct (within h). split; apply renyi_of_tokens with i; auto.
    + split; apply renyi_of_tokens with j; auto; apply equal_laws; auto.
      intros y Hy. symmetry. auto.
  - split; apply equal_laws; try (apply events_are_laws; auto); intros e _; unfold next_event; rewrite D; auto.
Qed.

Variables (steps : nat) (R : R).
(* The filter. *)
Hypothesis kept : forall t, In t (transcripts events steps []) -> spent cost [] t <= R.

Theorem step_51_record_filter :
  renyi (transcripts events steps []) alpha R
    (joint (next_event with_record) []) (joint (next_event without_record) []) /\
  renyi (transcripts events steps []) alpha R
    (joint (next_event without_record) []) (joint (next_event with_record) []).
Proof.
  split; apply step_8_one_order with (cost := cost); auto using events_are_laws; intros h; apply each_event.
Qed.

Theorem step_51_eps_delta eps :
  eps_delta (transcripts events steps []) eps (delta_at R eps alpha)
    (joint (next_event with_record) []) (joint (next_event without_record) []) /\
  eps_delta (transcripts events steps []) eps (delta_at R eps alpha)
    (joint (next_event without_record) []) (joint (next_event with_record) []).
Proof.
  destruct step_51_record_filter.
  split; apply step_9_at_one_order; auto; apply joint_is_law, events_are_laws; auto.
Qed.
End Filter.
