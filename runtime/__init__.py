"""Executes window plans: the outer half of kuik, above the compiler."""
