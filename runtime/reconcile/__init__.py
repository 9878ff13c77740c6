"""Reconciling at a controlled pace: the work queue, its loop and the writing of status."""
