"""The static rules, grouped by what they look at."""
