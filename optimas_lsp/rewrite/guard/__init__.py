"""The guardrails, one concern a module: what each looks at, and the words it says when something is wrong."""
