"""Arithmetic on matrices, dense, sparse or with missing entries, and measures of factors."""
