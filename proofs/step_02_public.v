(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 2: the candidates (dp_topk) and their public weights (dp_weight_public) are the same in both worlds.
   It also shows that there is always a candidate, and that every public weight is at least 1. *)
Require Import List ZArith Lia.
Import ListNotations.
Open Scope Z_scope.

Section Public.
Context {Token Row : Type}.

(* What a step sees of a world: the public row in integers, and the private rows. *)
Record world := { public_row : Token -> Z; private_rows : list Row }.

Variable allowed : list Token.
(* floor(g Chat): what one reference lifts, in the public row's units (step 37). *)
Variables B lift : Z.
(* l, the k-th largest among the allowed, or any other number that follows from the public row alone. *)
Variable cut : (Token -> Z) -> Z.
(* round(2^56 exp(..)); how accurate it is does not matter. *)
Variable rounded : (Token -> Z) -> Token -> Z.

Definition candidates_of (pub : Token -> Z) : list Token :=
  filter (fun y => -2 * lift <=? B * (pub y - cut pub)) allowed.
Definition weight_of (pub : Token -> Z) (y : Token) : Z := Z.max 1 (rounded pub y).

Lemma step_2_public (here there : world) : public_row here = public_row there ->
  candidates_of (public_row here) = candidates_of (public_row there) /\
  weight_of (public_row here) = weight_of (public_row there).
Proof. intros ->; auto. Qed.

Lemma step_2_weights_are_positive pub y : 1 <= weight_of pub y.
Proof. unfold weight_of; lia. Qed.

Lemma step_2_some_candidate pub : 0 <= lift -> 0 <= B ->
  (exists y, In y allowed /\ cut pub <= pub y) -> exists y, In y (candidates_of pub).
Proof.
  intros HC HB (y & Hy & L). exists y. apply filter_In; split; auto. apply Z.leb_le. nia.
Qed.
End Public.
