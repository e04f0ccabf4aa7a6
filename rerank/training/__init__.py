"""Training: labels of judgements, of clicks or of a teacher; folds, tuning, calibration."""
