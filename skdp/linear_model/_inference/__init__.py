"""Standard errors, intervals and tests for the coefficients of private fits."""
