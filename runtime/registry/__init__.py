"""The registry client."""
