(* SPDX-License-Identifier: Apache-2.0 *)
(* Step 56: a bias is told first (step 55), and runs over the same records may follow from it: losses add up, however the runs depend on it.
   In zCDP, at one order of Renyi's divergence, and as epsilon and delta, which a run with lots has (step 39); several runs pay for a bias once. *)
Require Import Reals List Lra Lia ZArith.
From Cuttle Require Import laws transcripts step_03_sum step_08_composition step_09_conversion step_19_runs theorem_invisibleink
  step_24_fusion step_39_lots step_40_histogram step_50_gaussian step_55_learn.
Import ListNotations.
Open Scope R_scope.

Section Compose.
Context {Bias Text : Type}.
(* Some of the biases that there are, and their chances in both worlds. *)
Variable biases : list Bias.
Variables P Q : Bias -> R.
Hypothesis P_pos : forall x, In x biases -> 0 < P x.
Hypothesis Q_pos : forall x, In x biases -> 0 < Q x.
(* What is written once the bias x is known: any function of it. *)
Variable texts : Bias -> list Text.
Variables P2 Q2 : Bias -> Text -> R.
Hypothesis P2_pos : forall x t, In x biases -> In t (texts x) -> 0 < P2 x t.
Hypothesis Q2_pos : forall x t, In x biases -> In t (texts x) -> 0 < Q2 x t.

Let all := both biases texts.
Let world1 := together P P2.
Let world2 := together Q Q2.

Lemma joint_moment alpha :
  moment all alpha world1 world2 = sum (fun x => Q x * exp (alpha * loss P Q x) * moment (texts x) alpha (P2 x) (Q2 x)) biases.
Proof.
  unfold moment, all, both. rewrite sum_flat_map. apply sum_ext. intros x Hx. rewrite sum_map, <- sum_scal. apply sum_ext.
  intros t Ht. unfold world1, world2, together, loss. cbn [fst snd].
  pose proof (P_pos x Hx). pose proof (Q_pos x Hx). pose proof (P2_pos x t Hx Ht). pose proof (Q2_pos x t Hx Ht).
  replace (P x * P2 x t / (Q x * Q2 x t)) with (P x / Q x * (P2 x t / Q2 x t)) by (field; lra).
  rewrite ln_mult by (apply Rdiv_lt_0_compat; auto). rewrite Rmult_plus_distr_l, exp_plus. ring.
Qed.

Theorem step_56_one_order alpha a b : renyi biases alpha a P Q ->
  (forall x, In x biases -> renyi (texts x) alpha b (P2 x) (Q2 x)) ->
  renyi all alpha (a + b) world1 world2.
Proof.
  intros A B. unfold renyi. rewrite joint_moment.
  apply Rle_trans with (sum (fun x => Q x * exp (alpha * loss P Q x) * exp ((alpha - 1) * b)) biases).
  - apply sum_le. intros x Hx. apply Rmult_le_compat_l; [|apply B; auto].
    apply Rlt_le, Rmult_lt_0_compat; auto using exp_pos.
  - rewrite sum_scal_r, Rmult_plus_distr_l, exp_plus. apply Rmult_le_compat_r; [apply Rlt_le, exp_pos|exact A].
Qed.

Theorem step_56_zcdp a b : zcdp biases a P Q -> (forall x, In x biases -> zcdp (texts x) b (P2 x) (Q2 x)) ->
  zcdp all (a + b) world1 world2.
Proof.
  intros A B alpha Ha. rewrite Rmult_plus_distr_l. apply step_56_one_order; auto. intros x Hx. apply B; auto.
Qed.

(* Where a run looks at no record, all that is lost is what the bias lost: no less can be told. *)
Lemma a_bias_is_not_free alpha : (forall x t, In x biases -> In t (texts x) -> P2 x t = Q2 x t) ->
  (forall x, In x biases -> is_law (texts x) (Q2 x)) -> moment all alpha world1 world2 = moment biases alpha P Q.
Proof.
  intros S L. rewrite joint_moment. apply sum_ext. intros x Hx.
  assert (One : moment (texts x) alpha (P2 x) (Q2 x) = 1).
  { rewrite <- (proj2 (L x Hx)). apply sum_ext. intros t Ht. unfold loss. rewrite (S x t Hx Ht). pose proof (Q2_pos x t Hx Ht).
    replace (Q2 x t / Q2 x t) with 1 by (field; lra). rewrite ln_1, Rmult_0_r, exp_0. ring. }
  rewrite One. ring.
Qed.

(* Basic composition. It needs that P's chances are at most 1 together, and that a run's are. *)
Hypothesis P_part : sum P biases <= 1.
Hypothesis P2_part : forall x, In x biases -> sum (P2 x) (texts x) <= 1.

Theorem step_56_eps_delta e1 d1 e2 d2 : 0 <= d2 -> eps_delta biases e1 d1 P Q ->
  (forall x, In x biases -> eps_delta (texts x) e2 d2 (P2 x) (Q2 x)) ->
  eps_delta all (e1 + e2) (d1 + d2) world1 world2.
Proof.
  intros D A B event.
  set (p := fun x => chance (texts x) (P2 x) (fun t => event (x, t))).
  set (q := fun x => chance (texts x) (Q2 x) (fun t => event (x, t))).
  assert (split : forall (F : Bias -> R) (G : Bias -> Text -> R),
    chance all (together F G) event = sum (fun x => F x * chance (texts x) (G x) (fun t => event (x, t))) biases).
  { intros F G. unfold chance, all, both. rewrite sum_flat_map. apply sum_ext. intros x _. rewrite sum_map, <- sum_scal.
    apply sum_ext. intros t _. unfold together. cbn [fst snd]. destruct (event (x, t)); ring. }
  unfold world1, world2. rewrite !split.
  change (sum (fun x => P x * p x) biases <= exp (e1 + e2) * sum (fun x => Q x * q x) biases + (d1 + d2)).
  set (h := fun x => Rmin 1 (exp e2 * q x)).
  assert (q0 : forall x, In x biases -> 0 <= q x).
  { intros x Hx. apply sum_nonneg. intros t Ht. pose proof (Q2_pos x t Hx Ht). destruct (event (x, t)); lra. }
  assert (h01 : forall x, In x biases -> 0 <= h x <= 1).
  { intros x Hx. pose proof (q0 x Hx). pose proof (exp_pos e2). unfold h. split; [|apply Rmin_l].
    apply Rmin_glb; [lra|]. apply Rmult_le_pos; lra. }
  apply Rle_trans with (sum (fun x => P x * h x + d2 * P x) biases).
  { apply sum_le. intros x Hx. replace (P x * h x + d2 * P x) with (P x * (h x + d2)) by ring.
    pose proof (P_pos x Hx). apply Rmult_le_compat_l; [lra|]. unfold h, Rmin. destruct (Rle_dec 1 (exp e2 * q x)).
    - assert (p x <= 1); [|lra]. apply Rle_trans with (2 := P2_part x Hx). apply sum_le. intros t Ht.
      pose proof (P2_pos x t Hx Ht). destruct (event (x, t)); lra.
    - apply (B x Hx). }
  assert (H : sum (fun x => P x * h x - exp e1 * Q x * h x) biases <= d1).
  { apply Rle_trans with (hockey_stick biases (exp e1) P Q); [|apply step_39_hockey_stick; exact A].
    apply sum_le. intros x Hx. pose proof (h01 x Hx). pose proof (Rmax_l 0 (P x - exp e1 * Q x)).
    pose proof (Rmax_r 0 (P x - exp e1 * Q x)).
    apply Rle_trans with (Rmax 0 (P x - exp e1 * Q x) * h x).
    - replace (P x * h x - exp e1 * Q x * h x) with ((P x - exp e1 * Q x) * h x) by ring. apply Rmult_le_compat_r; lra.
    - rewrite <- (Rmult_1_r (Rmax 0 (P x - exp e1 * Q x))) at 2. apply Rmult_le_compat_l; lra. }
  assert (G : sum (fun x => exp e1 * Q x * h x) biases <= exp (e1 + e2) * sum (fun x => Q x * q x) biases).
  { rewrite <- sum_scal. apply sum_le. intros x Hx. pose proof (Q_pos x Hx). pose proof (exp_pos e1).
    rewrite exp_plus. replace (exp e1 * exp e2 * (Q x * q x)) with (exp e1 * Q x * (exp e2 * q x)) by ring.
    apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|]. apply Rmin_r. }
  unfold Rminus in H. rewrite sum_plus in H.
  assert (O : sum (fun x => - (exp e1 * Q x * h x)) biases = - sum (fun x => exp e1 * Q x * h x) biases).
  { rewrite <- (Rmult_1_l (sum (fun x => exp e1 * Q x * h x) biases)), Ropp_mult_distr_l, <- sum_scal.
    apply sum_ext. intros; ring. }
  rewrite O in H. rewrite sum_plus, sum_scal.
  assert (d2 * sum P biases <= d2 * 1) by (apply Rmult_le_compat_l; auto). lra.
Qed.
End Compose.

(* Several runs that share one bias, each after all earlier ones: it is paid once, and the runs add up (step 19). *)
Theorem step_56_several_runs {Bias Output : Type} (biases : list Bias) P Q (possible : Bias -> list Output -> list Output) P2 Q2 charge n rho limit :
  (forall x, In x biases -> 0 < P x) -> (forall x, In x biases -> 0 < Q x) ->
  (forall x, laws (possible x) (P2 x)) -> (forall x, laws (possible x) (Q2 x)) ->
  zcdp biases rho P Q ->
  (forall x h, zcdp (possible x h) (charge x h) (P2 x h) (Q2 x h)) ->
  (forall x outputs, In outputs (transcripts (possible x) n []) -> spent (charge x) [] outputs <= limit) ->
  zcdp (both biases (fun x => transcripts (possible x) n [])) (rho + limit)
    (together P (fun x => joint (P2 x) [])) (together Q (fun x => joint (Q2 x) [])).
Proof.
  intros HP HQ LP LQ A B C. apply step_56_zcdp; auto.
  - intros x t _ Ht. eapply joint_pos; eauto.
  - intros x t _ Ht. eapply joint_pos; eauto.
  - intros x _. apply step_19_runs_add_up with (charge := charge x); auto.
Qed.

(* A run with lots at one order: batches are the places of step 24, of which the record's own lot names one. *)
Definition lots_loss (q alpha c : R) : R := ln (1 + q * (exp ((alpha - 1) * c) - 1)) / (alpha - 1).

Section Lots.
Context {Token Reference : Type}.
Variable M : mechanism Token.
Variable row : list Token -> Reference -> option (Token -> Z).
Hypothesis M_sound : sound M.
Variable batch_of : list Token -> nat.
Variable used : nat -> bool.
Hypothesis only_used : forall h, used (batch_of h) = true.
Variables n T : nat.
Hypothesis cap : capped_each M batch_of n T.
Variables (choices : list (list nat)) (records : list (option Reference)) (j : nat).
Hypothesis j_there : (j < length records)%nat.
Hypothesis as_many : length choices = length records.
Hypothesis some_batch : forall c, In c choices -> c <> [].
Variables q alpha : R.
Hypothesis order : 1 < alpha.
Hypothesis share_q : share (nth j choices []) used <= q.

Let seen (r : list (option Reference)) (lots : list nat) := told M row batch_of r lots.
Let inside (lots : list nat) : bool := used (nth j lots 0%nat).

Lemma lots_that_are_used k : step_39_lots.mean (lots_of choices) (fun lots => if inside lots then k else 0) = share (nth j choices []) used * k.
Proof.
  set (c := nth j choices []). destruct (nth_split choices [] (n := j) ltac:(lia)) as (cb & ca & E & L). fold c in E.
  assert (Nc : c <> []) by (apply some_batch; rewrite E; apply in_or_app; simpl; auto).
  assert (Nb : lots_of cb <> []) by (apply some_lots; intros d Hd; apply some_batch; rewrite E; apply in_or_app; auto).
  assert (Na : lots_of ca <> []) by (apply some_lots; intros d Hd; apply some_batch; rewrite E; apply in_or_app; simpl; auto).
  rewrite E, step_39_lots_are_independent.
  rewrite (step_39_lots.mean_ext _ (fun _ => share c used * k)); [apply mean_const; auto|]. intros u Hu.
  rewrite (step_39_lots.mean_ext _ (fun _ => share c used * k)); [apply mean_const; auto|]. intros v _.
  rewrite (step_39_lots.mean_ext _ (fun b => if used b then k else 0)).
  - rewrite (mean_split used (fun _ => k) 0 c Nc). unfold share. destruct (filter used c) as [|b m] eqn:F.
    + simpl. field. pose proof (length_pos c Nc). lra.
    + rewrite mean_const by congruence. ring.
  - intros b _. unfold inside. replace j with (length u) by (rewrite (lots_length cb u Hu); auto).
    rewrite nth_middle. auto.
Qed.

Theorem step_56_lots_at_one_order :
  let L := lots_loss q alpha (alpha * rho_of (ratio M) T) in
  renyi (outputs M n) alpha L (run M row batch_of choices records) (run M row batch_of choices (blank records j)) /\
  renyi (outputs M n) alpha L (run M row batch_of choices (blank records j)) (run M row batch_of choices records).
Proof.
  intros L. set (rho := rho_of (ratio M) T) in *.
  assert (rho0 : 0 <= rho).
  { unfold rho, rho_of. pose proof (pow2_ge_0 (eta_of (ratio M))). pose proof (pos_INR T). apply Rmult_le_pos; lra. }
  assert (c0 : 0 <= alpha * rho) by (apply Rmult_le_pos; lra).
  set (k := exp ((alpha - 1) * (alpha * rho)) - 1).
  assert (k0 : 0 <= k).
  { unfold k. assert (0 <= (alpha - 1) * (alpha * rho)) by (apply Rmult_le_pos; lra). pose proof (exp_le 0 _ H) as K. rewrite exp_0 in K. lra. }
  assert (Some : exists lots, In lots (lots_of choices)).
  { pose proof (some_lots choices some_batch). destruct (lots_of choices) as [|v m]; [congruence|]. exists v. simpl; auto. }
  assert (Laws : forall r lots, is_law (outputs M n) (seen r lots)) by (intros; apply joint_is_law, next_is_law; auto).
  assert (Each : forall lots, In lots (lots_of choices) ->
    zcdp (outputs M n) rho (seen records lots) (seen (blank records j) lots) /\
    zcdp (outputs M n) rho (seen (blank records j) lots) (seen records lots)).
  { intros lots Hl. pose proof (lots_length choices lots Hl).
    apply (told_here M row batch_of (fun P Q => zcdp _ _ P Q /\ zcdp _ _ Q P)); try lia.
    intros before after x u v b Lu. apply told_zcdp_here; auto. }
  assert (Out : forall lots t, In lots (lots_of choices) -> inside lots = false -> seen records lots t = seen (blank records j) lots t).
  { intros lots t Hl U. pose proof (lots_length choices lots Hl) as Ll. unfold inside in U.
    destruct (nth_split lots 0%nat (n := j) ltac:(lia)) as (u & v & El & Lu).
    destruct (nth_split records None (n := j) ltac:(lia)) as (before & after & Er & Lr).
    set (b := nth j lots 0%nat) in *. set (x := nth j records None) in *. clearbody b x.
    assert (Eb : blank records j = before ++ None :: after) by (rewrite Er, <- Lr; apply blank_here).
    rewrite Eb, Er, El. unfold seen. apply told_unused with (used := used); auto. lia. }
  assert (Run : forall r t, run M row batch_of choices r t = step_24_fusion.mean (lots_of choices) (seen r) t).
  { intros r t. unfold run, step_39_lots.mean, step_24_fusion.mean. rewrite sum_scal. auto. }
  assert (Loss : loss_of (lots_of choices) inside alpha (fun _ => alpha * rho) <= L).
  { unfold loss_of, L, lots_loss. fold k. pose proof (lots_that_are_used k) as U. unfold step_39_lots.mean in U. rewrite U.
    apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat; lra|].
    assert (Nc : nth j choices [] <> []) by (apply some_batch, nth_In; lia). pose proof (share_range (nth j choices []) used Nc).
    assert (S0 : 0 <= share (nth j choices []) used * k) by (apply Rmult_le_pos; lra).
    assert (S : share (nth j choices []) used * k <= q * k) by (apply Rmult_le_compat_r; auto).
    destruct S as [S| ->]; [apply Rlt_le, ln_increasing; lra|lra]. }
  assert (Ext : forall r r', moment (outputs M n) alpha (run M row batch_of choices r) (run M row batch_of choices r') =
    moment (outputs M n) alpha (step_24_fusion.mean (lots_of choices) (seen r)) (step_24_fusion.mean (lots_of choices) (seen r'))).
  { intros r r'. apply sum_ext. intros t _. unfold loss. rewrite !Run. auto. }
  split; apply renyi_more with (2 := Loss); auto; unfold renyi; rewrite Ext; apply step_24_one_token; auto.
  - intros lots Hl _. apply Each; auto.
  - intros lots Hl _. apply Each; auto.
  - intros lots t Hl U _. symmetry. auto.
Qed.
End Lots.

(* The whole: the bias of step 55, then a batch whose public weights, and all else that is public, follow from it. *)
Section Whole.
Context {Record Token : Type}.
Variables (d : nat) (most : Z).
Hypothesis most_pos : (0 < most)%Z.
Variable vector : Record -> option (nat -> Z).
Variable s2 : R.
Hypothesis s2_pos : 0 < s2.
Variable w : R.
Hypothesis w_whole : is_whole s2 w.
Variable M : list Z -> mechanism Token.
Variable row : list Z -> list Token -> list Record -> option (Token -> Z).
Hypothesis M_sound : forall x, sound (M x).
Variables n T : nat.
Hypothesis cap : forall x, capped (M x) n T.
Variable lambda : R.
Hypothesis same_lambda : forall x, ratio (M x) = lambda.
(* Owners' records as the bias reads them, and as the batch has them; owner k's place there is j. *)
Variables owners refs : list (option (list Record)).
Variables k j : nat.

Definition bias_and_texts (owners refs : list (option (list Record))) : list Z * list Token -> R :=
  together (answer d most vector s2 w owners) (fun x => world (M x) (row x) refs).

Theorem step_56_bias_then_run some : NoDup some -> (forall x, In x some -> length x = d) ->
  let all := both some (fun x => outputs (M x) n) in
  let rho := rho_of_bias most s2 + rho_of lambda T in
  zcdp all rho (bias_and_texts owners refs) (bias_and_texts (blank owners k) (blank refs j)) /\
  zcdp all rho (bias_and_texts (blank owners k) (blank refs j)) (bias_and_texts owners refs).
Proof.
  intros N L all rho. destruct (step_55_one_answer d most most_pos vector s2 s2_pos w w_whole owners k some N L) as [F B].
  assert (pos : forall o x, In x some -> 0 < answer d most vector s2 w o x) by (intros; eapply noisy_all_pos; eauto).
  assert (pos2 : forall r x t, In x some -> In t (outputs (M x) n) -> 0 < world (M x) (row x) r t).
  { intros r x t _ Ht. unfold world. eapply joint_pos; eauto. intros h. apply next_is_law; auto. }
  unfold bias_and_texts, all, rho. split; apply step_56_zcdp; auto; intros x _; rewrite <- (same_lambda x);
    apply (theorem_zcdp (M x) (row x) (M_sound x) refs n T (cap x) j).
Qed.
End Whole.
