"""Components of the certified samplers: rejection, thinning, chains of proximal steps."""
