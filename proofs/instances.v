(* SPDX-License-Identifier: Apache-2.0 *)
(* No theorem is empty: for each of them, a small mechanism meets all that it asks.
   The numbers are chosen to be checked by hand; they are nobody's parameters. *)
Require Import Reals List Lra Lia ZArith Bool.
From Cuttle Require Import step_50_gaussian step_55_learn step_39_ledger laws transcripts step_03_sum step_04_table step_05_bounded_range step_09_conversion
  step_10_exact theorem_invisibleink step_39_lots step_40_histogram step_42_rounds
  step_04_exp_below step_11_polygon step_22_rowlaw step_27_exchange step_28_ceiling step_31_raise_e
  step_32_order step_33_theorem_r step_36_texts step_23_share step_24_fusion step_26_capped step_46_threshold
   step_47_mixtures step_51_filter step_56_bias_then_run step_57_grammar.
Import ListNotations.
Open Scope R_scope.

(* InvisibleInk: two tokens, one place, Chat = 1, E = 2, 3, 4, e^lambda = 3/2, two tokens of which both look. *)
Definition small : mechanism bool := {|
  places := 1; clip := 1%Z; lift := 1%Z; table := fun s => (s + 3)%Z; ratio := ln (3 / 2);
  allowed := fun _ => [true; false]; public := fun _ _ => 0%Z; cut := fun _ _ => 0%Z;
  rounded := fun _ _ => 5%Z; centre := fun _ _ => 0%Z; looks := fun _ => true |}.

Lemma small_is_sound : sound small.
Proof.
  split; simpl; try lia.
  - intros h. exists true. simpl. split; auto; lia.
  - split; try (simpl; lia). intros s Hs Hs'. rewrite exp_ln by lra.
    assert (K : (s = -1 \/ s = 0)%Z) by lia. destruct K as [-> | ->]; simpl; lra.
Qed.

(* The row of a reference says x of the one token, and the number of tokens so far of the other. *)
Definition small_row (h : list bool) (x : Z) : option (bool -> Z) :=
  Some (fun y : bool => if y then x else Z.of_nat (length h)).

Lemma small_is_capped : capped small 2 2.
Proof. intros t Ht. repeat (destruct Ht as [<-|Ht]; [simpl; lia|]). destruct Ht. Qed.

Lemma theorem_instance eps alpha : 1 < alpha ->
  eps_delta (outputs small 2) eps (delta_at (alpha * rho_of (ln (3 / 2)) 2) eps alpha)
    (world small small_row [Some 5%Z]) (world small small_row [None]).
Proof.
  intros Ha. refine (proj1 (theorem_eps_delta small small_row small_is_sound [Some 5%Z] 2 2 small_is_capped 0 eps alpha Ha)).
Qed.

Lemma theorem_exact_instance eps :
  eps_delta (outputs small 2) eps (pure_bound (2 * ln (3 / 2)) 2 (exp eps))
    (world small small_row [Some 5%Z]) (world small small_row [None]).
Proof.
  assert (0 < ln (3 / 2)) by (rewrite <- ln_1; apply ln_increasing; lra).
  refine (proj1 (theorem_exact small small_row small_is_sound [Some 5%Z] 2 2 small_is_capped (pure_bound (2 * ln (3 / 2))) 0 eps _ _)).
  - exact H.
  - apply step_10_instance. lra.
Qed.

(* And the two worlds do differ: what is proved is not that nothing happens. *)
Lemma worlds_differ : next small small_row [Some 5%Z] [] true <> next small small_row [None] [] true.
Proof. unfold next, law, weights, weight, private_sum. simpl. lra. Qed.

(* Lots: two records, two batches, of which the first is used; and before them a count of 1 or 2, noise of scale 5 within -3 .. 7. *)
Definition first_batch (h : list bool) : nat := 0%nat.
Definition is_first (b : nat) : bool := Nat.eqb b 0.
Definition either : list (list nat) := [[0; 1]; [0; 1]]%nat.

Lemma small_is_capped_each : capped_each small first_batch 2 2.
Proof.
  intros b t Ht. repeat (destruct Ht as [<-|Ht]; [destruct b; simpl; lia|]). destruct Ht.
Qed.

Lemma either_is_some c : In c either -> c <> [].
Proof. intros [<-|[<-|[]]]; congruence. Qed.

Lemma half_is_used : share (nth 0 either []) is_first <= 1 / 2.
Proof. unfold share. simpl. lra. Qed.

Lemma small_bound : 0 < ratio small /\ obeys_recursion (eta_of (ratio small)) (pure_bound (2 * ln (3 / 2))).
Proof.
  assert (0 < ln (3 / 2)) by (rewrite <- ln_1; apply ln_increasing; lra).
  split; [auto|]. apply step_10_instance. lra.
Qed.

Lemma lots_instance eps : 0 <= eps ->
  eps_delta (outputs small 2) eps (1 / 2 * pure_bound (2 * ln (3 / 2)) 2 (1 + (exp eps - 1) / (1 / 2)))
    (run small small_row first_batch either [Some 5%Z; Some 7%Z]) (run small small_row first_batch either [None; Some 7%Z]).
Proof.
  intros He. destruct small_bound as [L B].
  exact (proj1 (step_39_exact small small_row small_is_sound first_batch is_first (fun _ => eq_refl) 2 2 small_is_capped_each
    either [Some 5%Z; Some 7%Z] 0 ltac:(simpl; lia) eq_refl either_is_some (1 / 2) ltac:(lra) half_is_used _ eps L B He)).
Qed.

(* Rounds: the first token is of batch 0, the second of batch 1, whose rows see the first one. *)
Definition turn (h : list bool) : nat := Nat.min (length h) 1.
Definition first_token (h : list bool) : bool := hd false h.
Definition row_behind_first (first : bool) (h : list bool) (x : Z) : option (bool -> Z) :=
  Some (fun y : bool => if Bool.eqb y first then x else 0%Z).

Lemma turns_are_capped : capped_each small turn 2 1.
Proof.
  intros b t Ht. repeat (destruct Ht as [<-|Ht]; [destruct b as [|[|b]]; simpl; lia|]). destruct Ht.
Qed.

Lemma rounds_instance eps : 0 <= eps ->
  let seen := rows first_token row_behind_first in
  eps_delta (outputs small 2) eps (1 * pure_bound (2 * ln (3 / 2)) 1 (1 + (exp eps - 1) / 1))
    (run small seen turn either [Some 5%Z; Some 7%Z]) (run small seen turn either [None; Some 7%Z]).
Proof.
  intros He seen. destruct small_bound as [L B].
  refine (proj1 (step_42_exact small first_token row_behind_first small_is_sound turn (fun _ => true) (fun _ => eq_refl) 2 1
    turns_are_capped either [Some 5%Z; Some 7%Z] 0 _ eq_refl either_is_some 1 _ eps _ _ L B He)); try lra; try (simpl; lia).
  unfold share. simpl. lra.
Qed.

Lemma histogram_instance eps : / 5 <= eps ->
  let world A refs := together A (fun _ : Z => run small small_row first_batch either refs) in
  eps_delta (both (range_of (-3)%Z 10%nat) (fun _ => outputs small 2)) eps
    (two_point_formula (/ 5) (lots_profile 2%nat (1 / 2) (pure_bound (2 * ln (3 / 2)))) eps)
    (world (noisy 5 (-3) 7 2) [Some 5%Z; Some 7%Z]) (world (noisy 5 (-3) 7 1) [None; Some 7%Z]).
Proof.
  intros He world. destruct small_bound as [L B].
  refine (proj1 (step_40_run small small_row small_is_sound (range_of (-3)%Z 10%nat) (noisy 5 (-3) 7 2) (noisy 5 (-3) 7 1) (/ 5)
    _ _ _ _ 2 (fun _ => 2%nat) (fun _ => first_batch) (fun _ => is_first) (fun _ => either) [Some 5%Z; Some 7%Z] 0
    (fun _ _ => eq_refl) (fun _ => small_is_capped_each) _ (fun _ => eq_refl) (fun _ => either_is_some) (1 / 2) _ (fun _ => half_is_used)
    _ B L eps He)); try lra; try (simpl; lia).
  - apply (step_40_laplace_is_law 5 ltac:(lra) (-3)%Z 10%nat); lia.
  - apply (step_40_laplace_is_law 5 ltac:(lra) (-3)%Z 10%nat); lia.
  - apply two_valued_sym, (step_40_laplace_is_two_valued 5 (-3)%Z 10%nat); lia.
Qed.

(* Theorem R: two words, E = 2, 1, epsilon = ln 2. *)
Definition small_table (r : nat) : Z := match r with O => 2%Z | _ => 1%Z end.

Lemma small_table_checked : rank_table_checked 2 small_table (2 * 2 ^ 40).
Proof.
  split; simpl; try lia. intros i j H. destruct i as [|[|]], j as [|[|]]; simpl; lia.
Qed.

Lemma rank_instance text text' :
  pure (transcripts (words 2) 3 []) (INR 3 * ln 2)
    (text_law 2 small_table (fun _ (x : Z) y => (x * Z.of_nat y)%Z) text)
    (text_law 2 small_table (fun _ (x : Z) y => (x * Z.of_nat y)%Z) text').
Proof.
  apply step_36_records with (bound := (2 * 2 ^ 40)%Z); try lia.
  - apply small_table_checked.
  - rewrite exp_ln by lra. change (IZR (2 * 2 ^ 40)) with 2199023255552.
    replace (2 ^ 40) with 1099511627776 by ring. lra.
  - rewrite <- ln_1. apply Rlt_le, ln_increasing; lra.
Qed.

(* Theorem F2 at order 2: laws (2, 2) and (1, 3) of 4, lambda = 1/2: both sums are at most 1/8. *)
Definition public_entries (y : bool) : Z := 2%Z.
Definition private_entries (y : bool) : Z := if y then 3%Z else 1%Z.

Lemma share_instance :
  renyi [true; false] (INR 2) (ln (9 / 8)) (q [true; false] public_entries private_entries (1 / 2)) (p [true; false] public_entries) /\
  renyi [true; false] (INR 2) (ln (9 / 8)) (p [true; false] public_entries) (q [true; false] public_entries private_entries (1 / 2)).
Proof.
  apply step_23_theorem_f2; try lra; try lia.
  - exists true; simpl; auto.
  - intros y _. unfold public_entries; lia.
  - intros y _. unfold private_entries; destruct y; lia.
  - unfold public_entries, private_entries; simpl; lra.
  - replace (INR 2 - 1) with 1 by (simpl; ring). rewrite Rmult_1_l, exp_ln by lra.
    assert (up : u public_entries private_entries true = 1 / 2) by (unfold u, public_entries, private_entries; field).
    assert (down : u public_entries private_entries false = - (1 / 2)) by (unfold u, public_entries, private_entries; field).
    assert (half : forall y, p [true; false] public_entries y = 1 / 2) by (intros; unfold p, whole, public_entries; simpl; field).
    assert (m2 : mu [true; false] public_entries private_entries 2 = 1 / 8).
    { unfold mu. simpl sum. rewrite up, down, !half.
      destruct (Rle_lt_dec 0 (1 / 2)), (Rle_lt_dec 0 (- (1 / 2))); lra. }
    assert (n2 : nu [true; false] public_entries private_entries = 1 / 8).
    { unfold nu. simpl sum. rewrite up, down, !half.
      destruct (Rle_lt_dec 0 (1 / 2)), (Rle_lt_dec 0 (- (1 / 2))); lra. }
    assert (C2 : C 2 2 = 1) by (rewrite C_2 by lia; simpl; field).
    apply Rmax_lub; unfold F_sum, G_sum; simpl seq; cbn [sum]; rewrite m2, n2, C2; simpl; lra.
Qed.

(* Theorem F1: a document with one group, whose row has the laws above, and two tokens. *)
Definition even_law (y : bool) : R := p [true; false] public_entries y.
Definition leaning_law (y : bool) : R := q [true; false] public_entries private_entries (1 / 2) y.

Lemma even_is_law : is_law [true; false] even_law.
Proof.
  unfold even_law, p, whole, public_entries. split; [intros y _|]; simpl; lra.
Qed.

Lemma leaning_is_law : is_law [true; false] leaning_law.
Proof.
  unfold leaning_law, q, whole, public_entries, private_entries. split; [intros [|] _|]; simpl; lra.
Qed.

Lemma fusion_instance :
  renyi (transcripts (fun _ => [true; false]) 2 []) (INR 2)
    (INR 2 * loss_of [tt] (fun _ => true) (INR 2) (fun _ => ln (9 / 8)))
    (joint (next_token (fun _ => even_law) (fun _ => true) [tt] (fun (_ : unit) _ _ => leaning_law) (fun _ => Some tt)) [])
    (joint (next_token (fun _ => even_law) (fun _ => true) [tt] (fun (_ : unit) _ _ => leaning_law)
             (blank_groups (fun _ => true) (fun _ => Some tt))) []).
Proof.
  assert (0 < ln (9 / 8)) by (rewrite <- ln_1; apply ln_increasing; lra).
  refine (proj1 (step_24_theorem_f1 (fun _ => [true; false]) (fun _ => even_law) (fun _ => true) [tt] _
    (fun (_ : unit) _ _ => leaning_law) (INR 2) (fun _ => ln (9 / 8)) _ _ _ _ _ (fun _ => true) (fun _ => Some tt) 2 2 _)).
  - exists tt; simpl; auto.
  - simpl; lra.
  - intros; lra.
  - intros h; apply even_is_law.
  - intros; apply leaning_is_law.
  - intros _ h j _. apply share_instance.
  - intros t Ht. repeat (destruct Ht as [<-|Ht]; [simpl; lia|]). destruct Ht.
Qed.

(* Theorem F3: the same row, Lambda = 1/2. *)
Lemma capped_instance :
  let u := fun (_ : unit) (y : bool) => if y then 1 / 2 else - (1 / 2) in
  let bound := ln (1 + reach [true; false] even_law [tt] u (fun _ => 1 / 2) (fun _ => true) ^ 2 / (1 ^ 2 * (1 - 1 / 2))) in
  renyi [true; false] 2 bound
    (here even_law [tt] u (fun _ => 1 / 2) (fun _ => true))
    (there even_law [tt] u (fun _ => 1 / 2) (fun _ => true) (fun _ => true)).
Proof.
  intros u.
  refine (proj1 (step_26_theorem_f3 [true; false] even_law [tt] u (fun _ => 1 / 2) (1 / 2)
    (fun _ => true) (fun _ => true) even_is_law _ _ _ _ _)).
  - exists tt; simpl; auto.
  - intros j [|] _ _; unfold u; lra.
  - intros j _. unfold u, even_law, p, whole, public_entries. simpl. lra.
  - intros; lra.
  - lra.
Qed.

(* Steps 27 and 28: the two laws above, for a content and its blank. *)
Lemma exchange_instance :
  renyi [true; false] (exchange_order (INR 2)) (exchange_loss (INR 2) (ln (9 / 8))) leaning_law leaning_law.
Proof.
  destruct share_instance as [F G].
  refine (proj2 (step_27_exchange [true; false] (INR 2) (ln (9 / 8)) leaning_law even_law leaning_law _
    leaning_is_law even_is_law leaning_is_law F G)). simpl; lra.
Qed.

Lemma ceiling_instance :
  success [true; false] [true; false] (fun _ => leaning_law) Bool.eqb <=
    exp ((INR 2 - 1) / INR 2 * (ln (9 / 8) - ln (INR (length [true; false])))).
Proof.
  apply (step_28_by_renyi [true; false] [true; false] (fun _ => leaning_law) even_law).
  - congruence.
  - intros; apply leaning_is_law.
  - apply even_is_law.
  - intros [|] _; simpl; lra.
  - simpl; lra.
  - intros x _. apply share_instance.
Qed.

(* Step 22: two candidates of entry 1, a sum of 8, no rounding: 3 and 3 are truncated, 1 is added, nothing is left. *)
Lemma rowlaw_instance y : In y [true; false] ->
  (1 <= row_law [true; false] (fun _ => 3) 8 Bool.bool_dec true y)%Z.
Proof.
  apply (step_22_entries_are_positive [true; false] (fun _ => 1%Z) (fun _ => 3%Z) 8 0); try (intros; simpl; lra); intros; simpl; lia.
Qed.

(* Step 11: delta of no step, max(0, 1 - a). *)
Lemma polygon_instance x : 1 / 2 <= x <= 2 -> Rmax 0 (1 - x) <= edge (1 / 2) 2 (1 / 2) 0 x.
Proof.
  intros Hx. apply (step_11_edge_above (fun a => Rmax 0 (1 - a))); try lra.
  - intros s a b Hs _ _. pose proof (Rmax_l 0 (1 - a)). pose proof (Rmax_r 0 (1 - a)).
    pose proof (Rmax_l 0 (1 - b)). pose proof (Rmax_r 0 (1 - b)).
    assert (0 <= s * Rmax 0 (1 - a)) by (apply Rmult_le_pos; lra).
    assert (0 <= (1 - s) * Rmax 0 (1 - b)) by (apply Rmult_le_pos; lra).
    assert (s * (1 - a) <= s * Rmax 0 (1 - a)) by (apply Rmult_le_compat_l; lra).
    assert ((1 - s) * (1 - b) <= (1 - s) * Rmax 0 (1 - b)) by (apply Rmult_le_compat_l; lra).
    apply Rmax_lub; lra.
  - rewrite Rmax_right; lra.
  - rewrite Rmax_left; lra.
Qed.

(* The integers of the code: e^3 of exp_below, halved twice; 2^40 e^6 of dp_rank_bound. Their last digits are those of dp/. *)
Example exp_below_instance : let '(r, bits) := exp_below (3 * 2 ^ 56) 2 24 99 in
  (20 * 2 ^ bits < r < 21 * 2 ^ bits)%Z /\ (2 ^ 61 <= r < 2 ^ 62)%Z.
Proof. vm_compute. repeat split; congruence. Qed.

Example raise_e_instance : let '(s, b) := raised 6000000 1000000 99 300 1 in
  (s / 2 ^ (b - 40))%Z = 443574649424904%Z.
Proof. vm_compute. reflexivity. Qed.

(* AboveThreshold: t1 = 3, Delta = 1, one question at the distance 5 or 6, tokens that are all a coin's. The two worlds differ. *)
Definition coin (h : list bool) (y : bool) : R := / 2.
Definition asked (d : Z) (h : list bool) : Z := d.

Lemma threshold_instance t fires : exists p p',
  is_chance 3 7 coin (asked 5) t fires p /\ is_chance 3 7 coin (asked 6) t fires p' /\ p <= exp (2 / 3) * p'.
Proof.
  assert (K : forall (h : list bool) y, 0 <= coin h y <= 1) by (intros; unfold coin; lra).
  destruct (step_46_chances_exist 3 7 coin ltac:(lra) K (asked 5) t fires) as [p P].
  destruct (step_46_chances_exist 3 7 coin ltac:(lra) K (asked 6) t fires) as [p' P'].
  exists p, p'. split; [auto|split; auto]. replace (2 / 3) with (2 * INR 1 / 3) by (simpl; field).
  apply (step_46_a_unit 3 7 1 ltac:(lra) coin (fun h y => proj1 (K h y)) (asked 5) (asked 6)) with t fires; auto.
  intros h. unfold asked. simpl. lia.
Qed.

Lemma term_of_sum {T} (f : T -> R) l y : In y l -> (forall x, In x l -> 0 <= f x) -> f y <= sum f l.
Proof.
  induction l as [|x m IH]; simpl; intros [] F; subst.
  - pose proof (sum_nonneg f m ltac:(auto)). lra.
  - pose proof (IH H ltac:(auto)). pose proof (F x ltac:(auto)). lra.
Qed.

Lemma threshold_worlds_differ p p' :
  is_chance 3 7 coin (asked 5) [] true p -> is_chance 3 7 coin (asked 6) [] true p' -> p < p'.
Proof.
  intros [_ Least] [Upper _]. set (c := dlap 3 0 * dlap (t2 3) 1).
  assert (C : 0 < c) by (apply Rmult_lt_0_compat; apply dlap_pos; unfold t2; lra).
  apply Rle_lt_trans with (p' - c); [|lra]. apply Least. intros x [M ->].
  apply Rle_trans with (up_to 3 7 coin M (asked 6) [] true - c).
  - unfold up_to. set (f := fun z => dlap 3 z * dlap (t2 3) (z + 1)).
    assert (In 0%Z (window M)).
    { unfold window. apply in_map_iff. exists M. split; [lia|]. apply in_seq. lia. }
    assert (S : f 0%Z <= sum f (window M)).
    { apply term_of_sum; auto. intros z _. left. apply Rmult_lt_0_compat; apply dlap_pos; unfold t2; lra. }
    assert (E : sum (fun z => dlap 3 z * given 3 7 coin (asked 6) z [] true) (window M) =
                sum (fun z => dlap 3 z * given 3 7 coin (asked 5) z [] true) (window M) + sum f (window M)).
    { rewrite <- sum_plus. apply sum_ext. intros z _. unfold f, given, asked. simpl stays.
      rewrite <- (step_46_tail_of_noise (t2 3) (z + 1)) by (unfold t2; lra).
      replace (7 + z - 6)%Z with (z + 1)%Z by lia. replace (7 + z - 5)%Z with (z + 1 + 1)%Z by lia. ring. }
    rewrite E. unfold f in S at 1. change (dlap 3 0 * dlap (t2 3) (0 + 1)) with c in S. lra.
  - assert (up_to 3 7 coin M (asked 6) [] true <= p') by (apply Upper; exists M; auto). lra.
Qed.

(* Order infinity: two places, whose laws are the public one. *)
Lemma mixtures_instance :
  bounded_range [true; false] (eta_of_mixtures [tt] 1)
    (mean_with [tt] (fun _ _ => / 2) (fun _ => / 2)) (mean_with [tt] (fun _ _ => / 2) (fun _ => / 2)).
Proof.
  assert (W : within [true; false] (fun _ => / 2) 1 (fun _ => / 2)).
  { intros y _.
    assert (A : exp 0 < exp 1) by (apply exp_increasing; lra).
    assert (B : exp (- (1)) < exp 0) by (apply exp_increasing; lra). rewrite exp_0 in A, B. lra. }
  apply (step_47_order_infinity [true; false] [tt] (fun _ _ => / 2) (fun _ => / 2) 1); try lra; auto; intros; lra.
Qed.

(* A record's filter: two places, one of which may cost 1 a token; one token. *)
Lemma filter_instance :
  renyi (transcripts (events [true; false] (fun _ => [true; false])) 2 []) 2 1
    (joint (next_event [true; false] (fun _ _ (_ : bool) => / 2)) [])
    (joint (next_event [true; false] (fun _ _ (_ : bool) => / 2)) []).
Proof.
  assert (Law : is_law [true; false] (fun _ : bool => / 2)) by (split; [intros; lra|simpl; lra]).
  assert (Same : renyi [true; false] 2 1 (fun _ : bool => / 2) (fun _ : bool => / 2)).
  { unfold renyi, moment, loss. simpl. replace (/ 2 / / 2) with 1 by field. rewrite ln_1, Rmult_0_r, exp_0.
    assert (A : exp 0 < exp ((2 - 1) * 1)) by (apply exp_increasing; lra). rewrite exp_0 in A. lra. }
  apply (step_51_record_filter bool_dec [true; false]) with (i := true) (d := fun _ => 1); auto; try lra; try (intros; lra).
  - exists true. simpl; auto.
  - intros t Ht. simpl in Ht. unfold cost.
    repeat (destruct Ht as [<-|Ht]; [simpl; unfold drawn; simpl; try destruct bool_dec; lra|]). destruct Ht.
Qed.

(* A bias of two numbers, S = 2, sigma^2 = 2: the record says (3, 3), which is cut to (1, 1). Then the two tokens from above. *)
Definition says (r : Z) : option (nat -> Z) := Some (fun _ => r).
Definition bias_row (x : list Z) (h : list bool) (records : list Z) : option (bool -> Z) := small_row h (hd 0%Z records).

Lemma bias_instance : exists w, is_whole 2 w /\ zcdp (both [[0; 0]; [1; -1]]%Z (fun _ => outputs small 2))
  (rho_of_bias 2 2 + rho_of (ln (3 / 2)) 2)
  (bias_and_texts 2 2 says 2 w (fun _ => small) bias_row [Some [3%Z]] [Some [3%Z]])
  (bias_and_texts 2 2 says 2 w (fun _ => small) bias_row [None] [None]).
Proof.
  destruct (step_50_whole_exists 2 ltac:(lra)) as [w W]. exists w. split; auto.
  refine (proj1 (step_56_bias_then_run 2 2 ltac:(lia) says 2 ltac:(lra) w W (fun _ => small) bias_row (fun _ => small_is_sound)
    2 2 (fun _ => small_is_capped) (ln (3 / 2)) (fun _ => eq_refl) [Some [3%Z]] [Some [3%Z]] 0 0 _ _ _)).
  - repeat constructor; simpl; intuition congruence.
  - intros x [<-|[<-|[]]]; auto.
Qed.

Lemma bias_worlds_differ w : is_whole 2 w ->
  answer 2 2 says 2 w [Some [3%Z]] [0; 0]%Z < answer 2 2 says 2 w [None] [0; 0]%Z.
Proof.
  intros W. pose proof (w_pos 2 w W).
  change (gauss 2 w 1 0 * (gauss 2 w 1 0 * 1) < gauss 2 w 0 0 * (gauss 2 w 0 0 * 1)). rewrite !Rmult_1_r.
  assert (K : gauss 2 w 1 0 < gauss 2 w 0 0).
  { apply Rmult_lt_compat_r; [apply Rinv_0_lt_compat; auto|]. apply exp_increasing.
    replace (- (0 - 1) ^ 2 / (2 * 2)) with (- (1 / 4)) by field. replace (- (0 - 0) ^ 2 / (2 * 2)) with 0 by field. lra. }
  pose proof (gauss_pos 2 w W 1 0). apply Rmult_le_0_lt_compat; lra.
Qed.

(* A grammar: after every other token one alone may come. Four tokens, of which one is paid. *)
Definition every_other (h : list bool) : list bool := if Nat.even (length h) then [true; false] else [true].
Definition spelt : mechanism bool := guided small every_other (fun _ _ => 0%Z) 1.

Lemma every_other_is_some h : In true (every_other h).
Proof. unfold every_other. destruct (Nat.even (length h)); simpl; auto. Qed.

Lemma grammar_instance :
  zcdp (outputs spelt 4) (rho_of (ln (3 / 2)) 1) (world spelt small_row [Some 5%Z]) (world spelt small_row [None]).
Proof.
  refine (proj1 (step_57_guided_zcdp small small_row small_is_sound every_other (fun _ _ => 0%Z) _ 1 [Some 5%Z] 4 0)).
  intros h; exists true; split; [apply every_other_is_some|simpl; lia].
Qed.

(* The first token is paid, and differs; the second is forced; the third comes after T. *)
Lemma grammar_worlds_differ : next spelt small_row [Some 5%Z] [] true <> next spelt small_row [None] [] true.
Proof. unfold next, law, weights, weight, private_sum. simpl. lra. Qed.

Lemma grammar_steps : theorem_invisibleink.tokens spelt [true] = [true] /\ looks spelt [true; true] = false /\
  theorem_invisibleink.tokens spelt [true; true] = [true; false].
Proof. auto. Qed.

(* A ledger of ln 3: two runs ask for it each. The first is granted, and reads the record; the second is refused, and tosses a fair coin. *)
Definition biased (p : R) (h : list bool) (y : bool) : R := match h with [] => if y then p else 1 - p | _ => / 2 end.
Definition asks_ln_3 (_ : list bool) : R := ln 3.
Definition asks_nothing (_ : list bool) : R := 0.

Lemma ln_3_pos : 0 < ln 3.
Proof. rewrite <- ln_1. apply ln_increasing; lra. Qed.

Lemma ledger_grants : granted asks_ln_3 asks_nothing (ln 3) 0 [] = true /\
  forall y t, granted asks_ln_3 asks_nothing (ln 3) 0 (y :: t) = false.
Proof.
  pose proof ln_3_pos as L.
  assert (First : fits (ln 3) 0 (0 + ln 3, 0 + 0) = true).
  { unfold fits; simpl. destruct (Rle_dec (0 + ln 3) (ln 3)); [destruct (Rle_dec (0 + 0) 0)|]; auto; lra. }
  assert (Second : fits (ln 3) 0 (0 + ln 3 + ln 3, 0 + 0 + 0) = false).
  { unfold fits; simpl. destruct (Rle_dec (0 + ln 3 + ln 3) (ln 3)); auto; lra. }
  split; [exact First|]. intros y t. unfold granted, asks_ln_3, asks_nothing. simpl. unfold with_charge. simpl. rewrite First.
  assert (Stays : forall h u : list bool, paid_by (fun _ => ln 3) (fun _ => 0) (ln 3) 0 (0 + ln 3, 0 + 0) h u = (0 + ln 3, 0 + 0)).
  { intros h u. revert h. induction u as [|z u IH]; intros h; simpl; auto. unfold with_charge; simpl. rewrite Second. apply IH. }
  rewrite Stays. exact Second.
Qed.

Lemma ledger_instance :
  eps_delta (transcripts (fun _ => [true; false]) 2 []) (ln 3) 0 (joint (biased (3 / 4)) []) (joint (biased (1 / 4)) []).
Proof.
  pose proof ln_3_pos as L. destruct ledger_grants as [Grants Refuses].
  assert (Law : forall p, 0 < p < 1 -> laws (fun _ => [true; false]) (biased p)).
  { intros p Hp h. split.
    - intros y _. unfold biased. destruct h; [destruct y|]; lra.
    - unfold biased. destruct h; simpl; lra. }
  apply step_39_filter with (eps := asks_ln_3) (delta := asks_nothing); try (apply Law; lra); try lra.
  - intros [|y t] z G _; [congruence|auto].
  - intros; unfold asks_nothing; lra.
  - intros [|y t] G; [|rewrite Refuses in G; discriminate].
    intros event. unfold chance, asks_ln_3, asks_nothing. rewrite exp_ln by lra. simpl. destruct (event true), (event false); lra.
Qed.

Lemma ledger_worlds_differ : biased (3 / 4) [] true <> biased (1 / 4) [] true.
Proof. simpl; lra. Qed.
