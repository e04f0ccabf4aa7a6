"""Click logs: reading, labels and preferences from them, simulated users, off-policy values, interleaving."""
