"""What is wrong with files of judgements, runs, topics and features, and what it does to the result."""
