"""Rules that look at two things at once: one rule, one function, one reason. They know nothing of one another."""
