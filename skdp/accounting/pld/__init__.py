"""The numerical accountant: privacy loss distributions between proved bounds."""
