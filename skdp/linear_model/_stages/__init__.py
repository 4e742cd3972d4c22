"""Private releases before a fit, from which its records are made."""
