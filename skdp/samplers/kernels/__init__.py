"""What the certified samplers are made of: rejection, thinning, chains of proximal steps."""
