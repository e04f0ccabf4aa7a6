"""An opened index and what is bound to it."""
