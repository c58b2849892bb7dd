"""The command `semf`."""
