"""One file per learner that users see."""
