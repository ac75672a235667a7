"""Statistics of a comparison: intervals, paired differences, a correction for many questions, measures of speed."""
