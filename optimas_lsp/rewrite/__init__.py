"""A rewrite: from evidence to a proposal, and the guardrails it must pass."""
