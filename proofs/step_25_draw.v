(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 25: the weights of dp_pick_mixed sum to 2^62 whatever the share is, so no second try is needed.
   A place that draw_place draws uniformly, and then a token by that place's weights, have together the law w_j(y) / (m 2^62). *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws step_23_share step_24_fusion.
Open Scope R_scope.

Section Draw.
Context {Token Row : Type}.
Variable candidates : list Token.
Variable rows : list Row.
Variable a : Token -> Z.
Variable b : Row -> Token -> Z.
(* lambda_j = l_j / 2^16. *)
Variable l : Row -> Z.
Hypothesis some_row : exists j, In j rows.
Hypothesis a_sum : sum (fun y => IZR (a y)) candidates = 2 ^ 46.
Hypothesis b_sums : forall j, In j rows -> sum (fun y => IZR (b j y)) candidates = 2 ^ 46.

Definition mixed_weight (j : Row) (y : Token) : Z := ((2 ^ 16 - l j) * a y + l j * b j y)%Z.

Lemma mixed_weight_is j y : IZR (mixed_weight j y) = (2 ^ 16 - IZR (l j)) * IZR (a y) + IZR (l j) * IZR (b j y).
Proof.
  unfold mixed_weight. rewrite plus_IZR, !mult_IZR, minus_IZR.
  change (IZR (2 ^ 16)) with 65536. replace (2 ^ 16) with 65536 by ring. ring.
Qed.

Theorem step_25_weights_sum j : In j rows -> sum (fun y => IZR (mixed_weight j y)) candidates = 2 ^ 62.
Proof.
  intros Hj.
  rewrite (sum_ext _ (fun y => (2 ^ 16 - IZR (l j)) * IZR (a y) + IZR (l j) * IZR (b j y)))
    by (intros; apply mixed_weight_is).
  rewrite sum_plus, !sum_scal, a_sum, b_sums by auto. ring.
Qed.

(* The chance that j is drawn and then y, over all j: the mean of the q_j of steps 23 and 24. *)
Theorem step_25_the_mean y :
  sum (fun j => / INR (length rows) * (IZR (mixed_weight j y) / 2 ^ 62)) rows
  = mean rows (fun j => q candidates a (b j) (IZR (l j) / 2 ^ 16)) y.
Proof.
  unfold mean. apply sum_ext. intros j _. f_equal. unfold q, whole. rewrite a_sum, mixed_weight_is. field.
Qed.
End Draw.
