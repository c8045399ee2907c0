"""Alternative code for one recurrence; each module offers
`scan(a, b, state, reverse, overwrite=False)`.

a (Ba, La, C, P), b (B, L, C, P), state (B, C, P) -> x like b, final like state; C is 1 for real
numbers and 2 for the real and imaginary planes of complex ones; Ba is 1 or B and La is 1 or L.
The state is carried in its own, wide dtype; x takes b's. A multiplier that is exactly 0 forgets
even a state that is NaN or infinite. `overwrite` allows b to be used up.
"""
