"""How a linear recurrence is computed, whoever chose its coefficients."""
