"""Closed-form matrices and numbers: HiPPO, initial values, discretisation. No nn.Module lives here."""
