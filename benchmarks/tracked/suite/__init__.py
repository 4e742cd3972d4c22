"""What is kept track of, for asv."""
