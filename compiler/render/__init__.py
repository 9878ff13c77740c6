"""One file a format, each a pure function to text.

They know nothing of one another. A plan, a diff and a diagnostic say the same in all of them, because every sentence
and every figure is already in the value.
"""
