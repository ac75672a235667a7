"""Every claim, in the order in which the page shows them."""

from __future__ import annotations

import difflib
import importlib

from posenc.lab.claims.claim import Claim

#: What mathematics decides.
COMPUTED = (
    "attention_has_no_order",
    "encodings_tell_order",
    "recurrence_and_convolution_know_order",
    "counts_grow_without_bound",
    "normalised_counts_are_inconsistent",
    "counts_upset_gradients",
    "one_sine_collides",
    "one_pair_nearly_collides",
    "values_stay_between_minus_one_and_one",
    "sinusoidal_suits_varying_lengths",
    "every_position_is_unique",
    "higher_dimensions_are_slower",
    "wavelengths_are_a_geometric_progression",
    "wavelength_is_the_divisor",
    "first_dimension_flips_like_the_last_bit",
    "derivative_of_the_encoding",
    "shift_is_linear",
    "shift_is_a_rotation",
    "one_map_attends_k_back",
    "similarity_falls_with_distance",
    "similarity_tells_distance_alone",
    "sinusoidal_position_lives_in_the_first_dimensions",
    "rotary_position_lives_in_the_first_dimensions",
    "rotary_scores_are_relative",
    "rotation_keeps_the_norm",
    "angle_is_independent_of_content",
    "product_of_norms_is_similarity",
    "near_tokens_score_higher",
    "exponent_is_another_base",
    "fixed_encodings_learn_nothing",
    "encoding_costs_almost_nothing",
    "rotary_needs_less_arithmetic",
    "addition_is_the_only_way",
    "printed_digits_of_the_lecture",
    "printed_sines_of_the_notes",
    "position_of_book",
    "position_of_the_practice_question",
)
#: What training decides.
TRAINED: tuple[str, ...] = (
    "rotary_converges_faster",
    "encoding_improves_language_modelling",
    "fixed_encoding_extrapolates",
    "learned_encoding_does_not_extrapolate",
    "fixed_extrapolates_better_than_learned",
    "learned_is_no_worse_in_range",
    "learned_overfits_on_position",
    "relative_improves_long_sequences",
    "encoder_without_encoding_cannot_place",
    "relative_suits_fixed_offsets",
    "relative_suits_cued_offsets",
    "base_matters",
    "absolute_suits_absolute_positions",
    "hybrids_improve",
    "encoding_improves_translation",
    "rotary_translates_better",
)
NAMES = COMPUTED + TRAINED


def claim(name: str) -> Claim:
    """The claim of a name, read from its file.

    Example:
        >>> claim("shift_is_linear").sources
        ('lecture', 'article', 'lesson', 'chapter')
    """
    if name not in NAMES:
        near = difflib.get_close_matches(name, NAMES, n=1)
        advice = f"Did you mean {near[0]}?" if near else "`posenc claims` lists them."
        raise ValueError(f"claim must be the name of one; got {name!r:.80}. {advice}")
    record: Claim = importlib.import_module(f"posenc.lab.claims.{name}").CLAIM
    return record
