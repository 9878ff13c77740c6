"""Text in, a window plan and diagnostics out: a pure function, without network, clock or state."""
