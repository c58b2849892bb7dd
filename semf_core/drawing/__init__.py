"""Pictures of factors and data, and curves with few points."""
